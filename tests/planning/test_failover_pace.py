"""How many workloads leave failing clusters in one minute, where somebody asks for a pace."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.world import deployment, policy, settings
from tests.planning.stage import ONE, Stage


def crowd(count: int, **options: Any) -> Stage:
    """`count` more workloads beside web, all in m1."""
    pinned = {"clusterAffinity": {"clusterNames": ["m1", "m2"]}, **ONE}
    more = {f"more-{n}.json": deployment(f"more-{n}") for n in range(count)}
    settled = settings(failover={"maxEvictionsPerMinute": 2})
    stage = Stage(files={**more, "gitfed.json": settled}, placement=pinned, **options)
    stage.turn()
    assert all(share.cluster == "m1" for one in stage.decisions.bindings.values() for share in one.scheduled.shares)
    return stage


def left(stage: Stage) -> list[str]:
    return sorted(key.name for key, one in stage.decisions.bindings.items() if one.scheduled.shares[0].cluster == "m2")


def test_with_a_pace_so_many_leave_in_one_minute_and_a_restart_begins_no_new_one() -> None:
    stage = crowd(4)
    stage.slow.add("m2")
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert (left(stage), stage.due()) == (["more-0", "more-1"], 695)
    assert "3 workloads wait for a turn to leave" in stage.problems()
    stage.restart().at(694).turn()
    assert left(stage) == ["more-0", "more-1"]
    stage.at(695).turn()
    assert left(stage) == ["more-0", "more-1", "more-2", "more-3"]
    stage.at(755).turn()
    assert len(left(stage)) == 5
    assert not any("wait" in text for text in stage.problems())


def test_whose_new_copy_is_healthy_gives_its_turn_to_the_next() -> None:
    stage = crowd(4)
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn()
    assert left(stage) == ["more-0", "more-1"]
    stage.at(640).turn()
    assert left(stage) == ["more-0", "more-1", "more-2", "more-3"]


def test_what_nothing_can_take_uses_up_nobodys_turn() -> None:
    stage = crowd(4)
    for name in ("more-0", "more-1", "more-2"):
        body = json.loads(policy(f"only-{name}", ["m1"]))
        body["spec"]["resourceSelectors"][0]["name"] = name
        stage.files[f"only-{name}.json"] = json.dumps(body)
    stage.turn()
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635).turn(2)
    for minute in range(4):
        stage.at(700 + 60 * minute).turn(2)
    assert left(stage) == ["more-3", "web"]


def test_what_leaves_because_of_its_own_health_is_not_paced() -> None:
    stage = crowd(3, failover={"application": {"decisionConditions": {"tolerationSeconds": 0}}})
    stage.healthy["m1"] = False
    stage.at(1).turn(2)
    assert len(left(stage)) == 4
