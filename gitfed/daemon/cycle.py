"""★ The loop: fetch → read → observe → build → gate → roll out → record.

One engine for `gitfed run`, `gitfed apply` and `gitfed demo`. It is woken by a push, by something seen in a cluster, by
a cluster coming or going, or by the clock; whatever woke it, one cycle looks at the present state of everything and
hands every cluster its present list of changes. What changed is all that a cycle costs: parsed files, placed
templates and rendered manifests are remembered (`change.build.Memo`), and an unchanged object is not even compared.

The roll-out itself goes on in the clusters' workers while the loop sleeps or turns again; a cycle never waits for a
cluster. The state commit of a cycle whose placement changed is pushed *before* its changes are handed over.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitfed import errors
from gitfed.change import build, gate
from gitfed.daemon import facts, planner, story
from gitfed.daemon.answers import Answers
from gitfed.daemon.asking import Asking
from gitfed.daemon.descheduler import Descheduler
from gitfed.daemon.facts_record import FactsRecord
from gitfed.daemon.fleet import Fleet, Options
from gitfed.daemon.member import look_for
from gitfed.daemon.reader import Reader
from gitfed.daemon.record import Record
from gitfed.daemon.statuses import Statuses
from gitfed.edges.kube.session import Session
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, Commit, ObjectKey, Severity
from gitfed.model.decisions import Approval, ClusterRecord, Decisions
from gitfed.model.declared import federation
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts, FleetSnapshot, LiveState, Reach
from gitfed.model.orders import Removal
from gitfed.model.plan import Action, Change, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.model.webhook import Find

log = logging.getLogger("gitfed.cycle")

_BUSY = 1.0
"""Seconds between two cycles while a roll-out is under way and nobody pushes."""
_HOLD = 2.0
"""Seconds that the backlog waits at most while a push is read and planned."""
_FIRST_LOOK = 15.0
"""Seconds that the first cycle waits for every cluster's first look, well or badly."""
_MOST_UNFINISHED = 100
"""Objects of a cluster that the state names one by one."""
_AGAIN = 5.0
"""Seconds until writing down is tried again when there was no room for it."""
_PATIENCE = 2.0
"""Seconds that one cycle waits for webhooks in all."""
_CALM = 0.05
"""Seconds between two cycles that only clusters woke: their own events come in swarms."""


@dataclass(slots=True)
class CycleReport:
    """What one cycle found and did; what has become of it is in `Engine.results`."""

    plan: Plan
    handed_over: int
    recorded: bool
    took: float
    """seconds"""


