"""How far an object has come, in kstatus's words: Current, InProgress, Failed, Terminating, with a sentence.

This is what roll-outs wait for and what people read. It is stricter than the health that decides about failover
(`native.health`): a Deployment whose old replicas still run is InProgress here. The rules are those of kstatus of
Kubernetes' SIG CLI; a kind without a rule of its own is judged by its conditions Reconciling, Stalled and Ready and
by its observedGeneration, and is Current if it has none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret.native import read
from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body, group_of
from gitfed.model.fleet import Health

Verdict = tuple[Health, str]


def readiness(body: Body | None) -> Verdict:
    """(health, message). Never fails: an object whose status cannot be read is Unknown."""
    if body is None:
        return Health.NOT_FOUND, "not found"
    try:
        return _judge(body)
    except InterpretError as error:
        return Health.UNKNOWN, str(error)


def _judge(body: Body) -> Verdict:
    if read.table(body, "metadata").get("deletionTimestamp"):
        return Health.TERMINATING, _deleted(body)
    conditions = _conditions(body)
    general = _by_conditions(body, conditions)
    if general is not None:
        return general
    rule = _RULES.get((group_of(body["apiVersion"]), body["kind"]))
    if rule is not None:
        return rule(body, conditions)
    ready = conditions.get("Ready")
    if ready is not None and ready.get("status") != "True":
        return _waiting(_said(ready, "not ready"))
    return _current("is there")


def is_held(body: Body) -> bool:
    """Whether a deleted object is kept by a finalizer or its namespace's content. Never fails, as `readiness`."""
    try:
        return bool(read.table(body, "metadata").get("deletionTimestamp")) and bool(_held_by(body))
    except InterpretError:
        return False


def _deleted(body: Body) -> str:
    held_by = _held_by(body)
    return f"being deleted, waits for {', '.join(held_by)}" if held_by else "being deleted"


def _held_by(body: Body) -> list[str]:
    """What holds a deletion that does not end: finalizers, or the content of a namespace."""
    finalizers = read.table(body, "metadata").get("finalizers")
    held_by = [str(name) for name in finalizers] if isinstance(finalizers, list) else []
    if (group_of(body["apiVersion"]), body["kind"]) == ("", "Namespace"):
        held_by += _left_in_namespace(body)
    return held_by


def _left_in_namespace(body: Body) -> list[str]:
    """What the namespace controller could not delete yet. It tells so in conditions that are True while it is stuck."""
    try:
        conditions = _conditions(body)
    except InterpretError:
        return []  # it is being deleted all the same
    stuck = (conditions.get(kind, {}) for kind in _NAMESPACE_STUCK)
    said = [_said(condition, "").rstrip(".") for condition in stuck if condition.get("status") == "True"]
    return [f"what is in it ({'; '.join(said)})"] if said else []


_NAMESPACE_STUCK = (
    "NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure",
    "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
)  # fmt: skip


