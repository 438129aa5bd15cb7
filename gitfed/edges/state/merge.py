"""Two writers of one state branch: what each of them changed, put together.

While the daemon decides, a person may push an order (`gitfed suspend`, a task edited by hand) to the same files. What
only one of them changed is kept as that one left it, down to a single member or list item; what both changed at the
same place is the person's. So no order is lost, and no task that the order does not speak of: a task that is forgotten
leaves a copy behind that no decision names.

This holds for orders. Another *engine* that wrote meanwhile decided for the fleet as it is now, without knowing ours:
then only its word counts. Fetching and pushing is `state`'s business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gitfed.documents import state_commits
from gitfed.edges.git import Repository
from gitfed.model.base import Commit
from gitfed.text import canonical, emit, yaml

_AGAIN: Final = "refs/gitfed/state/again"
_MOST: Final = 10_000
"""Commits on one side since the two parted. A daemon that was away for longer has nothing to say."""
_IDENTITIES: Final = (
    ("fromCluster",),  # an eviction task
    ("of", "scheduling"),  # a suspension
    ("digest", "commit"),  # an approval
    ("cluster", "object", "uid"),  # a removal
    ("key", "effect"),  # a taint
    ("type",),  # a condition
    ("clusterName",),  # what became of a copy
    ("name",),  # a target
)
"""Members that tell one item of a list from another, by what only such items have first."""


class _Absent:
    """Of a member that is not there; None is a value."""


_ABSENT: Final = _Absent()


def on_top(
    repository: Repository, theirs: Commit, ours: Commit, *, sign: Callable[[bytes], bytes] | None = None
) -> Commit:
    """What we have committed since theirs and ours parted, committed again after theirs, word for word; `theirs` where
    nothing of it counts. No branch is changed."""
    parted = repository.merge_base(theirs, ours)
    if parted is None:
        return theirs
    orders, decided = (repository.log(side, limit=_MOST, since=parted) for side in (theirs, ours))
    if (
        any(state_commits.read(order.subject, order.body).act for order in orders)
        or max(len(orders), len(decided)) >= _MOST
    ):
        return theirs
    tip = theirs
    repository.update_ref(_AGAIN, tip)
    for logged in reversed(decided):
        before, after, theirs_now = (_Files(repository, commit) for commit in (logged.parents[0], logged.commit, tip))
        files = {
            path: file(before.get(path), after.get(path), theirs_now.get(path)) for path in before.differing(after)
        }
        files = {path: content for path, content in files.items() if content != theirs_now.get(path)}
        message = f"{logged.subject}\n\n{logged.body}\n" if logged.body else f"{logged.subject}\n"
        tip = repository.commit_files(
            _AGAIN, files, message, parent=tip, author=logged.author, when=logged.when, sign=sign
        )
    return tip


class _Files:
    """Of one commit."""

    def __init__(self, repository: Repository, commit: Commit) -> None:
        self._repository = repository
        self._blobs = {path: entry.blob_id for path, entry in repository.entries(commit).items()}

    def get(self, path: str) -> bytes | None:
        return self._repository.read(self._blobs[path]) if path in self._blobs else None

    def differing(self, other: _Files) -> list[str]:
        return sorted(
            path for path in self._blobs.keys() | other._blobs.keys() if self._blobs.get(path) != other._blobs.get(path)
        )


def file(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """One file of three commits, None where it is not there. `theirs`: the person's.

    An edit that cannot be read orders nothing; a file that a person deleted stays deleted.
    """
    if ours == base or theirs == ours:
        return theirs
    if theirs == base:
        return ours
    if theirs is None or ours is None:
        return theirs
    try:
        return emit.dump(value(_read(base), _read(ours), _read(theirs))).encode()
    except ValueError:
        return ours


def value(base: Any, ours: Any, theirs: Any) -> Any:
    """The same for what a document says."""
    if _same(ours, base) or _same(theirs, ours):
        return theirs
    if _same(theirs, base):
        return ours
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return _members(base if isinstance(base, Mapping) else {}, ours, theirs)
    if isinstance(ours, list | _Absent) and isinstance(theirs, list | _Absent):
        return _items(base, ours, theirs)
    return theirs


def _items(base: Any, ours: Any, theirs: Any) -> Any:
    """Of lists, one of which may be gone: the writer that took away the only item knew nothing of one that was
    added."""
    lists = [side if isinstance(side, list) else [] for side in (base, ours, theirs)]
    identity = _identity([item for items in lists for item in items])
    merged = list(_members(*(dict(_named(items, identity)) for items in lists)).values())
    return merged if merged or (ours is not _ABSENT and theirs is not _ABSENT) else _ABSENT


def _members(base: Mapping[Any, Any], ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> dict[Any, Any]:
    """In their order, what only we have behind it."""
    merged = {}
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        merged_value = value(base.get(name, _ABSENT), ours.get(name, _ABSENT), theirs.get(name, _ABSENT))
        if merged_value is not _ABSENT:
            merged[name] = merged_value
    return merged


def _identity(items: list[Any]) -> tuple[str, ...]:
    """By which members items are the same although they changed; none: only equal ones are."""
    mappings = [item for item in items if isinstance(item, Mapping)]
    for names in _IDENTITIES:
        if mappings and all(names[0] in item for item in mappings):
            return names
    return ()


def _named(items: list[Any], identity: tuple[str, ...]) -> Iterator[tuple[tuple[bytes, int], Any]]:
    """Items by what they are, and by how many of that came before: a person may have written one twice."""
    seen: Counter[bytes] = Counter()
    for item in items:
        what = {name: item.get(name) for name in identity} if identity and isinstance(item, Mapping) else item
        name = canonical.dumps(what)
        yield (name, seen[name]), item
        seen[name] += 1


def _same(left: Any, right: Any) -> bool:
    if left is _ABSENT or right is _ABSENT:
        return left is right
    return bool(left == right)


def _read(content: bytes | None) -> Any:
    """Raises ValueError for what is not one object."""
    if content is None:
        return {}
    documents = yaml.load_all(content)
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        raise ValueError("not one object")
    return documents[0]
