"""One writing request on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitfed.sim import managed
from gitfed.sim.kind import Context, Kind
from gitfed.sim.server.options import WriteOptions
from gitfed.sim.server.request import User
from gitfed.sim.server.world import World
from gitfed.sim.store import Record

Body = dict[str, Any]


@dataclass(slots=True)
class Call:
    """Who writes what where, on which terms. ``warnings`` collects what the answer will warn of."""

    world: World
    user: User
    kind: Kind
    namespace: str
    name: str
    subresource: str
    options: WriteOptions
    warnings: list[str] = field(default_factory=list)

    def context(self) -> Context:
        return self.world.context(self.user, self.options.dry_run)

    def writer(self) -> managed.Writer:
        return managed.Writer(self.options.manager, self.kind.api_version, self.world.clock.now(), self.subresource)

    def reset(self) -> tuple[tuple[str, ...], ...]:
        return self.kind.reset_fields.get(self.subresource, ())

    def convert(self) -> Callable[[Body, str], Body | None]:
        """For managed fields of earlier versions: a body of this kind's version in another one."""
        kind, registry = self.kind, self.world.registry

        def converted(body: Body, api_version: str) -> Body | None:
            if api_version == body.get("apiVersion"):
                return body
            source = registry.named(str(body.get("apiVersion")), kind.kind)
            target = registry.named(api_version, kind.kind)
            if source is None or target is None or source.storage_key != target.storage_key:
                return None
            return target.from_storage(source.to_storage(body))

        return converted


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a write came to: the object in the version of the call, and the stored record if one stands for exactly that."""

    body: Body
    record: Record | None = None
    created: bool = False
