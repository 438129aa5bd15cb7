"""StatefulSets, DaemonSets, Jobs: each has its own idea of enough."""

from __future__ import annotations

from typing import Any

from tests.controllers.stage import Body, Stage, workload


def names(pods: list[Body]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


# StatefulSets


def test_stateful_pods_come_one_after_the_other_with_their_claims() -> None:
    stage = Stage(start_seconds=10.0)
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    body = workload("StatefulSet", "db", replicas=3, serviceName="db", volumeClaimTemplates=[claim])
    stage.api.create("statefulsets.apps", body)
    seen = []
    for _ in range(4):
        stage.pass_time(9)
        seen.append(names(stage.pods()))
    assert seen == [["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"], ["db-0", "db-1", "db-2"]]
    claims = stage.api.list("persistentvolumeclaims", "default")
    assert [(one["metadata"]["name"], one["status"]["phase"]) for one in claims] == [
        ("data-db-0", "Bound"),
        ("data-db-1", "Bound"),
        ("data-db-2", "Bound"),
    ]
    status = stage.api.get("statefulsets.apps", "default", "db")["status"]
    assert (status["replicas"], status["readyReplicas"], status["currentRevision"]) == (3, 3, status["updateRevision"])


def test_stateful_pods_are_replaced_from_the_last_to_the_first() -> None:
    stage = Stage()
    stage.api.create("statefulsets.apps", workload("StatefulSet", "db", replicas=3, serviceName="db"))
    stage.pass_time()
    stage.set_image("statefulsets.apps", "db", "nginx:2")
    order: list[str] = []
    for _ in range(100):
        stage.pass_time(0.05)
        new = [pod["metadata"]["name"] for pod in stage.pods() if pod["spec"]["containers"][0]["image"] == "nginx:2"]
        order += [name for name in new if name not in order]
    assert order == ["db-2", "db-1", "db-0"]
    status = stage.api.get("statefulsets.apps", "default", "db")["status"]
    assert (status["updatedReplicas"], status["currentRevision"]) == (3, status["updateRevision"])


def test_a_partition_keeps_the_first_pods_as_they_were() -> None:
    stage = Stage()
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    body = workload("StatefulSet", "db", replicas=3, serviceName="db", updateStrategy=strategy)
    stage.api.create("statefulsets.apps", body)
    stage.pass_time()
    stage.set_image("statefulsets.apps", "db", "nginx:2")
    stage.pass_time()
    images = [pod["spec"]["containers"][0]["image"] for pod in stage.pods()]
    assert images == ["nginx:1", "nginx:1", "nginx:2"]


def test_parallel_stateful_pods_come_all_at_once() -> None:
    stage = Stage(start_seconds=10.0)
    body = workload("StatefulSet", "db", replicas=3, serviceName="db", podManagementPolicy="Parallel")
    stage.api.create("statefulsets.apps", body)
    stage.settle()
    assert names(stage.pods()) == ["db-0", "db-1", "db-2"]


def test_shrinking_takes_the_last_pods() -> None:
    stage = Stage()
    stage.api.create("statefulsets.apps", workload("StatefulSet", "db", replicas=3, serviceName="db"))
    stage.pass_time()
    stage.api.patch("statefulsets.apps", "default", "db", {"spec": {"replicas": 1}})
    stage.pass_time()
    assert names(stage.pods()) == ["db-0"]


# DaemonSets


def test_a_daemon_runs_on_every_node_and_on_new_ones() -> None:
    stage = Stage()
    stage.api.create("daemonsets.apps", workload("DaemonSet", "agent"))
    stage.pass_time()
    assert sorted(pod["spec"]["nodeName"] for pod in stage.pods()) == ["node-0", "node-1", "node-2"]
    stage.add_node(3, cpu="4", memory="8Gi", pods=110)
    stage.pass_time()
    status = stage.api.get("daemonsets.apps", "default", "agent")["status"]
    assert (status["desiredNumberScheduled"], status["numberReady"], status["numberAvailable"]) == (4, 4, 4)


def test_a_daemon_keeps_off_nodes_that_it_does_not_select_or_tolerate() -> None:
    stage = Stage()
    stage.api.patch(
        "nodes", "", "node-0", {"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}}
    )
    stage.api.patch("nodes", "", "node-1", {"spec": {"unschedulable": True}})
    stage.api.create("daemonsets.apps", workload("DaemonSet", "agent"))
    stage.pass_time()
    assert sorted(pod["spec"]["nodeName"] for pod in stage.pods()) == ["node-1", "node-2"], "cordons do not count"


def test_a_new_daemon_replaces_the_old_one_node_by_node() -> None:
    stage = Stage()
    stage.api.create("daemonsets.apps", workload("DaemonSet", "agent"))
    stage.pass_time()
    stage.set_image("daemonsets.apps", "agent", "nginx:2")
    for _ in range(40):
        stage.pass_time(0.1)
        assert stage.api.get("daemonsets.apps", "default", "agent")["status"].get("numberUnavailable", 0) <= 1
    assert {pod["spec"]["containers"][0]["image"] for pod in stage.pods()} == {"nginx:2"}


# Jobs


def job(name: str = "work", *, image: str = "busybox", **spec: Any) -> Body:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template, **spec}}


