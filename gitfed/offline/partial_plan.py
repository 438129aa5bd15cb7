"""A look at what a change reaches, and at nothing else of a large repository.

Reading ten thousand files and placing what they hold takes seconds, and a change of one of them concerns one. So two
things are remembered of the last look at everything, in one file of the cache each for every repository: where the
templates of its base stand (`source.overview`) and what the plan said of each (`planning.unplanned`). For two other
commits Git says which files differ from it and from each other; those are read, with all that say something about other
files' objects, and `planning.review.affected_templates` tells which templates beside them the change can reach.

A glance is taken when its answer is the same as that of a look at everything, and else not at all. Without what the
plan said, or where that does not hold any more, it is taken only of changes that no other template counts for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from gitfed import __version__
from gitfed.documents import bindings
from gitfed.edges import files, git
from gitfed.errors import SourceError
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.repo import RepoSnapshot
from gitfed.model.scope import FEW
from gitfed.offline import inputs, state_inputs
from gitfed.planning import unplanned
from gitfed.planning.review import affected_templates, locality
from gitfed.planning.unplanned import Bystanders, Circumstances
from gitfed.source import kustomize, overview
from gitfed.source.overview import Overview
from gitfed.text.values import dataclass

_MOST_FILES = 1500
"""Changed files from which on everything is looked at."""
_MOST_TEMPLATES = 0.25
"""The same for what a change reaches, as a part of all templates."""


@dataclass(frozen=True, slots=True)
class RememberedPlan:
    """What is remembered of the last look at everything."""

    overview: Overview
    bystanders: Bystanders | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """Both snapshots say in their `scope` what all others come to."""

    base: RepoSnapshot
    head: RepoSnapshot
    circumstances: Circumstances | None = None
    """In which that is true; None: it is not known."""

    @property
    def templates(self) -> frozenset[ObjectKey]:
        """Of both; no other can come out otherwise."""
        return frozenset(self.base.manifests.keys() | self.head.manifests.keys())


def remember(opened: inputs.Opened, repo: RepoSnapshot, others: Bystanders | None = None) -> None:
    """So that later changes can be looked at alone; the newest commit replaces the one before."""
    if (
        opened.repository.brought
        or (base_overview := overview.of(repo, opened.repository.entries(repo.commit).values())) is None
    ):
        return
    _cache().put(_name(opened), base_overview.dump())
    if others is not None:
        _cache().put(_name(opened, "bystanders"), others.dump())


def recall(opened: inputs.Opened) -> RememberedPlan | None:
    content = None if opened.submodules else _cache().get(_name(opened))
    base_overview = overview.load(content) if content is not None else None
    if base_overview is None:
        return None
    content = _cache().get(_name(opened, "bystanders"))
    others = unplanned.load(content) if content is not None else None
    if (
        others is not None
        and others.commit == base_overview.commit
        and all(key in others.rows for templates in base_overview.templates.values() for key, _ in templates)
    ):
        return RememberedPlan(base_overview, others)
    return RememberedPlan(base_overview)


def _cache() -> files.DiskCache:
    return files.DiskCache(files.cache_directory() / "overview")


def _name(opened: inputs.Opened, what: str = "") -> str:
    return hashlib.sha256(f"{opened.repository.path}\0{__version__}\0{what}".encode()).hexdigest()


def at_change(
    opened: inputs.Opened, remembered: RememberedPlan, base: Commit, head: Commit | git.WorkTree, *, counted: bool
) -> Glance | None:
    """A commit and another one, or the files on disk, as far as they differ; None when everything has to be looked at.

    `counted`: what is remembered of the others may count; not where somebody named other facts or decisions than those
    of the branches.
    """
    base_overview = remembered.overview
    try:
        before = opened.repository.differences(base_overview.commit, base)
        if before is None:
            return None
        if isinstance(head, git.WorkTree):
            now: Mapping[str, Any] | None = _on_disk(base_overview, head)
        else:
            after = opened.repository.differences(base, head)
            now = {**before, **after} if after is not None else None
    except SourceError:
        return None  # the commit that is remembered is gone
    if now is None or len(before.keys() | now.keys()) > _MOST_FILES:
        return None
    entries = [entry for entry in (*before.values(), *now.values()) if entry is not None]
    changed = before.keys() | now.keys()
    if any(entry.mode not in _PLAIN for entry in entries) or any(map(kustomize.is_kustomization, changed)):
        return None
    if _could_be_twins(
        base_overview.places.keys() | changed, {entry.path for entry in entries} - base_overview.places.keys()
    ):
        return None
    wanted = (base_overview.places.keys() - base_overview.templates.keys()) | changed
    older, newer = _Side(opened, base_overview, base, before), _Side(opened, base_overview, head, now)
    return _Look(opened, base_overview, older, newer).at(wanted, remembered.bystanders if counted else None)


_PLAIN = (0o100644, 0o100755)


def _on_disk(base_overview: Overview, tree: git.WorkTree) -> dict[str, Any]:
    """What is otherwise than in the commit that is remembered. Whether a file may be run is nothing to us."""
    here = {entry.path: entry for entry in tree.entries()}
    changed: dict[str, Any] = dict.fromkeys(base_overview.places.keys() - here.keys())
    for path, entry in here.items():
        place = base_overview.places.get(path)
        if place is None or place.blob_id != entry.blob_id or (place.mode in _PLAIN) is not (entry.mode in _PLAIN):
            changed[path] = entry
    return changed


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two that are compared, or the commit that is remembered."""

    opened: inputs.Opened
    overview: Overview
    where: Commit | git.WorkTree
    changed: Mapping[str, Any]
    """Since the commit that is remembered: entries by path, None for what is gone."""

    def read(self, wanted: Collection[str]) -> RepoSnapshot:
        """As if there were no other files."""
        entries = (self.changed[path] if path in self.changed else self.overview.places.get(path) for path in wanted)
        files = tuple(entry for entry in entries if entry is not None)
        if isinstance(self.where, git.WorkTree):
            part = git.PartOfTree(self.where, self.where.commit, files)
            return inputs.read_tree(self.opened, part, self.opened.head, committed=False)
        return inputs.read_tree(self.opened, git.PartOfTree(self.opened.repository, self.where, files), self.where)


