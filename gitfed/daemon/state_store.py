"""What the daemon remembers: decisions, facts, approvals and results, read once and written twice a cycle.

First the *decisions*, before anything of them is carried out: what is not written down must not be done. Then, when all
is quiet, the *results*. Between them stand the questions that a cycle has for the past: was the state lost, and can it
be rebuilt from the clusters' inventories; which facts are decisions taken from; who approved what; does this commit
descend from the last one. `daemon.record` knows how a state is opened, rebuilt and pushed; `daemon.results` words what
became of a plan.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from gitfed import errors
from gitfed.daemon import results
from gitfed.daemon.approvals import Approvals, let_through
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.daemon.fleet.members import MemberOptions, RecordedFleet
from gitfed.daemon.push_queue import Sending
from gitfed.daemon.statuses import Statuses
from gitfed.documents import state_commits
from gitfed.documents.state_commits import Act
from gitfed.model.base import ClusterName, Commit, ObjectKey
from gitfed.model.decisions import ClusterRecord, Decisions
from gitfed.model.declared.federation import Guards
from gitfed.model.fleet import ClusterFacts, FleetSnapshot, LiveState, Reach
from gitfed.model.operator_orders import Reconciliation
from gitfed.model.plan import Plan
from gitfed.model.repo import HeldFile, RepoSnapshot
from gitfed.planning import decision_text
from gitfed.planning.ordering import consent, gate
from gitfed.reading import effective_guards
from gitfed.reading.reader import Reader
from gitfed.reading.webhook_cache import Answers

log = logging.getLogger("gitfed.cycle")
failovers = logging.getLogger("gitfed.failover")

_FIRST_LOOK = 15.0
"""Seconds that a state which may be lost waits for every cluster's first look, well or badly."""


