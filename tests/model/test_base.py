"""Keys as text, and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.base import ObjectKey, key_from

NAME = st.from_regex(r"[a-z0-9]([a-z0-9.:-]{0,20}[a-z0-9])?", fullmatch=True)
KEYS = st.builds(
    ObjectKey,
    st.just("") | st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,8}){0,2}", fullmatch=True),
    st.from_regex(r"[A-Z][A-Za-z0-9]{0,12}", fullmatch=True),
    st.just("") | st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True),
    NAME,
)


@given(KEYS)
def test_the_text_of_a_key_names_it_and_nothing_else(key: ObjectKey) -> None:
    assert key_from(str(key)) == key


def test_other_texts_name_nothing_that_there_is() -> None:
    assert key_from("all") == ObjectKey("", "all", "", "")
    assert key_from("cluster/m1") == ObjectKey("", "cluster", "", "m1")
