"""All clusters together, as the cycle sees them: what they hold, and what they still have to do.

The observed objects are kept by key and then by cluster, and an inner mapping is replaced when one of its objects
changes: a build tells by `is` what it has to look at again (`model.fleet.LiveState`). Everything here runs in the event
loop; a build in its thread reads a snapshot that does not change meanwhile, because only `snapshot` does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.drift import Assessor
from gitfed.daemon.fleet.live_state import Copies
from gitfed.daemon.fleet.member_protocol import ClusterMember, Expected, Repairs, news_in, unlike_in
from gitfed.daemon.fleet.members import MemberOptions, RecordedFleet, Roster
from gitfed.daemon.fleet.outcomes import Outcomes
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.daemon.fleet.reconcile import Reconciler
from gitfed.daemon.fleet.unfinished import Unfinished
from gitfed.daemon.fleet.work_lists import work_lists
from gitfed.daemon.services.exchange import Exchange
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.observe import Assessment
from gitfed.interpret import collect
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey, key_from
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import (
    ApplyResult,
    ClusterFacts,
    ClusterLive,
    FactsRef,
    FleetSnapshot,
    Health,
    LiveObject,
    LiveState,
    Stuck,
)
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.model.operator_orders import Reconciliation
from gitfed.model.plan import Change, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.objects import compare, redact, secret_leaks

log = logging.getLogger("gitfed.fleet")


class Fleet:
    """`wake` is called when anything happened that a new plan should know."""

    def __init__(
        self,
        open_session: Callable[[Cluster], Session],
        options: MemberOptions,
        wake: Callable[[], None],
        listener: Callable[[str, Any], None],
    ) -> None:
        self.rush: set[ClusterName] = set()
        """Clusters that have more to do than may be under way there."""
        self.differs = False
        """Whether an object was seen since the last snapshot that is not as it should be, and in no list of changes."""
        self._served: set[ClusterName] = set()
        """Clusters that got a list of changes, be it an empty one."""
        self._options = options
        self._wake = wake
        self._listener = listener
        self.exchange = Exchange(lambda: self.members)
        self._copies = Copies(self._look)
        self._assessor = Assessor()
        self.roster = Roster(open_session, options, self._callbacks())
        self.members = self.roster.members
        self._reconciler = Reconciler(lambda: list(self.members.values()), self._try_again, wake)
        self.outcomes = Outcomes()
        self.unfinished = Unfinished(self.members, self.outcomes)
        self._hidden = redact.Hidden(())
        self._followed: tuple[Plan, Repairs] | None = None
        """What clusters were told last to follow."""
        self._heard_of: frozenset[ClusterName] = frozenset()
        """Pulled clusters of which the last snapshot has what their agents told."""
        self._touched: set[ObjectKey] = set()
        """Objects of which a cluster or a roll-out told something new, whether or not a plan has to know it."""

    def _callbacks(self) -> FleetCallbacks:
        return FleetCallbacks(
            assess=self._assess,
            changed=self._changed,
            relisted=self._relisted,
            facts_changed=lambda name: self._wake(),
            finished=self._finished,
            now=self._options.now,
            redact=self._redact,
            judge=self._assessor.judge,
            interpreter=lambda: self._assessor.interpreter,
            endpoints_changed=self.exchange.changed,
            rush=self.rush,
            waited=lambda name, seconds: self._options.telemetry.waits[name].observe(seconds),
        )

    # -- members ------------------------------------------------------------------------------------------------

    def match(self, repo: RepoSnapshot, recorded: RecordedFleet, *, claimed: bool, capacity: bool = False) -> None:
        """See `Roster.match`."""
        for name in self.roster.match(repo, recorded, claimed=claimed, capacity=capacity):
            self._served.discard(name)
            self._copies.left(name)

    async def close(self) -> None:
        """Stop looking anew, then every member."""
        await self._reconciler.close()
        await self.roster.close()

    async def stuck(self, before: datetime) -> dict[ObjectKey, dict[ClusterName, tuple[int, Stuck]]]:
        """See `Member.stuck`, by Deployment."""
        members = list(self.members.items())
        by_deployment: dict[ObjectKey, dict[ClusterName, tuple[int, Stuck]]] = {}
        for (name, _), seen in zip(
            members, await asyncio.gather(*(member.workloads.stuck(before) for _, member in members)), strict=True
        ):
            for key, workload in seen.items():
                by_deployment.setdefault(key, {})[name] = workload
        return by_deployment

    async def load(
        self, questions: Mapping[ClusterName, Sequence[LoadQuestion]]
    ) -> Mapping[ClusterName, Mapping[ObjectKey, ClusterLoad]]:
        """What workloads use, by cluster; see `Member.load`."""
        members = [(name, member) for name, member in self.members.items() if name in questions]
        loads = await asyncio.gather(*(member.workloads.load(questions[name]) for name, member in members))
        return {name: load for (name, _), load in zip(members, loads, strict=True)}

    # -- what is there ------------------------------------------------------------------------------------------

    def facts(self) -> dict[ClusterName, ClusterFacts]:
        """What is believed of each cluster that was asked."""
        return {name: member.facts for name, member in self.members.items() if member.looked.is_set() and member.asked}

    def snapshot(self, repo: RepoSnapshot) -> FleetSnapshot:
        """Facts and objects as known now."""
        self.differs = False
        pulled = (member for member in self.members.values() if isinstance(member, PulledMember))
        self._heard_of = frozenset(member.name for member in pulled if member.has_told)
        return FleetSnapshot(
            FactsRef("live", taken_at=self._options.now()),
            {name: self.members[name].facts for name in repo.clusters if name in self.members},
            LiveState({name: member.live() for name, member in self.members.items()}, self._copies.take_in()),
        )

    def known(self) -> dict[ClusterName, ClusterLive]:
        """What is known and unknown of each cluster as a whole."""
        return {name: member.live() for name, member in self.members.items()}

    def copies(self, key: ObjectKey) -> dict[ClusterName, LiveObject]:
        """One object in every cluster, as last seen: newer than the last snapshot."""
        copies = dict(self._copies.objects.get(key, {}))
        for name, member in self.members.items():
            live = member.view.get(key)
            if live is not None:
                copies[name] = live
        return copies

    def take_touched(self) -> set[ObjectKey]:
        """Objects of which anything new was heard since this was asked before."""
        touched, self._touched = self._touched, set()
        return touched

    def _changed(self, cluster: ClusterName, key: ObjectKey) -> None:
        self._copies.changed(cluster, key)
        self._touched.add(key)
        self._wake()
        member = self.members.get(cluster)
        if member is not None:
            member.station.touch(key)
        if member is not None and member.worker is not None:
            member.worker.nudge(key)
            live = member.view.get(key)
            as_wanted = live is not None and live.uid and (live.matches is not None or live.body is None)
            if not as_wanted and self._assessor.wants(cluster, key) and not member.worker.has(key):
                self.differs = True

    def _relisted(self, cluster: ClusterName) -> None:
        """The cluster was read anew: what is not in it any more has to be noticed too."""
        member = self.members.get(cluster)
        if member is not None:
            self._copies.relisted(cluster, member.view.objects())
        self._wake()

    def _look(self, cluster: ClusterName, key: ObjectKey) -> LiveObject | None:
        member = self.members.get(cluster)
        return member.view.get(key) if member is not None else None

    def _assess(self, cluster: ClusterName, key: ObjectKey, body: Body) -> Assessment:
        if self._assessor.wants(cluster, key):
            self._touched.add(key)
        return self._assessor.assess(cluster, key, body)

    def judge(self, cluster: ClusterName, key: ObjectKey, collected: collect.Collected) -> None:
        """What the script of its kind said of a copy; it was asked outside of the loop."""
        if (member := self.members.get(cluster)) is not None:
            member.judge(key, collected)

    # -- what is to be done -------------------------------------------------------------------------------------

    def follow(self, plan: Plan, interpreter: Interpreter, repairs: Repairs = lambda cluster, key: True) -> None:
        """Compare what is seen with this plan from now on, by the rules it was made with, and watch its kinds."""
        stateful = {key for key, binding in plan.bindings.items() if binding.terms.stateful}
        changed = self._assessor.follow(plan.rendered, stateful, interpreter)
        if any(secret_leaks.is_secret_key(key) for key in changed):
            self._hidden = redact.Hidden(secret_leaks.rendered_secrets(plan))
        kinds = frozenset(Kind(key.group, key.kind) for key, classes in plan.rendered.items() if classes)
        pulled = {name for name, member in self.members.items() if isinstance(member, PulledMember)}
        manifests = self._assessor.in_clusters(pulled) if pulled else {}
        versions = _versions(plan) if pulled else frozenset()
        before, self._followed = self._followed, (plan, repairs)
        expected = Expected(
            plan,
            interpreter,
            manifests,
            self._assessor.stateful,
            changed,
            kinds,
            repairs,
            versions,
            unlike_in(pulled, plan),
            news_in(plan, before[0]) if before and before[1] == repairs else None,
            self._heard_of,
        )
        for member in self.members.values():
            member.follow(expected)

    def reconcile(self, standing: Collection[Reconciliation]) -> frozenset[Reconciliation]:
        """Look anew where orders say so; those of which that is over (`reconcile`)."""
        return self._reconciler.take_up(standing)

    def _try_again(self, member: ClusterMember, order: Reconciliation) -> None:
        worker = member.worker
        if worker is None:
            return
        for key in worker.waiting():
            if order.covers(member.name, key):
                self.outcomes.forget(member.name, key)  # then it is not quiet there before another attempt
        worker.retry([key_from(order.object)] if order.object else None)

    def hold(self, seconds: float) -> None:
        """Let the backlog wait while a push is being planned; `hand_over` ends it."""
        for member in self.members.values():
            if member.worker is not None:
                member.worker.hold(seconds)

    def hand_over(self, plan: Plan, urgent: Collection[ObjectKey], waiting: Collection[ObjectKey] = frozenset()) -> int:
        """Give every cluster its list, and say how long all lists are. What is in no list any more is dropped there.

        `waiting`: objects that are not to be touched yet.
        """
        lists = work_lists(plan, self.members, waiting)
        for name, member in self.members.items():
            if member.worker is None or not member.ready.is_set():
                self._served.discard(name)
                continue
            self._served.add(name)
            work = lists[name]
            wanted = {change.key for change in work.changes}
            forget = [
                key
                for key in self._copies.vacant(name)
                if key not in wanted and member.view.absent(key) and not self._to_come(key, name)
            ]
            # Those that are being written are named by that.
            entries = [*work.orphans, *(entry for entry in self._copies.named(name) if entry.key not in wanted)]
            member.worker.submit(work.changes, urgent, entries, forget)
            member.worker.release()
        return sum(len(work.changes) for work in lists.values())

    def _redact(self, body: Body, text: str) -> str:
        """What a server said about `body`, without what any Secret of the plan holds, wherever it was copied to."""
        return self._hidden.text(redact.text_of(body, text))

    def _to_come(self, key: ObjectKey, cluster: ClusterName) -> bool:
        """Whether an entry that stands for nothing is the intention to write something. Not where another's object is
        in the way: then nothing will be written, and the inventory lists what is ours."""
        live = self._copies.objects.get(key, {}).get(cluster)
        return self._assessor.wants(cluster, key) and (live is None or not compare.is_foreign(live))

    def _finished(self, change: Change, result: ApplyResult) -> None:
        self.outcomes.take(change, result)
        self._options.telemetry.finished(change, result)
        self._touched.add(result.key)
        self._listener("result", (change, result))
        self._wake()

    # -- questions ----------------------------------------------------------------------------------------------

    def busy(self) -> bool:
        """Whether any cluster has something to do, or showed something that was not looked at yet."""
        return any(
            member.view.behind or (member.worker is not None and member.worker.pending)
            for member in self.members.values()
        )

    def newcomers(self) -> bool:
        """Whether a cluster came into use since the last lists were handed over."""
        return any(member.ready.is_set() and name not in self._served for name, member in self.members.items())

    def starting(self) -> Collection[ClusterName]:
        """Clusters that are neither in use nor given up for now."""
        return {name for name, member in self.members.items() if member.starting}

    def awaited(self) -> bool:
        """Whether there is a cluster that is not in use: it may come at any moment."""
        return not all(member.ready.is_set() for member in self.members.values())

    def quiet(self) -> bool:
        """Every cluster that can be reached has nothing left to do but what keeps failing."""
        return self.unfinished.only_fails() and self._copies.up_to_date

    def unhealthy(self) -> list[LiveObject]:
        """Objects that should be there and are not healthy (yet)."""
        copies = (self._copies.objects.get(key, {}).get(cluster) for key, cluster in self._assessor.places)
        return [live for live in copies if live is not None and live.health is not Health.CURRENT]


def _versions(plan: Plan) -> frozenset[tuple[str, str]]:
    """apiVersion and kind of everything that this plan has anywhere."""
    bodies = (classes[0].body for classes in plan.rendered.values() if classes)
    return frozenset((str(body.get("apiVersion", "")), str(body.get("kind", ""))) for body in bodies)
