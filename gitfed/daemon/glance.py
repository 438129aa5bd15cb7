"""A look at what a change reaches, and at nothing else of a large repository.

Reading ten thousand files and placing what they hold takes seconds, and a change of one of them concerns one. So where
the templates of one commit stand is remembered (`source.overview`), in one file of the cache for each repository. For
two other commits Git says which files differ from it and from each other; those are read, with all that say something
about other files' objects, and `change.extent` tells which templates beside them the change can reach.

A glance is taken when its answer is the same as that of a look at everything, and else not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gitfed import __version__
from gitfed.change import extent
from gitfed.daemon import inputs
from gitfed.edges import files, git
from gitfed.errors import SourceError
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.repo import RepoSnapshot
from gitfed.source import kustomize, overview
from gitfed.source.overview import Overview

_MOST_FILES = 1500
"""Changed files from which on everything is looked at."""
_MOST_TEMPLATES = 0.25
"""The same for what a change reaches, as a part of all templates."""


@dataclass(frozen=True, slots=True)
class Glance:
    base: RepoSnapshot
    head: RepoSnapshot
    templates: frozenset[ObjectKey]
    """Of both; no other can come out otherwise."""


def remember(opened: inputs.Opened, repo: RepoSnapshot) -> None:
    """So that later changes can be looked at alone; the newest commit replaces the one before."""
    if (
        opened.repository.brought
        or (found := overview.of(repo, opened.repository.entries(repo.commit).values())) is None
    ):
        return
    _cache().put(_name(opened), found.dump())


def recall(opened: inputs.Opened) -> Overview | None:
    content = None if opened.submodules else _cache().get(_name(opened))
    return overview.load(content) if content is not None else None


def _cache() -> files.DiskCache:
    return files.DiskCache(files.cache_directory() / "overview")


def _name(opened: inputs.Opened) -> str:
    return hashlib.sha256(f"{opened.repository.path}\0{__version__}".encode()).hexdigest()


def at_change(opened: inputs.Opened, known: Overview, base: Commit, head: Commit) -> Glance | None:
    """Two commits as far as they differ; None when everything has to be looked at."""
    try:
        before = opened.repository.differences(known.commit, base)
        after = opened.repository.differences(base, head) if before is not None else None
    except SourceError:
        return None  # the commit that is remembered is gone
    if before is None or after is None or len(before) + len(after) > _MOST_FILES:
        return None
    changed = before.keys() | after.keys()
    entries = [entry for entry in (*before.values(), *after.values()) if entry is not None]
    if any(entry.mode not in _PLAIN or kustomize.is_kustomization(entry.path) for entry in entries):
        return None
    if _could_be_twins(known.places.keys() | changed, {entry.path for entry in entries} - known.places.keys()):
        return None
    wanted = (known.places.keys() - known.templates.keys()) | changed
    return _read(opened, known, wanted, _Versions(base, before), _Versions(head, {**before, **after}))


_PLAIN = (0o100644, 0o100755)


@dataclass(frozen=True, slots=True)
class _Versions:
    commit: Commit
    changed: Mapping[str, git.TreeEntry | None]
    """Since the commit that is remembered."""

    def tree(self, repository: git.Repository, known: Overview, wanted: Collection[str]) -> git.PartOfTree:
        found = (self.changed[path] if path in self.changed else known.places.get(path) for path in wanted)
        return git.PartOfTree(repository, self.commit, tuple(entry for entry in found if entry is not None))


def _read(
    opened: inputs.Opened, known: Overview, wanted: set[str], older: _Versions, newer: _Versions
) -> Glance | None:
    homes = {key: path for path, found in known.templates.items() for key, _ in found if path not in wanted}
    versions = {key: version for path, found in known.templates.items() if path not in wanted for key, version in found}
    while True:
        base, head = (
            inputs.read_tree(opened, one.tree(opened.repository, known, wanted), one.commit) for one in (older, newer)
        )
        # The same object in a file that did not change: together they are at fault, or it moved there.
        twice = homes.keys() & (base.manifests.keys() | head.manifests.keys())
        more = set(twice) or extent.further(base, head, versions)
        if more is None or len(more) > _MOST_TEMPLATES * len(versions):
            return None
        if not more:
            return Glance(base, head, frozenset(base.manifests.keys() | head.manifests.keys()))
        paths = {homes[key] for key in more}
        wanted = wanted | paths
        homes = {key: path for key, path in homes.items() if path not in paths}
        versions = {key: version for key, version in versions.items() if key in homes}


def _could_be_twins(paths: Collection[str], added: Collection[str]) -> bool:
    """Whether a new name may differ from another in case or accents only: then all names have to be compared."""
    if not added:
        return False
    if not all(map(str.isascii, added)):
        return True
    folded = {path.casefold() for path in added}
    return len(folded) < len(added) or any(path.casefold() in folded for path in paths if path not in added)