class StateStore:
    """The record of one daemon, as the loop uses it."""

    def __init__(
        self,
        sending: Sending,
        reader: Reader,
        fleet: Fleet,
        statuses: Statuses,
        answers: Answers,
        options: MemberOptions,
    ) -> None:
        self.decisions = Decisions(known=False)
        self.opened = False
        """Whether the state was read, and rebuilt if it was lost; before that nothing may move."""
        self.facts: Mapping[ClusterName, ClusterFacts] = {}
        """What the facts branch says of each cluster."""
        self.sending = sending
        self._record = sending.records.decisions
        self._facts_record = sending.records.facts
        self._reader = reader
        self._fleet = fleet
        self._statuses = statuses
        self._answers = answers
        self._options = options
        self.approvals = Approvals(reader)
        self._guards: tuple[object, Guards] | None = None
        """The limits in force, and for which commits."""
        self._by_id: tuple[object, Mapping[str, Collection[ClusterName]]] = (None, {})
        self._descends: tuple[tuple[Commit | None, Commit] | None, bool] = (None, True)

    # -- opening ------------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """See whether another client wrote the state: then it is to be opened again. Raises StateConflict."""
        if self.opened:
            await self.sending.ask()
            self.hear()

    def hear(self) -> None:
        """What the other side of the state said meanwhile. Raises StateConflict."""
        if self.sending.heard():
            log.info("another client changed the state branch: reading it again")
            self.opened = False

    async def load(self, repo: RepoSnapshot) -> None:
        """Read the state. Before any member starts: what it remembers tells whether an inventory is damaged.

        Raises StateConflict when another client wrote it in this moment, StateNotBelieved.
        """
        if self._record.trust is not None:
            self._record.trust.look_from(repo.commit)
        self.decisions = await self.sending.load(_patience(repo))
        await self._check_home(repo)
        for problem in self.decisions.problems:
            log.warning("problem on the state branch", extra={"problem": str(problem)})

    async def _check_home(self, repo: RepoSnapshot) -> None:
        """Raise StateError where the state of our data folder is that of another repository, which was here before."""
        applied = self.decisions.applied_commit
        if applied is None or not self._record.only_here:
            return
        if await asyncio.to_thread(self._reader.is_stranger, applied, repo.commit):
            raise errors.StateError(
                f"the data folder holds the state of another repository, or of a history that is gone: {applied[:12]} "
                f"was applied last, {repo.commit[:12]} has nothing in common with it, and there is no state branch",
                hint="name another --data-dir, or push the state branch that belongs to it (docs: how-to/lost-state)",
            )

    async def take_in(self) -> None:
        """What else an earlier process wrote down: statuses, answers, facts."""
        self._statuses.loaded(self.decisions.statuses)
        self._answers.remember(self.decisions.answers)
        if self._facts_record is not None:
            self.facts = await self.sending.load_facts(self._facts_record)

    async def open(self, repo: RepoSnapshot) -> None:
        """Once the state was read: rebuild it from the clusters if it is lost, and claim their inventories."""
        decisions = self.decisions
        await self._fleet.roster.looked(_FIRST_LOOK)
        if not decisions.known:
            inventories = {
                name: (member.owner, member.view.entries()) if member.owner is not None else None
                for name, member in self._fleet.members.items()
            }
            versions = {key: manifest.api_version for key, manifest in repo.manifests.items()}
            decisions = self._record.rebuild(inventories, versions)
        self.decisions = decisions
        self.approvals.read(decisions.approvals)
        if decisions.known:
            self.opened = True
            self._fleet.roster.claim()

    # -- before a plan ------------------------------------------------------------------------------------------

    @property
    def held(self) -> tuple[HeldFile, ...]:
        """Files that an earlier process held at their last good version."""
        return self._record.state.held

    @property
    def results(self) -> results.Results:
        """What became of the last roll-out in each cluster, as recorded."""
        return self._record.state.results

    @property
    def clone(self) -> Path:
        """Where the state branch is."""
        return self._record.clone

    def recorded_fleet(self) -> RecordedFleet:
        """What is on record of each cluster, always as of now; facts as of the last cycle."""
        return RecordedFleet(
            repository_id=lambda: self.decisions.repository_id,
            entries=lambda name: results.entries(self._record.state.results, name),
            cluster_id=lambda name: str(self._record.state.results.get(name, {}).get("id") or ""),
            clusters_with_id=self._clusters_with_id,
            facts=self.facts,
        )

    def _clusters_with_id(self, uid: str) -> Collection[ClusterName]:
        """Of which clusters this is on record; two have it only where one was declared twice."""
        if self._by_id[0] is not (recorded := self._record.state.results):
            self._by_id = recorded, results.by_id(recorded)
        return self._by_id[1].get(uid, ())

    def settle_doubts(self, plan: Plan) -> None:
        """What this plan found a reason for counts from now on, whatever becomes of the reason."""
        if plan.doubtful != self.decisions.doubtful:
            self.decisions = replace(self.decisions, doubtful=plan.doubtful)

    async def with_facts(self, repo: RepoSnapshot, fleet: FleetSnapshot) -> FleetSnapshot:
        """The snapshot with facts as they are written down, after writing what is due: decisions are taken from those.

        A cluster that was never looked at has no written facts; it is unknown, as the snapshot says.
        """
        if self._facts_record is None:
            return fleet
        placed = self.decisions.bindings
        await asyncio.to_thread(
            self._facts_record.write,
            self._fleet.facts(),
            repo.clusters.keys(),
            self._options.now(),
            lambda: (decision.last_scheduled for decision in placed.values() if decision.last_scheduled is not None),
        )
        self.sending.send_facts()
        self.facts = self._facts_record.recorded.facts
        clusters = {name: self.facts.get(name, seen) for name, seen in fleet.clusters.items()}
        return replace(fleet, facts=self._facts_record.ref, clusters=clusters)

    async def decisions_for(self, repo: RepoSnapshot) -> Decisions:
        """What a plan for this commit is told of the past."""
        applied = self.decisions.applied_commit
        if self._descends[0] != (applied, repo.commit):
            descends = applied is None or await asyncio.to_thread(self._reader.is_ancestor, applied, repo.commit)
            self._descends = ((applied, repo.commit), descends)
        if self.decisions.known:
            await self.approvals.read_trailers(repo.commit, applied=applied, limits=self.decisions.limits)
        descends = self._descends[1]
        guarded_by = (self.decisions.limits, applied, repo.commit)
        if self._guards is None or self._guards[0] != guarded_by:
            in_force = None
            if (self.decisions.limits or applied) not in (None, repo.commit):
                in_force = await asyncio.to_thread(
                    effective_guards.in_force, self.decisions, repo.commit, self._reader.guards_of
                )
            # None may also mean that they could not be read just now.
            self._guards = (guarded_by, in_force) if in_force is not None else None
        guards = None if self._guards is None else self._guards[1]
        told = (descends, guards, self.approvals.standing)
        if told != (self.decisions.descends, self.decisions.guards, self.decisions.approvals):
            self.decisions = replace(self.decisions, descends=descends, guards=guards, approvals=told[2])
        return self.decisions

    # -- after a plan -------------------------------------------------------------------------------------------

    async def write_decisions(
        self, plan: Plan, decisions: Decisions, live: LiveState | None, repo: RepoSnapshot
    ) -> bool:
        """Write what was decided before anything of it is carried out; whether there was anything to write.

        Objects in `sending.waiting` afterwards are not to be touched yet. `decisions`: what the plan was told. Raises
        StateConflict, SourceError.
        """
        if not decisions.known:
            return False
        bindings = gate.decisions_to_record(plan, decisions, live)
        state = self._record.state
        approved = decisions.approvals == state.decisions.approvals
        clusters = not _is_news(plan.records, decisions.clusters) and plan.outage == decisions.outage
        scaled = plan.scaling.records is decisions.autoscalers
        reached = results.before_deleting(state.results, plan, self._fleet)
        answers = await asyncio.to_thread(self._answers.in_use, plan.bindings)
        answered = answers == self.decisions.answers
        same = _same(bindings, decisions.bindings) and reached == state.results
        if same and approved and clusters and scaled and answered and state.commit is not None:
            return False
        for sentence in plan.said:
            level = logging.INFO if sentence in plan.eased else logging.WARNING
            failovers.log(level, "failover", extra={"event": sentence})
        for sentence in plan.scaling.said:
            log.info("autoscaling", extra={"event": sentence})
        opened = let_through(decisions.approvals, state.decisions.approvals)
        reasons = (*opened, *decision_text.body(plan, decisions, bindings))
        self.decisions = await asyncio.to_thread(
            self._record.write,
            replace(
                decisions,
                bindings=bindings,
                clusters=plan.records,
                outage=plan.outage,
                autoscalers=plan.scaling.records,
                answers=answers,
            ),
            results=reached,
            held=repo.held,
            message=state_commits.acted(Act.DECIDED, plan.commit, reasons, facts=decision_text.facts(plan)),
            now=plan.now,  # a replay builds for the time of the commit
        )
        self._answers.remember(self.decisions.answers)
        if self._facts_record is not None:
            await asyncio.to_thread(self._facts_record.cite)
        before = state.decisions.bindings
        decided = {key for key in before.keys() | bindings.keys() if before.get(key) is not bindings.get(key)}
        self._options.telemetry.decided(before, bindings, decided)
        await self.sending.recorded(decided, _patience(repo))
        return True

    async def write_results(
        self,
        plan: Plan,
        repo: RepoSnapshot,
        in_use: Collection[ClusterName],
        waiting: Collection[ClusterName],
        carried_out: Collection[Reconciliation] = (),
    ) -> bool:
        """When every reachable cluster holds the commit, that is worth remembering; whether it was news.

        Called when all is quiet. For `in_use` and `waiting` see `results.after`; `carried_out` are orders that stood
        before this plan was made. Raises StateConflict, SourceError.
        """
        if not self.decisions.known:
            return False
        state = self._record.state
        reached = results.without_left(results.after(state.results, plan, self._fleet, in_use, waiting), self.decisions)
        history = any(stated.name == gate.HISTORY and stated.held for stated in plan.gates)
        applied = self.decisions.applied_commit if history else plan.commit
        bounds = effective_guards.after(self.decisions, plan, applied, reached)
        held = consent.held_plan(plan)
        recorded = self.decisions
        written = (state.results, state.held, recorded.applied_commit, recorded.limits, recorded.held_plan)
        same = written == (reached, repo.held, applied, bounds, held)
        statuses = self._statuses.to_record(self.decisions.bindings, at_once=not same)
        removals = results.removals_left(self.decisions.removals, self._fleet)
        orders = tuple(order for order in self.decisions.reconciliations if order not in carried_out)
        approvals = self.decisions.approvals
        if not self._fleet.starting():
            approvals = self.approvals.drop_void(approvals, held)
        decided = (removals, orders, approvals)
        before = (self.decisions.removals, self.decisions.reconciliations, self.decisions.approvals)
        if same and statuses is None and decided == before:
            return False
        for order in self.decisions.reconciliations:
            if order not in orders:
                log.info("reconciled", extra={"of": order.of, "by": order.by})
        for held_file in repo.held:
            await asyncio.to_thread(self._reader.keep, held_file)
        if statuses is None:
            statuses = self.decisions.statuses
        told = tuple(results.sentence(name, result) for name, result in sorted(reached.items()))
        self.decisions = await asyncio.to_thread(
            self._record.write,
            replace(
                self.decisions,
                applied_commit=applied,
                limits=bounds,
                removals=removals,
                reconciliations=orders,
                approvals=approvals,
                held_plan=held,
                statuses=statuses,
                signatures=self.decisions.signatures if history else repo.settings.spec.sources.verify.commits,
            ),
            results=reached,
            held=repo.held,
            message=state_commits.acted(Act.STATUS if same else results.act(reached), plan.commit, told),
            now=self._options.now(),
        )
        await self.sending.recorded((), 0.0)
        return not same


def _patience(repo: RepoSnapshot) -> float:
    """Seconds that a decision waits at most for its record to be taken."""
    return repo.settings.spec.state.wait_for_push.total_seconds()


def _is_news(after: Mapping[ClusterName, ClusterRecord], before: Mapping[ClusterName, ClusterRecord]) -> bool:
    """Whether what is known of clusters is worth a commit of its own. That a new one is well, is not."""
    if before.keys() - after.keys():
        return True
    return any(
        before.get(name) != record and (name in before or record.reach is not Reach.READY or bool(record.taints))
        for name, record in after.items()
    )


def _same(before: Mapping[ObjectKey, object], after: Mapping[ObjectKey, object]) -> bool:
    return len(before) == len(after) and all(after.get(key) is value for key, value in before.items())
