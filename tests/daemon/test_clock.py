"""The time that decisions are taken at does not jump with the wall's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.daemon.clock import Steady
from tests.planning.stage import Stage

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Machine:
    def __init__(self) -> None:
        self.wall, self.passed = NOON, 100.0
        self.steady = Steady(lambda: self.wall, lambda: self.passed)

    def wait(self, seconds: float, *, jump: float = 0.0) -> float:
        """So many seconds pass, while the wall's clock is set forward by `jump`. Seconds since noon then."""
        self.passed += seconds
        self.wall += timedelta(seconds=seconds + jump)
        return (self.steady.now() - NOON).total_seconds()


def test_it_goes_with_the_wall() -> None:
    machine = Machine()
    assert [machine.wait(10), machine.wait(0), machine.wait(2.5)] == [10, 10, 12.5]


def test_a_jump_forward_is_believed_slowly(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    assert machine.wait(10, jump=3600) == 15
    assert machine.wait(10) == 30
    assert machine.wait(10_000) == pytest.approx(13_620)
    assert [record.getMessage() for record in caplog.records] == [
        "the clock was set: timers go on as if it had not been"
    ]


def test_a_jump_back_never_goes_back() -> None:
    machine = Machine()
    times = [machine.wait(10, jump=-3600), machine.wait(10), machine.wait(0), machine.wait(10)]
    assert times == [5, 10, 10, 15]


def test_back_and_forth_cancels_out() -> None:
    machine = Machine()
    for jump in (3600, -3600, 7200, -7200):
        machine.wait(1, jump=jump)
    assert abs(machine.wait(60) - 64) < 1


@given(jumps=st.lists(st.sampled_from([0.0, 3.0, -3.0, 3600.0, -3600.0, 1e7, -1e7]), min_size=60, max_size=60))
def test_a_clock_set_back_and_forth_neither_hastens_nor_prevents_a_failover(jumps: list[float]) -> None:
    """Taint and toleration take ten minutes together: by a clock that goes half as fast again, or half as slow."""
    machine, stage = Machine(), Stage()
    stage.turn()
    stage.at(35).fail("m1").turn()
    machine.wait(35)
    seen: dict[str, float] = {}
    for number, jump in enumerate(jumps):
        now = machine.wait(30, jump=jump)
        stage.at(now).turn()
        if stage.tasks:
            seen.setdefault("left", 30 * (number + 1))
        if stage.copies == ["m1", "m2"] and not stage.tasks:
            seen.setdefault("over", 30 * (number + 1))
    assert stage.where == "m2=2"
    assert 600 / 1.5 <= seen["left"] <= 600 / 0.5 + 60
    assert seen["left"] < seen["over"]
    assert sum("m1 gets the taint" in line for line in stage.log) == 1
