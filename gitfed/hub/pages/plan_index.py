"""What pages look up in one plan, counted once however many people look: a plan is never changed."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from operator import attrgetter

from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Binding, Change, Plan

_CLUSTER = attrgetter("cluster")


@dataclass(frozen=True, slots=True)
class Index:
    objects: Counter[ClusterName] = field(default_factory=Counter)
    """How many are placed in each cluster."""
    changes: dict[ObjectKey, list[Change]] = field(default_factory=dict)
    order: tuple[ObjectKey, ...] = ()
    """All objects as people look for them: by namespace and name."""
    workloads: tuple[ObjectKey, ...] = ()
    """Those of them that have replicas."""
    namespaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


class Indexes:
    """That of the newest plan, and no other."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._known: tuple[Plan | None, Index] = (None, Index())
        self._made: tuple[Plan, asyncio.Task[Index]] | None = None

    async def of(self, now: Moment) -> Index:
        """Made in a thread, once for all who ask: a fleet may hold a million copies. Raises TooBusy."""
        if self._known[0] is not now.plan:
            if self._made is None or self._made[0] is not now.plan:
                task = asyncio.create_task(self._desk.aside(lambda: _index(now.plan)))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
                self._made = now.plan, task
            made = self._made
            try:
                self._known = now.plan, await asyncio.shield(made[1])
            finally:
                if self._made is made and made[1].done():
                    self._made = None
        return self._known[1]


def is_workload(binding: Binding) -> bool:
    """Whether it runs in replicas."""
    return binding.replicas is not None or bool(binding.components)


def _index(plan: Plan) -> Index:
    objects: Counter[ClusterName] = Counter()
    for binding in plan.bindings.values():
        objects.update(map(_CLUSTER, binding.shares))
    changes: dict[ObjectKey, list[Change]] = {}
    for change in plan.changes or ():
        changes.setdefault(change.key, []).append(change)
    order = tuple(sorted(plan.bindings, key=lambda key: (key.namespace, key.name, key.kind, key.group)))
    return Index(
        objects,
        changes,
        order,
        tuple(key for key in order if is_workload(plan.bindings[key])),
        tuple(sorted({key.namespace for key in plan.bindings} - {""})),
        tuple(sorted({key.kind for key in plan.bindings})),
    )
