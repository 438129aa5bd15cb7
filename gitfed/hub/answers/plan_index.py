"""What answers look up in one plan, counted once however many people look: a plan is never changed.

Every part is counted when an answer first needs it: a fleet may hold a million objects, and a page waits only for
the counts that it shows. Call it in a thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import cached_property
from itertools import chain
from operator import attrgetter

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Binding, Change, Plan

_SHARES, _CLUSTER, _KEY = attrgetter("scheduled.shares"), attrgetter("cluster"), attrgetter("key")
_AS_PEOPLE_LOOK = attrgetter("namespace", "name", "kind", "group")


class Index:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def objects(self) -> Counter[ClusterName]:
        """How many are placed in each cluster."""
        return Counter(map(_CLUSTER, chain.from_iterable(map(_SHARES, self._plan.bindings.values()))))

    @cached_property
    def changed(self) -> frozenset[ObjectKey]:
        """What differs somewhere from what it should be, or is deliberately left alone."""
        return frozenset(map(_KEY, self._plan.changes or ()))

    @cached_property
    def order(self) -> tuple[ObjectKey, ...]:
        """All objects as people look for them: by namespace and name."""
        return tuple(sorted(self._plan.bindings, key=_AS_PEOPLE_LOOK))

    @cached_property
    def workloads(self) -> tuple[ObjectKey, ...]:
        """Those of them that have replicas."""
        return tuple(key for key in self.order if is_workload(self._plan.bindings[key]))

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        return tuple(sorted({key.namespace for key in self._plan.bindings} - {""}))

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({key.kind for key in self._plan.bindings}))

    def changes_of(self, keys: Collection[ObjectKey]) -> dict[ObjectKey, list[Change]]:
        """Those of some objects. Not kept: to sort a million by object takes longer than to find those of a page."""
        wanted = set(keys)
        by_key: dict[ObjectKey, list[Change]] = {}
        for change in self._plan.changes or ():
            if change.key in wanted:
                by_key.setdefault(change.key, []).append(change)
        return by_key


def is_workload(binding: Binding) -> bool:
    """Whether it runs in replicas."""
    return binding.scheduled.replicas is not None or bool(binding.scheduled.components)
