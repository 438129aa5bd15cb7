"""Roll-outs: their steps, their words, and what happens when they do not work out."""

from __future__ import annotations

import pytest

from kubesim.controllers import deployments, objects
from tests.controllers.stage import Body, Stage, workload

DEPLOYMENTS = "deployments.apps"


@pytest.fixture
def stage() -> Stage:
    return Stage()


def status(stage: Stage) -> Body:
    found: Body = stage.api.get(DEPLOYMENTS, "default", "web")["status"]
    return found


def counts(stage: Stage) -> tuple[int, int, int, int]:
    """(all, of the present template, available, missing)."""
    names = ("replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas")
    return tuple(status(stage).get(name, 0) for name in names)  # type: ignore[return-value]


def test_a_deployment_becomes_pods_that_run(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=3))
    stage.settle()
    assert counts(stage) == (3, 3, 0, 3)
    assert stage.conditions(DEPLOYMENTS, "web") == {
        "Progressing": ("True", "ReplicaSetUpdated"),
        "Available": ("False", "MinimumReplicasUnavailable"),
    }
    stage.pass_time()
    assert counts(stage) == (3, 3, 3, 0)
    assert stage.conditions(DEPLOYMENTS, "web") == {
        "Progressing": ("True", "NewReplicaSetAvailable"),
        "Available": ("True", "MinimumReplicasAvailable"),
    }
    assert [pod["status"]["phase"] for pod in stage.pods()] == ["Running"] * 3
    body = stage.api.get(DEPLOYMENTS, "default", "web")
    assert body["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert body["status"]["observedGeneration"] == body["metadata"]["generation"]


def test_status_belongs_to_the_controller_and_spec_to_the_user(stage: Stage) -> None:
    stage.api.patch(DEPLOYMENTS, "default", "web", workload("Deployment", replicas=1), type="apply")
    stage.pass_time()
    entries = stage.api.get(DEPLOYMENTS, "default", "web")["metadata"]["managedFields"]
    owners = {(one["manager"], one["operation"], one.get("subresource", "")) for one in entries}
    assert ("kube-controller-manager", "Update", "status") in owners
    assert ("kubesim", "Apply", "") in owners


def test_a_roll_out_never_has_too_many_nor_too_few(stage: Stage) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=4, strategy=strategy))
    stage.pass_time()
    stage.set_image(DEPLOYMENTS, "web", "nginx:2")
    seen = set()
    for _ in range(60):
        stage.pass_time(0.1)
        total, _, available, _ = counts(stage)
        seen.add((total, available))
        assert total <= 5
        assert available >= 4
    assert counts(stage) == (4, 4, 4, 0)
    assert {pod["spec"]["containers"][0]["image"] for pod in stage.pods()} == {"nginx:2"}
    assert (5, 4) in seen


def test_recreate_stops_everything_first(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=2, strategy={"type": "Recreate"}))
    stage.pass_time()
    stage.set_image(DEPLOYMENTS, "web", "nginx:2")
    for _ in range(50):
        stage.pass_time(0.02)
        assert len({pod["spec"]["containers"][0]["image"] for pod in stage.pods()}) <= 1
    assert counts(stage) == (2, 2, 2, 0)


def test_an_image_that_does_not_exist_stops_the_roll_out_and_keeps_the_old_pods(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=3, progressDeadlineSeconds=60))
    stage.pass_time()
    stage.set_image(DEPLOYMENTS, "web", "does-not-exist:1")
    stage.pass_time(30)
    assert counts(stage) == (4, 1, 3, 1)
    assert stage.conditions(DEPLOYMENTS, "web")["Progressing"] == ("True", "ReplicaSetUpdated")
    broken = [pod for pod in stage.pods() if pod["status"]["phase"] == "Pending"]
    assert broken[0]["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    stage.pass_time(60)
    assert stage.conditions(DEPLOYMENTS, "web") == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
    }


def test_going_back_reuses_the_old_replica_set_under_a_new_revision(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=1))
    stage.pass_time()
    for image in ("nginx:2", "nginx:1"):
        stage.set_image(DEPLOYMENTS, "web", image)
        stage.pass_time()
    sets = stage.api.list("replicasets.apps", "default")
    revisions = {
        one["spec"]["template"]["spec"]["containers"][0]["image"]: one["metadata"]["annotations"][deployments.REVISION]
        for one in sets
    }
    assert revisions == {"nginx:1": "3", "nginx:2": "2"}


def test_old_replica_sets_go_beyond_the_history_limit(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=1, revisionHistoryLimit=1))
    for number in range(2, 6):
        stage.pass_time()
        stage.set_image(DEPLOYMENTS, "web", f"nginx:{number}")
    stage.pass_time()
    assert len(stage.api.list("replicasets.apps", "default")) == 2


def test_scaling_changes_the_replica_set_in_place(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=1))
    stage.pass_time()
    stage.api.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 5}})
    stage.pass_time()
    assert counts(stage) == (5, 5, 5, 0)
    stage.api.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 0}})
    stage.pass_time()
    assert counts(stage) == (0, 0, 0, 0)
    assert stage.pods() == []
    assert len(stage.api.list("replicasets.apps", "default")) == 1


def test_a_paused_deployment_scales_but_does_not_roll(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=1))
    stage.pass_time()
    stage.api.patch(DEPLOYMENTS, "default", "web", {"spec": {"paused": True, "replicas": 2}})
    stage.set_image(DEPLOYMENTS, "web", "nginx:2")
    stage.pass_time()
    assert {pod["spec"]["containers"][0]["image"] for pod in stage.pods()} == {"nginx:1"}
    assert len(stage.pods()) == 2
    assert stage.conditions(DEPLOYMENTS, "web")["Progressing"] == ("Unknown", "DeploymentPaused")


def test_a_pod_that_is_deleted_is_replaced(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=2))
    stage.pass_time()
    gone = stage.pods()[0]["metadata"]["name"]
    stage.api.delete("pods", "default", gone)
    stage.pass_time()
    names = {pod["metadata"]["name"] for pod in stage.pods()}
    assert len(names) == 2
    assert gone not in names


def test_deleting_a_deployment_takes_its_pods_along(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=2))
    stage.pass_time()
    stage.api.delete(DEPLOYMENTS, "default", "web")
    stage.pass_time()
    assert stage.pods() == []
    assert stage.api.list("replicasets.apps", "default") == []


def test_pods_count_as_available_after_a_while_if_asked(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=1, minReadySeconds=30))
    stage.pass_time(10)
    assert status(stage).get("readyReplicas") == 1
    assert status(stage).get("availableReplicas") is None
    stage.pass_time(30)
    assert status(stage)["availableReplicas"] == 1


def test_a_settled_deployment_is_not_written_again(stage: Stage) -> None:
    stage.api.create(DEPLOYMENTS, workload("Deployment", replicas=3))
    stage.pass_time(60)
    before = stage.cluster.world.store.version
    stage.pass_time(3600)
    assert stage.cluster.world.store.version == before


@pytest.mark.parametrize(
    ("value", "total", "up", "wanted"),
    [("25%", 3, True, 1), ("25%", 3, False, 0), ("100%", 4, False, 4), (2, 5, True, 2), (None, 5, True, 0)],
)
def test_shares_round_up_for_more_and_down_for_fewer(value: object, total: int, up: bool, wanted: int) -> None:
    assert objects.rounded(value, total, up=up) == wanted
