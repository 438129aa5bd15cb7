"""Pods: what the server adds, refuses, shows, and lets change."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kinds import pod_actions
from kubesim.status import ApiError
from tests.kinds import made
from tests.kinds.made import CONTAINER, Body, Cluster, created, pod, refused, refused_change, texts

POD = made.kind("Pod")
NOW = made.NOW


def test_a_bare_pod_gets_everything_a_server_adds() -> None:
    found = created(pod())
    assert found["spec"]["containers"] == [
        {
            "name": "c",
            "image": "nginx:1",
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ]
    assert {key: value for key, value in found["spec"].items() if key not in ("containers", "tolerations")} == {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    } | {key: value for key, value in found["spec"].items() if key.startswith("serviceAccount")}
    assert found["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("<your image>", "IfNotPresent"),
        ("Nginx", "IfNotPresent"),
    ],
)
def test_images_that_may_move_are_always_pulled(image: str, policy: str) -> None:
    container = created(pod({"name": "c", "image": image}))["spec"]["containers"][0]
    assert container["imagePullPolicy"] == policy


def test_what_is_limited_is_requested() -> None:
    limited = {**CONTAINER, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}
    assert created(pod(limited))["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


REFUSALS: dict[str, tuple[Body, list[str]]] = {
    "no containers": (
        made.body("Pod", spec={"containers": []}),
        ["spec.containers: Required value"],
    ),
    "two containers of one name": (
        pod(CONTAINER, CONTAINER),
        ['spec.containers[1].name: Duplicate value: "c"'],
    ),
    "no image": (pod({"name": "c"}), ["spec.containers[0].image: Required value"]),
    "an unknown volume": (
        pod({**CONTAINER, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
        ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ),
    "an unknown restart policy": (
        pod(restartPolicy="Sometimes"),
        ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ),
    "more requested than allowed": (
        pod({**CONTAINER, "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}),
        [
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ],
    ),
    "a port beyond the last": (
        pod({**CONTAINER, "ports": [{"containerPort": 70000}]}),
        ["spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
    ),
    "a negative grace": (
        pod(activeDeadlineSeconds=-1),
        ["spec.activeDeadlineSeconds: Invalid value: -1: must be between 1 and 2147483647, inclusive"],
    ),
}


@pytest.mark.parametrize(("given", "complaints"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_bad_pod_is_refused(given: Body, complaints: list[str]) -> None:
    assert refused(given) == complaints


def test_a_deadline_may_come_and_shrink_but_not_go() -> None:
    assert refused_change(pod(), activeDeadlineSeconds=9) == []
    assert refused_change(pod(activeDeadlineSeconds=9), activeDeadlineSeconds=8) == []
    assert refused_change(pod(activeDeadlineSeconds=9), activeDeadlineSeconds=None) == [
        "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"
    ]
    assert refused_change(pod(activeDeadlineSeconds=9), activeDeadlineSeconds=10) == [
        "spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"
    ]


def test_images_may_change_and_nothing_else() -> None:
    assert refused_change(pod(), containers=[{**CONTAINER, "image": "nginx:2"}]) == []
    (complaint,) = refused_change(pod(), hostNetwork=True)
    assert complaint.startswith("spec: Forbidden: pod updates may not change fields other than ")


def test_containers_are_neither_added_nor_removed() -> None:
    assert refused_change(pod(), containers=[CONTAINER, {**CONTAINER, "name": "d"}]) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


@pytest.mark.parametrize(
    ("state", "phase", "word"),
    [
        ({"waiting": {"reason": "CrashLoopBackOff"}}, "Running", "CrashLoopBackOff"),
        ({"terminated": {"exitCode": 0, "reason": "Completed"}}, "Succeeded", "Completed"),
        ({"terminated": {"exitCode": 3}}, "Failed", "ExitCode:3"),
        ({"terminated": {"exitCode": 137, "signal": 9}}, "Failed", "Signal:9"),
        ({"running": {"startedAt": "2024-05-06T07:00:00Z"}}, "Running", "Running"),
    ],
)
def test_one_word_says_how_a_pod_is(state: Body, phase: str, word: str) -> None:
    status = {"phase": phase, "containerStatuses": [{"name": "c", "restartCount": 2, "ready": False, "state": state}]}
    assert row(pod(status=status))[1:4] == ["0/1", word, "2"]


def row(given: Body) -> list[Any]:
    assert POD.row is not None
    return POD.row(given, NOW)


def test_a_deleted_pod_is_terminating() -> None:
    assert row(pod(metadata={"deletionTimestamp": "2024-05-06T07:08:00Z"}, status={"phase": "Running"}))[2] == (
        "Terminating"
    )


def test_a_gate_keeps_a_pod_from_the_scheduler_and_shows() -> None:
    found = created(pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert row(found)[2] == "SchedulingGated"


# binding and eviction


def bound(**parts: Any) -> Body:
    binding: Body = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}, **parts}
    return pod_actions.bind(created(pod()), binding, NOW)


def test_a_binding_names_the_node_and_tells_the_time() -> None:
    found = bound()
    assert found["spec"]["nodeName"] == "n1"
    assert found["status"]["conditions"][0]["type"] == "PodScheduled"


def test_a_pod_is_bound_once() -> None:
    with pytest.raises(ApiError) as caught:
        pod_actions.bind(bound(), {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n2"}}, NOW)
    assert caught.value.code == 409
    assert 'pod a is already assigned to node "n1"' in str(caught.value)


def budget(allowed: int, **status: Any) -> Body:
    return made.body(
        "PodDisruptionBudget",
        metadata={"name": "b"},
        spec={"selector": {"matchLabels": {"app": "w"}}, "minAvailable": 1},
        status={"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, **status},
    )


def running() -> Body:
    ready = {"type": "Ready", "status": "True"}
    return pod(metadata={"labels": {"app": "w"}}, status={"phase": "Running", "conditions": [ready]})


def test_an_eviction_is_charged_to_the_budget() -> None:
    evicted, charged = pod_actions.evict(running(), [budget(1)], NOW)
    assert evicted["status"]["conditions"][-1]["type"] == "DisruptionTarget"
    assert charged is not None
    assert (charged["status"]["disruptionsAllowed"], list(charged["status"]["disruptedPods"])) == (0, ["a"])


def test_an_eviction_that_the_budget_cannot_bear_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        pod_actions.evict(running(), [budget(0)], NOW)
    assert (caught.value.code, str(caught.value)) == (
        429,
        "Cannot evict pod as it would violate the pod's disruption budget.",
    )


def test_two_budgets_for_one_pod_are_a_mistake() -> None:
    with pytest.raises(ApiError) as caught:
        pod_actions.evict(running(), [budget(1), budget(1)], NOW)
    assert caught.value.code == 500


def test_a_budget_does_not_hold_a_pod_that_never_ran() -> None:
    pending = pod(metadata={"labels": {"app": "w"}}, status={"phase": "Pending"})
    assert pod_actions.evict(pending, [budget(0)], NOW)[1] is None


# admission


def test_a_priority_comes_from_its_class() -> None:
    classes = [made.body("PriorityClass", metadata={"name": "high"}, value=7, preemptionPolicy="Never")]
    spec = created(pod(priorityClassName="high"), Cluster(priorityclasses__scheduling__k8s__io=classes))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


def test_a_class_that_is_not_there_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        created(pod(priorityClassName="high"))
    assert str(caught.value) == 'pods "a" is forbidden: no PriorityClass with name high was found'


def test_a_variable_that_hides_another_is_warned_of() -> None:
    twice = {**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
    assert POD.warnings(created(pod(twice)), None) == [
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'
    ]


def test_status_belongs_to_its_own_address() -> None:
    old = created(pod())
    assert POD.prepare_update({**old, "status": {"phase": "Failed"}}, old, made.context())["status"] == old["status"]


def test_complaints_about_a_status_name_the_field() -> None:
    old = created(pod())
    new = {**old, "status": {**old["status"], "qosClass": "Guaranteed"}}
    assert texts(POD.validate_status(new, old)) == ['status.qosClass: Invalid value: "Guaranteed": field is immutable']
