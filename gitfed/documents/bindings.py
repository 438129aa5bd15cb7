"""Decisions as documents: Karmada's ResourceBinding and ClusterResourceBinding.

The state branch and `--decisions FILE` share this format, so that a person can read what was decided with the words
they know, and a Karmada user can hand over what `kubectl get rb -o yaml` prints. What a document holds beyond the
fields gitfed acts on survives a rewrite (`Decision.raw`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from gitfed.documents import evictions, lenient, requirements, targets
from gitfed.documents.evictions import complaints as complaints
from gitfed.documents.records import record_document as record_document
from gitfed.documents.records import record_of as record_of
from gitfed.documents.records import record_path as record_path
from gitfed.errors import InputError
from gitfed.model.base import Body, Digest, ObjectKey, group_of
from gitfed.model.decisions import (
    Decision,
    Descheduled,
    FailoverState,
    Labels,
    Ownership,
    PolicyRef,
    Repeats,
    Rescheduling,
    Scheduled,
    ScheduledCondition,
)
from gitfed.model.declared.services import KIND as SERVICE_POLICY
from gitfed.model.keys import (
    APPLIED_PLACEMENT,
    CLEARED,
    CLUSTER_POLICY_NAME,
    DESCHEDULED,
    INJECTED,
    LEFT_BEHIND,
    POLICY_NAME,
    POLICY_NAMESPACE,
    PRESERVED,
    PRUNE_ANNOTATION,
    REBALANCED_BY,
    RELEASED,
    REPEATS,
    SERVICE_POLICY_NAME,
    SERVICE_POLICY_NAMESPACE,
    UNHEALTHY,
)
from gitfed.text import canonical

GROUP_VERSION = "work.karmada.io/v1alpha2"
UNREADABLE = "unreadable"
"""The only member of an applied placement that is no JSON."""


def name_of(key: ObjectKey) -> str:
    """Karmada's binding name: `web-deployment`; `:` cannot stand in an object name."""
    return f"{key.name}-{key.kind}".lower().replace(":", ".")


def path_of(key: ObjectKey) -> str:
    """Where the binding stands on the state branch. The group is part of it: Karmada's own names collide."""
    group = key.group or "core"
    folder = key.namespace or "_cluster"
    return f"bindings/{folder}/{key.name.replace(':', '.')}-{key.kind}.{group}.yaml"


def key_of_path(path: str) -> ObjectKey | None:
    """Whose binding stands there, as far as the path tells (a `:` in a name is `.`); None: it is no binding's."""
    parts = path.split("/")
    name, dash, kind = parts[-1].removesuffix(".yaml").rpartition("-")
    kind, dot, group = kind.partition(".")
    if len(parts) != 3 or parts[0] != "bindings" or not (dash and dot and name and kind and group):
        return None
    namespace = "" if parts[1] == "_cluster" else parts[1]
    return ObjectKey("" if group == "core" else group, kind, namespace, name)


