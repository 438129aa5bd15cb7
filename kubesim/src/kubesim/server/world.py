"""One cluster's insides, as all handlers see them: store, kinds, clock, keys, and the work to be done afterwards.

Work that a real cluster does in the background (accepting definitions, collecting garbage, emptying namespaces) is
put off with ``later`` and carried out once the answer to the present request is made, so that requests stay atomic.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from kubesim.containers.commands import Disks
from kubesim.kind import Clock, Context, Kind
from kubesim.registry import Registry
from kubesim.server.request import User
from kubesim.store import Record, Store

Body = dict[str, Any]

NAME_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no look-alikes (Kubernetes: rand.String)."""
_SLICE: Final = 64
"""Put-off jobs done before requests get their turn again."""


Mutator = Callable[[str, Body], Body]
"""(resource, body about to be created) → the body to create."""


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class World:
    def __init__(self, registry: Registry, clock: Clock, *, tokens: dict[str, User], seed: int | None = None) -> None:
        self.registry = registry
        self.clock = clock
        self.store = Store()
        self.tokens = tokens
        self.random = random.Random(seed)
        self.lookup = StoreLookup(self.store)
        self.patience = 3.0
        """Seconds a reader waits for a version that is not reached yet."""
        self.disks = Disks(lambda: {body["metadata"]["uid"] for body in self.lookup.list("pods")})
        """What was written in containers."""
        self.mutators: list[Mutator] = []
        """What stands in for a cluster's own mutating admission."""
        self._jobs: deque[Callable[[], None]] = deque()
        self._scheduled = False
        self._working = False

    # what the server makes up

    def uid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def suffix(self) -> str:
        return "".join(self.random.choice(NAME_ALPHABET) for _ in range(5))

    def now(self) -> str:
        return timestamp(self.clock.now())

    # reading stored objects

    def record(self, kind: Kind, namespace: str, name: str) -> Record | None:
        return self.store.get(kind.storage_key, key_of(kind, namespace, name))

    def context(self, user: User, dry_run: bool) -> Context:
        return Context(self.clock.now(), self.lookup, user.name, user.groups, dry_run)

    # work put off

    def later(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)

    def proceed(self) -> None:
        """Sees to put-off jobs: in slices on the running loop, at once where there is none."""
        if not self._jobs or self._scheduled or self._working:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.settle()
            return
        self._scheduled = True
        loop.call_soon(self._slice)

    def _slice(self) -> None:
        self._scheduled = False
        try:
            self._work(min(_SLICE, len(self._jobs)))
        finally:
            # One job that fails must not keep the others waiting for the next request.
            self.proceed()

    def settle(self) -> None:
        """Does all put-off jobs now, and those they cause."""
        while self._jobs and not self._working:
            self._work(len(self._jobs))

    def _work(self, count: int) -> None:
        """Jobs write, and writes put off more jobs: these wait their turn, or a long chain would nest as deep as it
        is long."""
        self._working = True
        try:
            for _ in range(count):
                self._jobs.popleft()()
        finally:
            self._working = False


class StoreLookup:
    """``kind.Lookup`` over the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, resource: str, namespace: str, name: str) -> Body | None:
        record = self._store.get(resource, f"{namespace}/{name}" if namespace else name)
        return record.body if record else None

    def list(self, resource: str, namespace: str = "") -> Iterable[Body]:
        prefix = f"{namespace}/" if namespace else ""
        return [record.body for record in self._store.collection(resource).between(prefix)]


def key_of(kind: Kind, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if kind.namespaced else name


def timestamp(moment: datetime) -> str:
    """Metadata's form: UTC, whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
