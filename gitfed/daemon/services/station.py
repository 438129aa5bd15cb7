"""The EndpointSlices of one cluster: those of its own that others want, and those of others that it should have.

Two watches, and none where nothing is declared: one for the slices of the Services that are provided, one for what we
dispatched here. What is not as it should be is written at once, whichever client changed it: a slice that an earlier
process left, or a person edited, differs like any other. Only the leader of this cluster writes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from gitfed import errors
from gitfed.daemon import trouble
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import endpoint_slices, reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey
from gitfed.model.fleet import ClusterLive, LiveObject
from gitfed.services import exchange, slices
from gitfed.services.exchange import NOTHING, Endpoints, SliceKey, SliceWrite, WantedSlices
from gitfed.services.slices import ServiceSlice

log = logging.getLogger("gitfed.services")

_AGAIN = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 30.0))
"""Seconds until a write is tried again that failed, by failures in a row."""
_NOT_SERVED = 60.0
"""Seconds until a cluster that has no EndpointSlices is asked again."""
_AT_ONCE = 8
"""Writes under way in one cluster: a roll-out must not wait for them."""
_SERVICE = Kind("", "Service")


class Leading(Protocol):
    """Whether we may write: what the worker of the cluster knows."""

    stopped: str


class View(Protocol):
    def get(self, key: ObjectKey) -> LiveObject | None: ...


class Seen(Protocol):
    """What is known of the cluster's objects: its member."""

    @property
    def view(self) -> View: ...
    def live(self) -> ClusterLive: ...


