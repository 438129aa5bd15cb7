"""Under which name a file stood before: one that was renamed with a mistake in it is still that file.

Git stores no renames. A file that came with a commit is one that went with the same commit if more than half of the
words of both are the same. Looked for only when a file with errors has no older version under its own name.
"""

from __future__ import annotations

import re
from collections import Counter

from gitfed.edges import git
from gitfed.model.base import Commit
from gitfed.source import tree

_SPACE = re.compile(rb"""[\s,:{}\[\]"']+""")
_MOST_GONE = 1000
"""Files of one commit that are looked into."""


def before(repository: git.Repository, commit: Commit, path: str) -> tuple[Commit, str] | None:
    """(the commit before, the name there) of a file that came with a commit. Raises SourceError."""
    _, *parents = repository.first_parents(commit, limit=2)
    changed = repository.differences(parents[0], commit) if parents else None
    came = changed.get(path) if changed is not None else None
    if changed is None or came is None or came.size > tree.LARGEST_FILE:
        return None
    was = repository.listing(parents[0])
    if path in was:
        return None
    gone = [was[name] for name, entry in sorted(changed.items()) if entry is None and name in was][:_MOST_GONE]
    words, best = _words(repository.read(came.blob_id)), (0.5, "")
    for entry in gone:
        if entry.mode in (tree.SYMLINK, tree.SUBMODULE) or entry.size > tree.LARGEST_FILE:
            continue
        likeness = _likeness(words, _words(repository.read(entry.blob_id)))
        if likeness > best[0]:
            best = (likeness, entry.path)
    return (parents[0], best[1]) if best[1] else None


def _words(data: bytes) -> Counter[bytes]:
    return Counter(filter(None, _SPACE.split(data)))


def _likeness(one: Counter[bytes], other: Counter[bytes]) -> float:
    """Which part of the longer one is in the shorter."""
    return (one & other).total() / max(one.total(), other.total(), 1)