def finished(stage: Stage) -> dict[str, tuple[str, str]]:
    return stage.conditions("jobs.batch", "work")


def test_a_job_runs_so_many_pods_at_a_time_until_enough_succeeded() -> None:
    stage = Stage(job_seconds=10.0)
    stage.api.create("jobs.batch", job(completions=3, parallelism=2))
    stage.pass_time(5)
    assert len(stage.pods()) == 2
    stage.pass_time(30)
    status = stage.api.get("jobs.batch", "default", "work")["status"]
    assert (status["succeeded"], status.get("active")) == (3, None)
    assert finished(stage) == {
        "SuccessCriteriaMet": ("True", "CompletionsReached"),
        "Complete": ("True", "CompletionsReached"),
    }
    assert status["completionTime"] > status["startTime"]


def test_a_job_gives_up_after_too_many_failures() -> None:
    stage = Stage()
    stage.api.create("jobs.batch", job(image="failing:1", backoffLimit=2))
    stage.pass_time(60)
    assert finished(stage)["Failed"] == ("True", "BackoffLimitExceeded")
    assert stage.api.get("jobs.batch", "default", "work")["status"]["failed"] == 3


def test_a_job_over_its_deadline_fails() -> None:
    stage = Stage(job_seconds=1000.0)
    stage.api.create("jobs.batch", job(activeDeadlineSeconds=30))
    stage.pass_time(60)
    assert finished(stage)["Failed"] == ("True", "DeadlineExceeded")
    assert stage.pods() == []


def test_an_indexed_job_numbers_its_pods() -> None:
    stage = Stage()
    stage.api.create("jobs.batch", job(completions=3, parallelism=3, completionMode="Indexed"))
    stage.pass_time()
    marks = sorted(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in stage.pods())
    assert marks == ["0", "1", "2"]


def test_a_suspended_job_has_no_pods() -> None:
    stage = Stage()
    stage.api.create("jobs.batch", job(suspend=True))
    stage.pass_time()
    assert stage.pods() == []
    stage.api.patch("jobs.batch", "default", "work", {"spec": {"suspend": False}})
    stage.pass_time()
    assert finished(stage)["Complete"] == ("True", "CompletionsReached")


def test_a_finished_job_goes_after_its_time_to_live() -> None:
    stage = Stage()
    stage.api.create("jobs.batch", job(ttlSecondsAfterFinished=60))
    stage.pass_time(30)
    assert stage.api.find("jobs.batch", "default", "work") is not None
    stage.pass_time(60)
    assert stage.api.find("jobs.batch", "default", "work") is None
    assert stage.pods() == []


def test_an_image_that_crashes_is_started_again_and_again_and_never_ready() -> None:
    stage = Stage(1)
    stage.api.create("deployments.apps", workload("Deployment", image="example.invalid/crash:1", replicas=1))
    stage.pass_time(1)
    (pod,) = stage.pods()
    (told,) = pod["status"]["containerStatuses"]
    assert (told["ready"], told["restartCount"], told["lastState"]["terminated"]["exitCode"]) == (False, 0, 1)
    meta = pod["metadata"]
    assert told["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": f"back-off 10s restarting failed container=main pod={meta['name']}_default({meta['uid']})",
    }
    counts = []
    for _ in range(4):
        stage.pass_time(20)
        counts.append(stage.pods()[0]["status"]["containerStatuses"][0]["restartCount"])
    assert counts == [1, 2, 2, 3]
    assert stage.pods()[0]["status"]["phase"] == "Running"
    (event,) = stage.api.list("events", "default", fields="reason=BackOff")
    assert event["message"] == f"Back-off restarting failed container main in pod {meta['name']}_default({meta['uid']})"


def test_a_pod_that_crashes_and_is_not_to_be_restarted_fails() -> None:
    stage = Stage(1)
    containers = [{"name": "main", "image": "example.invalid/crash"}]
    spec = {"containers": containers, "restartPolicy": "Never"}
    stage.api.create("pods", {"metadata": {"name": "a", "namespace": "default"}, "spec": spec})
    stage.pass_time()
    assert stage.api.get("pods", "default", "a")["status"]["phase"] == "Failed"