def to_document(decision: Decision, collected: Body | None = None) -> Body:
    """The binding as Karmada writes it. Keys that we do not own come from `decision.raw`.

    `collected`: what was brought back from the clusters, `{aggregatedStatus, conditions}`.
    """
    raw = decision.raw or {}
    metadata = _without_ours(raw.get("metadata") or {})
    metadata["name"] = name_of(decision.key)
    if decision.key.namespace:
        metadata["namespace"] = decision.key.namespace
    annotations = dict(metadata.get("annotations") or {})
    if decision.placement is not None:
        annotations[APPLIED_PLACEMENT] = canonical.dumps(decision.placement).decode()
    if decision.scheduled.policy is not None:
        if decision.scheduled.policy.kind == SERVICE_POLICY:
            annotations[SERVICE_POLICY_NAMESPACE] = decision.scheduled.policy.namespace
            annotations[SERVICE_POLICY_NAME] = decision.scheduled.policy.name
        elif decision.scheduled.policy.namespace:
            annotations[POLICY_NAMESPACE] = decision.scheduled.policy.namespace
            annotations[POLICY_NAME] = decision.scheduled.policy.name
        else:
            annotations[CLUSTER_POLICY_NAME] = decision.scheduled.policy.name
    if decision.rescheduling.rebalancers:
        annotations[REBALANCED_BY] = ",".join(decision.rescheduling.rebalancers)
    if decision.rescheduling.descheduled is not None:
        annotations[DESCHEDULED] = (
            f"{time_text(decision.rescheduling.descheduled.at)} {decision.rescheduling.descheduled.message}"
        )
    if decision.rescheduling.repeats is not None:
        times = ",".join(map(time_text, decision.rescheduling.repeats.times))
        annotations[REPEATS] = f"{decision.rescheduling.repeats.inputs} {times}"
    if decision.ownership.kept:
        annotations[PRUNE_ANNOTATION] = "disabled"
    if decision.ownership.left_behind:
        annotations[LEFT_BEHIND] = ",".join(decision.ownership.left_behind)
    annotations |= _failover_annotations(decision)
    if annotations:
        metadata["annotations"] = annotations
    resource: dict[str, Any] = {
        "apiVersion": decision.api_version,
        "kind": decision.key.kind,
        "name": decision.key.name,
    }
    if decision.key.namespace:
        resource["namespace"] = decision.key.namespace
    spec: dict[str, Any] = {key: value for key, value in (raw.get("spec") or {}).items() if key not in _SPEC_OURS}
    spec["resource"] = resource
    if decision.scheduled.replicas is not None:
        spec["replicas"] = decision.scheduled.replicas
    if decision.scheduled.components:
        spec["components"] = [dict(component) for component in decision.scheduled.components]
    if decision.scheduled.shares:
        each = [{"name": name, "replicas": replicas} for name, replicas in decision.scheduled.each]
        spec["clusters"] = [
            {"name": share.cluster}
            | ({"replicas": share.replicas} if share.replicas is not None else {})
            | ({"components": each} if each else {})
            for share in decision.scheduled.shares
        ]
    if decision.failover.evictions:
        spec["gracefulEvictionTasks"] = [task.raw for task in decision.failover.evictions]
    if decision.rescheduling.triggered is not None:
        spec["rescheduleTriggeredAt"] = time_text(decision.rescheduling.triggered)
    if decision.ownership.preserve:
        spec["preserveResourcesOnDeletion"] = True
    if decision.ownership.required_by:
        spec["requiredBy"] = [
            requirements.entry(dependent, name_of(dependent.owner)) for dependent in decision.ownership.required_by
        ]
    status = {key: value for key, value in (raw.get("status") or {}).items() if key not in _STATUS_OURS}
    kept = lenient.items((raw.get("status") or {}).get("conditions"))
    conditions = [item for item in kept if isinstance(item, Mapping) and item.get("type") not in _OURS]
    if decision.scheduled.condition is not None:
        conditions.append(
            {
                "type": "Scheduled",
                "status": "True" if decision.scheduled.condition.status else "False",
                "reason": decision.scheduled.condition.reason,
                "message": decision.scheduled.condition.message,
            }
        )
    if collected is not None:
        conditions += collected["conditions"]
        status["aggregatedStatus"] = collected["aggregatedStatus"]
    if conditions:
        status["conditions"] = conditions
    if decision.scheduled.affinity_name:
        status["schedulerObservingAffinityName"] = decision.scheduled.affinity_name
    if decision.last_scheduled is not None:
        status["lastScheduledTime"] = time_text(decision.last_scheduled)
    document: dict[str, Any] = {
        "apiVersion": GROUP_VERSION,
        "kind": "ResourceBinding" if decision.key.namespace else "ClusterResourceBinding",
        "metadata": metadata,
        "spec": spec,
    }
    if status:
        document["status"] = status
    return document


def status_of(document: Body) -> Body | None:
    """What a binding says of its copies, as `to_document` takes it; None where it says nothing that can be read."""
    status = document.get("status")
    items = status.get("aggregatedStatus") if isinstance(status, Mapping) else None
    if not isinstance(status, Mapping) or not isinstance(items, list):
        return None
    listed = status.get("conditions")
    conditions = [
        item
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, Mapping) and item.get("type") == "FullyApplied"
    ]
    return {"aggregatedStatus": [item for item in items if isinstance(item, Mapping)], "conditions": conditions}


