"""One cluster of the fleet as the daemon holds it: its connection, what is seen there, and its worker.

A member lives as long as its declaration. Whatever fails in it (credentials, the network, another owner) is a fact of
that cluster, shown to the planner as "unknown", and never stops another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from gitfed import errors
from gitfed.daemon import trouble
from gitfed.daemon.fleet.apply_change import Writing
from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.cluster_health import Timing, Vitals
from gitfed.daemon.fleet.leadership import Leadership, Leading, LeadIsFree
from gitfed.daemon.fleet.member_protocol import ClusterMember, Expected
from gitfed.daemon.fleet.worker import Worker
from gitfed.daemon.services.station import Station
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import facts, identity, load, unschedulable
from gitfed.edges.kube.discovery import Discovery
from gitfed.edges.kube.identity import Identity
from gitfed.edges.kube.inventory import Inventory
from gitfed.edges.kube.observe import Observer
from gitfed.edges.kube.session import Session
from gitfed.interpret import collect
from gitfed.model import leader
from gitfed.model.base import ClusterName, Kind, ObjectKey
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import ClusterFacts, ClusterLive, InventoryEntry, LiveObject, Reach, Stuck
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.planning.objects import compare

log = logging.getLogger("gitfed.member")

_SETTLE = 60.0
"""Seconds for the first list of every kind."""
_MEASURE = 30.0
"""Seconds that a cluster is waited for when its room is wanted: it can be used without."""
_STUCK = 20.0
"""Seconds for looking into pods that wait for a node; what is not answered by then is asked the next time."""
_LOAD = 10.0
"""Seconds for asking what workloads use: a cluster that takes longer counts as unread this time."""
_FRESH = 1.0
"""Seconds for which it need not be asked again, before a write, whether it is still the same cluster."""
_READY = 4
"""Changes that are begun before the session has a place for their request, so that no place ever waits for the loop."""
_MOST_LOOKS = 500
"""Objects that are looked up one by one."""
_STEADY = 60.0
"""Seconds without a failure after which one that nobody foresaw counts as the first."""
RETRIES = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0))
"""Seconds between attempts to reach a cluster, by number of failures in a row."""
_HOPELESS = Backoff((60.0,))
"""The same when the error says that another try would end alike."""


async def look_for(members: Iterable[ClusterMember], keys: Iterable[ObjectKey]) -> None:
    """Look up these objects where they were not seen: one of that name may be somebody else's.

    If there are too many of them, only those that no cluster has; with many of these too the plan says "create", and
    the write finds out.
    """
    all_members, wanted = list(members), list(keys)
    unseen = {member.name: [key for key in wanted if not member.has(key)] for member in all_members}
    if sum(map(len, unseen.values())) > _MOST_LOOKS:
        nowhere = [key for key in wanted if not any(member.has(key) for member in all_members)]
        unseen = dict.fromkeys(unseen, nowhere if len(nowhere) <= _MOST_LOOKS else [])
    await asyncio.gather(*(member.look_at(unseen[member.name]) for member in all_members))


class Member:
    """Call `run` as a task; it ends when cancelled."""

    def __init__(
        self,
        cluster: Cluster,
        open_session: Callable[[Cluster], Session],
        upward: FleetCallbacks,
        *,
        federation: str,
        repository_id: Callable[[], str],
        expected: Callable[[], int] = lambda: 0,
        recorded_id: Callable[[], str] = str,
        elsewhere: Callable[[str], ClusterName] = lambda uid: "",
        adopt: bool = False,
        timing: Timing | None = None,
        concurrency: int = 16,
        known: ClusterFacts | None = None,
        called: str = "",
        lead: Leading | None = None,
    ) -> None:
        """`expected`: entries that the state remembers of this cluster; far fewer mean a damaged inventory.
        `recorded_id`: which cluster it was, by the uid of its kube-system; "" when that is not on record. `elsewhere`:
        the name of another cluster of the fleet that has this uid. `known`: facts of an earlier process. `called`: how
        our name in the inventory begins. `lead`: instead of one of its own.
        """
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
        self.inventory: Inventory | None = None
        self.observer: Observer | None = None
        self.station = Station(self.name, federation, self, upward.endpoints_changed)
        """What it has of endpoints that others want, and should have of theirs."""
        self._open_session = open_session
        self._upward = upward
        self._federation = federation
        self._lead = lead or Leadership(repository_id, called=called, adopt=adopt)
        self._expected = expected
        self._recorded_id = recorded_id
        self._elsewhere = elsewhere
        self._identity: Identity | None = None
        """Which cluster was read, and how far it was."""
        self._confirmed_at = 0.0
        self._replaced = False
        self._adopt = adopt
        self._probe = (timing or Timing()).probe
        self._concurrency = concurrency
        self._session: Session | None = None
        self._discovery: Discovery | None = None
        self._error = ""
        self._complaint = ""
        """What was said of it. It stands until the worker can begin: a cluster of somebody else is read well."""
        self._wanted: frozenset[Kind] = frozenset()
        self._vitals = Vitals(
            known or ClusterFacts(self.name, apis=None),
            timing or Timing(),
            models=lambda: self.cluster.spec.resource_models or (),
            now=upward.now,
            wake=lambda: upward.facts_changed(self.name),
        )
        self._measure = self._vitals.measure
        self._hurry = asyncio.Event()
        """A person wants the cluster to be asked now."""
        self._served = False
        self._began = 0.0
        """time.monotonic() of the last time that the worker could begin."""
        self._defective = False
        """What ended the service was not foreseen."""
        self._defect = ""
        """What was logged of that."""
        self._kinds: tuple[object, frozenset[Kind]] = (None, frozenset())

    @property
    def facts(self) -> ClusterFacts:
        """What is believed of it."""
        return self._vitals.facts

    @property
    def id(self) -> str:
        """The uid of its kube-system; "" while it was not read."""
        return self._identity.uid if self._identity is not None else ""

    @property
    def error(self) -> str:
        """Why it cannot be used, "" when it can."""
        return self._error

    @property
    def has_measured(self) -> bool:
        """Its room was looked at, or nobody wants to know it."""
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
        """The same for somebody who only looks."""
        stopped = self.worker.stopped if self.worker else ""
        if self.observer is None or stopped or self._error:
            return ClusterLive(self.name, inventory_read=False, error=stopped or self._error or "not read yet")
        return self.observer.live()

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self.observer.get(key) if self.observer is not None else None

    def has(self, key: ObjectKey) -> bool:
        """Whether the object was seen there. An entry of the inventory alone is what we meant to write."""
        live = self.get(key)
        return live is not None and bool(live.uid)

    @property
    def behind(self) -> bool:
        """Whether something was seen that nobody looked at yet: it comes next, nothing has to be done for it."""
        return self.observer is not None and self.observer.behind

    def _can_wait(self, key: ObjectKey) -> bool:
        """Writing, anywhere, goes before judging what was written, but for what a write waits for."""
        return bool(self._upward.rush) and not (self.worker is not None and self.worker.awaits(key))

    def objects(self) -> Mapping[ObjectKey, LiveObject]:
        return self.observer.objects() if self.observer else {}

    def entries(self) -> Mapping[ObjectKey, InventoryEntry]:
        return self.inventory.entries if self.inventory else {}

    def absent(self, key: ObjectKey) -> bool:
        """Whether an inventory entry stands for nothing: its object is gone, or somebody else's object was in the way.

        Only a complete read of its kind tells.
        """
        live = self.get(key)
        if live is None or self.observer is None or Kind(key.group, key.kind) in self.observer.live().unread:
            return False
        return not live.uid or compare.is_foreign(live)

    async def look_at(self, keys: Iterable[ObjectKey]) -> None:
        """Look up objects that no label shows: what has a name that we are about to use may be somebody else's."""
        observer = self.observer
        if observer is None or self._error:
            return
        slots = asyncio.Semaphore(self._concurrency)

        async def one(key: ObjectKey) -> None:
            async with slots:
                with contextlib.suppress(errors.ClusterError):
                    await observer.look(key)

        await asyncio.gather(*(one(key) for key in keys))

    async def look_anew(self, keys: Collection[ObjectKey] = ()) -> None:
        """Read these objects, or everything, again; a cluster that waits to be asked again is asked now."""
        self._hurry.set()
        if keys or self.observer is None:
            await self.look_at(keys)
        else:
            self.observer.look_anew()
            await self.observer.settled()

    def foreign(self) -> list[ObjectKey]:
        """Objects in our way that are not ours, as last seen."""
        return [key for key, live in self.objects().items() if compare.is_foreign(live)]

    def want(self, kinds: frozenset[Kind]) -> None:
        """Follow these kinds, and those of everything that the inventory lists."""
        self._wanted = kinds
        if self.observer is not None:
            self.observer.want(kinds | self._listed())

    def _listed(self) -> frozenset[Kind]:
        """Kinds of the inventory. Its entries are replaced as a whole: nothing is walked while they are the same."""
        entries = self.entries()
        if self._kinds[0] is not entries:
            self._kinds = (entries, frozenset(Kind(key.group, key.kind) for key in entries))
        return self._kinds[1]

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

    async def stuck(self, before: datetime) -> Mapping[ObjectKey, tuple[int, Stuck]]:
        """Our Deployments with pods that no node was found for since before that moment: how many replicas each wants
        here, and how many of them are stuck. Nothing of a cluster that is not in use."""
        waiting = self._measure.unschedulable(before)
        if not waiting or self._session is None or not self.ready.is_set() or self.facts.reach is not Reach.READY:
            return {}
        try:
            async with asyncio.timeout(_STUCK):
                return await unschedulable.look(self._session, waiting, self._is_ours)
        except TimeoutError:
            return {}

    async def load(self, questions: Sequence[LoadQuestion]) -> Mapping[ObjectKey, ClusterLoad]:
        """What workloads use here; nothing of a cluster that is not in use or does not answer."""
        session, discovery = self._session, self._discovery
        if session is None or discovery is None or not self.ready.is_set() or self.facts.reach is not Reach.READY:
            return {}
        try:
            async with asyncio.timeout(_LOAD):
                return await load.look(session, discovery, questions)
        except TimeoutError:
            return {}

    def _is_ours(self, key: ObjectKey, uid: str) -> bool:
        live = self.get(key)
        return live is not None and live.ours and live.uid == uid

    @property
    def superseded(self) -> bool:
        """Whether somebody else leads here now."""
        return self.worker is not None and bool(self.worker.stopped) and not self.worker.abandoned

    @property
    def owner(self) -> str | None:
        """The repository that its inventory belongs to, "" for none yet; None: it could not be read."""
        if self.inventory is None or not self.inventory.readable:
            return None
        return self.inventory.snapshot.repository_id

    def led_by_daemon(self, *, but: str) -> bool:
        """Whether a daemon leads here, as far as its inventory tells; not one of the data folder `but`, which is ours
        alone now."""
        name = self.inventory.snapshot.leader if self.inventory is not None else ""
        return leader.kind(name) == leader.DAEMON and leader.place(name) != but

    def claim(self) -> None:
        """The repository id is known: write it into the inventory, with a higher term, and begin to write."""
        self._lead.claim()

    # -- what it is told ----------------------------------------------------------------------------------------

    def follow(self, expected: Expected) -> None:
        """What is seen is compared by `callbacks.assess`, which knows that already."""
        self.compare_again(expected.changed)
        self.want(expected.kinds)

    def compare_again(self, keys: Collection[ObjectKey]) -> None:
        """What these should be is another thing now, and `callbacks.assess` knows it."""
        if self.observer is not None:
            self.observer.reassess(keys)

    def judge(self, key: ObjectKey, found: collect.Collected) -> None:
        """Raises nothing: of what is not there any more there is nothing to say."""
        live = self.get(key)
        if self.observer is None or live is None or live.body is None:
            return
        if self._upward.judge(self.name, key, live.body, found):
            self.observer.reassess([key])

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
                await self._lead.resign(self.inventory, self.worker)
                raise
            except Exception as error:  # noqa: BLE001
                if isinstance(error, BaseExceptionGroup) and error.subgroup(LeadIsFree) is not None:
                    attempt = 0
                    log.warning("the lead is free again: taking it", extra={"cluster": self.name})
                    self.ready.clear()
                    continue
                # Whatever it is: one cluster must not be lost to the fleet for as long as this process lives.
                self._replaced = any(isinstance(one, errors.ClusterReplaced) for one in _leaves(error))
                self._fail(str(self._failure(error)))
                pause = RETRIES.after(attempt + 1)
            finally:
                await self._close()
            attempt = 0 if self._lasted() else attempt + 1
            self._served, self._defective = False, False
            await self._pause(min(pause, self._vitals.next_look()) if self._vitals.in_doubt else pause)

    async def _pause(self, seconds: float) -> None:
        """Unless somebody is in a hurry. With `asyncio.timeout`, Python 3.11.2 ends a task in which a group was once
        cancelled, as the service of a cluster that fails is."""
        hurry = asyncio.create_task(self._hurry.wait())
        try:
            await asyncio.wait((hurry,), timeout=seconds)
        finally:
            hurry.cancel()
        self._hurry.clear()

    def _lasted(self) -> bool:
        """Whether the service went well for a while, so that the next failure is the first one again. What nobody
        foresaw may come back as soon as it begins."""
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
        self._session = self._discovery = self.inventory = self.observer = self.worker = None
        self._kinds = (None, frozenset())

    async def _confirm(self) -> None:
        """Raise ClusterReplaced unless it is the cluster that was read; asked at most once a second."""
        loop, session = asyncio.get_running_loop(), self._session
        if session is None or loop.time() - self._confirmed_at < _FRESH:
            return
        found, known = await identity.read(session), self._identity
        self._confirmed_at = loop.time()
        if found is None or known is None:
            return
        if found.uid != known.uid:
            raise errors.ClusterReplaced(
                f"cluster {self.name}: another cluster answers at its address than before", cluster=self.name
            )
        if found.is_before(known):
            raise errors.ClusterReplaced(
                f"cluster {self.name}: it was restored to an earlier state: reading it anew", cluster=self.name
            )
        self._identity = found

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
            self.inventory = Inventory(self._session, federation=self._federation, leader=self._lead.name)
        session, discovery, inventory = self._session, self._discovery, self.inventory
        assert discovery is not None
        assert inventory is not None
        found = await facts.probe(session, discovery, now=self._upward.now(), previous=self.facts)
        self.asked = True
        self._vitals.take(found)
        if found.reach is not Reach.READY:
            message = next((c.message for c in found.conditions if c.type == "Ready"), "not ready")
            raise errors.ClusterUnreachable(f"cluster {self.name}: {message}", cluster=self.name)
        found_id = await identity.read(session)
        known_id = self.id or self._recorded_id()
        other = found_id is not None and known_id not in ("", found_id.uid)
        remembered = self._expected() if self._lead.term is None else None
        # One that was made anew has nothing of ours, and gets everything again; whose inventory it has, if it has one,
        # is asked before the first write (`Leading.begin`).
        await inventory.read(expected=0 if (self._adopt and remembered is not None) or other else remembered)
        if other and found_id is not None and (name := self._elsewhere(found_id.uid)):
            raise errors.NotOwned(f"cluster {self.name}: the cluster {name} answers at its address")
        self._identity, self._confirmed_at = found_id, asyncio.get_running_loop().time()
        observer = self.observer = Observer(
            session,
            discovery,
            inventory,
            assess=self._upward.assess,
            changed=self._upward.changed,
            can_wait=self._can_wait,
        )
        observer.want(self._wanted | self._listed())
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
            writing = Writing(
                session,
                discovery,
                observer,
                federation=self._federation,
                redact=self._upward.redact,
                interpreter=self._upward.interpreter,
            )
            worker = self.worker = Worker(
                self.name,
                inventory,
                writing.carry_out,
                observer.get,
                observer.look,
                self._upward.finished,
                concurrency=self._concurrency + _READY,
                rush=self._upward.rush,
                waited=self._upward.waited,
                confirm=self._confirm,
            )
            self.ready.set()
            if self._complaint:
                self._complaint = ""
                self._upward.troubled(self.name, "")
            self._served, self._began = True, time.monotonic()
            self._upward.facts_changed(self.name)
            group.create_task(worker.run())
            group.create_task(self.station.run(session, worker, inventory.check_ours, self._confirm))
            group.create_task(self._keep_probing(session, discovery))
            group.create_task(self._keep_looking_at_foreign())
            group.create_task(self._lead.follow(inventory, worker))

    async def _keep_probing(self, session: Session, discovery: Discovery) -> None:
        while True:
            await asyncio.sleep(self._vitals.next_look())
            found = await facts.probe(session, discovery, now=self._upward.now(), previous=self.facts)
            was = self.facts.reach
            self._vitals.take(found)
            if found.reach is Reach.READY:
                try:
                    await self._confirm()
                except errors.ClusterReplaced:
                    raise
                except errors.ClusterError:
                    continue  # the next look tells
            if self.worker is not None and was is not Reach.READY and self.facts.reach is Reach.READY:
                self.worker.wake()
                if self.observer is not None:
                    self.observer.wake()
                self.station.wake()

    async def _keep_looking_at_foreign(self) -> None:
        """No watch shows when somebody else's object leaves the name that we want."""
        while True:
            await asyncio.sleep(self._probe * random.uniform(0.9, 1.1))
            await self.look_at(self.foreign())

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """What a group of failures is made of, or the failure itself."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