class Station:
    """It lives as long as its member; `run` as long as the connection. `changed` hears of Services whose own slices
    are other than before."""

    def __init__(
        self,
        cluster: ClusterName,
        federation: str,
        seen: Seen,
        changed: Callable[[ClusterName, ObjectKey | None], None],
    ) -> None:
        self.cluster = cluster
        self.fresh = False
        """Whether `own` is what the cluster has now, as far as a watch tells."""
        self.own: dict[ObjectKey, tuple[ServiceSlice, ...]] = {}
        """Its own slices of the Services that others want, by Service."""
        self.there: dict[SliceKey, ServiceSlice] = {}
        """What we dispatched here, as seen last."""
        self.failed: dict[SliceKey, str] = {}
        """Why a slice is not as it should be, in the cluster's words."""
        self.goal = NOTHING
        self._federation = federation
        self._seen = seen
        self._changed = changed
        self._untouched: Callable[[ObjectKey], bool] = lambda key: False
        self._names: frozenset[str] = frozenset()
        self._asked = asyncio.Event()
        self._renamed = asyncio.Event()
        self._needed = asyncio.Event()
        """Something is to be dispatched here, or was."""
        self._work = asyncio.Event()
        self._wake = reflect.Wake()
        self.stirred = 0
        """How often what `arrived` answers may have changed."""
        self._read = False
        """Whether `there` was read in this connection: before, nothing can be told from nothing."""

    # -- what it is told ----------------------------------------------------------------------------------------

    def provide(self, names: frozenset[str]) -> None:
        """Collect the slices of Services of these names."""
        self._asked.set()
        if names != self._names:
            self._names, self.fresh = names, False
            self._renamed.set()

    def want(self, goal: WantedSlices, untouched: Callable[[ObjectKey], bool]) -> None:
        """What should be here of others' slices. `untouched`: Services of which nothing is to be done."""
        self._untouched = untouched
        self.goal = goal
        if goal.slices or goal.kept:
            self._needed.set()
        self._asked.set()
        self._stir()

    def touch(self, key: ObjectKey) -> None:
        """Something happened to this object here."""
        if key[:2] == _SERVICE and self._asked.is_set():
            self._stir()

    def wake(self) -> None:
        """The cluster answers again."""
        self._wake.set()
        self._stir()

    @property
    def names(self) -> frozenset[str]:
        return self._names

    @property
    def targets(self) -> set[ObjectKey]:
        """Services of which slices of others are here, or should be."""
        return {
            slices.target_of(endpoint_slice) for endpoint_slice in (*self.goal.slices.values(), *self.there.values())
        }

    def arrived(self, target: ObjectKey) -> Endpoints:
        return exchange.arrived(self.there.values(), self.pending, self.failed, target)

    @property
    def pending(self) -> list[SliceWrite]:
        """What is left to be written."""
        if not self._asked.is_set():
            return []
        live_now = self._seen.live()
        if not live_now.inventory_read or _SERVICE in live_now.unread:
            return []
        targets = self.targets
        owners = {key: live.uid for key in targets if (live := self._seen.view.get(key)) is not None and live.ours}
        untouched = frozenset(key for key in targets if self._untouched(key))
        return list(exchange.steps(self.goal, self.there, owners, untouched))

    def _stir(self) -> None:
        self.stirred += 1
        self._work.set()

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(
        self,
        session: Session,
        leading: Leading,
        check: Callable[[], None],
        confirm: Callable[[], Awaitable[None]],
    ) -> None:
        """Until cancelled. `check` raises NotOwned where another daemon leads, `confirm` ClusterReplaced."""
        self.fresh = self._read = False
        try:
            await self._asked.wait()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._always(lambda: self._collect(session)))
                group.create_task(self._always(lambda: self._follow_dispatched(session)))
                group.create_task(self._always(lambda: self._write(session, leading, check, confirm)))
        finally:
            self.fresh = self._read = False

    async def _always(self, service: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """What fails here costs the cluster its endpoints of others, and nothing else."""
        failures, complaint = 0, ""
        while True:
            try:
                await service()
            except errors.ClusterReplaced:
                raise
            except errors.ObjectNotFound:
                log.info("the cluster has no EndpointSlices", extra={"cluster": self.cluster})
                await asyncio.sleep(_NOT_SERVED)
            except errors.ClusterError as error:
                failures += 1
                details = {"cluster": self.cluster, "error": translate.said(error)}
                log.log(translate.level(error, complaint), "endpoints wait", extra=details)
                complaint = details["error"]
                await asyncio.sleep(_AGAIN.after(failures))
            except Exception as error:  # noqa: BLE001
                failures += 1
                trouble.say("endpoints cannot be passed on", error, cluster=self.cluster)
                await asyncio.sleep(_AGAIN.after(failures + 3))

    # -- what the cluster has itself ----------------------------------------------------------------------------

    async def _collect(self, session: Session) -> None:
        while True:
            self._renamed.clear()
            if not self._names:
                self.own = {}
                self.fresh = True
                await self._renamed.wait()
                continue
            selector = endpoint_slices.of_services(self._names)
            listener = _Listener(self.take_own, self.take_event, self.freshness)
            await _until(
                self._renamed,
                reflect.follow(
                    session,
                    reflect.Collection(endpoint_slices.EVERYWHERE, selector, slices.read),
                    listener,
                    wake=self._wake,
                ),
            )

    def take_own(self, items: list[ServiceSlice]) -> None:
        before, self.own = self.own, {}
        for own_slice in items:
            if slices.is_collected(own_slice) and own_slice.service in self._names:
                key = slices.target_of(own_slice)
                self.own[key] = (*self.own.get(key, ()), own_slice)
        was_fresh, self.fresh = self.fresh, True
        if not was_fresh:
            self._changed(self.cluster, None)
        for key in before.keys() | self.own.keys():
            if before.get(key) != self.own.get(key):
                self._changed(self.cluster, key)

    def take_event(self, kind: str, changed: ServiceSlice) -> None:
        """A slice may have left one Service for another."""
        for key in [
            key
            for key, own_slices in self.own.items()
            if any(_same_name(changed, own_slice) for own_slice in own_slices)
        ]:
            self.own[key] = tuple(own_slice for own_slice in self.own[key] if not _same_name(changed, own_slice))
            self._changed(self.cluster, key)
        if kind != "DELETED" and slices.is_collected(changed) and changed.service in self._names:
            key = slices.target_of(changed)
            self.own[key] = (*self.own.get(key, ()), changed)
            self._changed(self.cluster, key)

    def freshness(self, fresh: bool) -> None:
        if fresh is not self.fresh:
            self.fresh = fresh
            self._changed(self.cluster, None)

    # -- what it has of others ----------------------------------------------------------------------------------

    async def _follow_dispatched(self, session: Session) -> None:
        selector = endpoint_slices.dispatched(self._federation)
        path = endpoint_slices.EVERYWHERE
        if not self._needed.is_set():
            # Nothing is declared: once it is looked whether an earlier process left something, and then no more.
            try:
                left, _ = await reflect.read(session, path, selector, project=slices.read)
            except errors.Unauthorized:
                left = []  # a process that may not read them has written none
            self.take_dispatched(left)
            if not self.there:
                await self._needed.wait()
        listener = _Listener(self.take_dispatched, self.take_dispatched_event)
        await reflect.follow(session, reflect.Collection(path, selector, slices.read), listener, wake=self._wake)

    def take_dispatched(self, items: list[ServiceSlice]) -> None:
        ours = (dispatched for dispatched in items if slices.is_ours(dispatched, self._federation))
        self.there = {(dispatched.namespace, dispatched.name): dispatched for dispatched in ours}
        self._read = True
        self._stir()

    def take_dispatched_event(self, kind: str, changed: ServiceSlice) -> None:
        key = (changed.namespace, changed.name)
        before = self.there.get(key)
        if kind == "DELETED":
            if before is not None and before.uid == changed.uid:
                del self.there[key]
        elif not slices.is_ours(changed, self._federation):
            self.there.pop(key, None)
        elif (
            before is None
            or before.uid != changed.uid
            or reflect.newer(changed.resource_version, before.resource_version)
        ):
            self.there[key] = changed
        self._stir()

    # -- writing ------------------------------------------------------------------------------------------------

    async def _write(
        self,
        session: Session,
        leading: Leading,
        check: Callable[[], None],
        confirm: Callable[[], Awaitable[None]],
    ) -> None:
        failures = 0
        while True:
            self._work.clear()
            todo = self.pending if self._read and not leading.stopped else []
            if todo:
                try:
                    await confirm()
                    check()
                except errors.NotOwned:
                    todo = []  # the worker says so, and stops too
            for start in range(0, len(todo), _AT_ONCE):
                if leading.stopped:
                    break
                await asyncio.gather(*(self._carry_out(session, step) for step in todo[start : start + _AT_ONCE]))
            self.failed = {key: why for key, why in self.failed.items() if key in self.goal.slices or key in self.there}
            failures = failures + 1 if self.failed else 0
            await _event(self._work, _AGAIN.after(failures) if failures else None)

    async def _carry_out(self, session: Session, step: SliceWrite) -> None:
        wanted, present = step.wanted, step.present
        endpoint_slice = wanted or present
        assert endpoint_slice is not None
        key = (endpoint_slice.namespace, endpoint_slice.name)
        try:
            if wanted is None:
                await endpoint_slices.delete(session, endpoint_slice.namespace, endpoint_slice.name, endpoint_slice.uid)
                if self.there.get(key) is present:
                    del self.there[key]
            else:
                self.there[key] = slices.read(await self._send(session, wanted, present))
        except errors.ObjectExists:
            self._fails(key, "a slice of this name is there that is not ours")
        except errors.ObjectConflict:
            pass  # it is another one by now: the watch brings it
        except errors.ClusterError as error:
            self._fails(key, translate.said(error))
        else:
            self.failed.pop(key, None)
        self.stirred += 1

    async def _send(self, session: Session, wanted: ServiceSlice, present: ServiceSlice | None) -> Body:
        live = self._seen.view.get(slices.target_of(wanted))
        owner = live.uid if live is not None else ""
        if present is None:
            body = slices.body(wanted, self._federation, owner)
            return await endpoint_slices.create(session, wanted.namespace, body)
        body = slices.body(wanted, self._federation, owner, present.resource_version)
        return await endpoint_slices.replace(session, wanted.namespace, wanted.name, body)

    def _fails(self, key: SliceKey, why: str) -> None:
        if self.failed.get(key) != why:
            details = {"cluster": self.cluster, "object": f"EndpointSlice/{key[0]}/{key[1]}", "error": why}
            log.warning("endpoints are not passed on", extra=details)
        self.failed[key] = why


class _Listener:
    """Tells a station of the slices that one of its watches brings."""

    def __init__(
        self,
        listed: Callable[[list[ServiceSlice]], None],
        event: Callable[[str, ServiceSlice], None],
        freshness: Callable[[bool], None] = lambda fresh: None,
    ) -> None:
        self._listed = listed
        self._event = event
        self._freshness = freshness

    def listed(self, items: list[ServiceSlice], version: str) -> None:
        self._listed(items)

    def event(self, kind: str, body: Body) -> None:
        self._event(kind, slices.read(body))

    def resumed(self) -> None:
        self._freshness(True)

    def lost(self, error: errors.GitfedError) -> None:
        self._freshness(False)


def _same_name(left: ServiceSlice, right: ServiceSlice) -> bool:
    return (left.namespace, left.name) == (right.namespace, right.name)


async def _until(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do this until the event comes. Raises what the work raises."""
    task, waits = asyncio.create_task(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait((task, waits), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
    finally:
        waits.cancel()
        task.cancel()
        await asyncio.wait((task, waits))


async def _event(event: asyncio.Event, seconds: float | None) -> None:
    waits = asyncio.create_task(event.wait())
    try:
        await asyncio.wait((waits,), timeout=seconds)
    finally:
        waits.cancel()
