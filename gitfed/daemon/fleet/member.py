"""One cluster of the fleet as the daemon holds it: its connection, what is seen there, and its worker.

A member lives as long as its declaration. Whatever fails in it (credentials, the network, another owner) is a fact of
that cluster, shown to the planner as "unknown", and never stops another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
import time
from collections.abc import Callable, Collection

from gitfed import errors
from gitfed.daemon import trouble
from gitfed.daemon.fleet.apply_change import ClusterWriter
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.cluster_health import Timing, Vitals
from gitfed.daemon.fleet.leadership import Leadership, LeadIsFree
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.member_protocol import Expected
from gitfed.daemon.fleet.observed_view import ObservedView
from gitfed.daemon.fleet.same_cluster import SameCluster
from gitfed.daemon.fleet.worker import Worker, WorkerCallbacks
from gitfed.daemon.fleet.workloads import WorkloadAccess, Workloads
from gitfed.daemon.services.station import Station
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import facts, identity
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.inventory import Inventory
from gitfed.edges.kube.observe import Observer, ObserverCallbacks
from gitfed.interpret import collect
from gitfed.model import leader
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts, ClusterLive, Reach

log = logging.getLogger("gitfed.member")

_SETTLE = 60.0
"""Seconds for the first list of every kind."""
_MEASURE = 30.0
"""Seconds that a cluster is waited for when its room is wanted: it can be used without."""
_READY = 4
"""Changes that are begun before the session has a place for their request, so that no place ever waits for the loop."""
_STEADY = 60.0
"""Seconds without a failure after which an unforeseen one counts as the first."""
RETRIES = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0))
"""Seconds between attempts to reach a cluster, by number of failures in a row."""
_HOPELESS = Backoff((60.0,))
"""The same when the error says that another try would end alike."""


class Member:
    """Call `run` as a task; it ends when cancelled."""

    def __init__(
        self,
        cluster: Cluster,
        open_session: Callable[[Cluster], Session],
        upward: FleetCallbacks,
        context: MemberContext,
        *,
        timing: Timing | None = None,
        concurrency: int = 16,
    ) -> None:
        self.name: ClusterName = cluster.metadata.name
        self.cluster = cluster
        self.asked = False
        """The cluster was asked how it is, whether or not it answered. Without usable credentials it never is, and what
        is believed of it is what was known before: that we lack credentials is no fact about the cluster."""
        self.looked = asyncio.Event()
        """The first look is over, well or badly."""
        self.ready = asyncio.Event()
        """Inventory and objects were read; the worker may write."""
        self.worker: Worker | None = None
        self.view = ObservedView(concurrency, lambda: not self._error)
        self.station = Station(self.name, context.federation, self, upward.endpoints_changed)
        self._open_session = open_session
        self._upward = upward
        self._context = context
        self._lead = context.lead or Leadership(context.repository_id, called=context.called, adopt=context.adopt)
        self._same = SameCluster(self.name)
        self._replaced = False
        self._probe = (timing or Timing()).probe
        self._concurrency = concurrency
        self._session: Session | None = None
        self._discovery: Discovery | None = None
        self._error = ""
        self._complaint = ""
        """What was said of it. It stands until the worker can begin: a cluster of another repository is read well."""
        self._vitals = Vitals(
            context.remembered_facts or ClusterFacts(self.name, apis=None),
            timing or Timing(),
            models=lambda: self.cluster.spec.resource_models or (),
            now=upward.now,
            wake=lambda: upward.facts_changed(self.name),
        )
        self._measure = self._vitals.measure
        self.workloads = Workloads(self._in_use, self._measure, self.view.is_ours)
        self._hurry = asyncio.Event()
        """A person wants the cluster to be asked now."""
        self._served = False
        self._began = 0.0
        """time.monotonic() of the last time that the worker could begin."""
        self._defective = False
        """What ended the service was not foreseen."""
        self._defect = ""
        """What was logged of that."""

    @property
    def facts(self) -> ClusterFacts:
        """What is believed of it."""
        return self._vitals.facts

    @property
    def id(self) -> str:
        """The uid of its kube-system; "" while it was not read."""
        return self._same.uid

    @property
    def error(self) -> str:
        """Why it cannot be used, "" when it can."""
        return self._error

    @property
    def has_measured(self) -> bool:
        """Its capacity was looked at, or is not wanted."""
        return self._measure.looked or not self._measure.wanted

    @property
    def starting(self) -> bool:
        """Neither ready nor given up for now."""
        return not self.ready.is_set() and not self._error

    # -- what the planner reads ---------------------------------------------------------------------------------

    def live(self) -> ClusterLive:
        """What is known and unknown of this cluster as a whole, for decisions: unread until the worker may write."""
        if not self.ready.is_set():
            return ClusterLive(
                self.name, inventory_read=False, error=self._error or "not read yet", asked=self.looked.is_set()
            )
        return self.seen()

    def seen(self) -> ClusterLive:
        """The same for a command that only looks."""
        stopped = self.worker.stopped if self.worker else ""
        if self.view.observer is None or stopped or self._error:
            return ClusterLive(self.name, inventory_read=False, error=stopped or self._error or "not read yet")
        return self.view.observer.live()

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        """Read these objects, or everything, again; a cluster that waits to be asked again is asked now."""
        self._hurry.set()
        await self.view.look_anew(keys)

    def _can_wait(self, key: ObjectKey) -> bool:
        """Writing, anywhere, goes before judging what was written, but for what a write waits for."""
        return bool(self._upward.rush) and not (self.worker is not None and self.worker.awaits(key))

    def want_capacity(self, wanted: bool, *, quotas: bool = True) -> None:
        """Whether to watch Nodes and Pods, and ResourceQuotas with them."""
        self._measure.want(wanted, quotas=quotas)

    @property
    def measuring(self) -> bool:
        """Room is wanted of a cluster that is in use, and was not looked at yet."""
        return self._measure.wanted and not self._measure.looked and self.looked.is_set() and not self._error

    async def measured(self) -> None:
        """Wait for the first look at nodes and pods. The caller sets the timeout."""
        await self._measure.first_look()

    def _in_use(self) -> WorkloadAccess | None:
        ready = self.ready.is_set() and self.facts.reach is Reach.READY
        return WorkloadAccess(self._session, self._discovery) if ready and self._session and self._discovery else None

    @property
    def superseded(self) -> bool:
        """Whether another daemon leads here now."""
        return self.worker is not None and bool(self.worker.stopped) and not self.worker.abandoned

    @property
    def owner(self) -> str | None:
        """The repository that its inventory belongs to, "" for none yet; None: it could not be read."""
        inventory = self.view.inventory
        return inventory.snapshot.repository_id if inventory is not None and inventory.readable else None

    def led_by_daemon(self, *, but: str) -> bool:
        """Whether a daemon leads here, as far as its inventory tells; not one of the data folder `but`, which is ours
        alone now."""
        name = self.view.inventory.snapshot.leader if self.view.inventory is not None else ""
        return leader.kind(name) == leader.DAEMON and leader.place(name) != but

    def claim(self) -> None:
        """The repository id is known: write it into the inventory, with a higher term, and begin to write."""
        self._lead.claim()

    # -- what it is told ----------------------------------------------------------------------------------------

    def follow(self, expected: Expected) -> None:
        """What is seen is compared by `callbacks.assess`, which knows that already."""
        self.view.compare_again(expected.changed)
        self.view.want(expected.kinds)

    def judge(self, key: ObjectKey, collected: collect.Collected) -> None:
        """Raises nothing: of what is not there any more there is nothing to say."""
        live = self.view.get(key)
        if live is None or live.body is None:
            return
        if self._upward.judge(self.name, key, live.body, collected):
            self.view.compare_again([key])

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        attempt = 0
        while True:
            if self._replaced:
                self._forget()
            try:
                await self._serve()
            except errors.NotOwned as error:
                self._fail(error.message)
                pause = _HOPELESS.after(1)
            except asyncio.CancelledError:
                await self._lead.resign(self.view.inventory, self.worker)
                raise
            except Exception as error:  # noqa: BLE001
                if isinstance(error, BaseExceptionGroup) and error.subgroup(LeadIsFree) is not None:
                    attempt = 0
                    log.warning("the lead is free again: taking it", extra={"cluster": self.name})
                    self.ready.clear()
                    continue
                # Whatever it is: one cluster must not be lost to the fleet for as long as this process lives.
                self._replaced = any(isinstance(leaf, errors.ClusterReplaced) for leaf in trouble.leaves(error))
                self._fail(str(self._failure(error)))
                pause = RETRIES.after(attempt + 1)
            finally:
                await self._close()
            attempt = 0 if self._lasted() else attempt + 1
            self._served, self._defective = False, False
            await self._pause(min(pause, self._vitals.next_look()) if self._vitals.in_doubt else pause)

    async def _pause(self, seconds: float) -> None:
        """Or until a person is in a hurry. With `asyncio.timeout`, Python 3.11.2 ends a task in which a group was once
        cancelled, as the service of a cluster that fails is."""
        hurry = asyncio.create_task(self._hurry.wait())
        try:
            await asyncio.wait((hurry,), timeout=seconds)
        finally:
            hurry.cancel()
        self._hurry.clear()

    def _lasted(self) -> bool:
        """Whether the service went well for a while, so that the next failure is the first one again. An
        unforeseen failure may come back as soon as it begins."""
        return self._served and not (self._defective and time.monotonic() - self._began < _STEADY)

    def _failure(self, error: Exception) -> errors.GitfedError:
        failure = trouble.of_member(self.name, error)
        if isinstance(failure, errors.Unforeseen):
            self._defective = True
            if failure.message != self._defect:
                self._defect = failure.message
                trouble.say("a defect of gitfed, or an answer that no API server gives", failure, cluster=self.name)
        return failure

    def _forget(self) -> None:
        """Nothing that was read of it holds, neither what is there nor what we wrote down there."""
        self._replaced = False
        self._session = self._discovery = self.worker = None
        self.view.forget()

    def _fail(self, message: str) -> None:
        message = message.removeprefix(f"cluster {self.name}: ")  # said beside the cluster's name everywhere
        if message != self._complaint:
            self._upward.troubled(self.name, message)
        self._error = self._complaint = message
        self.ready.clear()
        self.looked.set()
        self._upward.facts_changed(self.name)

    async def _serve(self) -> None:
        """Everything from the first look to the last write; ends with an exception only."""
        if self._session is None:
            self._session = self._open_session(self.cluster)
            self._discovery = Discovery(self._session)
            # Whose fleet this is may have to be learned from inventories first: `Leading.begin` fills it in.
            self.view.inventory = Inventory(self._session, federation=self._context.federation, leader=self._lead.name)
        session, discovery, inventory = self._session, self._discovery, self.view.inventory
        assert discovery is not None
        assert inventory is not None
        observed = await facts.probe(session, discovery, now=self._upward.now(), previous=self.facts)
        self.asked = True
        self._vitals.take(observed)
        if observed.reach is not Reach.READY:
            message = next((c.message for c in observed.conditions if c.type == "Ready"), "not ready")
            raise errors.ClusterUnreachable(f"cluster {self.name}: {message}", cluster=self.name)
        found_id = await identity.read(session)
        known_id = self.id or self._context.recorded_id()
        replaced = found_id is not None and known_id not in ("", found_id.uid)
        remembered = self._context.expected() if self._lead.term is None else None
        # One that was made anew has nothing of ours, and gets everything again; whose inventory it has, if it has one,
        # is asked before the first write (`Leading.begin`).
        await inventory.read(expected=0 if (self._context.adopt and remembered is not None) or replaced else remembered)
        if replaced and found_id is not None and (name := self._context.elsewhere(found_id.uid)):
            raise errors.NotOwned(f"cluster {self.name}: the cluster {name} answers at its address")
        self._same.take(found_id)
        self._context.says_id(self.id)
        callbacks = ObserverCallbacks(self._upward.assess, self._upward.changed, can_wait=self._can_wait)
        observer = self.view.observer = Observer(session, discovery, inventory, callbacks)
        self.view.follow()
        async with asyncio.TaskGroup() as group:
            group.create_task(observer.run())
            group.create_task(self._measure.run(session))
            async with asyncio.timeout(_SETTLE):
                await observer.settled()
            if self._measure.wanted:  # without it the first plan would not know what fits
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_MEASURE):
                        await self._measure.first_look()
            self._error = ""
            self.looked.set()
            self._upward.relisted(self.name)
            await self._lead.begin(inventory)
            confirm = functools.partial(self._same.confirm, session)
            writing = ClusterWriter(
                session,
                discovery,
                observer,
                federation=self._context.federation,
                redact=self._upward.redact,
                interpreter=self._upward.interpreter,
            )
            worker = self.worker = Worker(
                self.name,
                inventory,
                WorkerCallbacks(
                    writing.carry_out,
                    observer.get,
                    observer.look,
                    self._upward.finished,
                    self._upward.waited,
                    confirm,
                ),
                concurrency=self._concurrency + _READY,
                rush=self._upward.rush,
            )
            self.ready.set()
            if self._complaint:
                self._complaint = ""
                self._upward.troubled(self.name, "")
            self._served, self._began = True, time.monotonic()
            self._upward.facts_changed(self.name)
            group.create_task(worker.run())
            group.create_task(self.station.run(session, worker, inventory.check_ours, confirm))
            group.create_task(self._keep_probing(session, discovery))
            group.create_task(self._keep_looking_at_foreign())
            group.create_task(self._lead.follow(inventory, worker))

    async def _keep_probing(self, session: Session, discovery: Discovery) -> None:
        while True:
            await asyncio.sleep(self._vitals.next_look())
            observed = await facts.probe(session, discovery, now=self._upward.now(), previous=self.facts)
            was = self.facts.reach
            self._vitals.take(observed)
            if observed.reach is Reach.READY:
                try:
                    await self._same.confirm(session)
                except errors.ClusterReplaced:
                    raise
                except errors.ClusterError:
                    continue  # the next look tells
            if self.worker is not None and was is not Reach.READY and self.facts.reach is Reach.READY:
                self.worker.wake()
                if self.view.observer is not None:
                    self.view.observer.wake()
                self.station.wake()

    async def _keep_looking_at_foreign(self) -> None:
        """No watch shows when another client's object leaves the name that we want."""
        while True:
            await asyncio.sleep(self._probe * random.uniform(0.9, 1.1))
            await self.view.look_at(self.view.foreign())

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()
