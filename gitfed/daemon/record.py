"""What is remembered between runs: opening, rebuilding and writing the state.

Three questions stand here. *Is there a state?* If the branch is missing, inventories in the clusters tell what runs
where, and the state is rebuilt from them; while one of them cannot be read, nothing moves. *Whose fleet is it?* The
repository id is made with the branch's first commit and written into every inventory. *What changed?* One commit per
cycle that changed something, pushed with compare-and-swap; who waits for the push, and how long, is
`daemon.push_queue`'s answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gitfed import errors
from gitfed.documents import state_commits
from gitfed.documents.state_commits import Message
from gitfed.edges import git
from gitfed.edges.state import state as state_edge
from gitfed.model.base import ClusterName, Commit, ObjectKey, Origin, Problem, Severity
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import InventoryEntry
from gitfed.model.repo import HeldFile
from gitfed.planning import rebuild
from gitfed.reading.state_trust import StateTrust

log = logging.getLogger("gitfed.record")

_MOST_OTHERS = 100
"""Commits of others that are looked at, the newest ones."""


class Record:
    """The state branch of one daemon. Methods block. The cycle calls them from a thread, one at a time; `exchange`, the
    only one that asks another repository besides `load`, runs beside the others (`daemon.push_queue`)."""

    def __init__(
        self,
        branch: state_edge.StateBranch,
        *,
        url: str | None,
        push: bool,
        alone: bool = True,
        pushed: Callable[[], None] = lambda: None,
        trust: StateTrust | None = None,
    ) -> None:
        """`pushed` hears of every push that was taken. `alone`: what the other side does not take is acted upon all the
        same, and told later. A daemon has to; a command that acts once must not, for another process goes on from
        there. `trust` None: every author of the branch is believed."""
        self._branch = branch
        self._alone = alone
        self._told = pushed
        self.trust = trust
        self._url = url if push else None
        self._pushed: Commit | None = None
        """Where the branch stands on the other side, as far as we know."""
        self._tried: Commit | None = None
        """What was pushed last, or refused."""
        self._refused = False
        """The last push failed."""
        self.away = False
        """The other side gave no answer, or asked to be left alone: it may answer the next time."""
        self.state = state_edge.BranchState(None, Decisions(known=False))

    @property
    def clone(self) -> Path:
        """The repository that our branch is in."""
        return self._branch.repository.path

    @property
    def shared(self) -> bool:
        """Whether there is another side that takes our pushes: it is told, and asked, by `exchange`."""
        return self._url is not None and (self.away or not self._refused)

    @property
    def insists(self) -> bool:
        """Whether nothing is to be done that the other side has not taken: others decide from what it has."""
        return not self._alone and self._pushed is not None

    @property
    def only_here(self) -> bool:
        """Whether the other side, asked by `load`, has no such branch although we have one and would push it."""
        return self._url is not None and not self.away and self._pushed is None and self.state.commit is not None

    def load(self) -> Decisions:
        """Read the newest state, from the other side first. Raises StateTooNew, StateNotBelieved.

        What was decided here and not pushed stays, also beside an order that a person pushed meanwhile: no other
        process knows of it.
        """
        if self.trust is not None:
            self.trust.left_out = ""
        if self._url and self.trust and self.trust.doubts(self._branch.repository, self._branch.head()):
            self._branch.forget()
        ours, before = self._branch.head(), self._pushed
        if self._url:
            try:
                self._pushed = self._branch.pull(self._url, keep=True, believed=self._believed)
            except errors.StateNotBelieved:
                raise
            except errors.SourceError as error:
                if not self._alone:
                    raise
                log.warning("the state branch could not be fetched", extra={"error": str(error)})
                self.away = True
        self.state = self._branch.read()
        self._tried = self._pushed or self.state.commit
        decisions = self.state.decisions
        problems = (*decisions.problems, *self._left_out(), *self._others(before, ours))
        self.state = replace(self.state, decisions=replace(decisions, problems=problems, doubtful=self._doubtful(ours)))
        return self.state.decisions

    def _left_out(self) -> Iterator[Problem]:
        """What was pushed and does not count: it is named until the branch is read the next time."""
        why = self.trust.left_out if self.trust is not None else ""
        if why:
            place = Origin(self._branch.ref.removeprefix("refs/heads/"))
            hint = "orders count if one of spec.guards.operators or approvers signs them"
            yield Problem(place, f"what was pushed here is left out: {why}", hint, Severity.WARNING)

    def _others(self, before: Commit | None, ours: Commit | None) -> Iterator[Problem]:
        """That another daemon, or a person's `gitfed apply`, decides for this repository while we do. `before`: where
        the other side stood when we read or pushed it last, so what came since is not ours."""
        theirs, repository = self._pushed, self._branch.repository
        if not self._alone or before is None or theirs is None or theirs == before:
            return
        base = ours if ours is not None and repository.is_ancestor(ours, theirs) else before
        for logged in repository.log(theirs, limit=_MOST_OTHERS, since=base):
            if state_commits.read(logged.subject, logged.body).act is not None:
                place = Origin(self._branch.ref.removeprefix("refs/heads/"))
                hint = "run one daemon for a repository, or give each of them --leader-elect"
                message = f"another gitfed decides here, too: commit {logged.commit[:12]}"
                yield Problem(place, message, hint, Severity.WARNING)
                return

    def _doubtful(self, ours: Commit | None) -> frozenset[tuple[ObjectKey, ClusterName]]:
        """Evictions that are not in `ours`, what we had before, and that no person ordered: another engine wrote them,
        or an old state was pushed again. They count if something is behind them (`placement.failover.eviction`)."""
        tasks = _evictions(self.state.decisions)
        tip = self.state.commit
        if not tasks or tip is None or tip == ours:
            return frozenset()
        if ours is not None:
            tasks -= _evictions(self._branch.at(ours, {key for key, _ in tasks}).decisions)
        return frozenset(eviction for eviction in tasks if not self._is_ordered(tip, *eviction))

    def _is_ordered(self, tip: Commit, key: ObjectKey, cluster: ClusterName) -> bool:
        """Whether the commit that brought an eviction is a person's."""
        brought = self._branch.brought(tip, key, cluster)
        if brought is None:
            return False
        if self.trust is not None and self.trust.is_engines(self._branch.repository, brought):
            return False
        info = self._branch.repository.info(brought)
        return state_commits.read(info.subject, info.body).act is None

    def _believed(self, theirs: Commit, ours: Commit | None) -> Commit | None:
        return theirs if self.trust is None else self.trust.believed(self._branch.repository, theirs, ours)

    @property
    def differs(self) -> bool:
        """Whether the other side has something else than we do, after `load`, and takes our pushes."""
        return self.shared and self.state.commit is not None and self.state.commit != self._pushed

    def untold(self) -> Collection[ObjectKey]:
        """Whose decisions the other side does not have, after `load`."""
        if not self.differs:
            return ()
        return self._branch.news(self.state, self._pushed)

    def moved(self) -> bool:
        """Whether another process wrote the branch of our own clone since we last read or wrote it."""
        return self._branch.head() != self.state.commit

    def exchange(self) -> bool:
        """Tell the other side what it was not told; else ask whether another client (an approval, another daemon) wrote
        the branch there since we last read or pushed it.

        What could not be pushed because the server was away is pushed first. A missing answer is no error: the state
        is safe in our own clone. Raises StateConflict when another writer was first: load again and decide again.
        """
        if self._url is None:
            return False
        commit = self.state.commit
        if commit is not None and commit != self._pushed and (commit != self._tried or self.away):
            self._send(self._url, commit)
            return False
        if not self.shared:
            return False
        try:
            theirs = self._branch.tip(self._url)
        except errors.SourceError as error:
            if not self.away:
                log.warning("the state branch could not be fetched", extra={"error": str(error)})
            self.away = True
            return False
        self.away = False
        return theirs is not None and theirs != self._pushed

    def interrupt(self) -> None:
        """End what `exchange` is waiting for, now and later: the process stops, or another daemon leads."""
        self._branch.repository.interrupt(pushes=True)

    def rebuild(
        self,
        inventories: Mapping[ClusterName, tuple[str, Mapping[ObjectKey, InventoryEntry]] | None],
        api_versions: Mapping[ObjectKey, str],
    ) -> Decisions:
        """Decisions from what the clusters' inventories say.

        `inventories`: repository id and entries by cluster; None for a cluster that could not be read. The result is
        `known` unless an inventory that may hold something could not be read.
        """
        holding = {name: part for name, part in inventories.items() if part is not None and (part[0] or part[1])}
        unread = sorted(name for name, part in inventories.items() if part is None)
        if not holding:
            # A new fleet, as far as the inventories tell: an unreachable cluster delays only itself.
            identity = self.state.decisions.repository_id or state_edge.new_repository_id()
            self.state = replace(
                self.state, decisions=replace(self.state.decisions, repository_id=identity, known=True)
            )
            return self.state.decisions
        identities = {part[0] for part in holding.values() if part[0]}
        if len(identities) > 1:
            raise errors.StateError(
                f"the state branch is missing and the clusters' inventories name {len(identities)} repositories",
                hint="restore the state branch, or clean up the clusters that belong to another repository",
            )
        if unread:
            log.error("state is missing and an inventory cannot be read: nothing moves", extra={"clusters": unread})
            return replace(self.state.decisions, known=False)
        bindings = rebuild.decisions(((name, entries.values()) for name, (_, entries) in holding.items()), api_versions)
        decisions = Decisions(bindings=bindings, repository_id=identities.pop(), known=True)
        self.state = replace(self.state, decisions=replace(decisions, bindings={}))
        log.warning("state rebuilt from inventories", extra={"bindings": len(bindings), "clusters": sorted(holding)})
        return decisions

    def write(
        self,
        decisions: Decisions,
        *,
        results: Mapping[ClusterName, Mapping[str, Any]],
        held: tuple[HeldFile, ...],
        message: Message,
        now: datetime,
    ) -> Decisions:
        """Commit what changed, in our own clone; returns `decisions` as they are read from then on.

        Raises StateConflict when another writer was first: load again and decide again.
        """
        after = replace(self.state, decisions=decisions, results=results, held=held)
        self.state = self._branch.write(self.state, after, message, now=now)
        return replace(self.state.decisions, guards=decisions.guards, descends=decisions.descends)

    def _send(self, url: str, commit: Commit) -> None:
        self._tried = commit
        try:
            self._branch.push(url, expected=self._pushed, commit=commit)
        except errors.StateConflict:
            raise
        except errors.SourceError as error:
            if self.insists:
                raise
            # A read-only or absent source is no reason to stop: the state is safe in our own clone.
            if not self._refused:
                log.warning("the state branch could not be pushed", extra={"url": git.shown(url), "error": str(error)})
            self._refused, self.away = True, isinstance(error, errors.SourceUnreachable)
            return
        self._refused = self.away = False
        self._pushed = commit
        self._told()


def _evictions(decisions: Decisions) -> set[tuple[ObjectKey, ClusterName]]:
    return {
        (key, task.from_cluster) for key, decision in decisions.bindings.items() for task in decision.failover.evictions
    }
