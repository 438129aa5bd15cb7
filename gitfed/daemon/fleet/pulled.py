"""A cluster that this process cannot reach: its agent does there what `member.Member` does here.

What is told to the agent is its `slice`; what it tells is kept here, as last heard, and answers what the engine asks.
So everything here returns at once, and an agent that misbehaves can say wrong things about its own cluster only.

An agent may be away for the length of a lease without anybody noticing: a hub that restarts, a network that breaks
for a moment. After that the cluster is unknown (Karmada: ClusterStatusUnknown), as a push cluster that does not answer.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitfed import errors
from gitfed.agent_protocol import frames, replica, values
from gitfed.agent_protocol.link import Link
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.member_protocol import Expected
from gitfed.daemon.fleet.pulled_worklist import PulledWorklist
from gitfed.daemon.fleet.reports import Reports
from gitfed.daemon.fleet.slice import Slice
from gitfed.daemon.services.station import Station
from gitfed.edges.kube import facts
from gitfed.interpret import collect
from gitfed.model import leader
from gitfed.model.agent_presence import AgentPresence
from gitfed.model.base import ClusterName, Kind, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import (
    ApplyResult,
    ClusterFacts,
    ClusterLive,
    Condition,
    InventoryEntry,
    LiveObject,
    Reach,
    Stuck,
)
from gitfed.model.leader import Term
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.model.plan import Change
from gitfed.planning.objects import compare

log = logging.getLogger("gitfed.member")

LEASE = 40.0
"""Seconds without a sign of life after which a cluster is unknown (Karmada's default)."""
_FIRST = 15.0
"""Seconds that an agent has to come back after this process began, before others go on without it: more than it pauses
between two attempts (`agent.dial`)."""
_ANSWER = 20.0
_NOT_YET = "its agent has not connected yet"
_NO_HUB = "only its agent reaches it, and that listens to gitfed run alone"
"""Said where one plan is carried out by hand."""


class PulledMember:
    """Call `run` as a task; give it connections with `attach`."""

    def __init__(
        self,
        cluster: Cluster,
        upward: FleetCallbacks,
        *,
        federation: str,
        repository_id: Callable[[], str],
        expected: Callable[[], int],
        recorded_id: Callable[[], str],
        elsewhere: Callable[[str], ClusterName],
        adopt: bool = False,
        lease: float = LEASE,
        known: ClusterFacts | None = None,
        called: str = "",
    ) -> None:
        """As those of `member.Member`. `lease`: seconds of silence that say nothing."""
        self.name: ClusterName = cluster.metadata.name
        self.cluster = cluster
        self.asked = False
        self.looked = asyncio.Event()
        self.ready = asyncio.Event()
        self.worker: PulledWorklist | None = None
        self.station: Station | None = None
        self.reports = Reports(self.name)
        self.lease = lease
        self.facts = replace(known or ClusterFacts(self.name, apis=None), reach=Reach.UNKNOWN)
        self._known = AgentPresence()
        self._upward = upward
        self._repository_id = repository_id
        self._expected = expected
        self._recorded_id = recorded_id
        self._elsewhere = elsewhere
        self._adopt = adopt
        self._slice = Slice(self.name, federation)
        self._leader = f"{called}-{uuid.uuid4().hex}" if called else uuid.uuid4().hex
        self._term: int | None = None
        self._claimed = False
        self._link: Link | None = None
        self._error = ""
        self._complaint = ""
        """What was said of it; it stands until it can be used."""
        self._heard_at: float | None = None
        self._was_lost = False
        """Silent for a lease, and not heard since."""
        self._begun_at: float | None = None
        self._capacity = False
        self._measured = asyncio.Event()
        self._abandoned = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def told(self) -> replica.Told:
        return self._slice.told

    @property
    def connected(self) -> bool:
        return self._link is not None

    @property
    def presence(self) -> AgentPresence:
        """How its agent is now."""
        connected = self._known.connected if self.connected else None
        return replace(self._known, connected=connected, wanted=self.told.sequence, held=self.told.held)

    @property
    def instance(self) -> str:
        """Which process of an agent is connected, or was last."""
        return self._known.instance

    @property
    def version(self) -> int:
        """Of the protocol, that this process speaks."""
        return self._known.protocol or frames.OLDEST

    # -- the connection -----------------------------------------------------------------------------------------

    def may_attach(self, instance: str) -> None:
        """Raises LinkError while another agent of this name is connected, or this process leads no more."""
        if self._abandoned:
            raise errors.LinkError("another daemon leads now: connect again")
        if self._link is not None and instance != self._known.instance:
            raise errors.LinkError(
                f"cluster {self.name} has an agent already, and has one at a time", hint="end the other one"
            )

    async def attach(self, link: Link, instance: str, *, program: str = "", protocol: int | None = None) -> None:
        """This is the connection now. An older one of the same process is half open, and ends first."""
        before, self._link = self._link, link
        if before is not None:
            await before.close(errors.LinkError("the same agent connected again"))
            await before.ended.wait()
        self._heard_at = asyncio.get_running_loop().time()
        self._known = self._known.connected_now(self._upward.now(), instance, program, protocol)
        log.info("agent connected", extra={"cluster": self.name, "instance": instance[:8]})

    def is_attached(self, link: Link) -> bool:
        return self._link is link

    def detach(self, link: Link, error: errors.LinkError) -> None:
        if self._link is link:
            self._link = None
            if not self._abandoned:
                log.warning("agent gone", extra={"cluster": self.name, "error": error.message})

    def heard(self) -> None:
        """A sign of life. After a silence what was heard before counts again: only what changed is told anew."""
        self._heard_at = asyncio.get_running_loop().time()
        self._known = replace(self._known, heard=self._upward.now())
        if self._was_lost:
            self._was_lost = False
            if self.reports.facts is not None:
                self.facts = self.reports.facts
                self._upward.facts_changed(self.name)
            self._state_changed()

    def taken(self, change: replica.Change) -> None:
        """What the agent says changed."""
        news = self.reports.take(change)
        self._measured.set()
        if news.state or not self.asked:
            self._state_changed()
        if news.facts and self.reports.facts is not None:
            self.asked = True
            if self.facts != self.reports.facts:
                self.facts = self.reports.facts
                self._upward.facts_changed(self.name)
        for key in news.objects:
            self._upward.changed(self.name, key)
        for key, over in news.over:
            self._finished(key, over)

    async def answer(self, what: str, about: Any) -> Any:
        """Agents ask nothing. Raises LinkError."""
        raise errors.LinkError(f"nobody answers {what}")

    def _poke(self) -> None:
        if self._link is not None:
            self._link.poke()

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, what: str, about: Any = None, patience: float = _ANSWER) -> Any:
        if self._link is None:
            raise errors.LinkCut(f"cluster {self.name}: its agent is not connected")
        return await self._link.ask(what, about, patience=patience)

    async def ask_for_stream(self, key: str, patience: float) -> None:
        """Have the agent dial back (`http_relay.reverse`) with this key. Raises LinkError."""
        await self._ask("stream", key, patience)

    @property
    def is_followed(self) -> bool:
        """Whether its agent was heard within a lease, and this process is who listens to it."""
        return self._heard_at is not None and not self._was_lost and not self._abandoned

    def say(self, what: str, about: Any = None) -> None:
        """Ask, and wait for no answer: who is away hears nothing, and needs not to."""

        async def asking() -> None:
            with suppress(errors.LinkError):
                await self._ask(what, about)

        if self._link is not None:
            self._begin(asking())

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._begun_at = loop.time()
        try:
            if leader.kind(self._leader) == leader.ONE_SHOT:
                self._fail(_NO_HUB)  # and that nobody listens here is no fact about the cluster
                await asyncio.Event().wait()
            while True:
                since = self._begun_at if self._heard_at is None else self._heard_at
                left = since + self.lease - loop.time()
                if left <= 0:
                    self._lost()
                    await asyncio.sleep(self.lease / 10)
                    continue
                if self._heard_at is None and not self.looked.is_set() and since + _FIRST <= loop.time():
                    self._fail(_NOT_YET)
                await asyncio.sleep(min(left + 0.01, 1.0))
        finally:
            self._abandoned = True
            link, self._link = self._link, None
            if link is not None:
                await link.close(errors.LinkError("the hub ends, or this cluster is not pulled by it any more"))
            for task in self._tasks:
                task.cancel()

    def _lost(self) -> None:
        """Silent for a whole lease."""
        if self._was_lost:
            return
        self._was_lost = True
        link, self._link = self._link, None
        if link is not None:
            self._begin(link.close(errors.LinkCut(f"no sign of life for {self.lease:g} s")))
        never = self._heard_at is None
        reason = "ClusterStatusNeverUpdated" if never else "ClusterStatusUnknown"
        message = _NOT_YET if never else f"its agent has been silent for {self.lease:g} s"
        ready = Condition("Ready", "Unknown", reason, message)
        others = [one for one in self.facts.conditions if one.type != "Ready"]
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
        other = self._elsewhere(state.id) if state.id and state.id != self._recorded_id() else ""
        if other:
            self._fail(f"the cluster {other} answers its agent")
            return
        self._give_lead()
        if state.error:
            self._fail(state.error.removeprefix(f"cluster {self.name}: "))
            return
        if not state.looked:
            return
        was_ready, self._error = self.ready.is_set(), ""
        first = not self.looked.is_set()
        self.looked.set()
        if state.ready and self._term is not None and state.led == self._term and state.leader == self._leader:
            if self.worker is None:
                self.worker = PulledWorklist(self, self._slice)
            self.ready.set()
            if self._complaint:
                self._complaint = ""
                self._upward.troubled(self.name, "")
            if self._adopt:
                self._adopt = False  # it is done: an agent that begins anew does not do it again
                self._slice.tell(lead=Term(self._repository_id(), self._term, self._leader))
                self._poke()
        else:
            self.ready.clear()
        if first or was_ready != self.ready.is_set():
            self._upward.relisted(self.name)
            self._upward.facts_changed(self.name)

    # -- who leads ----------------------------------------------------------------------------------------------

    def claim(self) -> None:
        self._claimed = True
        self._give_lead()

    def _give_lead(self) -> None:
        """Once in this process's life, with a term above the inventory's; and again where the one has ended that led in
        our place meanwhile, or where the agent was still writing down the same term for the one before us."""
        state = self.reports.state
        if not self._claimed or self._abandoned or state is None or not state.looked or state.owner is None:
            return
        if self._term is not None:
            mine = state.term < self._term or (state.term == self._term and state.leader == self._leader)
            if mine or (state.term > self._term and not leader.is_done(state.leader)):
                return
        self._term = state.term + 1
        lead = Term(self._repository_id(), self._term, self._leader, self._adopt)
        self._slice.tell(lead=lead)
        self._poke()

    @property
    def superseded(self) -> bool:
        return self.worker is not None and bool(self.worker.stopped) and not self._abandoned

    @property
    def owner(self) -> str | None:
        return self.reports.state.owner if self.reports.state is not None and not self._error else None

    def led_by_daemon(self, *, but: str) -> bool:
        name = self.reports.state.leader if self.reports.state is not None else ""
        return leader.kind(name) == leader.DAEMON and leader.place(name) != but

    def abandon(self) -> None:
        """Somebody else leads: nothing more is told, and nothing that is heard counts."""
        self._abandoned = True
        link, self._link = self._link, None
        if link is not None:
            self._begin(link.close(errors.LinkError("another daemon leads now: connect again")))

    # -- what the planner reads ---------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.reports.state.id if self.reports.state is not None else ""

    @property
    def starting(self) -> bool:
        return not self.ready.is_set() and not self._error

    @property
    def behind(self) -> bool:
        state = self.reports.state
        return self.ready.is_set() and self._link is not None and state is not None and state.behind

    def live(self) -> ClusterLive:
        state = self.reports.state
        if not self.ready.is_set() or state is None:
            return ClusterLive(
                self.name, inventory_read=False, error=self._error or "not read yet", asked=self.looked.is_set()
            )
        if state.stopped:
            return ClusterLive(self.name, inventory_read=False, error=state.stopped)
        return state.live

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self.reports.objects.get(key)

    def has(self, key: ObjectKey) -> bool:
        live = self.get(key)
        return live is not None and bool(live.uid)

    def absent(self, key: ObjectKey) -> bool:
        live, state = self.get(key), self.reports.state
        if live is None or state is None or Kind(key.group, key.kind) in state.live.unread:
            return False
        return not live.uid or compare.is_foreign(live)

    def objects(self) -> Mapping[ObjectKey, LiveObject]:
        return self.reports.objects

    def entries(self) -> Mapping[ObjectKey, InventoryEntry]:
        return self.reports.entries

    async def look_at(self, keys: Iterable[ObjectKey]) -> None:
        wanted = list(keys)
        if wanted and self._link is not None and not self._error:
            with suppress(errors.LinkError):
                await self._ask("look", [list(key) for key in wanted], patience=60.0)

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        with suppress(errors.LinkError):
            await self._ask("look-anew", [list(key) for key in keys], patience=60.0)

    # -- its room -----------------------------------------------------------------------------------------------

    def want_capacity(self, wanted: bool, *, quotas: bool = True) -> None:
        self._capacity = wanted
        models = tuple(one.model_dump(mode="json", by_alias=True) for one in self.cluster.spec.resource_models or ())
        self._slice.tell(
            capacity=wanted, quotas=quotas, models=models, expected=0 if self._adopt else self._expected(),
            recorded_id=self._recorded_id(),
        )  # fmt: skip
        self._poke()

    @property
    def measuring(self) -> bool:
        state = self.reports.state
        connected = self._link is not None and state is not None and self.looked.is_set() and not self._error
        return self._capacity and connected and state is not None and not state.measured

    async def measured(self) -> None:
        while self.measuring:
            self._measured.clear()
            await self._measured.wait()

    async def stuck(self, before: datetime) -> Mapping[ObjectKey, tuple[int, Stuck]]:
        if not self.ready.is_set() or self.facts.reach is not Reach.READY:
            return {}
        try:
            found = values.STUCK.read(await self._ask("stuck", before.isoformat()))
        except errors.LinkError:
            return {}
        return {key: (count, one) for key, count, one in found}

    async def load(self, questions: Sequence[LoadQuestion]) -> Mapping[ObjectKey, ClusterLoad]:
        if not self.ready.is_set() or self.facts.reach is not Reach.READY:
            return {}
        try:
            found = values.LOADS.read(await self._ask("load", values.LOAD_QUESTIONS.json(list(questions))))
        except errors.LinkError:
            return {}
        return dict(found)

    # -- what it is told ----------------------------------------------------------------------------------------

    def follow(self, expected: Expected) -> None:
        self._slice.follow(expected)
        self._poke()

    def judge(self, key: ObjectKey, found: collect.Collected) -> None:
        live = self.get(key)
        if live is None or live.body is None:
            return
        metadata = live.body["metadata"]
        verdict = values.Verdict(live.uid, metadata.get("generation"), found)
        if self.told.put(values.of(values.VERDICT, key), values.VERDICTS.json(verdict)):
            self._poke()

    def refused(self, change: Change, why: str) -> None:
        """No agent can be told of this change. Said after the list is handed over, not in the middle of it."""
        result = ApplyResult(self.name, change.key, "failed", why, permanent=True)
        asyncio.get_running_loop().call_soon(self._upward.finished, change, result)

    def submitted(self) -> None:
        """The list is another one now."""
        self._poke()

    def _finished(self, key: ObjectKey, over: values.Over) -> None:
        if over.result is None:
            return
        change = self.worker.change(key, over.id) if self.worker is not None else None
        if change is None or change.drift != over.drift:
            # The agent repaired it by itself, or the list is another one by now.
            change = Change(self.name, key, "", over.action, drift=over.drift)
        message = self._upward.redact({}, over.result.message)
        self._upward.finished(change, replace(over.result, cluster=self.name, key=key, message=message))
