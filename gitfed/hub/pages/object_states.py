"""How one object is in each of its clusters: wanted and ready replicas, and one word for its state.

With an engine this is what the clusters show at this moment, else what the state branch recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from gitfed.hub.running import Running
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.fleet import Health, LiveObject
from gitfed.model.plan import Binding, Change, Left

_READY = ("readyReplicas", "numberReady", "ready")
"""Where kinds say how many of their replicas are ready."""


class ObjectState(StrEnum):
    """The value is the class that pages draw it with."""

    HEALTHY = "k"
    UNDER_WAY = "p"
    FAILED = "b"
    HELD = "h"
    UNKNOWN = "u"

    @property
    def mark(self) -> str:
        return _MARKS[self][0]

    @property
    def words(self) -> str:
        return _MARKS[self][1]


_MARKS = {
    ObjectState.HEALTHY: ("ok", "Healthy"),
    ObjectState.UNDER_WAY: ("busy", "On its way"),
    ObjectState.FAILED: ("bad", "Failed"),
    ObjectState.HELD: ("held", "Held"),
    ObjectState.UNKNOWN: ("unknown", "Unknown"),
}


class ClusterObject(NamedTuple):
    cluster: ClusterName
    wanted: int | None
    """None: the kind has no replicas."""
    ready: int | None
    """None: it does not say."""
    state: ObjectState
    message: str

    @property
    def text(self) -> str:
        """`2/3`, `3`, or nothing but a mark."""
        if self.wanted is None:
            return ""
        return str(self.wanted) if self.ready is None else f"{self.ready}/{self.wanted}"


class KeptObject(NamedTuple):
    """An object that stays in a cluster where it does not go any more."""

    cluster: ClusterName
    replicas: int | None
    reason: str


class _Seen(NamedTuple):
    cluster: ClusterName
    applied: bool
    health: str
    message: str
    status: Body | None


def of(running: Running, binding: Binding, changes: Iterable[Change]) -> dict[ClusterName, ClusterObject]:
    """By cluster: where it should be, and where it still is."""
    engine = running.engine
    live: Mapping[ClusterName, LiveObject] = engine.fleet.copies(binding.key) if engine is not None else {}
    left = {change.cluster: change for change in changes}
    seen = {observed.cluster: observed for observed in _seen(running, binding.key)}
    wanted = {share.cluster: share.replicas for share in binding.scheduled.shares}
    states = {}
    for name in sorted({*wanted, *seen}):
        state, message = _state(seen.get(name), left.get(name), live.get(name), _failure(running, name, binding.key))
        states[name] = ClusterObject(name, wanted.get(name), _ready(seen.get(name), binding), state, message)
    return states


def _seen(running: Running, key: ObjectKey) -> Iterator[_Seen]:
    if running.engine is not None and (status := running.engine.statuses.get(key)) is not None:
        for copy in status.copies:
            message = copy.message if not copy.applied else "" if copy.health == "Healthy" else copy.health_message
            yield _Seen(copy.cluster, copy.applied, copy.health, message, copy.status)
        return
    recorded = running.decisions.statuses.get(key) or {}
    for item in recorded.get("aggregatedStatus") or ():
        if isinstance(item, Mapping):
            yield _Seen(
                str(item.get("clusterName")),
                item.get("applied") is True,
                str(item.get("health")),
                str(item.get("appliedMessage") or ""),
                item.get("status"),
            )


def _failure(running: Running, cluster: ClusterName, key: ObjectKey) -> str:
    return running.engine.fleet.unfinished.why_failed(cluster, key) if running.engine is not None else ""


def _state(seen: _Seen | None, change: Change | None, live: LiveObject | None, failure: str) -> tuple[ObjectState, str]:
    if change is not None and change.left in (Left.GATE, Left.SUSPENDED):
        return ObjectState.HELD, str(change.reason)
    if change is not None and change.left is Left.REFUSED:
        return ObjectState.FAILED, str(change.reason)
    if seen is None:
        return ObjectState.UNKNOWN, "nothing was seen of it yet"
    if not seen.applied:
        return (ObjectState.FAILED, failure) if failure else (ObjectState.UNDER_WAY, seen.message)
    if seen.health == "Healthy":
        return ObjectState.HEALTHY, ""
    if seen.health == "Unhealthy":
        failed = live is not None and live.health is Health.FAILED
        return (ObjectState.FAILED if failed else ObjectState.UNDER_WAY), seen.message
    return ObjectState.UNKNOWN, seen.message


def _ready(seen: _Seen | None, binding: Binding) -> int | None:
    if (
        seen is None
        or not isinstance(seen.status, Mapping)
        or (binding.scheduled.replicas is None and not binding.scheduled.components)
    ):
        return None
    for name in _READY:
        value = seen.status.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 0 if seen.applied and "replicas" in seen.status else None
