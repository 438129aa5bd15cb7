"""Two texts compared line by line: what is printed turns the one into the other, with its surroundings."""

from __future__ import annotations

import difflib
import re

from hypothesis import given
from hypothesis import strategies as st

from gitfed.cli.output import manifest_text

LINES = st.lists(st.sampled_from([f"k{number}: {number % 3}" for number in range(12)]), max_size=20)
EDITS = st.lists(st.tuples(st.integers(0, 20), st.sampled_from("-+~"), st.integers(0, 3)), max_size=3)


def _edited(lines: list[str], edits: list[tuple[int, str, int]]) -> list[str]:
    lines = list(lines)
    for place, what, value in edits:
        index = min(place, len(lines))
        lines[index : index + (what in "-~")] = [] if what == "-" else [f"new: {value}"]
    return lines


def _applied(hunks: list[str], old: list[str]) -> list[str]:
    """What `patch` would make of it; the ranges of each hunk must be those of its lines."""
    made: list[str] = []
    at = 0
    while hunks:
        match = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", hunks.pop(0))
        assert match is not None
        size, new_size = (1 if match[group] is None else int(match[group]) for group in (2, 4))
        begin = int(match[1]) - (1 if size else 0)
        made += old[at:begin]
        assert int(match[3]) - (1 if new_size else 0) == len(made)
        body = hunks[: next((index for index, line in enumerate(hunks) if line.startswith("@@")), len(hunks))]
        del hunks[: len(body)]
        assert [line[1:] for line in body if line[0] in " -"] == old[begin : begin + size]
        came = [line[1:] for line in body if line[0] in " +"]
        assert len(came) == new_size
        made += came
        at = begin + size
    return made + old[at:]


@given(LINES, EDITS)
def test_what_is_printed_turns_the_one_text_into_the_other(old: list[str], edits: list[tuple[int, str, int]]) -> None:
    new = _edited(old, edits)
    hunks = manifest_text.hunks("\n".join(old), "\n".join(new))
    assert _applied(list(hunks), old) == new
    lines = list(difflib.unified_diff(old, new, lineterm="", n=3))[2:]
    assert sum(line[0] in "+-" for line in hunks) <= sum(line[0] in "+-" for line in lines), "and no more than needed"
    first = next((index for index, line in enumerate(hunks[1:]) if line[0] in "+-"), 0)
    assert not hunks or first == 3 or hunks[0].startswith(("@@ -1", "@@ -0")), "with three lines around it"
