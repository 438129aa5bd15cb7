"""The state branch as a history: what was decided when, for which commit, from which facts, and why.

A commit of the branch says it itself (`documents.state_commits`): which source commit it is about, the decisions with
their reasons, and the facts that were read. `replay` takes those inputs and decides again; equal inputs give equal
bytes, so every file that the commit holds must come out as it stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges import git
from gitfed.edges.git.history import CommitInfo
from gitfed.edges.state import state as state_edge
from gitfed.errors import InputError, NothingDecided, RevisionNotFound, SourceError
from gitfed.model.base import Body, ClusterName, Commit, ObjectKey, key_from
from gitfed.model.decisions import Decision, Share
from gitfed.model.operator_orders import CLUSTER, EVERYTHING
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import inputs, state_inputs
from gitfed.planning.review import events as happened
from gitfed.planning.review.events import BindingEvent
from gitfed.source import repo as source
from gitfed.text import yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

_STATE = "state.yaml"
_CLUSTER = ("cluster.karmada.io", "Cluster", "")
_FEDERATION = ("gitfed.io", "Federation", "")
"""Whose events these are, without the name."""


@dataclass(frozen=True, slots=True)
class StateLogEntry:
    """One commit of the state branch."""

    commit: Commit
    parent: Commit | None
    when: datetime
    what: str
    """`Decide for 3f2c1a9…`, or what a person ordered."""
    act: Act | None
    """None: what a person ordered."""
    named: str
    """The commit that it is about, also where that is not here; "" of an order."""
    source: Commit | None
    """The same, as far as it is here."""
    reasons: tuple[str, ...]
    facts: str
    """Commit of the facts branch, "" when other facts were used."""

    @property
    def decides(self) -> bool:
        return self.act is Act.DECIDED


class Chronicle:
    """Reads one repository's state branch."""

    def __init__(self, opened: inputs.Opened, repo: RepoSnapshot, source: git.Repository | None = None) -> None:
        """`source` has the commits that were decided for, if it is another repository.

        Raises NothingDecided when there is no state branch, RevisionNotFound when there may be one elsewhere.
        """
        self.opened = opened
        self._repository = opened.repository
        self._source = source or opened.repository
        self._federation = repo.settings.metadata.name
        self.branch = repo.settings.spec.state.branch
        self.state = state_edge.StateBranch(opened.repository, bindings, branch=self.branch)
        tip = state_inputs.standing(opened, repo).commit
        if tip is None:
            raise self._absent(repo.settings.spec.state.url)
        self.tip = tip

    def _absent(self, url: str | None) -> RevisionNotFound:
        message = f"nothing was decided yet: there is no branch {self.branch}"
        elsewhere = url or ("origin" if self._repository.remote_url("origin") is not None else "")
        if not elsewhere:
            return NothingDecided(message, hint="gitfed apply or gitfed run decides, and writes it")
        # A branch of one's own would stand still at the next plain fetch.
        refspec = f"+{self.branch}:" + (self.branch if url else f"refs/remotes/origin/{self.branch}")
        return RevisionNotFound(f"{message}, or it was not fetched", hint=f"git fetch {elsewhere} {refspec}")

    def entries(self, *, limit: int, key: ObjectKey | None = None, applied: bool = False) -> list[StateLogEntry]:
        """Newest first; with `key` only what changed its binding, and, with `applied`, what was rolled out."""
        paths = [bindings.path_of(key), *([_STATE] if applied else [])] if key is not None else []
        return [self._entry(info) for info in self._repository.log(self.tip, limit=limit, paths=paths)]

    def gone(self) -> list[ObjectKey]:
        """Objects that something was decided for, and that have no binding any more."""
        present = self._repository.entries(self.tip)
        paths = (path for path in self._repository.deleted(self.tip, "bindings") if path not in present)
        return [key for key in map(bindings.key_of_path, paths) if key is not None]

    def removed(self, key: ObjectKey) -> StateLogEntry | None:
        """The commit that ended what was decided for an object: no copy of it was left. None: it did not end."""
        if bindings.path_of(key) in self._repository.entries(self.tip):
            return None
        return next(iter(self.entries(limit=1, key=key)), None)

    def events(
        self, *, limit: int, key: ObjectKey | None = None
    ) -> Iterator[tuple[StateLogEntry, ObjectKey, BindingEvent]]:
        """What happened in the last `limit` commits (with `key`: in those that concern its binding), newest first.

        What is held is told of clusters, also of objects that have no binding any more; who let it through, of the
        federation; and what people order, of what they named.
        """
        for entry in self.entries(limit=limit, key=key, applied=True):
            for of, event in self.events_of(entry, key):
                yield entry, of, event

    def events_of(self, entry: StateLogEntry, key: ObjectKey | None = None) -> Iterator[tuple[ObjectKey, BindingEvent]]:
        """What happened in one commit, which does not change: who asks often remembers it."""
        after = self._records(entry.commit)
        before = self._records(entry.parent) if entry.parent is not None else {}
        state, was = after.pop(_STATE, ""), before.pop(_STATE, "")
        if state != was:
            documents = self._document(was), self._document(state)
            for event in happened.held_between(*documents) if key is None else ():
                yield ObjectKey(*_CLUSTER, event.cluster), event
            for event in happened.approved_between(*documents) if key is None else ():
                yield ObjectKey(*_FEDERATION, self._federation), event
            for name, event in happened.ordered_between(*documents):
                of = self._ordered(name)
                if key in (None, of):
                    yield of, event
            for of, event in self._rolled_out(*documents):
                path = bindings.path_of(of)
                if key in (None, of) and (path in before or path in after):
                    yield of, event
        paths = before.keys() | after.keys()
        for path in sorted(paths if key is None else {bindings.path_of(key)} & paths):
            if after.get(path) == before.get(path):
                continue
            old, new = self._document(before.get(path, "")), self._document(after.get(path, ""))
            try:
                of = bindings.from_document(new or old or {}).key
            except InputError:
                continue  # edited by hand and broken
            for event in happened.between(old, new):
                yield of, event

    def _ordered(self, name: str) -> ObjectKey:
        """What an order is about: an object, a cluster, or all of the federation."""
        if name == EVERYTHING:
            return ObjectKey(*_FEDERATION, self._federation)
        if name.startswith(CLUSTER):
            return ObjectKey(*_CLUSTER, ClusterName(name.removeprefix(CLUSTER)))
        return key_from(name)

    def _rolled_out(
        self, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
    ) -> Iterator[tuple[ObjectKey, BindingEvent]]:
        """Templates that differ between the commit that was applied before, and the one that is now."""
        commits = [str((document or {}).get("appliedCommit") or "") for document in (before, after)]
        if commits[0] == commits[1] or not all(commits):
            return
        try:
            old, new = map(Commit, commits)  # they stand there in full
            changed = self._repository.differences(old, new)
        except SourceError:
            return  # a history that was rewritten, or a shallow clone
        if changed:
            sides = [self._templates(commit, changed) for commit in (old, new)]
            for key in sorted(sides[0].keys() | sides[1].keys()):
                event = happened.template_between(sides[0].get(key), sides[1].get(key), new)
                if event is not None:
                    yield key, event

    def _templates(self, commit: Commit, paths: Iterable[str]) -> dict[ObjectKey, Body]:
        """The objects of these files alone. What Kustomize builds is not among them."""
        part = git.PartOfTree(self._repository, commit, tuple(self._repository.some(commit, paths).values()))
        return {key: manifest.body for key, manifest in source.read(part).manifests.items()}

    def _records(self, commit: Commit) -> dict[str, str]:
        """Blob ids by path: of the bindings, and of the state."""
        listing = self._repository.entries(commit)
        return {
            path: entry.blob_id for path, entry in listing.items() if path.startswith("bindings/") or path == _STATE
        }

    def _document(self, blob: str) -> Mapping[str, Any] | None:
        if not blob:
            return None
        try:
            (document,) = yaml.load_all(self._repository.read(blob))
        except (YamlError, ValueError):
            return None
        return document if isinstance(document, Mapping) else None

    def find(self, name: str) -> StateLogEntry:
        """The commit of the state branch that `name` means, or the newest that decided for the source commit `name`.

        "" means the newest that decided anything. Raises RevisionNotFound.
        """
        commit = self._repository.resolve(name) if name else None
        recent = self.entries(limit=10_000)
        for entry in recent:
            if entry.decides and (commit is None or commit in (entry.commit, entry.source)):
                return entry
        if any(entry.commit == commit for entry in recent):
            raise RevisionNotFound(
                f"{name} of {self.branch} decides nothing", hint="gitfed log shows what each commit did"
            )
        what = f"was decided for {name}" if name else "was decided"
        raise RevisionNotFound(f"nothing {what}, as far as {self.branch} tells")

    def _entry(self, info: CommitInfo) -> StateLogEntry:
        told = state_commits.read(info.subject, info.body)
        source = None
        if told.commit:
            try:
                source = self._source.resolve(told.commit)
            except RevisionNotFound:
                source = None  # a history that was rewritten, or a shallow clone
        return StateLogEntry(
            commit=info.commit,
            parent=info.parents[0] if info.parents else None,
            when=info.when,
            what=info.subject.removesuffix(state_commits.SKIP),
            act=told.act,
            named=told.commit,
            source=source,
            reasons=told.reasons,
            facts=told.facts,
        )

    # -- blame --------------------------------------------------------------------------------------------------

    def blame(self, key: ObjectKey) -> list[Blame]:
        """For each cluster of the newest decision: since which commit of the branch it has its share.

        Nothing for one that is gone. Raises RevisionNotFound when nothing was ever decided for it.
        """
        path = bindings.path_of(key)
        versions = self._repository.last_commits_of(path, self.tip, limit=1000)
        decisions = list(self._versions(versions))
        if not decisions:
            raise RevisionNotFound(f"nothing is decided for {key}", hint="gitfed get bindings lists what is")
        if self.removed(key) is not None:
            return []
        newest = decisions[0][1]
        infos = {entry.commit: entry for entry in self.entries(limit=10_000, key=key)}
        blames = []
        for share in newest.scheduled.shares:
            since = 0
            while since + 1 < len(decisions) and _has(decisions[since + 1][1], share):
                since += 1
            before = decisions[since + 1][1] if since + 1 < len(decisions) else None
            entry = infos.get(decisions[since][0]) or self._entry(self._repository.info(decisions[since][0]))
            previous = self._previous(entry)
            blames.append(Blame(share, _share_in(before, share.cluster), entry, previous, self._moved(entry, previous)))
        return blames

    def _versions(self, versions: list[tuple[Commit, str]]) -> Iterator[tuple[Commit, Decision]]:
        for commit, blob in versions:
            try:
                (document,) = yaml.load_all(self._repository.read(blob))
                if isinstance(document, Mapping):
                    yield commit, bindings.from_document(document)
            except (YamlError, InputError, ValueError):
                continue  # edited by hand and broken: the version before it tells

    def _previous(self, entry: StateLogEntry) -> StateLogEntry | None:
        """The decision before this one, of whatever binding."""
        if entry.parent is None:
            return None
        for info in self._repository.log(entry.parent, limit=50):
            earlier = self._entry(info)
            if earlier.decides:
                return earlier
        return None

    def _moved(self, entry: StateLogEntry, previous: StateLogEntry | None) -> tuple[ClusterName, ...]:
        """Clusters whose facts differ from those of the decision before."""
        if previous is None or not entry.facts or not previous.facts or entry.facts == previous.facts:
            return ()
        try:
            old, new = (self._repository.entries(Commit(commit)) for commit in (previous.facts, entry.facts))
        except SourceError:
            return ()  # facts are kept for a week, and longer only where a decision cites them
        paths = {path for path in old.keys() | new.keys() if path.startswith("clusters/")}
        return tuple(
            sorted(
                path.removeprefix("clusters/").removesuffix(".yaml")
                for path in paths
                if (old[path].blob_id if path in old else "") != (new[path].blob_id if path in new else "")
            )
        )


@dataclass(frozen=True, slots=True)
class Blame:
    share: Share
    before: Share | None
    """What the cluster had until then; None: nothing."""
    entry: StateLogEntry
    previous: StateLogEntry | None
    moved: tuple[ClusterName, ...]
    """Clusters whose facts are others than in the decision before."""

    @property
    def same_source(self) -> bool:
        """The files did not change: facts or time did."""
        return self.previous is not None and self.previous.source == self.entry.source


def _has(decision: Decision, share: Share) -> bool:
    return share in decision.scheduled.shares


def _share_in(decision: Decision | None, cluster: ClusterName) -> Share | None:
    return (
        next((share for share in decision.scheduled.shares if share.cluster == cluster), None)
        if decision is not None
        else None
    )
