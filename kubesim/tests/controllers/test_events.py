"""What kubectl describe tells of pods and of those who own them."""

from __future__ import annotations

from tests.controllers.stage import Stage, workload


def told(stage: Stage, about: str = "") -> list[tuple[str, str, str]]:
    fields = f"involvedObject.name={about}" if about else ""
    found = stage.api.list("events", "default", fields=fields)
    found.sort(key=lambda one: one["metadata"]["name"].rpartition(".")[2])
    return [(one["type"], one["reason"], one["message"]) for one in found]


def test_the_life_of_a_pod_is_told_in_events() -> None:
    stage = Stage(1)
    stage.api.create("deployments.apps", workload("Deployment", replicas=1))
    stage.pass_time()
    (pod,) = stage.pods()
    name, owner = pod["metadata"]["name"], pod["metadata"]["ownerReferences"][0]["name"]
    assert told(stage, "web") == [("Normal", "ScalingReplicaSet", f"Scaled up replica set {owner} from 0 to 1")]
    assert told(stage, owner) == [("Normal", "SuccessfulCreate", f"Created pod: {name}")]
    assert told(stage, name) == [
        ("Normal", "Scheduled", f"Successfully assigned default/{name} to node-0"),
        ("Normal", "Pulled", 'Container image "nginx:1" already present on machine'),
        ("Normal", "Created", "Created container: main"),
        ("Normal", "Started", "Started container main"),
    ]
    stage.api.patch("deployments.apps", "default", "web", {"spec": {"replicas": 0}})
    stage.pass_time()
    assert told(stage, name)[-1] == ("Normal", "Killing", "Stopping container main")
    assert told(stage, "web")[-1] == ("Normal", "ScalingReplicaSet", f"Scaled down replica set {owner} from 1 to 0")


def test_a_pod_that_fits_nowhere_and_an_image_that_is_not_there_are_warned_of() -> None:
    stage = Stage(1)
    stage.api.create("deployments.apps", workload("Deployment", "big", cpu="64", replicas=1))
    stage.api.create("deployments.apps", workload("Deployment", "gone", image="does-not-exist", replicas=1))
    stage.pass_time()
    (big,), (gone,) = stage.pods(app="big"), stage.pods(app="gone")
    (refused,) = told(stage, big["metadata"]["name"])
    assert refused[:2] == ("Warning", "FailedScheduling")
    assert refused[2].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert ("Warning", "Failed", 'Failed to pull image "does-not-exist": not found') in told(
        stage, gone["metadata"]["name"]
    )


def test_an_event_that_repeats_counts_up() -> None:
    stage = Stage(1)
    stage.api.create("deployments.apps", workload("Deployment", replicas=1))
    stage.pass_time()
    for replicas in (0, 1):
        stage.api.patch("deployments.apps", "default", "web", {"spec": {"replicas": replicas}})
        stage.pass_time()
    counts = [one["count"] for one in stage.api.list("events", "default", fields="involvedObject.kind=Deployment")]
    assert sorted(counts) == [1, 2]


def test_only_the_newest_events_are_kept() -> None:
    stage = Stage(1, events_kept=5)
    stage.api.create("deployments.apps", workload("Deployment", replicas=3))
    stage.pass_time()
    assert len(told(stage)) == 5
    assert {reason for _, reason, _ in told(stage)} <= {"Pulled", "Created", "Started"}


def test_no_event_is_told_in_a_namespace_that_goes() -> None:
    stage = Stage(1)
    stage.api.create("namespaces", {"metadata": {"name": "shop"}})
    made = workload("Deployment", replicas=2)
    stage.api.create("deployments.apps", {**made, "metadata": {"name": "web", "namespace": "shop"}})
    stage.pass_time()
    stage.api.delete("namespaces", "", "shop")
    stage.pass_time()
    assert stage.api.find("namespaces", "", "shop") is None
    assert stage.api.list("events", "shop") == []


def test_a_fleet_can_be_told_to_keep_no_events() -> None:
    stage = Stage(1, events_kept=0)
    stage.api.create("deployments.apps", workload("Deployment", replicas=1))
    stage.pass_time()
    assert told(stage) == []