class Engine:
    """Give it a reader of commits, a record and a way to open sessions; `run` it until it is cancelled."""

    def __init__(
        self,
        reader: Reader,
        record: Record,
        open_session: Callable[[Cluster], Session],
        interpreter: Callable[[RepoSnapshot, Find], Interpreter],
        options: Options | None = None,
        *,
        facts_record: FactsRecord | None = None,
        review: Callable[[Plan], None] | None = None,
        listener: Callable[[str, Any], None] = lambda event, value: None,
    ) -> None:
        """`facts_record` None: decisions are taken from what is seen, and nothing of it is written down. `review` gets
        the first plan before anything of it is recorded or carried out, and stops the engine by an exception.

        `interpreter` makes what knows the kinds of a commit; what webhooks answered is looked up with its second
        argument.
        """
        self.options = options or Options()
        self.plan: Plan | None = None
        self.repo: RepoSnapshot | None = None
        self.decisions = Decisions(known=False)
        self.last_cycle: float = 0.0
        """time.monotonic() of the last finished cycle: what the liveness endpoint looks at."""
        self.source_error = ""
        self.trouble: errors.SourceError | None = None
        """Why nothing can be recorded, and so nothing new is done; None when it can."""
        self.rejected = ""
        """Why the newest commit is not acted upon; "" when it is."""
        self.rejected_commit: Commit | None = None
        self.reader = reader
        self._record = record
        self._facts = facts_record
        self._known: Mapping[ClusterName, ClusterFacts] = {}
        self._interpreter = interpreter
        self._interpreters: tuple[object, Interpreter] | None = None
        self._review = review
        self._listener = listener
        self._memo = build.Memo()
        self._wake = asyncio.Event()
        self.fleet = Fleet(open_session, self.options, self._wake.set, listener)
        self.statuses = Statuses(self.fleet, self.options.now)
        self._descheduler = Descheduler(
            self.fleet,
            lambda: self.repo.settings.spec.scheduling if self.repo is not None else None,
            self.options.now,
            self._wake.set,
        )
        self._answers = Answers()
        self._asking = Asking(self._answers, self._wake.set)
        self._look_at_source = True
        self._urgent: set[ObjectKey] = set()
        self._approvals: list[Approval] = []
        self._refused = ""
        self._trailers: Commit | None = None
        """The commit whose trailers were read."""
        self._descends: tuple[tuple[Commit | None, Commit] | None, bool] = (None, True)
        self._opened = False
        self._turning = False

    # -- events -------------------------------------------------------------------------------------------------

    def source_changed(self) -> None:
        self._look_at_source = True
        self._wake.set()

    def approve(self, approval: Approval) -> None:
        """Let the held changes of exactly one plan through."""
        self._approvals.append(approval)
        self._wake.set()

    # -- the loop -----------------------------------------------------------------------------------------------

    async def run(self, *, poll: Callable[[], float] = lambda: 60.0) -> None:
        """Turn until cancelled. `poll` gives the seconds until a remote is asked again."""
        self._asking.start()
        descheduling = asyncio.create_task(self._descheduler.run(), name="descheduler")
        try:
            while True:
                if descheduling.done():
                    descheduling.result()
                self._wake.clear()
                report = await self.turn()
                if self.trouble is not None:
                    await asyncio.sleep(_AGAIN)  # whatever happens meanwhile: it would only fail again
                    continue
                if report is not None:
                    await self._calm(min(_BUSY, max(_CALM, 3 * report.took)))
                seconds = poll()
                due = self._falls_due()
                await self._sleep(seconds if due is None else min(seconds, due))
                if not self._wake.is_set() and (due is None or due >= seconds):
                    self._look_at_source = True
        finally:
            descheduling.cancel()
            await self._asking.close()
            await self.fleet.close()

    async def _calm(self, seconds: float) -> None:
        """Let swarms of events become one cycle: while clusters are busy with this plan, theirs tell us little."""
        end = time.monotonic() + seconds
        latest = time.monotonic() + _BUSY
        while not self._look_at_source and time.monotonic() < (latest if self.fleet.busy() else end):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    def _falls_due(self) -> float | None:
        """Seconds until something has to be decided although nothing happens: a taint, an eviction, a timeout."""
        if self.plan is None or self.plan.look_again is None or not self.decisions.known:
            return None
        return max(_CALM, (self.plan.look_again - self.options.now()).total_seconds())

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def turn(self) -> CycleReport | None:
        """One cycle. None when there is nothing to plan from: no commit could be read yet."""
        started = time.monotonic()
        self._turning = True
        try:
            return await self._turn(started)
        except errors.StateConflict as error:
            log.warning("the state moved: reading it again", extra={"error": str(error)})
            self._opened = False
            self._wake.set()
            return None
        except errors.SourceError as error:
            # A full disk, most likely. Nothing was handed over: what is not written down must not be done.
            if str(error) != str(self.trouble):
                log.error("what is decided cannot be recorded: nothing new is done", extra={"error": str(error)})
            self.trouble = error
            return None
        finally:
            self._turning = False
            self.last_cycle = time.monotonic()

    async def _turn(self, started: float) -> CycleReport | None:
        before = self.repo
        repo = await self._fetch_and_read()
        if repo is None:
            return None
        if not self._opened:
            # Before any member starts: what the state remembers tells whether an inventory is damaged.
            self.decisions = await asyncio.to_thread(self._record.load)
            if not await self._still_accepted(repo):
                return None
            self.statuses.loaded(self.decisions.statuses)
            self._answers.remember(self.decisions.answers)
            if self._facts is not None:
                self._known = await asyncio.to_thread(self._facts.load)
        self.fleet.match(
            repo,
            repository_id=lambda: self.decisions.repository_id,
            remembered=self._remembered,
            claimed=self._opened and self.decisions.known,
            known=self._known,
            capacity=facts.reads_capacity(repo),
        )
        if not self._opened:
            await self._open(repo)
        if self._opened:
            await self._accept(repo)
        await self.fleet.measured(_FIRST_LOOK)
        if self._review is not None:
            if self.fleet.starting():
                return None  # a cluster that will be there in a moment would look like one that cannot be read
            await look_for(self.fleet.members.values(), repo.manifests)
        in_use = frozenset(name for name, member in self.fleet.members.items() if member.ready.is_set())
        fleet = await self._from_record(repo, self.fleet.snapshot(repo))
        interpreter = self._interpreter_of(repo)
        decisions = await self._decisions_for(repo)
        trimmed, taken_back = self._descheduler.take_back(decisions)
        ready = time.monotonic()
        plan = await self._build(repo, fleet, trimmed, interpreter)
        built = time.monotonic()
        if self._review is not None:
            self._review(plan)
            self._review = None
        self.plan = plan
        self.fleet.follow(plan, interpreter)
        if before is not None and before is not repo:
            self._urgent |= _touched(before, repo)
        for key, message in taken_back.items():
            moved = key in plan.bindings and plan.bindings[key].shares != decisions.bindings[key].targets
            log.info("replicas found no node", extra={"object": str(key), "what": message, "moved": moved})
        recorded = await self._record_decisions(plan, decisions, fleet.live)
        told = time.monotonic()
        handed = self.fleet.hand_over(plan, self._urgent)
        self._urgent.clear()
        if await self.statuses.update(plan, repo, interpreter) and self.fleet.quiet():
            self._wake.set()
        await self._record_results(plan, in_use)
        if self.trouble is not None:
            log.info("what is decided can be recorded again")
            self.trouble = None
        report = CycleReport(plan, handed, recorded, time.monotonic() - started)
        self._listener("cycle", report)
        if handed or recorded or before is not repo:
            totals = plan.totals
            log.info(
                "cycle finished",
                extra={
                    "commit": plan.commit[:12],
                    "create": totals.create,
                    "update": totals.update,
                    "move": totals.move,
                    "delete": totals.delete,
                    "skip": totals.skip,
                    "held": sum(one.held for one in plan.gates),
                    "problems": len(plan.problems),
                    "took": round(report.took, 3),
                    "build": round(built - ready, 3),
                    "record": round(told - built, 3),
                },
            )
        return report

    # -- fetch, read --------------------------------------------------------------------------------------------

    async def _fetch_and_read(self) -> RepoSnapshot | None:
        if not self._look_at_source and self.repo is not None:
            return self.repo
        self._look_at_source = False
        try:
            commit = await asyncio.to_thread(self.reader.newest)
            if self._opened and await asyncio.to_thread(self._record.moved):
                log.info("the state branch was changed by somebody else: reading it again")
                self._opened = False
            if self.repo is None or commit != self.repo.commit:
                self.fleet.hold(_HOLD)
                held = {one.path: one for one in (self.repo.held if self.repo is not None else self._record.state.held)}
                repo = await planner.aside(self.reader.read, commit, self.decisions.applied_commit, held)
                keys = await asyncio.to_thread(self.reader.trust.unusable_keys, commit, repo.settings)
                if self._usable(repo, keys):
                    self.repo = repo
            self._tell_refused(self.reader.refused)
            if self.source_error:
                log.info("the repository can be read again", extra={"commit": commit})
            self.source_error = ""
        except errors.SourceError as error:
            # The last good commit stays in force: drift is still repaired, nothing is deleted.
            if str(error) != self.source_error:
                log.error("the repository cannot be read", extra={"error": str(error)})
            self.source_error = str(error)
            self._listener("source-error", error)
        return self.repo

    def _tell_refused(self, why: str) -> None:
        """The newest commit is not signed as it must be. `_usable` has its own reasons, about the commit it read."""
        if why and why != self.rejected:
            log.error("commit waits", extra={"commit": why[:12], "reason": why})
            self._listener("rejected", why)
        if why or self._refused:
            self.rejected = why
        self._refused = why

    async def _still_accepted(self, repo: RepoSnapshot) -> bool:
        """A daemon that remembers no accepted commit read the newest before it read the state, which names one."""
        trust = self.reader.trust
        if trust.base is not None:
            return True
        trust.begin_at(self.decisions.applied_commit)
        try:
            why = await asyncio.to_thread(trust.why_not, repo.commit)
        except errors.SourceError as error:
            why = str(error)
        if why:
            self._tell_refused(why)
            self.repo = None
        return not why

    async def _accept(self, repo: RepoSnapshot) -> None:
        """From now on this commit's settings say who may sign the next one."""
        try:
            await asyncio.to_thread(self.reader.trust.accept, repo.commit, repo.settings)
        except errors.SourceError as error:
            log.warning("the accepted commit cannot be remembered", extra={"error": str(error)})

    def _usable(self, repo: RepoSnapshot, keys: str) -> bool:
        for one in repo.held:
            if self.repo is None or one not in self.repo.held:
                log.warning("file held at its last good version", extra={"file": one.path, "commit": one.commit[:12]})
        wrong = [problem for problem in repo.problems if problem.severity is Severity.ERROR]
        for problem in wrong:
            log.error("problem", extra={"problem": str(problem), "commit": repo.commit[:12]})
        self.rejected = self._why_not(repo, len(wrong)) or keys
        self.rejected_commit = repo.commit if self.rejected else None
        if self.rejected:
            log.error("commit waits", extra={"commit": repo.commit[:12], "reason": self.rejected})
            self._listener("rejected", repo)
        return not self.rejected

    def _why_not(self, repo: RepoSnapshot, wrong: int) -> str:
        """Why a commit cannot be acted upon as a whole; the last one that could stays in force."""
        if federation.is_missing(repo.settings):
            return "it has no Federation: nobody says whose fleet this is"
        if self.repo is not None and repo.settings.metadata.name != self.repo.settings.metadata.name:
            return (
                f"it renames the federation {self.repo.settings.metadata.name} to {repo.settings.metadata.name}: "
                "every object would get another owner"
            )
        if wrong and repo.settings.spec.sync.on_invalid_file == "reject":
            return f"onInvalidFile is reject, and it has {wrong} problem{'s' if wrong > 1 else ''}"
        return ""

    def _remembered(self, cluster: ClusterName) -> int:
        """How many inventory entries the state says a cluster has at least.

        What was *carried out* counts, not what was decided: a roll-out that was cut short is no damage.
        """
        count = self._record.state.results.get(cluster, {}).get("objects", 0)
        return count if isinstance(count, int) else 0

    async def _from_record(self, repo: RepoSnapshot, fleet: FleetSnapshot) -> FleetSnapshot:
        """The snapshot with facts as they are written down, after writing what is due: decisions are taken from those.

        A cluster that nobody ever looked at has no written facts; it is unknown, as the snapshot says.
        """
        if self._facts is None:
            return fleet
        placed = self.decisions.bindings
        await asyncio.to_thread(
            self._facts.write, self.fleet.facts(), repo.clusters.keys(), self.options.now(),
            lambda: (one.last_scheduled for one in placed.values() if one.last_scheduled is not None),
        )  # fmt: skip
        self._known = self._facts.recorded.facts
        clusters = {name: self._known.get(name, seen) for name, seen in fleet.clusters.items()}
        return replace(fleet, facts=self._facts.ref, clusters=clusters)

    async def _build(
        self, repo: RepoSnapshot, fleet: FleetSnapshot, decisions: Decisions, interpreter: Interpreter
    ) -> Plan:
        """The plan, and again while webhooks answer quickly what the one before wanted to know.

        A slow webhook holds up nobody else's changes: its objects keep their last decision, and its answer wakes us.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            version = self._answers.version
            plan = await planner.plan(repo, fleet, decisions, interpreter, self.options.now(), self._memo)
            await self._asking.settle(end - time.monotonic())
            if self._answers.version == version or time.monotonic() >= end:
                return plan  # what came after `end` has set `_wake`

    # -- decide and record --------------------------------------------------------------------------------------

    async def _open(self, repo: RepoSnapshot) -> None:
        """Once the state was read: rebuild it from the clusters if it is lost, and claim their inventories."""
        decisions = self.decisions
        await self.fleet.looked(_FIRST_LOOK)
        if not decisions.known:
            inventories = {
                name: (member.inventory.snapshot.repository_id, member.entries())
                if member.inventory is not None and member.inventory.readable
                else None
                for name, member in self.fleet.members.items()
            }
            versions = {key: manifest.api_version for key, manifest in repo.manifests.items()}
            decisions = self._record.rebuild(inventories, versions)
        self.decisions = decisions
        self._approvals = list(decisions.approvals)
        if decisions.known:
            self._opened = True
            self.fleet.claim()

    async def _decisions_for(self, repo: RepoSnapshot) -> Decisions:
        applied = self.decisions.applied_commit
        if self._descends[0] != (applied, repo.commit):
            known = applied is None or await asyncio.to_thread(self.reader.is_ancestor, applied, repo.commit)
            self._descends = ((applied, repo.commit), known)
        if self.decisions.known and self._trailers != repo.commit:
            self._trailers = repo.commit
            await self._approve_by_trailer(repo.commit, applied)
        descends = self._descends[1]
        if descends != self.decisions.descends or tuple(self._approvals) != self.decisions.approvals:
            self.decisions = replace(self.decisions, descends=descends, approvals=tuple(self._approvals))
        return self.decisions

    async def _approve_by_trailer(self, commit: Commit, applied: Commit | None) -> None:
        if applied == commit:
            return
        try:
            granted, why_not = await asyncio.to_thread(self.reader.trust.approvals, commit, applied)
        except errors.SourceError as error:
            granted, why_not = (), str(error)
        if why_not:
            log.warning("approval by trailer does not count", extra={"commit": commit[:12], "reason": why_not})
        self._approvals += [one for one in granted if one not in self._approvals]

    async def _record_decisions(self, plan: Plan, decisions: Decisions, live: LiveState | None) -> bool:
        """Write what was decided before anything of it is carried out."""
        if not decisions.known:
            return False
        bindings = gate.decisions_to_record(plan.bindings, decisions, plan.changes or (), live)
        state = self._record.state
        approved = decisions.approvals == state.decisions.approvals
        clusters = not _is_news(plan.records, decisions.clusters) and plan.outage == decisions.outage
        results = self._after_deletions(state.results, plan)
        answers = await asyncio.to_thread(self._answers.in_use, plan.bindings)
        answered = answers == self.decisions.answers
        same = _same(bindings, decisions.bindings) and results == state.results
        if same and approved and clusters and answered and state.commit is not None:
            return False
        for sentence in plan.said:
            log.warning("failover", extra={"event": sentence})
        reasons = story.body(plan, decisions, bindings)
        self.decisions = await asyncio.to_thread(
            self._record.write,
            decisions,
            bindings,
            applied=decisions.applied_commit,
            results=results,
            approvals=decisions.approvals,
            subject=f"Decide for {plan.commit[:12]}",
            held=self.repo.held if self.repo is not None else (),
            answers=answers,
            reasons=reasons,
            now=plan.now,  # a replay builds for the time of the commit
            clusters=plan.records,
            outage=plan.outage,
        )
        self._answers.remember(self.decisions.answers)
        if self._facts is not None:
            await asyncio.to_thread(self._facts.cite)
        return True

    def _after_deletions(
        self, results: Mapping[ClusterName, Mapping[str, Any]], plan: Plan
    ) -> dict[ClusterName, Mapping[str, Any]]:
        """What the state says of each cluster, with no more objects than those that this plan does not delete.

        Written before the deletions begin: an inventory that then has fewer entries must not look damaged.
        """
        left = dict(results)
        for name, count in _deletions(plan).items():
            known, member = results.get(name, {}), self.fleet.members.get(name)
            if member is not None and member.ready.is_set() and isinstance(known.get("objects"), int):
                left[name] = {**known, "objects": min(known["objects"], max(0, len(member.entries()) - count))}
        return left

    async def _record_results(self, plan: Plan, in_use: frozenset[ClusterName]) -> None:
        """When every reachable cluster holds the commit, that is worth remembering.

        `in_use`: clusters that could be written to when this was planned. The plan says nothing of one that came since.
        """
        if not self.decisions.known or self.repo is None or not self.fleet.quiet():
            return
        results = dict(self._record.state.results)
        unwritten, deletions = _unwritten(plan), _deletions(plan)
        waiting = {change.cluster for change in self.waiting()}
        for name, member in self.fleet.members.items():
            if name not in in_use or not member.ready.is_set():
                comes = member.ready.is_set() or member.starting
                results[name] = {**results.get(name, {}), "outcome": "waiting" if comes else "unreachable"}
                continue
            failures = self.fleet.failures(name)
            unfinished = sorted({str(failure.key) for failure in failures} | unwritten.get(name, set()))
            outcome = "failed" if failures else "waiting" if name in waiting else "applied"
            objects = max(0, len(member.entries()) - deletions.get(name, 0))
            result = {"commit": str(plan.commit), "outcome": outcome, "objects": objects}
            if failures:
                result["failures"] = len(failures)
            if unfinished:
                result["unfinished"] = unfinished if len(unfinished) <= _MOST_UNFINISHED else ["*"]
            results[name] = result
        held = any(one.name == "history" and one.held for one in plan.gates)
        applied = self.decisions.applied_commit if held else plan.commit
        state = self._record.state
        same = (state.results, state.held, self.decisions.applied_commit) == (results, self.repo.held, applied)
        statuses = self.statuses.to_record(self.decisions.bindings, at_once=not same)
        removals = self._removals_left()
        if same and statuses is None and removals == self.decisions.removals:
            return
        for one in self.repo.held:
            await asyncio.to_thread(self.reader.keep, one)
        self.decisions = await asyncio.to_thread(
            self._record.write,
            self.decisions,
            self.decisions.bindings,
            applied=applied,
            results=results,
            approvals=self.decisions.approvals,
            subject=f"{'Status at' if same else 'Applied'} {plan.commit[:12]}",
            held=self.repo.held,
            reasons=tuple(f"{name}: {result['outcome']}" for name, result in sorted(results.items())),
            now=self.options.now(),
            statuses=statuses,
            removals=removals,
        )
        if not same:
            self._wake.set()

    def _removals_left(self) -> tuple[Removal, ...]:
        """Orders to delete an orphan that are not carried out yet; of a cluster that cannot be read nobody knows."""
        left = []
        for one in self.decisions.removals:
            member = self.fleet.members.get(one.cluster)
            unknown = member is None or not member.ready.is_set()
            seen = {} if member is None else member.objects()
            if unknown or any(str(key) == one.object and live.uid == one.uid for key, live in seen.items()):
                left.append(one)
        return tuple(left)

    # -- questions ----------------------------------------------------------------------------------------------

    def settled(self) -> bool:
        """The newest commit was planned, handed over and recorded, wherever that is possible now."""
        return (
            self.repo is not None
            and self.plan is not None
            and self.plan.commit == self.repo.commit
            and self.decisions.known
            and not self._turning
            and not self._wake.is_set()
            and not self._asking.busy()
            and not self.fleet.starting()
            and self.fleet.quiet()
            and not self.waiting()
        )

    def waiting(self) -> list[Change]:
        """Changes that will be carried out once something else is healthy, in clusters that can be reached."""
        changes = self.plan.changes or () if self.plan is not None else ()
        away = {name for name, member in self.fleet.members.items() if not member.ready.is_set()}
        return [one for one in changes if one.waits and one.cluster not in away]

    def _interpreter_of(self, repo: RepoSnapshot) -> Interpreter:
        made_from = (repo.interpreters, repo.webhooks)
        if self._interpreters is None or self._interpreters[0] != made_from:
            self._answers.begin()
            self._interpreters = (made_from, self._interpreter(repo, self._answers.find))
        return self._interpreters[1]


def _touched(before: RepoSnapshot, after: RepoSnapshot) -> set[ObjectKey]:
    """Templates that this push changed: a person waits for them."""
    return {key for key, manifest in after.manifests.items() if before.manifests.get(key) is not manifest} | (
        before.manifests.keys() - after.manifests.keys()
    )


def _deletions(plan: Plan) -> dict[ClusterName, int]:
    """How many objects this plan deletes, by cluster."""
    found: dict[ClusterName, int] = {}
    for change in plan.changes or ():
        if change.action is Action.DELETE:
            found[change.cluster] = found.get(change.cluster, 0) + 1
    return found


def _unwritten(plan: Plan) -> dict[ClusterName, set[str]]:
    """Objects that this plan does not write as they should be, by cluster: their turn has not come, or they are held.

    They are remembered, so that writing them later is not taken for the repair of drift.
    """
    found: dict[ClusterName, set[str]] = {}
    for change in plan.changes or ():
        if change.waits or (change.action is Action.SKIP and not change.drift):
            found.setdefault(change.cluster, set()).add(str(change.key))
    return found


def _is_news(after: Mapping[ClusterName, ClusterRecord], before: Mapping[ClusterName, ClusterRecord]) -> bool:
    """Whether what is known of clusters is worth a commit of its own. That a new one is well, is not."""
    if before.keys() - after.keys():
        return True
    return any(
        before.get(name) != record and (name in before or record.reach is not Reach.READY or bool(record.taints))
        for name, record in after.items()
    )


def _same(one: Mapping[ObjectKey, object], other: Mapping[ObjectKey, object]) -> bool:
    return len(one) == len(other) and all(other.get(key) is value for key, value in one.items())