_SPEC_OURS = ("resource", "clusters", "replicas", "components", "gracefulEvictionTasks", "rescheduleTriggeredAt",
              "preserveResourcesOnDeletion", "requiredBy")  # fmt: skip
_STATUS_OURS = ("conditions", "schedulerObservingAffinityName", "lastScheduledTime", "aggregatedStatus")
_OURS = ("Scheduled", "FullyApplied")
"""Conditions that we write."""
_OUR_ANNOTATIONS = frozenset({
    APPLIED_PLACEMENT, PRUNE_ANNOTATION, LEFT_BEHIND, REBALANCED_BY, DESCHEDULED, REPEATS, UNHEALTHY, PRESERVED,
    INJECTED, CLEARED, RELEASED, POLICY_NAMESPACE, POLICY_NAME, CLUSTER_POLICY_NAME, SERVICE_POLICY_NAMESPACE,
    SERVICE_POLICY_NAME,
})  # fmt: skip


def _failover_annotations(decision: Decision) -> dict[str, str]:
    annotations: dict[str, str] = {}
    if decision.failover.unhealthy:
        annotations[UNHEALTHY] = canonical.dumps(
            {name: time_text(when) for name, when in decision.failover.unhealthy}
        ).decode()
    for annotation, states in ((PRESERVED, decision.failover.preserved), (INJECTED, decision.failover.injected)):
        if states:
            annotations[annotation] = canonical.dumps({name: dict(labels) for name, labels in states}).decode()
    for annotation, names in ((CLEARED, decision.failover.cleared), (RELEASED, decision.failover.released)):
        if names:
            annotations[annotation] = ",".join(names)
    return annotations


def _without_ours(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in metadata.items() if key not in ("annotations", "managedFields")}
    annotations = {
        key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _OUR_ANNOTATIONS
    }
    return kept | ({"annotations": annotations} if annotations else {})


def is_binding(document: object) -> bool:
    return isinstance(document, Mapping) and document.get("kind") in ("ResourceBinding", "ClusterResourceBinding")


def from_document(document: Body) -> Decision:
    """The decision that a binding records.

    Raises InputError when the document lacks what a decision needs; the message names the member.
    """
    spec = lenient.mapping(document.get("spec"), "spec")
    resource = lenient.mapping(spec.get("resource"), "spec.resource")
    for member in ("apiVersion", "kind", "name"):
        if not isinstance(resource.get(member), str) or not resource[member]:
            raise InputError(f"spec.resource.{member} is missing")
    if not isinstance(resource.get("namespace") or "", str):
        raise InputError("spec.resource.namespace is not text")
    metadata = lenient.mapping(document.get("metadata") or {}, "metadata")
    annotations = lenient.mapping(metadata.get("annotations") or {}, "metadata.annotations")
    status = lenient.mapping(document.get("status") or {}, "status")
    key = ObjectKey(
        group_of(resource["apiVersion"]), resource["kind"], resource.get("namespace") or "", resource["name"]
    )
    applied = annotations.get(APPLIED_PLACEMENT)
    return Decision(
        key=key,
        api_version=resource["apiVersion"],
        scheduled=Scheduled(
            shares=targets.shares(spec.get("clusters") or []),
            affinity_name=lenient.text(status.get("schedulerObservingAffinityName")),
            policy=_policy(annotations),
            replicas=spec.get("replicas") if isinstance(spec.get("replicas"), int) else None,
            components=tuple(item for item in lenient.items(spec.get("components")) if isinstance(item, Mapping)),
            each=targets.each(spec.get("clusters") or []),
            condition=_condition(status.get("conditions") or []),
        ),
        placement=_placement(str(applied)) if applied else None,
        failover=FailoverState(
            evictions=evictions.read(spec.get("gracefulEvictionTasks")),
            unhealthy=_unhealthy(annotations),
            preserved=_states(annotations, PRESERVED),
            injected=_states(annotations, INJECTED),
            cleared=_names(annotations, CLEARED),
            released=_names(annotations, RELEASED),
        ),
        last_scheduled=lenient.time(status.get("lastScheduledTime")),
        rescheduling=Rescheduling(
            triggered=lenient.time(spec.get("rescheduleTriggeredAt")),
            rebalancers=_names(annotations, REBALANCED_BY),
            descheduled=_descheduled(annotations.get(DESCHEDULED)),
            repeats=_repeats(annotations.get(REPEATS)),
        ),
        ownership=Ownership(
            preserve=spec.get("preserveResourcesOnDeletion") is True,
            kept=annotations.get(PRUNE_ANNOTATION) == "disabled",
            left_behind=_names(annotations, LEFT_BEHIND),
            required_by=requirements.read(spec.get("requiredBy")),
        ),
        scheduling_suspended=_is_scheduling_suspended(spec.get("suspension")),
        raw=document,
    )


