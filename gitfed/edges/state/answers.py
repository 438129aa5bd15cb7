"""Answers of webhooks on the state branch, one file each under `answers/`, by the digest of what was asked.

Which answers are kept is the daemon's decision; when they are written, `state`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitfed.errors import InputError
from gitfed.model.base import Body

DIRECTORY = "answers/"


class Answers(Mapping[str, Body]):
    """`answers/`: listed at once, each read when it is asked for. One that cannot be read is `{}`: no answer.

    There may be one for each object of a fleet, and most looks need few of them.
    """

    def __init__(self, blobs: Mapping[str, str], load: Callable[[str], Any]) -> None:
        self._blobs = blobs
        self._load = load
        self._loaded: dict[str, Body] = {}

    def __getitem__(self, digest: str) -> Body:
        if digest not in self._loaded:
            blob = self._blobs[digest]
            try:
                value = self._load(blob)
            except InputError:
                value = None
            self._loaded[digest] = value if isinstance(value, Mapping) else {}
        return self._loaded[digest]

    def __contains__(self, digest: object) -> bool:
        return digest in self._blobs

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)


def path_of(digest: str) -> str:
    return f"{DIRECTORY}{digest}.yaml"