def _by_conditions(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict | None:
    observed = _observed_generation(body)
    generation = read.optional(body, "metadata", "generation")
    if observed is not None and generation is not None and observed != generation:
        return _waiting(f"generation {generation} is not observed yet (at {observed})")
    for name, health in (("Reconciling", Health.IN_PROGRESS), ("Stalled", Health.FAILED)):
        condition = conditions.get(name)
        if condition is not None and condition.get("status") == "True":
            return health, _said(condition, name.lower())
    return None


def _observed_generation(body: Body) -> int | None:
    """Some controllers write it as text (Argo Rollouts)."""
    value = read.table(body, "status").get("observedGeneration")
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return read.optional(body, "status", "observedGeneration")


def _deployment(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    progressing = conditions.get("Progressing")
    if progressing is not None and progressing.get("reason") == "ProgressDeadlineExceeded":
        return Health.FAILED, _said(progressing, "progress deadline exceeded")
    wanted = _wanted(body)
    for have, what in (("replicas", "created"), ("updatedReplicas", "updated")):
        if (count := _status(body, have)) < wanted:
            return _waiting(f"{what} {count} of {wanted} replicas")
    if (total := _status(body, "replicas")) > _status(body, "updatedReplicas"):
        return _waiting(f"{total - _status(body, 'updatedReplicas')} old replicas still run")
    for have, what in (("availableReplicas", "available"), ("readyReplicas", "ready")):
        if (count := _status(body, have)) < wanted:
            return _waiting(f"{count} of {wanted} replicas are {what}")
    available = conditions.get("Available")
    if available is not None and available.get("status") != "True":
        return _waiting(_said(available, "not available"))
    if read.table(body, "status").get("observedGeneration") is None and wanted:
        return _waiting("not observed yet")
    return _current(f"{wanted} of {wanted} replicas are ready")


def _replica_set(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    failure = conditions.get("ReplicaFailure")
    if failure is not None and failure.get("status") == "True":
        return _waiting(_said(failure, "replica failure"))
    wanted = _wanted(body)
    for have, what in (
        ("replicas", "created"),
        ("fullyLabeledReplicas", "labelled"),
        ("availableReplicas", "available"),
        ("readyReplicas", "ready"),
    ):
        if (count := _status(body, have)) < wanted:
            return _waiting(f"{count} of {wanted} replicas are {what}")
    if (total := _status(body, "replicas")) > wanted:
        return _waiting(f"{total - wanted} replicas are to go")
    return _current(f"{wanted} of {wanted} replicas are ready")


def _stateful_set(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    if read.text(body, "spec", "updateStrategy", "type") == "OnDelete":
        return _current("pods are replaced when they are deleted")
    wanted = _wanted(body)
    for have, what in (("replicas", "created"), ("readyReplicas", "ready")):
        if (count := _status(body, have)) < wanted:
            return _waiting(f"{count} of {wanted} replicas are {what}")
    if (total := _status(body, "replicas")) > wanted:
        return _waiting(f"{total - wanted} replicas are to go")
    partition = read.number(body, "spec", "updateStrategy", "rollingUpdate", "partition")
    if partition:
        if (updated := _status(body, "updatedReplicas")) < wanted - partition:
            return _waiting(f"updated {updated} of {wanted - partition} replicas above the partition")
        return _current("updated above the partition")
    if (current := _status(body, "currentReplicas")) < wanted:
        return _waiting(f"{current} of {wanted} replicas are current")
    revision, update = read.text(body, "status", "currentRevision"), read.text(body, "status", "updateRevision")
    if revision != update:
        return _waiting("waits for the update revision to become current")
    return _current(f"{wanted} of {wanted} replicas are ready")


def _daemon_set(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    if "desiredNumberScheduled" not in read.table(body, "status"):
        return _waiting("not observed yet")
    wanted = _status(body, "desiredNumberScheduled")
    for have, what in (
        ("currentNumberScheduled", "scheduled"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ):
        if (count := _status(body, have)) < wanted:
            return _waiting(f"{count} of {wanted} pods are {what}")
    return _current(f"{wanted} of {wanted} pods are ready")


def _pod(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    match read.text(body, "status", "phase"):
        case "Succeeded":
            return _current("succeeded")
        case "Failed":
            return Health.FAILED, read.text(body, "status", "message") or "failed"
        case "Running":
            if _is_true(conditions.get("Ready")):
                return _current("running and ready")
            crashing = [
                read.text(entry, "name")
                for entry in read.rows(body, "status", "containerStatuses")
                if read.text(entry, "state", "waiting", "reason") == "CrashLoopBackOff"
            ]
            if crashing:
                return Health.FAILED, f"containers crash: {', '.join(crashing)}"
            return _waiting("running, but not ready")
        case "Pending":
            scheduled = conditions.get("PodScheduled")
            if scheduled is not None and scheduled.get("reason") == "Unschedulable":
                return _waiting(_said(scheduled, "cannot be scheduled"))
            return _waiting("pending")
        case phase:
            return _waiting(f"in phase {phase}" if phase else "not observed yet")


def _job(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    failed = conditions.get("Failed")
    if _is_true(failed):
        return Health.FAILED, _said(failed or {}, "failed")
    if _is_true(conditions.get("Complete")):
        return _current("complete")
    if _is_true(conditions.get("Suspended")):
        return _current("suspended")
    if not read.text(body, "status", "startTime"):
        return _waiting("not started")
    return _current("started")


def _claim(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    phase = read.text(body, "status", "phase")
    if phase == "Lost":
        return Health.FAILED, "its volume is lost"
    return _current("bound") if phase == "Bound" else _waiting(f"not bound ({phase or 'no phase'})")


def _service(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """Of kstatus's rule for load balancers the address counts here, not only the cluster IP: people wait for that."""
    if read.text(body, "spec", "type") == "LoadBalancer" and not read.rows(body, "status", "loadBalancer", "ingress"):
        return _waiting("has no load balancer address yet")
    return _current("is there")


def _definition(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    names = conditions.get("NamesAccepted")
    if names is not None and names.get("status") == "False":
        return Health.FAILED, _said(names, "its names are not accepted")
    established = conditions.get("Established")
    if _is_true(established):
        return _current("established")
    if established is not None and established.get("reason") != "Installing":
        return Health.FAILED, _said(established, "not established")
    return _waiting("not established yet")


def _budget(body: Body, conditions: Mapping[str, Mapping[str, Any]]) -> Verdict:
    return _current("is there")


_RULES: Mapping[tuple[str, str], Callable[[Body, Mapping[str, Mapping[str, Any]]], Verdict]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("", "Pod"): _pod,
    ("batch", "Job"): _job,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("policy", "PodDisruptionBudget"): _budget,
}


def _conditions(body: Body) -> dict[str, Mapping[str, Any]]:
    return {str(item.get("type")): item for item in read.rows(body, "status", "conditions")}


def _wanted(body: Body) -> int:
    replicas = read.optional(body, "spec", "replicas")
    return 1 if replicas is None else replicas


def _status(body: Body, name: str) -> int:
    return read.number(body, "status", name)


def _is_true(condition: Mapping[str, Any] | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def _said(condition: Mapping[str, Any], otherwise: str) -> str:
    return str(condition.get("message") or condition.get("reason") or otherwise)


def _current(message: str) -> Verdict:
    return Health.CURRENT, message


def _waiting(message: str) -> Verdict:
    return Health.IN_PROGRESS, message
