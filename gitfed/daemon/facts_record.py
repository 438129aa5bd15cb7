"""The facts that decisions are taken from: kept on the facts branch, written when they are out of date.

What the members see is handed in each cycle; `placement.recorded_facts` says what of it is to be written. The planner
gets what was written, as it reads from the branch, and with it the name of the commit. If nothing can be pushed, the
commits of our own clone do as well: only others see older facts then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta

from gitfed import errors
from gitfed.edges.state.facts_branch import FactsBranch, FactsSnapshot
from gitfed.model.base import ClusterName, Commit
from gitfed.model.fleet import ClusterFacts, FactsRef
from gitfed.placement import recorded_facts
from gitfed.planning import contention
from gitfed.reading.state_trust import StateTrust

log = logging.getLogger("gitfed.facts")

SOURCE = "facts branch"
_AGAIN = timedelta(seconds=30)


class FactsRecord:
    """The facts branch of one daemon. Methods block; the cycle calls them from a thread, one at a time. `send`, the
    only one that speaks with another repository besides `load`, runs beside the others (`daemon.push_queue`)."""

    def __init__(
        self,
        branch: FactsBranch,
        *,
        url: str | None,
        push: bool,
        pushed: Callable[[], None] = lambda: None,
        trust: StateTrust | None = None,
    ) -> None:
        """`trust` None: every author of the branch is believed."""
        self._branch = branch
        self._told = pushed
        self._trust = trust
        self._url = url if push else None
        self._pushed: Commit | None = None
        self._tried: Commit | None = None
        """What was pushed last, or refused."""
        self._refused = False
        self._theirs = False
        """Facts of another writer have become ours: read them."""
        self._last_room: datetime | None = None
        self._settled: dict[ClusterName, ClusterFacts] = {}
        """What was compared with the present record, room included, and was not due: not compared again."""
        self._later: datetime | None = None
        self._sure: Commit | None = None
        """Facts that no workload was placed shortly before."""
        """There was no room to write; not tried again before."""
        self._kept: Commit | None = None
        self._kept_ref = ""
        self._ended_ref = ""
        """Of the branch as it was before it began anew; not pushed yet."""
        self.recorded = FactsSnapshot()

    @property
    def ref(self) -> FactsRef:
        """How a plan names these facts."""
        recorded = self.recorded
        return FactsRef(SOURCE, recorded.commit or "", recorded.when, recorded.digest)

    def load(self) -> Mapping[ClusterName, ClusterFacts]:
        """Read the newest facts, from the other side first."""
        if self._url is not None:
            try:
                self._pushed = self._branch.pull(self._url, believed=self._believed)
            except errors.SourceError as error:
                log.warning("the facts branch could not be fetched", extra={"error": str(error)})
        self._read()
        self._tried = self.recorded.commit
        self._last_room = self.recorded.when
        return self.recorded.facts

    def write(
        self,
        seen: Mapping[ClusterName, ClusterFacts],
        declared: Collection[ClusterName],
        now: datetime,
        decided: Callable[[], Iterable[datetime]] = tuple,
    ) -> bool:
        """Write what is due; whether anything was. Clusters that are not declared any more are taken out.

        `decided`: when workloads were placed. Facts that were taken within a minute after that count some of their
        pods, and it is unknown which: those placements are counted beside them (`planning.contention`). So these facts
        are written anew, even if nothing has changed, as soon as facts of room may be.

        Never raises for what the other side does: a conflict is read, and written over with the next call.
        """
        if self._theirs:
            self._theirs = False
            self._read()
        before = self.recorded
        open_ = {name: facts for name, facts in seen.items() if self._settled.get(name) is not facts}
        due = recorded_facts.due(before.facts, open_, last_room=self._last_room, now=now)
        if recorded_facts.is_rested(self._last_room, now):
            self._settled.update(open_)
        gone = [name for name in before.facts if name not in declared]
        for name in gone:
            self._settled.pop(name, None)
        again = recorded_facts.is_rested(self._last_room, now) and self._doubtful(before, now, decided)
        if again:
            due = {name: recorded_facts.written(facts) for name, facts in seen.items()}
        if not due and not gone:
            return False
        if self._later is not None and now < self._later:
            return False
        try:
            self.recorded = self._branch.write(before, due, gone, now=now, again=again)
            self._later = None
        except errors.CloneUnwritable as error:
            # Decisions go on being taken from the facts that are written; new ones come when there is room.
            if self._later is None:
                log.warning("the facts branch cannot be written", extra={"error": str(error)})
            self._later = now + _AGAIN
            return False
        except errors.StateConflict as error:
            log.warning("the facts branch moved: reading it again", extra={"error": str(error)})
            self._read()
            return False
        if again or any(_tells_room(before.facts.get(name), facts) for name, facts in due.items()):
            self._last_room = now
        if self.recorded.since != before.since and self._kept_ref:
            self._ended_ref, self._kept_ref = self._kept_ref, ""
        return self.recorded is not before

    def _doubtful(self, before: FactsSnapshot, now: datetime, decided: Callable[[], Iterable[datetime]]) -> bool:
        when = before.when
        if when is None or now < when + contention.IN_FLIGHT or self._sure == before.commit:
            return False
        tells_room = any(facts.resource_summary is not None for facts in before.facts.values())
        if tells_room and any(when - contention.IN_FLIGHT < moment <= when for moment in decided()):
            return True
        self._sure = before.commit
        return False

    def cite(self) -> None:
        """A decision was recorded that names the present facts."""
        if self.recorded.commit is not None and self.recorded.commit != self._kept:
            self._kept_ref = self._branch.keep(self.recorded)
            self._kept = self.recorded.commit

    @property
    def unsent(self) -> bool:
        """Whether there is something to push that was not tried yet."""
        return self._url is not None and self.recorded.commit is not None and self.recorded.commit != self._tried

    def send(self) -> None:
        """Push what is written. Never raises for what the other side does; a conflict is read by the next `write`."""
        url, commit = self._url, self.recorded.commit
        if url is None or commit is None:
            return
        self._tried = commit
        ended, self._ended_ref = self._ended_ref, ""
        try:
            if ended:
                self._branch.push(url, ended, expected=self._branch.tip(url, ended))
            self._branch.push(url, expected=self._pushed, commit=commit)
            self._pushed, self._refused = commit, False
            self._told()
        except errors.StateConflict as error:
            log.warning("another client wrote the facts branch", extra={"error": str(error)})
            self._take_over()
        except errors.SourceError as error:
            if not self._refused:
                log.warning("the facts branch could not be pushed", extra={"error": str(error)})
            self._refused, self._ended_ref = True, ended

    def _take_over(self) -> None:
        """Theirs becomes ours; what we see differently is due again with the next cycle."""
        assert self._url is not None
        try:
            self._pushed = self._branch.pull(self._url, believed=self._believed)
        except errors.SourceError as error:
            log.warning("the facts branch could not be fetched", extra={"error": str(error)})
            return
        self._theirs = True

    def _believed(self, commit: Commit) -> bool:
        return self._trust is None or self._trust.believes_facts(self._branch.repository, commit)

    def _read(self) -> None:
        self.recorded = self._branch.read()
        self._settled.clear()


def _tells_room(before: ClusterFacts | None, after: ClusterFacts) -> bool:
    return before is not None and (
        (before.resource_summary, before.nodes, before.quotas) != (after.resource_summary, after.nodes, after.quotas)
    )
