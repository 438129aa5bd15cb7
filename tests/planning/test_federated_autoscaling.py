"""FederatedHPAs in a plan: what a look decided is taken over, divided and recorded; what contradicts is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from gitfed.model.scaling import (
    AutoscalerCondition,
    AutoscalerRecord,
    ConditionReason,
    ConditionType,
    HorizontalStatus,
    Scale,
)
from tests.planning.hours import hours
from tests.planning.loads import load
from tests.planning.stage import DIVIDED, WEB, Stage

HPA = ObjectKey("autoscaling.karmada.io", "FederatedHPA", "shop", "load")


def decided(world: Stage, replicas: int, *conditions: AutoscalerCondition) -> AutoscalerRecord:
    status = HorizontalStatus(2, replicas, world.now, world.now, (), conditions)
    return AutoscalerRecord(HPA, WEB, "apps/v1", (), Scale(replicas, at=world.now, why="cpu is 90%"), status)


def looked(world: Stage, record: AutoscalerRecord) -> Stage:
    world.decisions = replace(world.decisions, looks={HPA: record})
    world.turn()
    world.decisions = replace(world.decisions, looks={})
    return world


def test_what_a_look_decided_is_divided_and_stands() -> None:
    world = Stage(2, {"load.json": load()}, placement=DIVIDED)
    world.turn()
    assert (world.where, dict(world.decisions.autoscalers)) == ("m1=1 m2=1", {})
    looked(world, decided(world, 6))
    assert world.where == "m1=3 m2=3"
    assert world.log[-1].endswith("scales Deployment.apps/shop/web from 2 to 6: cpu is 90%")
    world.restart().turn()
    assert world.where == "m1=3 m2=3", "the record is enough"
    del world.files["load.json"]
    world.turn()
    assert world.where == "m1=1 m2=1"


def test_another_target_begins_with_its_own_number() -> None:
    world = Stage(2, {"load.json": load()}, placement=DIVIDED)
    looked(world, decided(world, 6))
    world.files["load.json"] = load(target="api")
    world.turn()
    assert world.where == "m1=1 m2=1"
    assert "has another target" in world.log[-1]


def test_nothing_is_taken_over_while_the_state_is_not_known() -> None:
    world = Stage(2, {"load.json": load()}, placement=DIVIDED)
    world.turn()
    world.decisions = replace(world.decisions, known=False, looks={HPA: decided(world, 6)})
    assert world.build().bindings[WEB].scheduled.replicas == 2


INNER = json.dumps({
    "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "inner", "namespace": "shop"},
    "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 5},
})  # fmt: skip
SUBJECT = "FederatedHPA.autoscaling.karmada.io/shop/load: Deployment.apps/shop/web"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"more.json": hours(("up", "5 12 * * *", 6))},
            f"{SUBJECT} is scaled by CronFederatedHPA.autoscaling.karmada.io/shop/hours (more.json:1:1) too: none of "
            "them decides any more",
        ),
        (
            {"more.json": load("other")},
            f"{SUBJECT} is scaled by FederatedHPA.autoscaling.karmada.io/shop/other (more.json:1:1) too: none of them "
            "decides any more",
        ),
        (
            {"inner.json": INNER},
            f"{SUBJECT} is scaled by HorizontalPodAutoscaler.autoscaling/shop/inner in its clusters too: it decides no "
            "more",
        ),
        (
            {"load.json": load(target="wep")},
            "FederatedHPA.autoscaling.karmada.io/shop/load: there is no Deployment.apps/shop/wep",
        ),
    ],
    ids=["by the clock", "by metrics", "inside of clusters", "of nothing"],
)
def test_what_contradicts_is_said_and_decides_nothing(files: dict[str, str], message: str) -> None:
    world = Stage(2, {"load.json": load(), **files}, placement=DIVIDED)
    world.turn()
    assert message in world.problems()
    looked(world, decided(world, 6))
    assert world.plan is not None
    assert world.plan.bindings[WEB].scheduled.replicas == 2


def test_an_autoscaler_that_only_a_cluster_has_is_said() -> None:
    world = Stage(2, {"load.json": load()}, placement=DIVIDED)
    message = "Deployment.apps/shop/web is scaled by HorizontalPodAutoscaler inner in m2 too"
    rival = AutoscalerCondition(ConditionType.ABLE_TO_SCALE, False, ConditionReason.SCALED_IN_CLUSTER, message)
    looked(world, replace(decided(world, 2, rival), decided=None))
    assert f"FederatedHPA.autoscaling.karmada.io/shop/load: {message}" in world.problems()


def test_the_clock_may_set_the_bounds_of_a_federated_autoscaler() -> None:
    cron = json.loads(hours(("night", "5 12 * * *", 0)))
    target = {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "load"}
    cron["spec"]["scaleTargetRef"] = target
    cron["spec"]["rules"] = [{"name": "night", "schedule": "5 12 * * *", "targetMaxReplicas": 3}]
    world = Stage(2, {"load.json": load(), "hours.json": json.dumps(cron)}, placement=DIVIDED)
    world.turn()
    assert not [one for one in world.problems() if "FederatedHPA" in one]
    world.at(300).turn()
    [record] = world.decisions.autoscalers.values()
    assert (record.decided is not None and record.decided.max_replicas, world.where) == (3, "m1=1 m2=1")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"minReplicas": 11}, "minReplicas is 11, more than maxReplicas, which is 10"),
        ({"metrics": [{"type": "Pods"}]}, "a metric of type Pods needs pods"),
        (
            {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]},
            "a metric of type Resource needs one of averageUtilization and averageValue",
        ),
        (
            {"metrics": [{"type": "Pods", "pods": {"metric": {"name": "m"},
                          "target": {"type": "AverageValue", "averageValue": "-1"}}}]},
            "averageValue is -1, it must be more than 0",
        ),
        (
            {"metrics": [{"type": "Pods", "pods": {"metric": {"name": "m"},
                          "target": {"type": "AverageValue", "averageValue": "NaN"}}}]},
            "averageValue 'NaN' is no quantity (examples: 500m, 2, 1.5Gi)",
        ),
    ],
    ids=["bounds", "source", "target", "negative", "not a number"],
)  # fmt: skip
def test_a_wrong_declaration_is_an_error_at_its_line(spec: dict[str, Any], message: str) -> None:
    world = Stage(2, {"load.json": load(**spec)}, placement=DIVIDED)
    world.may_be_broken = True
    world.turn()
    assert message in world.problems()
