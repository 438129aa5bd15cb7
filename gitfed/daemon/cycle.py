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
import functools
import gc
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from gitfed import errors
from gitfed.change import build, compare, gate, redact
from gitfed.daemon.member import Member, Timing, Upward
from gitfed.daemon.reader import Reader
from gitfed.daemon.record import Record
from gitfed.edges.kube.observe import Assessment
from gitfed.edges.kube.session import Session
from gitfed.interpret import readiness
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, Commit, Kind, ObjectKey, Severity
from gitfed.model.decisions import Approval, Decisions
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import (
    ApplyResult,
    ClusterLive,
    FactsRef,
    FleetSnapshot,
    Health,
    InventoryEntry,
    LiveObject,
    LiveState,
)
from gitfed.model.plan import Action, Change, Plan, RenderedManifest
from gitfed.model.repo import RepoSnapshot

log = logging.getLogger("gitfed.cycle")

_BUSY = 1.0
"""Seconds between two cycles while a roll-out is under way and nobody pushes."""
_FIRST_LOOK = 15.0
"""Seconds that the first cycle waits for every cluster's first look, well or badly."""
_LARGE = 1000
"""Templates computed in one build from which on its results are set aside from garbage collection."""
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


@dataclass(slots=True)
class Options:
    timing: Timing = field(default_factory=Timing)
    concurrency: int = 16
    adopt: frozenset[ClusterName] = frozenset()
    """Clusters whose inventory becomes ours, whatever it says: a person asked for it."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Engine:
    """Give it a reader of commits, a record and a way to open sessions; `run` it until it is cancelled."""

    def __init__(
        self,
        reader: Reader,
        record: Record,
        open_session: Callable[[Cluster], Session],
        interpreter: Callable[[RepoSnapshot], Interpreter],
        options: Options | None = None,
        *,
        listener: Callable[[str, Any], None] = lambda event, value: None,
    ) -> None:
        self.options = options or Options()
        self.plan: Plan | None = None
        self.repo: RepoSnapshot | None = None
        self.decisions = Decisions(known=False)
        self.members: dict[ClusterName, Member] = {}
        self.results: dict[tuple[ClusterName, ObjectKey], ApplyResult] = {}
        """The last result of each object."""
        self.last_cycle: float = 0.0
        """time.monotonic() of the last finished cycle: what the liveness endpoint looks at."""
        self.source_error = ""
        self.reader = reader
        self._record = record
        self._open_session = open_session
        self._interpreter = interpreter
        self._interpreters: tuple[object, Interpreter] | None = None
        self._listener = listener
        self._memo = build.Memo()
        self._wake = asyncio.Event()
        self._look_at_source = True
        self._dirty: set[tuple[ClusterName, ObjectKey]] = set()
        self._objects: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
        self._tasks: dict[ClusterName, asyncio.Task[None]] = {}
        self._urgent: set[ObjectKey] = set()
        self._classes: dict[tuple[ObjectKey, ClusterName], RenderedManifest] = {}
        self._classes_of: dict[ObjectKey, tuple[RenderedManifest, ...]] = {}
        self._approvals: list[Approval] = []
        self._rolled_out: Commit | None = None
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

    def _changed(self, cluster: ClusterName, key: ObjectKey) -> None:
        self._dirty.add((cluster, key))
        self._wake.set()
        member = self.members.get(cluster)
        if member is not None and member.worker is not None:
            member.worker.nudge()

    def _facts_changed(self, cluster: ClusterName) -> None:
        member = self.members.get(cluster)
        if member is not None:
            known = {key for key, copies in self._objects.items() if cluster in copies}
            self._dirty.update((cluster, key) for key in known | member.objects().keys())
        self._wake.set()

    def _finished(self, change: Change, result: ApplyResult) -> None:
        before = self.results.get((result.cluster, result.key))
        self.results[result.cluster, result.key] = result
        keys = {"cluster": result.cluster, "object": str(result.key), "took": round(result.took, 3)}
        if result.outcome == "failed":
            if before is None or before.message != result.message:
                log.warning("change failed", extra={**keys, "error": result.message})
        elif result.outcome != "unchanged":
            log.info(f"object {result.outcome}", extra=keys)
        self._listener("result", (change, result))
        self._wake.set()

    # -- the loop -----------------------------------------------------------------------------------------------

    async def run(self, *, poll: Callable[[], float] = lambda: 60.0) -> None:
        """Turn until cancelled. `poll` gives the seconds until a remote is asked again."""
        try:
            while True:
                self._wake.clear()
                report = await self.turn()
                if report is not None:
                    await self._calm(max(_CALM, 3 * report.took))
                await self._sleep(poll())
                if not self._wake.is_set():
                    self._look_at_source = True
        finally:
            await self.close()

    async def _calm(self, seconds: float) -> None:
        """Let swarms of events become one cycle: while clusters are busy with this plan, theirs tell us little."""
        end = time.monotonic() + seconds
        latest = time.monotonic() + _BUSY
        while not self._look_at_source and time.monotonic() < (latest if self._busy() else end):
            await asyncio.sleep(0.02)

    def _busy(self) -> bool:
        return any(member.worker is not None and member.worker.pending for member in self.members.values())

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
        self._match_members(repo)
        if not self._opened:
            await self._open(repo)
        fleet = self._observe(repo)
        interpreter = self._interpreter_of(repo)
        decisions = await self._decisions_for(repo)
        plan = await asyncio.to_thread(_build, repo, fleet, decisions, interpreter, self.options.now(), self._memo)
        self.plan = plan
        self._index(plan)
        self._watch(plan)
        if before is not None and before is not repo:
            self._urgent |= _touched(before, repo)
        recorded = await self._record_decisions(plan, decisions)
        handed = self._hand_over(plan)
        await self._record_results(plan)
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
                held = {one.path: one for one in (self.repo.held if self.repo is not None else self._record.state.held)}
                repo = await asyncio.to_thread(self.reader.read, commit, self.decisions.applied_commit, held)
                if self._usable(repo):
                    self.repo = repo
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

    def _usable(self, repo: RepoSnapshot) -> bool:
        for one in repo.held:
            if self.repo is None or one not in self.repo.held:
                log.warning("file held at its last good version", extra={"file": one.path, "commit": one.commit[:12]})
        wrong = [problem for problem in repo.problems if problem.severity is Severity.ERROR]
        for problem in wrong:
            log.error("problem", extra={"problem": str(problem), "commit": repo.commit[:12]})
        if not wrong or repo.settings.spec.sync.on_invalid_file == "hold":
            return True
        log.error("commit waits: onInvalidFile is reject", extra={"commit": repo.commit[:12], "problems": len(wrong)})
        self._listener("rejected", repo)
        return False

    # -- observe ------------------------------------------------------------------------------------------------

    def _match_members(self, repo: RepoSnapshot) -> None:
        """One member for each declared cluster; a changed declaration is a new member."""
        for name in list(self.members):
            declared = repo.clusters.get(name)
            if declared is None or declared.spec != self.members[name].cluster.spec:
                self._tasks.pop(name).cancel()
                del self.members[name]
                for key in [key for key, copies in self._objects.items() if name in copies]:
                    self._dirty.add((name, key))
        upward = Upward(
            self._assess, self._changed, self._facts_changed, self._finished, self.options.now, redact.text_of
        )
        for name, declared in repo.clusters.items():
            if name in self.members:
                self.members[name].cluster = declared
                continue
            member = self.members[name] = Member(
                declared,
                self._open_session,
                upward,
                federation=repo.settings.metadata.name,
                repository_id=lambda: self.decisions.repository_id,
                expected=functools.partial(self._remembered, name),
                adopt=name in self.options.adopt,
                timing=self.options.timing,
                concurrency=self.options.concurrency,
            )
            self._tasks[name] = asyncio.create_task(member.run(), name=f"member-{name}")
            if self._opened and self.decisions.known:
                member.claim()

    def _remembered(self, cluster: ClusterName) -> int:
        """How many objects the state says are in a cluster."""
        return sum(1 for one in self.decisions.bindings.values() if any(s.cluster == cluster for s in one.shares))

    def _observe(self, repo: RepoSnapshot) -> FleetSnapshot:
        for cluster, key in self._dirty:
            member = self.members.get(cluster)
            live = member.get(key) if member is not None else None
            copies = dict(self._objects.get(key, {}))
            if live is not None:
                copies[cluster] = live
            else:
                copies.pop(cluster, None)
            if copies:
                self._objects[key] = copies
            else:
                self._objects.pop(key, None)
        self._dirty.clear()
        clusters: dict[ClusterName, ClusterLive] = {name: member.live() for name, member in self.members.items()}
        return FleetSnapshot(
            FactsRef("live", taken_at=self.options.now()),
            {name: self.members[name].facts for name in repo.clusters if name in self.members},
            LiveState(clusters, self._objects),
        )

    def _assess(self, cluster: ClusterName, key: ObjectKey, body: Body) -> Assessment:
        """Called for every object seen: is it what we rendered, is it healthy, is its body worth keeping?"""
        health, message = readiness.readiness(body)
        wanted = self._classes.get((key, cluster))
        protected = compare.annotation(body, compare.PRUNE_ANNOTATION) == "disabled"
        if wanted is None:
            return Assessment(None, health, message, keep_body=self.plan is None, protected=protected)
        same = not compare.compare_bodies(wanted.body, body)
        return Assessment(wanted.digest if same else None, health, message, keep_body=not same, protected=protected)

    def _index(self, plan: Plan) -> None:
        """Which render class an observed object is to be compared with; only what changed is touched."""
        changed: list[ObjectKey] = []
        for key, classes in plan.rendered.items():
            known = self._classes_of.get(key)
            if known is classes:
                continue
            changed.append(key)
            for rendered in known or ():
                for cluster in rendered.clusters:
                    self._classes.pop((key, cluster), None)
            for rendered in classes:
                for cluster in rendered.clusters:
                    self._classes[key, cluster] = rendered
            self._classes_of[key] = classes
        for key in self._classes_of.keys() - plan.rendered.keys():
            for rendered in self._classes_of.pop(key):
                for cluster in rendered.clusters:
                    self._classes.pop((key, cluster), None)
        for member in self.members.values():
            if member.observer is not None:
                member.observer.reassess(changed)

    def _watch(self, plan: Plan) -> None:
        kinds = frozenset(Kind(key.group, key.kind) for key, classes in plan.rendered.items() if classes)
        for member in self.members.values():
            listed = frozenset(Kind(key.group, key.kind) for key in member.entries())
            member.want(kinds | listed)

    # -- decide and record --------------------------------------------------------------------------------------

    async def _open(self, repo: RepoSnapshot) -> None:
        """Once the state was read: rebuild it from the clusters if it is lost, and claim their inventories."""
        decisions = self.decisions
        looks = [asyncio.create_task(member.looked.wait()) for member in self.members.values()]
        if looks:
            await asyncio.wait(looks, timeout=_FIRST_LOOK)
            for look in looks:
                look.cancel()
        if not decisions.known:
            inventories = {
                name: (member.inventory.snapshot.repository_id, member.entries())
                if member.inventory is not None and member.inventory.readable
                else None
                for name, member in self.members.items()
            }
            versions = {key: manifest.api_version for key, manifest in repo.manifests.items()}
            decisions = self._record.rebuild(inventories, versions)
        self.decisions = decisions
        self._approvals = list(decisions.approvals)
        if decisions.known:
            self._opened = True
            for member in self.members.values():
                member.claim()

    async def _decisions_for(self, repo: RepoSnapshot) -> Decisions:
        applied = self.decisions.applied_commit
        descends = applied is None or await asyncio.to_thread(self.reader.is_ancestor, applied, repo.commit)
        if descends != self.decisions.descends or tuple(self._approvals) != self.decisions.approvals:
            self.decisions = replace(self.decisions, descends=descends, approvals=tuple(self._approvals))
        return self.decisions

    async def _record_decisions(self, plan: Plan, decisions: Decisions) -> bool:
        """Write what was decided before anything of it is carried out."""
        if not decisions.known:
            return False
        bindings = gate.decisions_to_record(plan.bindings, decisions, plan.changes or ())
        state = self._record.state
        approved = decisions.approvals == state.decisions.approvals
        if _same(bindings, decisions.bindings) and approved and state.commit is not None:
            return False
        reasons = _reasons(plan, decisions)
        self.decisions = await asyncio.to_thread(
            self._record.write,
            decisions,
            bindings,
            applied=decisions.applied_commit,
            results=self._record.state.results,
            approvals=decisions.approvals,
            subject=f"Decide for {plan.commit[:12]}",
            held=self.repo.held if self.repo is not None else (),
            reasons=reasons,
            now=self.options.now(),
        )
        return True

    def _hand_over(self, plan: Plan) -> int:
        """Give every cluster its list. A key that is in no list any more is dropped there."""
        lists: dict[ClusterName, list[Change]] = {name: [] for name in self.members}
        acts = 0
        orphans: dict[ClusterName, list[InventoryEntry]] = {}
        for change in plan.changes or ():
            if change.cluster not in lists:
                continue
            if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE):
                lists[change.cluster].append(change)
                acts += 1
            elif change.action is Action.KEEP and change.reason.startswith("orphaned") and change.live is not None:
                entry = change.live.entry
                if entry is not None and not entry.orphaned:
                    orphans.setdefault(change.cluster, []).append(replace(entry, orphaned=True))
        for name, member in self.members.items():
            if member.worker is None or not member.ready.is_set():
                continue
            wanted = {change.key for change in lists[name]}
            forget = [
                key
                for key in member.entries()
                if key not in wanted and (key, name) not in self._classes and member.absent(key)
            ]
            member.worker.submit(lists[name], self._urgent, orphans.get(name, ()), forget)
        self._urgent.clear()
        return acts

    async def _record_results(self, plan: Plan) -> None:
        """When every reachable cluster holds the commit, that is worth remembering."""
        if not self.decisions.known or self.repo is None or not self.quiet():
            return
        results = dict(self._record.state.results)
        for name, member in self.members.items():
            if member.ready.is_set() and not self.failures(name):
                results[name] = {"commit": str(plan.commit), "outcome": "applied"}
            elif member.ready.is_set():
                results[name] = {"commit": str(plan.commit), "outcome": "failed", "failures": len(self.failures(name))}
            else:
                known = results.get(name, {})
                results[name] = {**known, "outcome": "unreachable"}
        held = any(one.name == "history" and one.held for one in plan.gates)
        applied = self.decisions.applied_commit if held else plan.commit
        state = self._record.state
        if (state.results, state.held, self.decisions.applied_commit) == (results, self.repo.held, applied):
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
            subject=f"Applied {plan.commit[:12]}",
            held=self.repo.held,
            reasons=tuple(f"{name}: {result['outcome']}" for name, result in sorted(results.items())),
            now=self.options.now(),
        )
        self._wake.set()

    # -- questions ----------------------------------------------------------------------------------------------

    def quiet(self) -> bool:
        """Every cluster that can be reached has nothing left to do but what keeps failing."""
        for member in self.members.values():
            if not member.ready.is_set() or member.worker is None:
                continue
            worker = member.worker
            if worker.idle:
                continue
            failing = {key for (cluster, key) in self.results if cluster == member.name} & set(worker.waiting())
            if (
                worker.flying
                or len(failing) < worker.pending
                or any(self.results[member.name, key].outcome != "failed" for key in failing)
            ):
                return False
        return self.plan is not None and not self._dirty

    def settled(self) -> bool:
        """The newest commit was planned, handed over and recorded, wherever that is possible now."""
        return (
            self.repo is not None
            and self.plan is not None
            and self.plan.commit == self.repo.commit
            and self.decisions.known
            and not self._turning
            and not self._wake.is_set()
            and not any(member.starting for member in self.members.values())
            and self.quiet()
        )

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def failures(self, cluster: ClusterName) -> list[ApplyResult]:
        """Changes of the present plan that did not work out there."""
        member = self.members.get(cluster)
        waiting = set(member.worker.waiting()) if member is not None and member.worker is not None else set()
        return [
            result
            for (name, key), result in self.results.items()
            if name == cluster and result.outcome == "failed" and key in waiting
        ]

    def unhealthy(self) -> list[LiveObject]:
        """Objects that should be there and are not healthy (yet)."""
        found = []
        for key, cluster in self._classes:
            live = self._objects.get(key, {}).get(cluster)
            if live is not None and live.health is not Health.CURRENT:
                found.append(live)
        return found

    def _interpreter_of(self, repo: RepoSnapshot) -> Interpreter:
        if self._interpreters is None or self._interpreters[0] != repo.interpreters:
            self._interpreters = (repo.interpreters, self._interpreter(repo))
        return self._interpreters[1]

    async def close(self) -> None:
        """Stop every member; what is under way is finished first."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=15)
        self._tasks.clear()