@lru_cache(maxsize=4096)
def _placement(applied: str) -> Body:
    """All that one policy placed share it: the same object again, so that nobody looks at it ten thousand times."""
    try:
        placement: Body = canonical.loads(applied.encode())
    except ValueError:
        return {UNREADABLE: applied}  # Karmada: it counts as unchanged; a missing one does not.
    return placement


def _names(annotations: Mapping[str, Any], name: str) -> tuple[str, ...]:
    text = annotations.get(name)
    return tuple(filter(None, str(text).split(","))) if text else ()


def _unhealthy(annotations: Mapping[str, Any]) -> tuple[tuple[str, datetime], ...]:
    since = _json(annotations, UNHEALTHY)
    return tuple(sorted((name, when) for name, text in since.items() if (when := lenient.time(text)) is not None))


def _json(annotations: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An annotation that cannot be read counts as absent."""
    text = annotations.get(name)
    if not text:
        return {}
    try:
        value = canonical.loads(str(text).encode())
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def _states(annotations: Mapping[str, Any], name: str) -> tuple[tuple[str, Labels], ...]:
    if name not in annotations:  # as in nearly all: a fleet has ten thousand of these
        return ()
    return tuple(
        (cluster, tuple(sorted((label, text) for label, text in labels.items() if isinstance(text, str))))
        for cluster, labels in sorted(_json(annotations, name).items())
        if isinstance(labels, Mapping)
    )


def _is_scheduling_suspended(suspension: object) -> bool:
    return isinstance(suspension, Mapping) and suspension.get("scheduling") is True


def _policy(annotations: Mapping[str, Any]) -> PolicyRef | None:
    if name := lenient.text(annotations.get(POLICY_NAME)):
        return PolicyRef("PropagationPolicy", lenient.text(annotations.get(POLICY_NAMESPACE)), name)
    if name := lenient.text(annotations.get(SERVICE_POLICY_NAME)):
        return PolicyRef(SERVICE_POLICY, lenient.text(annotations.get(SERVICE_POLICY_NAMESPACE)), name)
    if name := lenient.text(annotations.get(CLUSTER_POLICY_NAME)):
        return PolicyRef("ClusterPropagationPolicy", "", name)
    return None


def _condition(conditions: object) -> ScheduledCondition | None:
    for item in conditions if isinstance(conditions, list) else []:
        if isinstance(item, Mapping) and item.get("type") == "Scheduled":
            said = lenient.text(item.get("reason")), lenient.text(item.get("message"))
            return _scheduled(item.get("status") == "True", *said)
    return None


@lru_cache(maxsize=4096)
def _scheduled(status: bool, reason: str, message: str) -> ScheduledCondition:
    """Most bindings say the same."""
    return ScheduledCondition(status, reason, message)


def _descheduled(text: object) -> Descheduled | None:
    when, _, message = text.partition(" ") if isinstance(text, str) else ("", "", "")
    at = lenient.time(when)
    return Descheduled(at, message) if at is not None else None


def _repeats(text: object) -> Repeats | None:
    if not text or not isinstance(text, str):
        return None
    inputs, _, listed = text.partition(" ")
    times = tuple(when for moment in listed.split(",") if (when := lenient.time(moment)) is not None)
    return Repeats(Digest(inputs), times) if times else None


def time_text(when: datetime) -> str:
    """RFC 3339, UTC, whole seconds: the form of Kubernetes' times."""
    return when.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
