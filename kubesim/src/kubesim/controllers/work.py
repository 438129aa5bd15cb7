"""The loop that all controllers share: what changed becomes keys, keys become work, one object at a time.

Level-based: a controller is told *which* of its objects to look at, never what happened, and decides from the present
state of the store. A key waits once however often it is named. Nothing polls; what has to happen later (a container
starts, a deadline passes) is a timer. Writes go through the same pipeline as a client's, so field ownership, versions
and watches are those of a real cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from kubesim import status
from kubesim.client import Client
from kubesim.server.world import World
from kubesim.store import Event, Record

Body = dict[str, Any]
Job = Callable[[], None]
Schedule = Callable[[float, Job], None]
"""(seconds, job): does the job after that long."""

RETRY_SECONDS: Final = 5.0
"""Until something that was refused is tried again."""
MANAGER: Final = "kube-controller-manager"


class Controller(Protocol):
    def keys(self, collection: str, record: Record) -> Iterable[str]:
        """Which of our objects does this one, old or new, concern?"""
        ...

    def reconcile(self, key: str) -> None:
        """Brings one object nearer to what it should be. May raise ``ApiError``: 404 and 409 mean that somebody was
        quicker."""
        ...


class Loop:
    """Owns the queue and the timers of one cluster. ``schedule`` is for tests that move time themselves."""

    def __init__(self, world: World, schedule: Schedule | None = None) -> None:
        self.world = world
        self._schedule = schedule or self._on_loop
        self._controllers: dict[str, list[Controller]] = {}
        self._queued: set[tuple[int, str]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._stopped = False
        self._busy = False
        self._put_by: list[tuple[Controller, str]] = []
        world.store.observers.append(self._observe)

    def add(self, controller: Controller, *collections: str) -> None:
        """Changes in these collections are shown to the controller; what they hold already is, too."""
        for collection in collections:
            self._controllers.setdefault(collection, []).append(controller)
            for record in self.world.store.collection(collection).between(""):
                self._show(controller, collection, record)

    def client(self, manager: str = MANAGER) -> Client:
        return self.world_client(manager)

    def world_client(self, manager: str) -> Client:
        return Client(self.world, manager)

    def stop(self) -> None:
        self._stopped = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if self._observe in self.world.store.observers:
            self.world.store.observers.remove(self._observe)

    def enqueue(self, controller: Controller, key: str, seconds: float = 0.0) -> None:
        """Looks at the object soon, or after so long."""
        if seconds > 0:
            self.after(seconds, lambda: self.enqueue(controller, key))
            return
        item = (id(controller), key)
        if item not in self._queued and not self._stopped:
            self._queued.add(item)
            self._later(controller, key)

    def after(self, seconds: float, job: Job) -> None:
        if seconds <= 0:
            self.world.later(job)
        else:
            self._schedule(seconds, job)

    def _on_loop(self, seconds: float, job: Job) -> None:
        def due() -> None:
            self._timers.discard(timer)
            if not self._stopped:
                job()
                self.world.proceed()

        timer = asyncio.get_running_loop().call_later(seconds, due)
        self._timers.add(timer)

    def _observe(self, collection: str, event: Event) -> None:
        for controller in self._controllers.get(collection, ()):
            for record in (event.new, event.old):
                if record is not None:
                    self._show(controller, collection, record)

    def _show(self, controller: Controller, collection: str, record: Record) -> None:
        for key in controller.keys(collection, record):
            self.enqueue(controller, key)

    def _attend(self, controller: Controller, key: str) -> None:
        if self._busy:
            # Where no event loop runs, the store's jobs are done inside the write that caused them; a controller must
            # finish what it is at before anybody looks at the next thing.
            self._put_by.append((controller, key))
            return
        self._queued.discard((id(controller), key))
        if self._stopped:
            return
        self._busy = True
        try:
            controller.reconcile(key)
        except status.ApiError as error:
            # 404, 409: the object went or changed meanwhile, and its change is shown to us. Anything else (a quota, a
            # refused name) is tried again later, as a real controller does with its backoff.
            if error.code not in (404, 409):
                self.enqueue(controller, key, RETRY_SECONDS)
        finally:
            self._busy = False
        waiting, self._put_by = self._put_by, []
        for other, its_key in waiting:
            self._later(other, its_key)
        self.world.proceed()

    def _later(self, controller: Controller, key: str) -> None:
        self.world.later(lambda: self._attend(controller, key))
