"""How far an object has come, in kstatus's words."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.interpret.readiness import is_held, readiness
from gitfed.model.fleet import Health

CURRENT, IN_PROGRESS, FAILED = Health.CURRENT, Health.IN_PROGRESS, Health.FAILED


def body(
    kind: str, status: Any = None, spec: Any = None, api_version: str = "apps/v1", **metadata: Any
) -> dict[str, Any]:
    found = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "generation": 2, **metadata}}
    if spec is not None:
        found["spec"] = spec
    if status is not None:
        found["status"] = status
    return found


def condition(kind: str, status: str = "True", **members: str) -> dict[str, str]:
    return {"type": kind, "status": status, **members}


READY = {
    "observedGeneration": 2,
    "replicas": 2,
    "updatedReplicas": 2,
    "availableReplicas": 2,
    "readyReplicas": 2,
    "fullyLabeledReplicas": 2,
    "currentReplicas": 2,
}
TWO = {"replicas": 2}
SCHEDULED = {
    "observedGeneration": 2,
    "desiredNumberScheduled": 2,
    "currentNumberScheduled": 2,
    "updatedNumberScheduled": 2,
    "numberAvailable": 2,
    "numberReady": 2,
}


def test_what_is_not_there_is_not_found() -> None:
    assert readiness(None) == (Health.NOT_FOUND, "not found")


def test_what_is_being_deleted_is_terminating_whatever_its_status() -> None:
    assert readiness(body("Deployment", READY, TWO, deletionTimestamp="2025-01-01T00:00:00Z"))[0] is Health.TERMINATING


REMAINING = condition(
    "NamespaceContentRemaining", message="Some resources are remaining: persistentvolumeclaims. has 1."
)
HELD = condition("NamespaceFinalizersRemaining", message="kubernetes.io/pvc-protection in 1 resource instances")
UNSERVED = condition("NamespaceDeletionDiscoveryFailure", message="metrics.k8s.io/v1beta1: stale GroupVersion")


@pytest.mark.parametrize(
    ("conditions", "finalizers", "message"),
    [
        ([], [], "being deleted"),
        ([{**REMAINING, "status": "False"}], [], "being deleted"),
        (
            [HELD, REMAINING],
            [],
            "being deleted, waits for what is in it (Some resources are remaining: persistentvolumeclaims. has 1; "
            "kubernetes.io/pvc-protection in 1 resource instances)",
        ),
        (
            [UNSERVED],
            ["example.com/held"],
            "being deleted, waits for example.com/held, what is in it (metrics.k8s.io/v1beta1: stale GroupVersion)",
        ),
        ("nonsense", [], "being deleted"),
    ],
)
def test_a_namespace_that_is_being_deleted_says_what_holds_it(
    conditions: Any, finalizers: list[str], message: str
) -> None:
    status = {"phase": "Terminating", "conditions": conditions}
    metadata: dict[str, Any] = {"deletionTimestamp": "2025-01-01T00:00:00Z", "finalizers": finalizers}
    found = readiness(body("Namespace", status, api_version="v1", **metadata))
    assert found == (Health.TERMINATING, message)


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_workload_with_all_replicas_ready_is_current(kind: str) -> None:
    assert readiness(body(kind, READY, TWO)) == (CURRENT, "2 of 2 replicas are ready")


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_a_workload_without_a_status_is_in_progress(kind: str) -> None:
    assert readiness(body(kind, spec=TWO))[0] is IN_PROGRESS
    assert readiness(body(kind, {}, TWO))[0] is IN_PROGRESS


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("Deployment", {"observedGeneration": 1}, "generation 2 is not observed yet (at 1)"),
        ("Deployment", {"replicas": 1}, "created 1 of 2 replicas"),
        ("Deployment", {"updatedReplicas": 1}, "updated 1 of 2 replicas"),
        ("Deployment", {"replicas": 3}, "1 old replicas still run"),
        ("Deployment", {"availableReplicas": 1}, "1 of 2 replicas are available"),
        ("Deployment", {"readyReplicas": 0}, "0 of 2 replicas are ready"),
        (
            "Deployment",
            {"conditions": [condition("Available", "False", message="quorum lost")]},
            "quorum lost",
        ),
        ("ReplicaSet", {"replicas": 3}, "1 replicas are to go"),
        ("ReplicaSet", {"fullyLabeledReplicas": 1}, "1 of 2 replicas are labelled"),
        ("ReplicaSet", {"conditions": [condition("ReplicaFailure", message="quota")]}, "quota"),
        ("StatefulSet", {"readyReplicas": 1}, "1 of 2 replicas are ready"),
        ("StatefulSet", {"replicas": 4}, "2 replicas are to go"),
        ("StatefulSet", {"currentReplicas": 1}, "1 of 2 replicas are current"),
        (
            "StatefulSet",
            {"currentRevision": "a", "updateRevision": "b"},
            "waits for the update revision to become current",
        ),
    ],
)
def test_a_workload_on_its_way_says_what_is_missing(kind: str, change: dict[str, Any], message: str) -> None:
    assert readiness(body(kind, {**READY, **change}, TWO)) == (IN_PROGRESS, message)


def test_a_rollout_past_its_deadline_has_failed() -> None:
    late = condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="too late")
    assert readiness(body("Deployment", {**READY, "conditions": [late]}, TWO)) == (FAILED, "too late")


def test_a_stateful_set_is_current_above_its_partition() -> None:
    spec = {"replicas": 2, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}}
    assert readiness(body("StatefulSet", {**READY, "updatedReplicas": 1}, spec))[0] is CURRENT
    assert readiness(body("StatefulSet", {**READY, "updatedReplicas": 0}, spec))[0] is IN_PROGRESS
    by_hand = {"replicas": 2, "updateStrategy": {"type": "OnDelete"}}
    assert readiness(body("StatefulSet", {**READY, "updatedReplicas": 0}, by_hand))[0] is CURRENT


@pytest.mark.parametrize(
    "member", ["currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"]
)
def test_a_daemon_set_waits_for_all_its_pods(member: str) -> None:
    assert readiness(body("DaemonSet", SCHEDULED))[0] is CURRENT
    assert readiness(body("DaemonSet", {**SCHEDULED, member: 1}))[0] is IN_PROGRESS


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({"phase": "Succeeded"}, CURRENT),
        ({"phase": "Running", "conditions": [condition("Ready")]}, CURRENT),
        ({"phase": "Running", "conditions": [condition("Ready", "False")]}, IN_PROGRESS),
        (
            {
                "phase": "Running",
                "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            },
            FAILED,
        ),
        ({"phase": "Failed"}, FAILED),
        ({"phase": "Pending"}, IN_PROGRESS),
        ({}, IN_PROGRESS),
    ],
)
def test_a_pod_follows_its_phase(status: dict[str, Any], health: Health) -> None:
    assert readiness(body("Pod", status, api_version="v1"))[0] is health


@pytest.mark.parametrize(("said", "message"), [("Evicted: disk pressure", "Evicted: disk pressure"), (None, "failed")])
def test_a_pod_that_failed_says_why(said: str | None, message: str) -> None:
    status = {"phase": "Failed", **({"message": said} if said else {})}
    assert readiness(body("Pod", status, api_version="v1")) == (FAILED, message)


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({"startTime": "2025-01-01T00:00:00Z"}, CURRENT),
        ({"conditions": [condition("Complete")]}, CURRENT),
        ({"conditions": [condition("Failed", message="backoff")]}, FAILED),
        ({}, IN_PROGRESS),
    ],
)
def test_a_job_is_current_once_it_has_started(status: dict[str, Any], health: Health) -> None:
    assert readiness(body("Job", status, api_version="batch/v1"))[0] is health


@pytest.mark.parametrize(("phase", "health"), [("Bound", CURRENT), ("Pending", IN_PROGRESS), ("Lost", FAILED)])
def test_a_claim_waits_for_its_volume(phase: str, health: Health) -> None:
    assert readiness(body("PersistentVolumeClaim", {"phase": phase}, api_version="v1"))[0] is health


def test_only_a_load_balancer_waits_for_an_address() -> None:
    balanced = {"type": "LoadBalancer"}
    assert readiness(body("Service", spec={"type": "ClusterIP"}, api_version="v1"))[0] is CURRENT
    assert readiness(body("Service", {"loadBalancer": {}}, balanced, "v1"))[0] is IN_PROGRESS
    assert readiness(body("Service", {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, balanced, "v1"))[0] is CURRENT


@pytest.mark.parametrize(
    ("conditions", "health"),
    [
        ([condition("Established"), condition("NamesAccepted")], CURRENT),
        ([condition("NamesAccepted", "False", message="taken")], FAILED),
        ([condition("Established", "False", reason="Installing")], IN_PROGRESS),
        ([condition("Established", "False", reason="Broken")], FAILED),
        ([], IN_PROGRESS),
    ],
)
def test_a_definition_is_current_when_it_is_established(conditions: list[Any], health: Health) -> None:
    found = body("CustomResourceDefinition", {"conditions": conditions}, api_version="apiextensions.k8s.io/v1")
    assert readiness(found)[0] is health


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (None, (CURRENT, "is there")),
        ({"observedGeneration": 1}, (IN_PROGRESS, "generation 2 is not observed yet (at 1)")),
        ({"observedGeneration": "1"}, (IN_PROGRESS, "generation 2 is not observed yet (at 1)")),
        ({"observedGeneration": "2"}, (CURRENT, "is there")),
        ({"observedGeneration": "two"}, (Health.UNKNOWN, "status.observedGeneration is no whole number: 'two'")),
        ({"conditions": [condition("Reconciling", message="busy")]}, (IN_PROGRESS, "busy")),
        ({"conditions": [condition("Stalled", reason="Stuck")]}, (FAILED, "Stuck")),
        ({"conditions": [condition("Ready", "False", message="not yet")]}, (IN_PROGRESS, "not yet")),
        ({"conditions": [condition("Ready", "Unknown")]}, (IN_PROGRESS, "not ready")),
        ({"conditions": [condition("Ready")]}, (CURRENT, "is there")),
    ],
)
def test_any_other_kind_is_judged_by_its_conditions(status: Any, verdict: tuple[Health, str]) -> None:
    assert readiness(body("Widget", status, api_version="example.com/v1")) == verdict


def test_a_status_that_cannot_be_read_is_unknown() -> None:
    assert readiness(body("Deployment", {"replicas": "many"}, TWO)) == (
        Health.UNKNOWN,
        "status.replicas is no whole number: 'many'",
    )


def test_a_deletion_is_held_by_finalizers_and_by_nothing_else() -> None:
    marked = {"deletionTimestamp": "2025-01-01T00:00:00Z"}
    assert is_held(body("Widget", finalizers=["example.com/guard"], **marked))
    assert not is_held(body("Widget", **marked))
    assert not is_held(body("Widget", finalizers=["example.com/guard"]))
    assert not is_held({"apiVersion": "v1", "kind": "Pod", "metadata": "none"})
