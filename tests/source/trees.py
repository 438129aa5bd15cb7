"""A commit made of texts: what the Git edge gives, without Git."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitfed.errors import SourceError
from gitfed.model.base import Commit

SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"


@dataclass(frozen=True, slots=True)
class Entry:
    path: str
    blob_id: str
    size: int
    mode: int


@dataclass
class Tree:
    """`reads` counts how often bytes were asked for."""

    commit: Commit
    listed: list[Entry] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    reads: int = 0

    def entries(self) -> Iterable[Entry]:
        return iter(self.listed)

    def read(self, blob_id: str) -> bytes:
        self.reads += 1
        if blob_id not in self.blobs:
            raise SourceError(f"no blob {blob_id[:7]}")
        return self.blobs[blob_id]

    def put(self, path: str, content: str | bytes, mode: int = 0o100644) -> str:
        data = content.encode() if isinstance(content, str) else content
        blob_id = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        self.blobs[blob_id] = data
        self.listed.append(Entry(path, blob_id, len(data), mode))
        return blob_id


def tree(files: Mapping[str, str | bytes], *, settings: str | None = SETTINGS, commit: str = "c1") -> Tree:
    """A commit with these files, and usual settings unless told otherwise. `-> target` makes a symlink."""
    made = Tree(Commit(commit))
    if settings is not None:
        made.put("gitfed.yaml", settings)
    for path, content in files.items():
        if isinstance(content, str) and content.startswith("-> "):
            made.put(path, content.removeprefix("-> "), 0o120000)
        else:
            made.put(path, content)
    return made
