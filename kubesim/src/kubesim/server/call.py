"""One writing request on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kubesim import managed, schema
from kubesim.kind import Context, Kind
from kubesim.schema import Schema
from kubesim.server.options import WriteOptions
from kubesim.server.request import User
from kubesim.server.world import World
from kubesim.store import Record

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
        kind, now = self.kind, self.world.clock.now()
        return managed.Writer(self.options.manager, kind.api_version, now, self.subresource, kind.kind)

    def reset(self) -> tuple[tuple[str, ...], ...]:
        return self.kind.reset_fields.get(self.subresource, ())

    def schema(self) -> Schema:
        return self.kind.schema or schema.OPEN

    def convert(self) -> Callable[[Body, str], tuple[Body, Schema] | None]:
        """For owners who wrote an earlier version: a body of this kind's version in that one, and what it must look
        like there.

        Custom resources are only relabelled: whether they fit the other version is the question.
        """
        kind, registry = self.kind, self.world.registry

        def converted(body: Body, api_version: str) -> tuple[Body, Schema] | None:
            source = registry.named(str(body.get("apiVersion")), kind.kind)
            target = registry.named(api_version, kind.kind)
            if source is None or target is None or target.storage_key != source.storage_key:
                return None
            if target is source:
                return body, target.schema or schema.OPEN
            if kind.custom:
                return {**body, "apiVersion": api_version}, target.schema or schema.OPEN
            return target.from_storage(source.to_storage(body)), target.schema or schema.OPEN

        return converted


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a write came to: the object in the version of the call, and the stored record if one stands for exactly
    that."""

    body: Body
    record: Record | None = None
    created: bool = False