@dataclass(frozen=True, slots=True)
class _Others:
    """What is known of the templates that are not looked at."""

    bystanders: Bystanders
    decided: frozenset[ObjectKey]
    """Those for which something else was decided since."""


def _still_true(opened: inputs.Opened, others: Bystanders, base: RepoSnapshot) -> _Others | None:
    """None when too much was decided since."""
    state = state_inputs.state_commit(opened, base) or ""
    if bool(others.state) is not bool(state):
        return None
    try:
        written = opened.repository.differences(Commit(others.state), Commit(state)) if state else {}
    except SourceError:
        return None  # the state branch was written anew
    if written is None:
        return None
    return _Others(others, frozenset(key for key in others.rows if written and bindings.path_of(key) in written))


@dataclass(frozen=True, slots=True)
class _Look:
    """The search for what a change reaches."""

    opened: inputs.Opened
    overview: Overview
    older: _Side
    newer: _Side

    def at(self, wanted: set[str], remembered: Bystanders | None) -> Glance | None:
        """`wanted`: the files to read at least."""
        others: _Others | None = None
        while True:
            rest = {path: templates for path, templates in self.overview.templates.items() if path not in wanted}
            homes = {key: path for path, templates in rest.items() for key, _ in templates}
            versions = {key: version for templates in rest.values() for key, version in templates}
            most = _MOST_TEMPLATES * len(versions)
            base, head = self.older.read(wanted), self.newer.read(wanted)
            if any(kustomize.is_kustomization(held.path) for held in (*base.held, *head.held)):
                return None  # it may name files that are not read here
            if remembered is not None:
                others, remembered = _still_true(self.opened, remembered, base), None
            # The same object in a file that did not change: together they are at fault, or it moved there.
            more: set[ObjectKey] | None = homes.keys() & (base.manifests.keys() | head.manifests.keys())
            more = more or affected_templates.further(
                base, head, versions, others.bystanders.rows if others is not None else None
            )
            if more is None or len(more) > most:
                return None
            if others is not None:
                restless = self._restless(others, base, head, wanted, versions)
                if restless is None or len(more | restless) > most:
                    others = None
                    continue
                more |= restless
            if not more:
                scope = others.bystanders.scope(versions.keys(), base, head) if others is not None else FEW
                base, head = replace(base, scope=scope), replace(head, scope=scope)
                return Glance(base, head, others.bystanders.circumstances if others is not None else None)
            wanted = wanted | {homes[key] for key in more}

    def _restless(
        self, others: _Others, base: RepoSnapshot, head: RepoSnapshot, wanted: set[str], rest: Mapping[ObjectKey, str]
    ) -> set[ObjectKey] | None:
        """Those of the rest that have to be looked at for what happened since they are known, or because others count
        on what they take. None: all."""
        restless = set(others.decided & rest.keys())
        if locality.goes_by_room(base, head):
            restless |= others.bystanders.claiming() & rest.keys()
        if self.older.changed:
            then = _Side(self.opened, self.overview, self.overview.commit, {}).read(wanted)
            since = affected_templates.further(then, base, rest, others.bystanders.rows)
            if since is None:
                return None
            restless |= since
        return restless


def _could_be_twins(paths: Collection[str], added: Collection[str]) -> bool:
    """Whether a new name may differ from another in case or accents only: then all names have to be compared."""
    if not added:
        return False
    if not all(map(str.isascii, added)):
        return True
    folded = {path.casefold() for path in added}
    return len(folded) < len(added) or any(path.casefold() in folded for path in paths if path not in added)
