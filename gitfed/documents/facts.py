"""Facts as documents: Karmada's `Cluster` with status.

The facts branch and `--fleet FILE` share this format. Beyond Karmada's members a status may have `nodeClasses`: nodes
that are alike, with what is allocatable and free on each, their labels, taints and number; and `resourceQuotas`, what
ResourceQuotas inside the cluster allow. In a file Node, Pod and ResourceQuota documents annotated `gitfed.io/cluster`
may tell them one by one; whoever reads it counts them.

Karmada has no word for "gave no answer" as opposed to "says it is not ready": annotation `gitfed.io/reach` keeps it
where the Ready condition alone would tell another reach. `from_document` of what `to_document` gave is the same facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from gitfed.documents import lenient
from gitfed.documents.bindings import time_text
from gitfed.errors import InputError
from gitfed.model.base import Body
from gitfed.model.fleet import ApiEnablements, ClusterCondition, ClusterFacts, NodeFacts, QuotaFacts, Reach
from gitfed.model.keys import REACH_ANNOTATION
from gitfed.text import moment, quantity
from gitfed.text.quantity import Quantity

GROUP_VERSION = "cluster.karmada.io/v1alpha1"


def is_cluster(document: object) -> bool:
    return (
        isinstance(document, Mapping)
        and document.get("kind") == "Cluster"
        and str(document.get("apiVersion", "")).startswith("cluster.karmada.io/")
    )


def is_fact(document: object) -> bool:
    """Whether it is a Cluster with a name: what was edited by hand into a branch may be a Cluster and nobody's fact."""
    return is_cluster(document) and isinstance(_map(_map(document).get("metadata")).get("name"), str)


def path_of(name: str) -> str:
    """Where a cluster's facts stand on the facts branch."""
    return f"clusters/{name}.yaml"


def from_documents(documents: Iterable[Body]) -> dict[str, ClusterFacts]:
    """Facts by cluster name. Documents of other kinds are ignored."""
    clusters: dict[str, ClusterFacts] = {}
    for document in documents:
        if is_fact(document):
            facts = from_document(document)
            clusters[facts.name] = facts
    return clusters


def from_document(document: Body) -> ClusterFacts:
    """Facts of one Cluster. One without conditions counts as not ready only if it has a status at all.

    What in it is not as it should be is not there: a branch can be edited by hand. Raises InputError without a name.
    """
    status = _map(document.get("status"))
    name = lenient.mapping(document.get("metadata"), "metadata").get("name")
    if not isinstance(name, str):
        raise InputError("metadata.name is missing")
    conditions = tuple(
        ClusterCondition(
            lenient.text(item.get("type")),
            lenient.text(item.get("status")) or "Unknown",
            lenient.text(item.get("reason")),
            lenient.text(item.get("message")),
            _time(item.get("lastTransitionTime")),
        )
        for item in _maps(status.get("conditions"))
    )
    apis: ApiEnablements | None = None
    if "apiEnablements" in status:
        complete = next((c.status == "True" for c in conditions if c.type == "CompleteAPIEnablements"), True)
        apis = ApiEnablements(
            frozenset(
                (lenient.text(entry.get("groupVersion")), lenient.text(resource.get("kind")))
                for entry in _maps(status["apiEnablements"])
                for resource in _maps(entry.get("resources"))
            ),
            complete,
        )
    return ClusterFacts(
        name=name,
        reach=_said_reach(document) or reach_of(conditions, has_status=bool(document.get("status"))),
        conditions=conditions,
        apis=apis,
        kubernetes_version=lenient.text(status.get("kubernetesVersion")),
        resource_summary=_map(status.get("resourceSummary")) or None,
        nodes=tuple(_node(item) for item in _maps(status.get("nodeClasses"))),
        quotas=tuple(_quota(item) for item in _maps(status.get("resourceQuotas"))),
        declared=document,
        assumed=not document.get("status"),
    )


