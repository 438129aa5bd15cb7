"""A cluster that an agent keeps: it does elsewhere what `member.Member` does here. It is the cluster's own where this
process cannot reach it (`syncMode: Pull`), or that member of a pool which holds it.

What is told to the agent is its `slice`; what it tells is kept here, as last heard, and answers what the engine asks.
So everything here returns at once, and an agent that misbehaves can say wrong things about its own cluster only.

An agent may be away for the length of a lease without any effect: a hub that restarts, a network that breaks
for a moment. After that the cluster is unknown (Karmada: ClusterStatusUnknown), as a push cluster that does not answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gitfed import errors
from gitfed.agent_protocol import replica, values
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.member_protocol import Expected
from gitfed.daemon.fleet.pulled.connection import AgentConnection
from gitfed.daemon.fleet.pulled.lead import AgentLead
from gitfed.daemon.fleet.pulled.reports import Reports
from gitfed.daemon.fleet.pulled.slice import Slice
from gitfed.daemon.fleet.pulled.station import PulledStation
from gitfed.daemon.fleet.pulled.view import ReportedView
from gitfed.daemon.fleet.pulled.worklist import PulledWorklist
from gitfed.daemon.fleet.workloads import AskedWorkloads
from gitfed.edges.kube import facts
from gitfed.interpret import collect
from gitfed.model import leader
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import (
    INVALID,
    ApplyResult,
    ClusterCondition,
    ClusterFacts,
    ClusterLive,
    Reach,
)
from gitfed.model.plan import Change

log = logging.getLogger("gitfed.member")

LEASE = 40.0
"""Seconds without a sign of life after which a cluster is unknown (Karmada's default)."""
_FIRST = 15.0
"""Seconds that an agent has to come back after this process began, before others go on without it: more than it pauses
between two attempts (`agent.dial`)."""
_NOT_YET = "its agent has not connected yet"
_NO_HUB = "only its agent reaches it, and that listens to gitfed run alone"
"""Said where one plan is carried out by hand."""


class PulledMember:
    """Call `run` as a task; give its `agent` connections."""

    def __init__(
        self,
        cluster: Cluster,
        upward: FleetCallbacks,
        context: MemberContext,
        *,
        lease: float = LEASE,
    ) -> None:
        """`lease`: seconds of silence that say nothing."""
        self.name: ClusterName = cluster.metadata.name
        self.cluster = cluster
        self.asked = False
        self.looked = asyncio.Event()
        self.ready = asyncio.Event()
        self.worker: PulledWorklist | None = None
        self.reports = Reports(self.name)
        self.lease = lease
        self.facts = replace(context.remembered_facts or ClusterFacts(self.name, apis=None), reach=Reach.UNKNOWN)
        self._upward = upward
        self._context = context
        self._slice = Slice(self.name, context.federation)
        self.agent = AgentConnection(self.name, self._slice.told, lambda: upward.now())
        self.station = PulledStation(
            self.name,
            self._slice.told,
            self.reports.endpoints,
            self.agent.poke,
            lambda name, service: upward.endpoints_changed(name, service),
        )
        self.view = ReportedView(self.reports, self.ready.is_set, self._can_be_asked, self.agent.ask)
        self.workloads = AskedWorkloads(self._in_use, self.agent.ask)
        self._lead = AgentLead(context, self.reports, self.agent, self._slice)
        self._error = ""
        self._complaint = ""
        """What was said of it; it stands until it can be used."""
        self._heard_at: float | None = None
        self._was_lost = False
        """Silent for a lease, and not heard since."""
        self._begun_at: float | None = None
        self._rests_with = -1
        """The list that its agent was through with last."""
        self._capacity = False
        self._models: tuple[object, tuple[Any, ...]] = (None, ())
        """`spec.resourceModels`, as declared and as told."""
        self._measured = asyncio.Event()

    @property
    def told(self) -> replica.Told:
        return self._slice.told

    # -- what it says -------------------------------------------------------------------------------------------

    def connected(self, *, changed_hands: bool = False) -> None:
        """A connection began. `changed_hands`: it is that of another member of the pool."""
        self._heard_at = asyncio.get_running_loop().time()
        if changed_hands:
            self._lead.change_hands()
            self._state_changed()

    def heard(self) -> None:
        """A sign of life. After a silence what was heard before counts again: only what changed is told anew."""
        self._heard_at = asyncio.get_running_loop().time()
        self.agent.heard()
        if self._was_lost:
            self._was_lost = False
            self._take_facts()
            self._state_changed()

    def taken(self, change: replica.ValueChange) -> None:
        """What the agent says changed."""
        news = self.reports.take(change)
        self._measured.set()
        if news.state and self.id:
            self._context.says_id(self.id)
        if news.state or not self.asked:
            self._state_changed()
        if news.facts and self.reports.facts is not None:
            self.asked = True
            self._take_facts()
        for key in news.objects:
            self._upward.changed(self.name, key)
        for key, over in news.over:
            self._finished(key, over)
        if news.endpoints:
            self.station.heard(news.services)
        if news.state:
            self._came_to_rest()

    def _take_facts(self) -> None:
        """With the times of our clock: by the agent's, which may be minutes behind, a cluster that has just failed
        could seem to have failed before anybody's patience began."""
        told = self.reports.facts
        if told is not None:
            told = replace(told, conditions=facts.dated([*told.conditions], self.facts, self._upward.now()))
            if told != self.facts:
                self.facts = told
                self._upward.facts_changed(self.name)

    def _came_to_rest(self) -> None:
        """That an agent is through with its list, be it an empty one, is what a record of the roll-out waits for."""
        state = self.reports.state
        if state is not None and state.list != self._rests_with and self.worker is not None and self.worker.idle:
            self._rests_with = state.list
            self._upward.facts_changed(self.name)

    async def answer(self, what: str, about: Any) -> Any:
        """Agents ask nothing. Raises LinkError."""
        raise errors.LinkError(f"the hub does not know the question {what}")

    @property
    def is_followed(self) -> bool:
        """Whether its agent was heard within a lease, and this process listens to it."""
        return self._heard_at is not None and not self._was_lost and not self.agent.ended

    @property
    def has_told(self) -> bool:
        """Whether an agent told this process how the cluster is, at any time."""
        return self.reports.state is not None

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._begun_at = loop.time()
        try:
            if self._lead.is_by_hand:
                self._fail(_NO_HUB)  # no fact about the cluster: it may be well
                await asyncio.Event().wait()
            while True:
                since = self._begun_at if self._heard_at is None else self._heard_at
                left = since + self.lease - loop.time()
                if left <= 0:
                    self._lost()
                    await asyncio.sleep(self.lease / 10)
                    continue
                if self._heard_at is None and not self.looked.is_set() and since + _FIRST <= loop.time():
                    self._fail(self._not_yet)
                await asyncio.sleep(min(left + 0.01, 1.0))
        finally:
            await self.agent.end(errors.LinkError("the hub ends, or this cluster is not pulled by it any more"))

    @property
    def _not_yet(self) -> str:
        return f"no member of pool {self.cluster.pool} holds it" if self.cluster.pool else _NOT_YET

    def _lost(self) -> None:
        """Silent for a whole lease."""
        if self._was_lost:
            return
        self._was_lost = True
        self.agent.cut(errors.LinkCut(f"no sign of life for {self.lease:g} s"))
        never = self._heard_at is None
        reason = "ClusterStatusNeverUpdated" if never else "ClusterStatusUnknown"
        pool = self.cluster.pool
        silent = f"no member of pool {pool} has held it" if pool else "its agent has been silent"
        message = self._not_yet if never else f"{silent} for {self.lease:g} s"
        ready = ClusterCondition("Ready", "Unknown", reason, message)
        others = [condition for condition in self.facts.conditions if condition.type != "Ready"]
        conditions = facts.dated([ready, *others], self.facts, self._upward.now())
        self.facts = replace(self.facts, reach=Reach.UNKNOWN, conditions=conditions, assumed=False)
        self.asked = True
        self._fail(message)
        self._upward.facts_changed(self.name)

    def _fail(self, message: str) -> None:
        self._measured.set()
        if message != self._complaint:
            self._complaint = message
            self._upward.troubled(self.name, message)
        changed = message != self._error or self.ready.is_set()
        self._error = message
        self.ready.clear()
        self.looked.set()
        if changed:
            self._upward.facts_changed(self.name)

    def _state_changed(self) -> None:
        """How the agent's side is now: whether changes may be handed over follows from it."""
        state = self.reports.state
        if state is None:
            return
        elsewhere = self._context.elsewhere(state.id) if state.id and state.id != self._context.recorded_id() else ""
        if elsewhere:
            self._fail(f"the cluster {elsewhere} answers its agent")
            return
        self._lead.give()
        if state.error:
            self._fail(state.error.removeprefix(f"cluster {self.name}: "))
            return
        if not state.looked:
            return
        was_ready, self._error = self.ready.is_set(), ""
        first = not self.looked.is_set()
        self.looked.set()
        if state.ready and self._lead.is_taken(state):
            if self.worker is None:
                self.worker = PulledWorklist(self, self.agent, self._slice)
            self.ready.set()
            if self._complaint:
                self._complaint = ""
                self._upward.troubled(self.name, "")
            self._lead.adopted()
        else:
            self.ready.clear()
        if first or was_ready != self.ready.is_set():
            self._upward.relisted(self.name)
            self._upward.facts_changed(self.name)

    # -- who leads ----------------------------------------------------------------------------------------------

    def claim(self) -> None:
        self._lead.claim()

    @property
    def superseded(self) -> bool:
        stopped = self.worker is not None and bool(self.worker.stopped)
        return (stopped or self._lead.is_replaced) and not self.agent.ended

    @property
    def owner(self) -> str | None:
        return self.reports.state.owner if self.reports.state is not None and not self._error else None

    def led_by_daemon(self, *, but: str) -> bool:
        name = self.reports.state.leader if self.reports.state is not None else ""
        return leader.kind(name) == leader.DAEMON and leader.place(name) != but

    # -- what the planner reads ---------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.reports.state.id if self.reports.state is not None else ""

    @property
    def starting(self) -> bool:
        return not self.ready.is_set() and not self._error

    def live(self) -> ClusterLive:
        state = self.reports.state
        if not self.ready.is_set() or state is None:
            return ClusterLive(
                self.name, inventory_read=False, error=self._error or "not read yet", asked=self.looked.is_set()
            )
        if state.stopped:
            return ClusterLive(self.name, inventory_read=False, error=state.stopped)
        return state.live

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        await self.view.look_anew(keys)

    def _can_be_asked(self) -> bool:
        return self.agent.connected and not self._error

    def _in_use(self) -> bool:
        return self.ready.is_set() and self.facts.reach is Reach.READY

    # -- its room -----------------------------------------------------------------------------------------------

    def want_capacity(self, wanted: bool, *, quotas: bool = True) -> None:
        self._capacity = wanted
        declared = self.cluster.spec.resource_models or ()
        if self._models[0] is not declared:  # every cycle says it again to every cluster
            self._models = declared, tuple(model.model_dump(mode="json", by_alias=True) for model in declared)
        self._slice.tell(
            capacity=wanted,
            quotas=quotas,
            models=self._models[1],
            expected=0 if self._lead.adopts else self._context.expected(),
            recorded_id=self._context.recorded_id(),
            declared=self.cluster.as_written() if self.cluster.pool else None,
        )
        self.agent.poke()

    @property
    def measuring(self) -> bool:
        state = self.reports.state
        connected = self.agent.connected and state is not None and self.looked.is_set() and not self._error
        return self._capacity and connected and state is not None and not state.measured

    async def measured(self) -> None:
        while self.measuring:
            self._measured.clear()
            await self._measured.wait()

    # -- what it is told ----------------------------------------------------------------------------------------

    def follow(self, expected: Expected) -> None:
        self._slice.follow(expected)
        self.agent.poke()

    def judge(self, key: ObjectKey, collected: collect.Collected) -> None:
        live = self.view.get(key)
        if live is None or live.body is None:
            return
        metadata = live.body["metadata"]
        verdict = values.ScriptVerdict(live.uid, metadata.get("generation"), collected)
        if self.told.put(values.of(values.VERDICT, key), values.VERDICTS.json(verdict)):
            self.agent.poke()

    def refused(self, change: Change, why: str) -> None:
        """No agent can be told of this change. Said after the list is handed over, not in the middle of it."""
        result = ApplyResult(self.name, change.key, "failed", why, permanent=True)
        asyncio.get_running_loop().call_soon(self._upward.finished, change, result)

    def submitted(self) -> None:
        """The list is another one now."""
        self.agent.poke()

    def _finished(self, key: ObjectKey, over: values.Over) -> None:
        if over.result is None:
            return
        change = self.worker.change(key, over.id) if self.worker is not None else None
        if change is None or change.drift != over.drift:
            # The agent repaired it by itself, or the list is another one by now.
            change = Change(self.name, key, "", over.action, drift=over.drift)
        message = self._upward.redact({}, over.result.message)
        if change.write.rendered is not None and over.result.details.get("reason") == INVALID:
            message += change.write.rendered.made_by  # the agent knows what is wanted, and not by whom
        self._upward.finished(change, replace(over.result, cluster=self.name, key=key, message=message))
