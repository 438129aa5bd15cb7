"""Deployments and their kin: defaults, fixed fields, counts in a status."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kind import Body
from tests.kinds import made
from tests.kinds.made import body, created, deployment, refused, refused_change, template, texts

FIXED_SELECTOR = 'spec.selector: Invalid value: {"matchLabels":{"app":"x"}}: field is immutable'
BAD_SELECTOR = 'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`'


def test_a_deployment_rolls_a_quarter_at_a_time() -> None:
    spec = {key: value for key, value in created(deployment())["spec"].items() if key not in ("selector", "template")}
    assert spec == {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
    }


def test_a_selector_stays() -> None:
    assert refused_change(deployment(), selector={"matchLabels": {"app": "x"}}) == [FIXED_SELECTOR]


DEPLOYMENTS: dict[str, tuple[Body, list[str]]] = {
    "a template that its selector does not select": ({"template": template(labels={"app": "x"})}, [BAD_SELECTOR]),
    "fewer than none": (
        {"replicas": -1},
        ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "neither more nor fewer while it rolls": (
        {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        [
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0",
        ],
    ),
    "steps of a strategy that has none": (
        {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
        [
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
        ],
    ),
    "a deadline before it can be ready": (
        {"minReadySeconds": 700},
        ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), DEPLOYMENTS.values(), ids=DEPLOYMENTS.keys())
def test_a_bad_deployment_is_refused(spec: Body, complaints: list[str]) -> None:
    assert refused(deployment(**spec)) == complaints


@pytest.mark.parametrize(
    ("status", "complaints"),
    [
        ({"replicas": 2, "readyReplicas": 2, "availableReplicas": 1}, []),
        (
            {"replicas": 1, "readyReplicas": 2},
            ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            {"replicas": 2, "availableReplicas": 1},
            ["status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"],
        ),
    ],
)
def test_a_status_that_does_not_add_up_is_refused(status: Body, complaints: list[str]) -> None:
    old = created(deployment())
    assert texts(made.kind("Deployment").validate_status({**old, "status": status}, old)) == complaints


def test_only_the_spec_makes_a_new_generation() -> None:
    kind, old = made.kind("Deployment"), created(deployment())
    assert kind.has_generation
    assert kind.generation_moves({**old, "spec": {**old["spec"], "replicas": 2}}, old)
    assert not kind.generation_moves({**old, "status": {"replicas": 2}}, old)


def stateful(**spec: Any) -> Body:
    return body(
        "StatefulSet",
        spec={"selector": {"matchLabels": {"app": "w"}}, "serviceName": "w", "template": template(), **spec},
    )


def test_a_stateful_set_changes_little() -> None:
    assert refused_change(stateful(), replicas=3) == []
    (complaint,) = refused_change(stateful(), serviceName="x")
    assert complaint.startswith("spec: Forbidden: updates to statefulset spec for fields other than 'replicas', ")


def job(**spec: Any) -> Body:
    return body("Job", metadata={"uid": "1-2-3"}, spec={"template": template(restartPolicy="Never"), **spec})


def test_a_job_selects_its_pods_by_its_own_uid() -> None:
    found = created(job())["spec"]
    assert found["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "1-2-3"}}
    assert found["template"]["metadata"]["labels"] == {
        "app": "w",
        "batch.kubernetes.io/controller-uid": "1-2-3",
        "batch.kubernetes.io/job-name": "a",
        "controller-uid": "1-2-3",
        "job-name": "a",
    }


def test_a_job_restarts_no_container_for_ever() -> None:
    found = refused(body("Job", metadata={"uid": "1"}, spec={"template": template()}))
    assert found == ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']


def test_a_job_that_is_finished_only_knows_how_long_it_took() -> None:
    kind = made.kind("Job")
    found = {
        **created(job()),
        "status": {
            "succeeded": 1,
            "startTime": "2024-05-06T07:00:00Z",
            "completionTime": "2024-05-06T07:01:30Z",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    }
    assert kind.row is not None
    assert kind.row(found, made.NOW)[:4] == ["a", "Complete", "1/1", "90s"]


def cron_job(schedule: str = "* * * * *", **spec: Any) -> Body:
    task = {"spec": {"template": template(restartPolicy="Never")}}
    return body("CronJob", spec={"schedule": schedule, "jobTemplate": task, **spec})


def test_a_schedule_that_cannot_be_read_is_refused() -> None:
    assert refused(cron_job("* * *")) == [
        'spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]'
    ]


def test_a_time_zone_must_be_known() -> None:
    assert refused(cron_job(timeZone="Europe/Berlin")) == []
    assert refused(cron_job(timeZone="Mars/Olympus")) == [
        'spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus'
    ]
