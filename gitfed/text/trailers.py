"""Git's trailers: `Key: value`, line by line, in the last paragraph of a commit's message."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TRAILER = re.compile(r"[A-Za-z0-9-]+: *\S")


def last_paragraph(body: str) -> list[str]:
    """The lines of the trailers of a message; none where its last paragraph is text."""
    last = body.strip().split("\n\n")[-1].splitlines()
    return last if all(_TRAILER.match(line) or line.startswith(" ") for line in last) else []


def read(body: str) -> dict[str, str]:
    """Their values by their keys; of two with the same key the last counts, as with Git."""
    pairs = (line.partition(":") for line in last_paragraph(body) if not line.startswith(" "))
    return {key: value.strip() for key, _, value in pairs}


def written(trailers: Mapping[str, str]) -> tuple[str, ...]:
    """The lines of a last paragraph."""
    return tuple(f"{key}: {value}" for key, value in trailers.items())
