"""The clusters of a simulation: they hold what is written to them, and fail when they are told to.

Where a cluster answers, a change is done at once, and a new copy is healthy after a while. What a look at one shows is
made up here; whether that look is believed is `placement.recorded_facts`' question, as for a real one.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decided_objects import DecidedObjects
from gitfed.model.fleet import (
    ClusterCondition,
    ClusterFacts,
    ClusterLive,
    FleetSnapshot,
    Health,
    InventoryEntry,
    LiveObject,
    LiveState,
    Reach,
)
from gitfed.model.plan import RenderedManifest
from gitfed.placement import recorded_facts


class Fleet:
    """Times are seconds from the start, but for `now`."""

    def __init__(self, clusters: Mapping[ClusterName, ClusterFacts], start: datetime) -> None:
        self.away = {
            name for name, cluster in clusters.items() if not cluster.assumed and cluster.reach is not Reach.READY
        }
        """Clusters that do not answer: at the start those of which that is known."""
        self._start = start
        # A cluster that was not looked at counts as healthy: only what is known can fail.
        self._facts = {
            name: seen(cluster, away=False, now=start) if cluster.assumed else cluster
            for name, cluster in clusters.items()
        }
        self._beliefs: dict[ClusterName, recorded_facts.Belief] = {}
        self._objects: dict[ObjectKey, DecidedObjects] = {}
        self._starting: list[tuple[float, ObjectKey, ClusterName]] = []

    # -- looking ------------------------------------------------------------------------------------------------

    def watched(self) -> list[ClusterName]:
        """Clusters whose health is not what it is believed to be: only there the next look can matter."""
        return [name for name, facts in self._facts.items() if (facts.reach is Reach.READY) == (name in self.away)]

    def due(self, thresholds: recorded_facts.Thresholds) -> dict[ClusterName, float]:
        """When what was seen of a cluster will have been seen for long enough: it is looked at then, as by a member."""
        return {
            name: belief.contrary_since
            + (thresholds.failure if belief.facts.reach is Reach.READY else thresholds.success)
            for name, belief in self._beliefs.items()
            if belief.contrary_since is not None
        }

    def look(
        self,
        at: float,
        now: datetime,
        thresholds: recorded_facts.Thresholds,
        only: Container[ClusterName] | None = None,
    ) -> bool:
        """One look at every cluster whose health may have to be believed again (`only`: at these); whether any is
        believed to be another one now."""
        changed, watched = False, self.watched()
        self._beliefs = {name: belief for name, belief in self._beliefs.items() if name in watched}
        for name in watched if only is None else [name for name in watched if name in only]:
            away, facts = name in self.away, self._facts[name]
            before = self._beliefs.get(name) or recorded_facts.Belief(seen(facts, away=not away, now=self._start))
            shown = seen(facts, away=away, now=now)
            belief = self._beliefs[name] = recorded_facts.believe(shown, before, at, thresholds)
            if belief.facts.reach is not facts.reach:
                self._facts[name] = belief.facts
                changed = True
        return changed

    def snapshot(self, fleet: FleetSnapshot, declared: Iterable[ClusterName]) -> FleetSnapshot:
        """`fleet` as it is believed to be, with what the clusters hold."""
        live = {}
        for name in declared:
            away = name in self.away
            live[name] = ClusterLive(name, inventory_read=not away, error="it does not answer" if away else "")
        return replace(fleet, clusters=dict(self._facts), live=LiveState(live, dict(self._objects)))

    def holders(self, key: ObjectKey) -> Iterable[ClusterName]:
        """Clusters with a copy of an object, those that are away included."""
        return self._objects.get(key, _NOTHING)

    # -- what they hold -----------------------------------------------------------------------------------------

    def hold(self, rendered: Mapping[ObjectKey, tuple[RenderedManifest, ...]]) -> None:
        """All of this is there, and healthy."""
        self._objects = {key: DecidedObjects(classes, _healthy) for key, classes in rendered.items()}

    def write(self, key: ObjectKey, cluster: ClusterName, rendered: RenderedManifest, healthy_at: float) -> None:
        self._put(_copy(key, cluster, rendered, Health.IN_PROGRESS))
        heapq.heappush(self._starting, (healthy_at, key, cluster))

    def delete(self, key: ObjectKey, cluster: ClusterName) -> None:
        self._objects[key] = self._objects[key].without(cluster)

    @property
    def next_healthy(self) -> float | None:
        """When the next new copy is healthy."""
        return self._starting[0][0] if self._starting else None

    def grow(self, at: float) -> bool:
        """New copies whose time has come are healthy; whether there were any."""
        changed = False
        while self._starting and self._starting[0][0] <= at:
            _, key, name = heapq.heappop(self._starting)
            copy = self._objects.get(key, _NOTHING).get(name)
            if copy is not None:
                self._put(replace(copy, health=Health.CURRENT))
                changed = True
        return changed

    def _put(self, copy: LiveObject) -> None:
        """The inner mapping is replaced: a build tells by identity what to look at again."""
        self._objects[copy.key] = self._objects.get(copy.key, _NOTHING).put(copy)


def _healthy(rendered: RenderedManifest, cluster: ClusterName) -> LiveObject:
    return _copy(rendered.key, cluster, rendered, Health.CURRENT)


_NOTHING = DecidedObjects((), _healthy)


def _copy(key: ObjectKey, cluster: ClusterName, rendered: RenderedManifest, health: Health) -> LiveObject:
    """A copy as its cluster would show it."""
    entry = InventoryEntry(key, "rehearsed", rendered.binding, rendered.replicas)
    return LiveObject(
        key, cluster, "rehearsed", "1", ours=True, matches=rendered.digest, health=health, healthy=True, entry=entry
    )


def seen(facts: ClusterFacts, *, away: bool, now: datetime) -> ClusterFacts:
    """What a look at the cluster would show."""
    ready = (
        ClusterCondition("Ready", "False", "ClusterNotReachable", "it was told to fail", now)
        if away
        else ClusterCondition("Ready", "True", "ClusterReady", "", now)
    )
    others = [condition for condition in facts.conditions if condition.type != "Ready"]
    reach = Reach.UNKNOWN if away else Reach.READY
    return replace(facts, reach=reach, conditions=(*others, ready), assumed=False)
