"""Autoscalers in a plan: the decided number is planned as if the template said it, and stands until another is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from tests.e2e.world import deployment
from tests.planning.hours import hours
from tests.planning.stage import DIVIDED, WEB, Stage

CRON = ObjectKey("autoscaling.karmada.io", "CronFederatedHPA", "shop", "hours")


def stage(*rules: tuple[str, str, int], **options: Any) -> Stage:
    return Stage(2, {"hours.json": hours(*rules)}, placement=DIVIDED, **options)


def test_a_rule_that_falls_due_changes_what_is_divided() -> None:
    world = stage(("up", "5 12 * * *", 6), ("none", "10 12 * * *", 0))
    world.turn(2)
    assert (world.where, world.due()) == ("m1=1 m2=1", 300)
    world.at(300).turn()
    assert (world.where, world.due()) == ("m1=3 m2=3", 600)
    assert world.bodies[WEB, "m1"]["spec"]["replicas"] == 3
    world.at(601).turn()
    assert [world.bodies[WEB, name]["spec"]["replicas"] for name in ("m1", "m2")] == [0, 0]
    assert world.log == [
        "0 CronFederatedHPA.autoscaling.karmada.io/shop/hours runs up at 2026-03-01T12:05:00Z",
        "0 CronFederatedHPA.autoscaling.karmada.io/shop/hours runs none at 2026-03-01T12:10:00Z",
        "300 CronFederatedHPA.autoscaling.karmada.io/shop/hours ran up: Deployment.apps/shop/web gets replicas 6",
        "601 CronFederatedHPA.autoscaling.karmada.io/shop/hours ran none: Deployment.apps/shop/web gets replicas 0",
    ]


def test_what_was_decided_outlives_a_restart_and_a_push_of_another_number() -> None:
    world = stage(("up", "5 12 * * *", 6))
    world.turn()
    world.at(300).turn()
    world.restart().turn()
    assert world.where == "m1=3 m2=3"
    world.files["web.json"] = deployment("web", replicas=4)
    world.turn()
    assert world.where == "m1=3 m2=3"
    assert world.plan is not None
    scaled = world.plan.scaling.scaled[WEB]
    assert (scaled.by, scaled.replicas, scaled.declared, scaled.rule) == (CRON, 6, 4, "up")


def test_without_its_autoscaler_a_workload_gets_what_its_template_says() -> None:
    world = stage(("up", "5 12 * * *", 6))
    world.turn()
    world.at(300).turn()
    del world.files["hours.json"]
    world.turn()
    assert world.where == "m1=1 m2=1"
    assert not world.decisions.autoscalers
    said = "CronFederatedHPA.autoscaling.karmada.io/shop/hours is gone: Deployment.apps/shop/web gets what its"
    assert world.log[-1] == f"300 {said} template says"


def test_a_file_that_cannot_be_read_takes_no_number_back() -> None:
    world = stage(("up", "5 12 * * *", 6))
    world.turn()
    world.at(300).turn()
    world.may_be_broken = True
    world.files["hours.json"] = hours(("up", "5 25 * * *", 6))
    world.turn()
    assert world.where == "m1=3 m2=3"
    assert [one for one in world.problems() if "schedule" in one] == ["the schedule has 25 as hour, not 0 to 23"]


def test_a_rule_runs_by_the_template_that_was_scaled_before() -> None:
    """What a run changes is planned as a changed template is: nobody is moved without need."""
    world = stage(("up", "5 12 * * *", 5), ("more", "6 12 * * *", 7))
    world.turn()
    world.at(300).turn()
    assert world.where == "m1=3 m2=2"
    world.at(360).turn()
    assert world.where == "m1=4 m2=3"


def test_a_daily_change_of_the_number_is_no_fight() -> None:
    """A per-minute rule decides often, and for another number each time: the damper has nothing to stop."""
    world = stage(("odd", "1-59/2 * * * *", 4), ("even", "*/2 * * * *", 2))
    for minute in range(30):
        world.at(60 * minute).turn()
        expected = "m1=1 m2=1" if minute % 2 == 0 else "m1=2 m2=2"
        assert world.where == expected, minute


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            hours(("up", "5 12 * * *", 6), target="wep"),
            "CronFederatedHPA.autoscaling.karmada.io/shop/hours: there is no Deployment.apps/shop/wep",
        ),
        (
            hours(("up", "5 12 * * *", 6), kind="StatefulSet"),
            "CronFederatedHPA.autoscaling.karmada.io/shop/hours: there is no StatefulSet.apps/shop/web",
        ),
    ],
    ids=["another name", "another kind"],
)
def test_a_target_that_is_not_there_is_said_and_its_runs_fail(file: str, message: str) -> None:
    world = Stage(2, {"hours.json": file}, placement=DIVIDED)
    world.turn()
    assert message in world.problems()
    world.at(300).turn()
    assert world.where == "m1=1 m2=1"
    [rule] = world.decisions.autoscalers[CRON].rules
    assert [run.message for run in rule.failed] == [message]
    world.files["hours.json"] = hours(("up", "5 12 * * *", 6))
    assert not any("there is no" in one for one in world.turn().problems)


def test_a_kind_without_replicas_cannot_be_scaled() -> None:
    daemon_set = deployment("web").replace('"Deployment"', '"DaemonSet"')
    world = Stage(2, {"hours.json": hours(("up", "5 12 * * *", 6), kind="DaemonSet"), "ds.json": daemon_set})
    world.turn()
    message = "CronFederatedHPA.autoscaling.karmada.io/shop/hours: DaemonSet.apps/shop/web has no number of replicas"
    assert f"{message} that can be scaled" in world.problems()


def test_of_two_autoscalers_for_one_workload_none_decides() -> None:
    world = stage(("up", "5 12 * * *", 6))
    world.turn()
    world.at(300).turn()
    world.files["more.json"] = hours(("down", "6 12 * * *", 1), name="night")
    world.turn()
    world.at(360).turn()
    assert world.where == "m1=3 m2=3", "what was decided before stands"
    key = "CronFederatedHPA.autoscaling.karmada.io/shop"
    tail = "too: none of them decides any more"
    assert [one for one in world.problems() if "none of them" in one] == [
        f"{key}/hours: Deployment.apps/shop/web is scaled by {key}/night (more.json:1:1) {tail}",
        f"{key}/night: Deployment.apps/shop/web is scaled by {key}/hours (hours.json:1:1) {tail}",
    ]


def test_nothing_is_decided_while_the_state_is_not_known() -> None:
    world = stage(("up", "5 12 * * *", 6))
    world.turn()
    world.decisions = replace(world.decisions, known=False)
    before = world.decisions.autoscalers
    plan = world.at(300).build()
    assert plan.scaling.records is before
    assert plan.bindings[WEB].scheduled.replicas == 2
