"""What one caller may see: whatever they may not see does not appear, also not in a number.

Rights are for namespaces in clusters. Who may see an object in some of its clusters is told of these only. Sentences
about a placement name and count other clusters, so they are for callers who may see its namespace everywhere; codes and
numbers of the clusters that one sees stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitfed.hub.access.rights import Right, Rights
from gitfed.model.base import ClusterName, key_from
from gitfed.model.plan import Binding, Change
from gitfed.views import bindings, explanations, objects, plans

_OTHERS_FIRST = "something else comes first"


class Sight:
    """For one caller, and the clusters of one moment."""

    def __init__(self, rights: Rights, clusters: Iterable[ClusterName]) -> None:
        self.everything = rights.everywhere(Right.VIEW)
        """Also what concerns the fleet as a whole."""
        self._rights = rights
        self._clusters = sorted(clusters)
        self._copies: dict[tuple[ClusterName, str], bool] = {}
        self._whole: dict[str, bool] = {}

    def cluster(self, name: ClusterName) -> bool:
        """The cluster as such: that it is there, and how it is."""
        return self.everything or self._rights.on_cluster(Right.VIEW, name)

    def copy(self, cluster: ClusterName, namespace: str) -> bool:
        """Objects of a namespace in a cluster."""
        if self.everything:
            return True
        place = (cluster, namespace)
        if place not in self._copies:
            self._copies[place] = self._rights.on_object(Right.VIEW, cluster, namespace)
        return self._copies[place]

    def whole(self, namespace: str) -> bool:
        """Objects of a namespace in every cluster."""
        if self.everything:
            return True
        if namespace not in self._whole:
            self._whole[namespace] = all(self.copy(name, namespace) for name in self._clusters)
        return self._whole[namespace]

    def binding(self, binding: Binding) -> bool:
        """It is somewhere where the caller may see it; what is nowhere yet could be."""
        if self.whole(binding.key.namespace):
            return True
        space = binding.key.namespace
        if not binding.scheduled.shares:
            return any(self.copy(name, space) for name in self._clusters)
        return any(self.copy(share.cluster, space) for share in binding.scheduled.shares)

    def change(self, change: Change) -> bool:
        return self.copy(change.cluster, change.key.namespace)


# -- what is left of a value ------------------------------------------------------------------------------------------


def binding(value: plans.BindingView, sight: Sight) -> plans.BindingView:
    space = value["resource"]["namespace"]
    required = value["requiredBy"]
    if not sight.everything:
        required = [requirement for requirement in required if sight.whole(_namespace(requirement["resource"]))]
    if sight.whole(space):
        return {**value, "requiredBy": required}

    def here(name: str) -> bool:
        return sight.copy(name, space)

    shares = [share for share in value["clusters"] if here(share["name"])]
    counts = [share["replicas"] for share in shares if share["replicas"] is not None]
    return {
        **value,
        "clusters": shares,
        "condition": {**value["condition"], "message": ""} if value["condition"] is not None else None,
        "rejected": {name: why for name, why in value["rejected"].items() if here(name)},
        "replicas": sum(counts) if counts else None,
        "requiredBy": [],
        "gracefulEvictionTasks": [_task(task) for task in value["gracefulEvictionTasks"] if here(_from(task))],
        "awaitsDeletion": [name for name in value["awaitsDeletion"] if here(name)],
        "released": [name for name in value["released"] if here(name)],
        "injectedLabels": {name: labels for name, labels in value["injectedLabels"].items() if here(name)},
        "why": "",
        "descheduled": None,
        "affinityName": "",
        "held": _held(value["held"], here),
        "kept": [{**kept, "reason": ""} for kept in value["kept"] if here(kept["name"])],
    }


def _held(value: plans.HeldView | None, here: Callable[[str], bool]) -> plans.HeldView | None:
    if value is None:
        return None
    shares = [share for share in value["clusters"] if here(share["name"])]
    counts = [share["replicas"] for share in shares if share["replicas"] is not None]
    return {"gate": value["gate"], "clusters": shares, "replicas": sum(counts) if counts else None, "why": ""}


def status(value: bindings.StatusView | None, namespace: str, sight: Sight) -> bindings.StatusView | None:
    if value is None or sight.whole(namespace):
        return value
    return {
        "aggregatedStatus": [item for item in value["aggregatedStatus"] if sight.copy(_cluster_of(item), namespace)],
        "conditions": [],
    }


def placed(value: bindings.PlacedBinding, sight: Sight) -> bindings.PlacedBinding:
    shown = status(value["status"], value["resource"]["namespace"], sight)
    return {**binding(value, sight), "status": shown}


def change(value: plans.ChangeView, sight: Sight) -> plans.ChangeView:
    if sight.whole(value["namespace"]):
        return value
    return {**value, "reason": "", "waits": _OTHERS_FIRST if value["waits"] else None}


def found(value: objects.ObjectView, sight: Sight) -> objects.ObjectView:
    return {
        **value,
        "binding": placed(value["binding"], sight),
        "changes": [change(view, sight) for view in value["changes"]],
    }


def explanation(value: explanations.ExplanationView, sight: Sight) -> explanations.ExplanationView:
    shown: explanations.ExplanationView = {
        **value,
        "binding": binding(value["binding"], sight),
        "changes": [change(view, sight) for view in value["changes"]],
    }
    if sight.whole(value["binding"]["resource"]["namespace"]):
        return shown
    reasons: list[explanations.ClusterReason] = [
        {**reason, "reason": "" if reason["chosen"] else reason["reason"]} for reason in value["clusters"]
    ]
    return {**shown, "decided": None, "clusters": reasons, "placement": None}


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("fromCluster", "purgeMode", "reason", "creationTimestamp", "gracePeriodSeconds", "suppressDeletion")
    return {name: task[name] for name in kept if name in task}


def _from(task: Mapping[str, Any]) -> str:
    return str(task.get("fromCluster"))


def _cluster_of(copy: bindings.CopyView) -> str:
    return str(copy.get("clusterName"))


def _namespace(typed: str) -> str:
    return key_from(typed).namespace
