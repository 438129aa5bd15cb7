"""One byte string for one value."""

from __future__ import annotations

import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import canonical

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), below)
    ),
    max_leaves=10,
)


@given(_VALUES)
def test_what_is_written_is_read_back(value: object) -> None:
    assert canonical.loads(canonical.dumps(value)) == value


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 9)))
def test_the_order_of_members_never_matters(value: dict[str, int]) -> None:
    assert canonical.dumps(dict(reversed(value.items()))) == canonical.dumps(value)


def test_the_text_is_sorted_and_has_no_blanks() -> None:
    assert canonical.dumps({"b": [1, None], "a": "é"}) == '{"a":"é","b":[1,null]}'.encode()


def test_a_digest_is_sha256_of_the_text() -> None:
    assert canonical.digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": -math.inf}, 2**64, "\ud800", {1: 2}, object()])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(canonical.NotCanonical):
        canonical.dumps(value)


def test_null_is_not_mistaken_for_infinity() -> None:
    assert canonical.dumps({"a": None, "b": [1.5]}) == b'{"a":null,"b":[1.5]}'


def test_what_is_kept_takes_no_more_room_than_it_has_bytes() -> None:
    tracemalloc.start()
    try:
        kept = [canonical.to_keep(canonical.dumps({"number": number})) for number in range(1000)]
        room = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept[7] == b'{"number":7}'
    assert room < 1000 * 200, "what was returned to be read once has 1 kB or more each"
