"""What is decided again and again although nothing changed stops, keeps its copies, and is told."""

from __future__ import annotations

import itertools
from dataclasses import replace

from gitfed.model.plan import Action
from gitfed.placement import damper
from gitfed.planning import decision_text
from tests.e2e.world import cluster, deployment
from tests.planning.stage import ONE, WEB, Stage

ILL_EVERYWHERE = {"application": {"decisionConditions": {"tolerationSeconds": 0}, "purgeMode": "Gracefully"}}
SAID = "Deployment.apps/shop/web: stopped: decided 10 times within an hour although nothing it depends on changed"


def restless(clusters: int = 3) -> Stage:
    """One copy that is unhealthy wherever it runs, and may be so for no second: it goes around."""
    stage = Stage(clusters, failover=ILL_EVERYWHERE, placement=ONE)
    stage.healthy = dict.fromkeys(stage.names, False)
    return stage


def run(stage: Stage, begin: int, end: int) -> list[str]:
    """Where it was after each second."""
    found = []
    for second in range(begin, end):
        stage.at(second).turn()
        found.append(f"{stage.where} {stage.tasks}")
        if second % 3 == 0:
            stage.healthy = dict.fromkeys(stage.names)  # a new copy says nothing of itself yet
        else:
            stage.healthy = dict.fromkeys(stage.names, False)
    return found


def changes(found: list[str]) -> int:
    return sum(1 for before, after in itertools.pairwise(found) if before != after)


def test_a_workload_that_goes_around_stops_after_ten_decisions_and_that_is_told() -> None:
    stage = restless()
    stage.turn()
    found = run(stage, 1, 60)
    assert changes(found) <= damper.MOST
    assert found[-1] == found[-30]
    assert SAID in stage.problems()
    assert (
        stage.binding.reasons.why == "stopped: decided 10 times within an hour although nothing it depends on changed"
    )
    assert len(stage.copies) >= 1


def test_a_stopped_workload_stays_stopped_after_a_restart_and_after_hours() -> None:
    stage = restless()
    stage.turn()
    before = run(stage, 1, 60)[-1]
    stage.restart()
    assert set(run(stage, 60, 70)) == {before}
    assert set(run(stage, 20_000, 20_010)) == {before}
    assert SAID in stage.problems()


def test_no_copy_of_a_stopped_workload_is_deleted() -> None:
    stage = restless(12)
    stage.turn()
    run(stage, 1, 60)
    elsewhere = next(name for name in stage.names if name not in stage.copies)
    stage.objects[WEB][elsewhere] = replace(stage.objects[WEB][stage.copies[0]], cluster=elsewhere)
    plan = stage.at(70).turn()
    kept = [change for change in plan.changes or () if change.cluster == elsewhere and change.key == WEB]
    assert [change.action for change in kept] == [Action.KEEP]
    assert elsewhere in stage.copies


def test_a_stopped_workload_goes_on_when_its_template_policy_or_a_cluster_changes() -> None:
    for path, text in (
        ("web.json", deployment("web", replicas=3)),
        ("clusters/m2.json", cluster("m2", region="r-m2", taints=[{"key": "k", "effect": "NoSchedule"}])),
    ):
        stage = restless()
        stage.turn()
        run(stage, 1, 60)
        stage.files[path] = text
        stage.at(100).turn()
        assert SAID not in stage.problems()


def test_the_record_of_the_last_decision_says_that_it_stops() -> None:
    stage = restless()
    stage.turn()
    lines = []
    for second in range(1, 60):
        stage.at(second)
        before = stage.decisions
        plan = stage.build()
        lines += list(decision_text.lines(plan, before, plan.bindings))
        stage.turn()
        stage.healthy = dict.fromkeys(stage.names, None if second % 3 == 0 else False)
    said = "Deployment.apps/shop/web stops: decided 10 times within an hour although nothing it depends on changed"
    assert lines.count(said) == 1


def test_what_is_edited_often_never_stops() -> None:
    stage = Stage(3)
    for number in range(1, 40):
        stage.files["web.json"] = deployment("web", replicas=number)
        stage.at(number).turn(2)
        assert stage.decision.scheduled.replicas == number
    assert not [text for text in stage.problems() if "stopped" in text]


def test_what_moves_slower_than_the_window_is_not_counted() -> None:
    stage = restless()
    stage.turn()
    for number in range(1, 30):
        stage.at(number * 3601).turn(1)
    assert SAID not in stage.problems()