def reach_of(conditions: Iterable[ClusterCondition], *, has_status: bool) -> Reach:
    """Karmada: Ready True, False and Unknown; a cluster that was observed but has no Ready condition is not ready."""
    for condition in conditions:
        if condition.type == "Ready":
            return {"True": Reach.READY, "False": Reach.NOT_READY}.get(condition.status, Reach.UNKNOWN)
    return Reach.NOT_READY if has_status else Reach.READY


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [item for item in lenient.items(value) if isinstance(item, Mapping)]


def _said_reach(document: Body) -> Reach | None:
    said = _map(_map(document.get("metadata")).get("annotations")).get(REACH_ANNOTATION)
    return next((reach for reach in Reach if reach.value == said), None)


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
    if facts.nodes:
        ready = sum(node.count for node in facts.nodes if node.ready)
        status["nodeSummary"] = {"totalNum": sum(node.count for node in facts.nodes), "readyNum": ready}
        status["nodeClasses"] = [_class(node) for node in facts.nodes]
    if facts.quotas:
        status["resourceQuotas"] = [_quota_document(quota) for quota in facts.quotas]
    metadata: dict[str, Any] = {"name": facts.name}
    if facts.reach is not reach_of(facts.conditions, has_status=bool(status)):
        metadata["annotations"] = {REACH_ANNOTATION: facts.reach.value}
    document: dict[str, Any] = {"apiVersion": GROUP_VERSION, "kind": "Cluster", "metadata": metadata}
    if status:
        document["status"] = status
    return document


def _class(node: NodeFacts) -> Body:
    document: dict[str, Any] = {
        "count": node.count,
        "allocatable": dict(node.allocatable),
        "free": _less(node.allocatable, node.requested),
    }
    if node.name:
        document["name"] = node.name
    if node.labels:
        document["labels"] = dict(node.labels)
    if node.taints:
        document["taints"] = [dict(taint) for taint in node.taints]
    if node.unschedulable:
        document["unschedulable"] = True
    if not node.ready:
        document["ready"] = False
    return document


def _node(item: Mapping[str, Any]) -> NodeFacts:
    allocatable = dict(_map(item.get("allocatable")))
    free = _map(item["free"]) if item.get("free") is not None else None
    if not allocatable and free:
        allocatable = dict(free)
    requested = _map(item.get("requested")) or (_less(allocatable, free) if free is not None else {})
    count = item.get("count", 1)
    return NodeFacts(
        name=lenient.text(item.get("name")),
        allocatable=allocatable,
        requested={name: value for name, value in requested.items() if value != "0"},
        labels=_map(item.get("labels")),
        taints=tuple(_maps(item.get("taints"))),
        unschedulable=bool(item.get("unschedulable")),
        ready=item.get("ready", True) is not False,
        count=count if isinstance(count, int) and count >= 0 else 1,
    )


def _quota_document(quota: QuotaFacts) -> Body:
    document: dict[str, Any] = {
        "namespace": quota.namespace,
        "name": quota.name,
        "hard": dict(quota.hard),
        "used": dict(quota.used),
    }
    if quota.classes:
        document["priorityClasses"] = [
            {"operator": operator, "values": list(values)} for operator, values in quota.classes
        ]
    return document


def _quota(item: Mapping[str, Any]) -> QuotaFacts:
    return QuotaFacts(
        namespace=lenient.text(item.get("namespace")),
        name=lenient.text(item.get("name")),
        hard=_map(item.get("hard")),
        used=_map(item.get("used")),
        classes=tuple(
            (lenient.text(entry.get("operator")), tuple(map(lenient.text, lenient.items(entry.get("values")))))
            for entry in _maps(item.get("priorityClasses"))
        ),
    )


def _less(whole: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, str]:
    """`whole` without `part`, resource by resource. What cannot be read counts as nothing left."""
    left = {}
    for name, value in whole.items():
        try:
            amount = quantity.parse(value)
            rest = amount.nano - quantity.parse(part.get(name, 0)).nano
        except quantity.QuantityError:
            left[name] = "0"
            continue
        left[name] = str(Quantity(rest, amount.format))
    return left


def _time(text: object) -> datetime | None:
    return moment.read(text)
