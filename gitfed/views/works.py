"""Every object in every cluster: `gitfed.io/works/v1`; those that nothing asks for any more: `gitfed.io/orphans/v1`."""

from __future__ import annotations

from typing import Literal, NotRequired

from gitfed.model.base import ClusterName, Kind, ObjectKey
from gitfed.model.fleet import ClusterLive, Health, LiveObject
from gitfed.model.plan import Action, Change, RenderedManifest
from gitfed.model.reason import ReasonCode
from gitfed.views.value import View

NOT_OBSERVED = "not observed"


class WorkView(View):
    """One object in one cluster."""

    cluster: str
    apiVersion: str
    kind: str
    namespace: str
    name: str
    replicas: int | None
    state: str
    """`applied`, or what is to be done; `not observed` when the cluster was not read."""
    health: str | None
    """kstatus's word; null when the cluster was not read."""
    message: str


class WorkList(View):
    """Objects, by cluster."""

    schema: Literal["gitfed.io/works/v1"]
    items: list[WorkView]
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


class OrphanView(View):
    """An object of ours that stays although nothing asks for it."""

    cluster: str
    apiVersion: str
    kind: str
    namespace: str
    name: str
    reason: str
    reasonCode: str


class OrphanList(View):
    """Orphans."""

    schema: Literal["gitfed.io/orphans/v1"]
    items: list[OrphanView]
    total: NotRequired[int]
    """Of the whole list, in an answer of the API."""
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


def item(
    cluster: ClusterName,
    rendered: RenderedManifest,
    change: Change | None,
    seen: LiveObject | None,
    live: ClusterLive | None,
    *,
    observed: bool,
    refused: str = "",
) -> WorkView:
    """`change`: what is left to be done about it; `seen`: the object as its cluster shows it; `refused`: what the
    cluster answered to the last attempt."""
    key = rendered.key
    health: str | None
    if not observed:
        state, health, message = NOT_OBSERVED, None, ""
    else:
        state = "applied" if change is None else change.action.value
        health = seen.health.value if seen else _unseen(live, key)
        message = (refused or str(change.reason) if change else "") or (seen.health_message if seen else "")
    return {
        "cluster": cluster,
        "apiVersion": rendered.body.get("apiVersion", ""),
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "replicas": rendered.replicas,
        "state": state,
        "health": health,
        "message": message,
    }


def _unseen(live: ClusterLive | None, key: ObjectKey) -> str:
    """The health of an object that was not seen: NotFound only where all objects of its kind were read."""
    read = live is not None and live.inventory_read and Kind(key.group, key.kind) not in live.unread
    return "NotFound" if read else Health.UNKNOWN.value


def is_orphan(change: Change) -> bool:
    """Ours, and kept although nothing asks for it: policy gone, template gone, or protected from deletion."""
    in_use = change.reason.code is ReasonCode.IN_USE_BY_OTHERS  # its deletion is still being asked for
    return change.action is Action.KEEP and not change.move and not in_use


def orphan(change: Change) -> OrphanView:
    return {
        "cluster": change.cluster,
        "apiVersion": change.api_version,
        "kind": change.key.kind,
        "namespace": change.key.namespace,
        "name": change.key.name,
        "reason": str(change.reason),
        "reasonCode": change.reason.code.value,
    }
