"""The small language in which the bundled types are written (`schemas/kubernetes`): one word for a field, all versions.

A word is a scalar (`string`, `int32`, `quantity`, …), `any`, a type of the same file (`#PodSpec`) or of another
(`core_v1#PodSpec`). `[]` before it makes a list, `{}` a map, `!` a field that must be there; `[name]` makes a list
whose items are told apart by their name (`[port,protocol=TCP]`: by two, one with a default), `[=]` one of different
values.

A field that not every version has, or that changed, says so: `string@28-` came with 1.28, `string@-33` went after 1.33,
and `string@-29|intstr@30-` became something else. Without `@` it is there for as long as its type is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

REQUIRED = "!"
LIST = "[]"
SET = "[=]"
MAP = "{}"
_MARKS = re.compile(r"!?(?:\[[^\]]*\]|\{\})*")
_MARK = re.compile(r"!|\[[^\]]*\]|\{\}")


def marks(word: str) -> tuple[list[str], str]:
    """What stands before the name, outermost first, and the name."""
    prefix = _MARKS.match(word)
    assert prefix is not None
    return _MARK.findall(prefix[0]), word[prefix.end() :]


def keyed(keys: Sequence[str]) -> str:
    """The mark of a list whose items have these keys, each `name` or `name=default`."""
    return f"[{','.join(keys)}]"


@lru_cache(maxsize=4096)
def spans(text: str) -> tuple[tuple[str, int, int], ...]:
    """(word, first minor version, last one), oldest first; 0 and 999 where there is no limit."""
    parsed = []
    for part in text.split("|"):
        word, _, span = part.partition("@")
        first, _, last = span.partition("-")
        parsed.append((word, int(first or 0), int(last or 999)))
    return tuple(parsed)


def at(text: str, minor: int) -> str | None:
    """The word of one version; None: that version has no such field."""
    if "@" not in text:
        return text
    return next((word for word, first, last in spans(text) if first <= minor <= last), None)


def join(words: Mapping[int, str | None], newest: int) -> str:
    """What `spans` takes apart: the words of the versions that know the outer type."""
    runs: list[tuple[str, int, int]] = []
    for minor in sorted(words):
        word = words[minor]
        if word is None:
            continue
        if runs and runs[-1][0] == word and runs[-1][2] == minor - 1:
            runs[-1] = (word, runs[-1][1], minor)
        else:
            runs.append((word, minor, minor))
    oldest, last = min(words), max(words)
    if runs == [(runs[0][0], oldest, last)]:
        return runs[0][0]
    return "|".join(
        f"{word}@{'' if first == oldest else first}-{'' if until == newest else until}" for word, first, until in runs
    )


def relative(text: str, file: str) -> str:
    """With types of the same file named by `#` alone."""
    return re.sub(rf"\b{file}#", "#", text)


def absolute(word: str, file: str) -> str:
    """The same word with the file of its type."""
    return word.replace("#", f"{file}#", 1) if marks(word)[1].startswith("#") else word
