"""What waits for a person is said at once, after a restart, and every hour."""

from __future__ import annotations

import logging

import pytest

from gitfed.daemon.reminders import Reminders
from gitfed.model.plan import Left, Plan
from tests.e2e.world import config_map, settings
from tests.planning.stage import Stage


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def stage() -> Stage:
    """Nine maps that one commit takes away, where one deletion is allowed."""
    maps = {f"c{n}.json": config_map(f"c{n}", {"a": "b"}) for n in range(9)}
    policy = Stage(2).files["policy.json"].replace('"resourceSelectors": [', '"resourceSelectors": ['
        '{"apiVersion": "v1", "kind": "ConfigMap"}, ')  # fmt: skip
    found = Stage(2, files={**maps, "policy.json": policy}, guards={"maxDeletions": 1, "maxDeletionPercent": 100})
    found.turn(2)
    for name in maps:
        del found.files[name]
    return found


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [(record.levelname, record.getMessage()) for record in caplog.records]
    caplog.clear()
    return found


def test_what_a_gate_holds_is_a_warning_with_gate_value_limit_and_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    plan = stage().build()
    Reminders(Clock()).tell(plan)
    [record] = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.WARNING, "changes held by a gate")
    told = record.__dict__
    assert (told["gate"], told["value"], told["limit"], told["held"]) == ("deletions", "9", "1", 9)
    assert told["clusters"] == ["m1"]
    assert told["what"] == (
        f"look at gitfed plan --live, then revert the commit or let it through: gitfed apply --confirm {plan.digest}"
    )


def test_it_is_said_once_again_every_hour_and_after_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    clock, plan = Clock(), stage().build()
    reminders = Reminders(clock)
    for clock.now in (0, 1, 3599):
        reminders.tell(plan)
    assert said(caplog) == [("WARNING", "changes held by a gate")]
    clock.now = 3600
    reminders.tell(plan)
    assert said(caplog) == [("WARNING", "changes held by a gate")]
    Reminders(clock).tell(plan)
    assert said(caplog) == [("WARNING", "changes held by a gate")]


def test_it_is_said_when_more_is_held_and_when_nothing_is_any_more(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world = stage()
    reminders = Reminders(Clock())
    reminders.tell(world.build())
    world.files["c0.json"] = config_map("c0", {"a": "b"})
    reminders.tell(world.build())
    assert said(caplog) == [("WARNING", "changes held by a gate")] * 2
    world.files["gitfed.json"] = settings(guards={"maxDeletions": 100, "maxDeletionPercent": 100})
    reminders.tell(world.build())
    assert said(caplog) == [("INFO", "held no longer")]


def test_every_change_that_a_gate_holds_names_it() -> None:
    plan: Plan = stage().build()
    held = [change for change in plan.changes or () if change.left is Left.GATE]
    assert len(held) == 9
    assert {change.gate for change in held} == {"deletions"}
