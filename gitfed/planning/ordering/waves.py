"""What waits for what in a cluster: waves, and the dependencies that a template names.

A wave begins in a cluster when every object of the waves before it is written there and healthy; a failed wave stops
the later ones in that cluster and nowhere else. An object that names others (`gitfed.io/depends-on`) begins when those
are. Both are read from what is there, not from what was done, so a restart in the middle changes nothing: what waits is
a change of this plan that says so (`Change.waits`), and the next plan asks again.

Namespaces and definitions without a wave of their own belong to none: everything needs them. An object annotated
`gitfed.io/wait: "false"` is waited for by nobody. The repair of drift and deletions wait for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import Health, LiveObject
from gitfed.model.plan import Action, Change, Left
from gitfed.planning.ordering import order
from gitfed.text.values import dataclass

_WRITES = (Action.CREATE, Action.UPDATE)


@dataclass(frozen=True, slots=True)
class Placed:
    """An object with its wave and the clusters where it should be."""

    key: ObjectKey
    position: order.Position
    clusters: frozenset[ClusterName]
    live: Mapping[ClusterName, LiveObject]
    waited_for: bool


def mark_waiting(changes: Sequence[Change], placed: Iterable[Placed]) -> list[Change]:
    """The changes, each that has to wait saying what for."""
    objects = {template.key: template for template in placed}
    pending = {(change.cluster, change.key): change for change in changes if change.action in (*_WRITES, Action.SKIP)}
    front = _front(objects.values(), pending)
    return [_held(change, front, objects, pending) for change in changes]


def _held(
    change: Change,
    front: Mapping[ClusterName, tuple[int, str]],
    objects: Mapping[ObjectKey, Placed],
    pending: Mapping[tuple[ClusterName, ObjectKey], Change],
) -> Change:
    if change.action not in _WRITES or change.drift:
        return change
    reached = front.get(change.cluster)
    if reached is not None and change.turn.wave > reached[0] and change.turn.wave != order.NO_WAVE:
        return replace(
            change,
            turn=replace(change.turn, waits=f"wave {change.turn.wave} waits for wave {reached[0]}: {reached[1]}"),
        )
    for key in change.turn.waits_for:
        why = _missing(objects.get(key), key, change.cluster, pending)
        if why:
            return replace(change, turn=replace(change.turn, waits=f"waits for {key}: {why}"))
    return change


def _front(
    objects: Iterable[Placed], pending: Mapping[tuple[ClusterName, ObjectKey], Change]
) -> dict[ClusterName, tuple[int, str]]:
    """Of each cluster the first wave that is not over, and what is wrong there."""
    fronts: dict[ClusterName, tuple[int, ObjectKey, str]] = {}
    for template in objects:
        wave = template.position.wave
        if wave == order.NO_WAVE or not template.waited_for:
            continue
        for cluster in template.clusters:
            earliest = fronts.get(cluster)
            if earliest is not None and (earliest[0], earliest[1]) <= (wave, template.key):
                continue
            why = _unfinished(template, cluster, pending)
            if why:
                fronts[cluster] = (wave, template.key, why)
    return {cluster: (wave, f"{key} ({why})") for cluster, (wave, key, why) in fronts.items()}


def _missing(
    template: Placed | None,
    key: ObjectKey,
    cluster: ClusterName,
    pending: Mapping[tuple[ClusterName, ObjectKey], Change],
) -> str:
    if template is None or cluster not in template.clusters:
        live = template.live.get(cluster) if template is not None else None
        if live is not None and live.uid and live.health is Health.CURRENT:
            return ""
        return "it is not placed in this cluster" if template is not None else "no file declares it"
    if not template.waited_for:
        return ""
    return _unfinished(template, cluster, pending)


def _unfinished(template: Placed, cluster: ClusterName, pending: Mapping[tuple[ClusterName, ObjectKey], Change]) -> str:
    """Why an object that should be in a cluster is not finished there; "" when it is."""
    change = pending.get((cluster, template.key))
    if change is not None and change.action is Action.SKIP:
        if change.left is Left.SUSPENDED:
            return ""
        if not change.drift:
            return str(change.reason)
    elif change is not None and not change.drift:
        return f"to be {change.action.value}d"
    live = template.live.get(cluster)
    if live is None or not live.uid:
        return "" if change is not None else "not there"
    return "" if live.health is Health.CURRENT else _said(live)


def _said(live: LiveObject) -> str:
    return f"{live.health.value}: {live.health_message}" if live.health_message else live.health.value