def _build(
    repo: RepoSnapshot,
    fleet: FleetSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
    memo: build.Memo,
) -> Plan:
    """Build without the garbage collector, which stops every thread for as long as it walks a million objects.

    A plan has no reference cycles; what a large build made is set aside for good (`freeze`), it lives long anyway.
    """
    gc.disable()
    try:
        plan = build.build(repo, fleet, decisions, interpreter, now, memo=memo)
        if memo.recomputed > _LARGE:
            gc.freeze()
    finally:
        gc.enable()
    return plan


def _touched(before: RepoSnapshot, after: RepoSnapshot) -> set[ObjectKey]:
    """Templates that this push changed: a person waits for them. Policies touch everything, which is nothing special."""
    return {key for key, manifest in after.manifests.items() if before.manifests.get(key) is not manifest} | (
        before.manifests.keys() - after.manifests.keys()
    )


def _same(one: Mapping[ObjectKey, object], other: Mapping[ObjectKey, object]) -> bool:
    return len(one) == len(other) and all(other.get(key) is value for key, value in one.items())


def _reasons(plan: Plan, decisions: Decisions) -> tuple[str, ...]:
    """The body of a state commit: what was decided and why."""
    lines = []
    for key, binding in plan.bindings.items():
        previous = decisions.bindings.get(key)
        if binding.decision is None or binding.decision is previous:
            continue
        shares = " ".join(
            share.cluster if share.replicas is None else f"{share.cluster}:{share.replicas}" for share in binding.shares
        )
        policy = f" by {binding.policy}" if binding.policy else ""
        lines.append(f"{key} → {shares or 'nowhere'} ({binding.why}{policy})")
    lines += [f"{key} is gone" for key in decisions.bindings.keys() - plan.bindings.keys()]
    if len(lines) > 200:
        lines = [*lines[:200], f"… and {len(lines) - 200} more"]
    return (*lines, f"Facts: {plan.facts.source}")
