"""Values that YAML can hold, for properties."""

from __future__ import annotations

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


_WORDS = st.sampled_from(
    [
        "yes",
        "NO",
        "on",
        "y",
        "~",
        "null",
        "<<",
        "1e3",
        "0755",
        ".5",
        "...",
        "---",
        "- a",
        "a: b",
        "a #b",
        " a",
        "a ",
        "=",
        "é",
        "\ufeff",
        "a\nb",
        "a\n\n",
        "a\n b\n",
        "\na",
        "|",
        "'a",
        "[",
        "a\n---\nb",
    ]
)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | _WORDS
)


VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXT | _WORDS, below, max_size=4),
    max_leaves=20,
)
