"""Facts as documents: Karmada's `Cluster` with status.

The facts branch and `--fleet FILE` share this format. Node and Pod documents annotated `gitfed.io/cluster` may
follow; they are kept for the node-level estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from gitfed.model.base import Body
from gitfed.model.fleet import ApiEnablements, ClusterFacts, Condition, NodeFacts, Reach
from gitfed.source.bindings import time_text

GROUP_VERSION = "cluster.karmada.io/v1alpha1"
CLUSTER_ANNOTATION = "gitfed.io/cluster"


def is_cluster(document: object) -> bool:
    return (
        isinstance(document, Mapping)
        and document.get("kind") == "Cluster"
        and str(document.get("apiVersion", "")).startswith("cluster.karmada.io/")
    )


def from_documents(documents: Iterable[Body]) -> dict[str, ClusterFacts]:
    """Facts by cluster name. Documents of other kinds are ignored."""
    clusters: dict[str, ClusterFacts] = {}
    for document in documents:
        if is_cluster(document):
            facts = from_document(document)
            clusters[facts.name] = facts
    return clusters


def from_document(document: Body) -> ClusterFacts:
    """Facts of one Cluster. One without conditions counts as not ready only if it has a status at all."""
    status: Mapping[str, Any] = document.get("status") or {}
    conditions = tuple(
        Condition(
            item.get("type", ""),
            item.get("status", "Unknown"),
            item.get("reason", ""),
            item.get("message", ""),
            _time(item.get("lastTransitionTime")),
        )
        for item in status.get("conditions") or []
    )
    apis: ApiEnablements | None = None
    if "apiEnablements" in status:
        complete = next((c.status == "True" for c in conditions if c.type == "CompleteAPIEnablements"), True)
        apis = ApiEnablements(
            frozenset(
                (entry.get("groupVersion", ""), resource.get("kind", ""))
                for entry in status["apiEnablements"] or []
                for resource in entry.get("resources") or []
            ),
            complete,
        )
    return ClusterFacts(
        name=document["metadata"]["name"],
        reach=reach_of(conditions, has_status=bool(status)),
        conditions=conditions,
        apis=apis,
        kubernetes_version=status.get("kubernetesVersion", ""),
        resource_summary=status.get("resourceSummary"),
        nodes=tuple(_node(item) for item in status.get("nodes") or [] if isinstance(item, Mapping)),
        declared=document,
        assumed=not status,
    )


def reach_of(conditions: Iterable[Condition], *, has_status: bool) -> Reach:
    """Karmada: Ready True, False and Unknown; a cluster that was observed but has no Ready condition is not ready."""
    for condition in conditions:
        if condition.type == "Ready":
            return {"True": Reach.READY, "False": Reach.NOT_READY}.get(condition.status, Reach.UNKNOWN)
    return Reach.NOT_READY if has_status else Reach.READY


def to_document(facts: ClusterFacts) -> Body:
    """The `Cluster` with status that goes to the facts branch."""
    status: dict[str, Any] = {}
    if facts.kubernetes_version:
        status["kubernetesVersion"] = facts.kubernetes_version
    if facts.apis is not None:
        groups: dict[str, list[str]] = {}
        for group_version, kind in facts.apis.kinds:
            groups.setdefault(group_version, []).append(kind)
        status["apiEnablements"] = [
            {"groupVersion": group_version, "resources": [{"kind": kind} for kind in sorted(groups[group_version])]}
            for group_version in sorted(groups)
        ]
    if facts.conditions:
        status["conditions"] = [
            {"type": c.type, "status": c.status}
            | ({"reason": c.reason} if c.reason else {})
            | ({"message": c.message} if c.message else {})
            | ({"lastTransitionTime": time_text(c.last_transition)} if c.last_transition else {})
            for c in facts.conditions
        ]
    if facts.resource_summary is not None:
        status["resourceSummary"] = facts.resource_summary
    document: dict[str, Any] = {"apiVersion": GROUP_VERSION, "kind": "Cluster", "metadata": {"name": facts.name}}
    if status:
        document["status"] = status
    return document


def _node(item: Mapping[str, Any]) -> NodeFacts:
    return NodeFacts(
        name=item.get("name", ""),
        allocatable=item.get("allocatable") or {},
        requested=item.get("requested") or {},
        labels=item.get("labels") or {},
        taints=tuple(item.get("taints") or ()),
        unschedulable=bool(item.get("unschedulable")),
        ready=item.get("ready", True),
    )


def _time(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
