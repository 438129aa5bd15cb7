"""How many cycles events cost that come in swarms: counted on a clock of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gitfed.daemon import loop


class Stage:
    """An engine whose cycles take so long, and what happens at which second."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, took: float, away: int) -> None:
        self.now, self.away, self.waiting, self.cycles = 0.0, away, 0, 0
        self.took = took
        self.looks, self.look_takes = 0, 0.0
        self._events: list[tuple[float, Callable[[], None]]] = []
        fleet = SimpleNamespace(
            newcomers=self._look, awaited=lambda: self.away > 0, rush=set(), busy=lambda: False,
            differs=False,
        )  # fmt: skip
        self.engine: Any = SimpleNamespace(commits=SimpleNamespace(due=False), fleet=fleet)
        monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(loop, "asyncio", SimpleNamespace(sleep=self._sleep))

    def _look(self) -> bool:
        self.looks += 1
        self.pass_time(self.look_takes)
        return self.waiting > 0

    async def _sleep(self, seconds: float) -> None:
        self.pass_time(seconds)
        await asyncio.sleep(0)

    def at(self, second: float, happens: Callable[[], None]) -> None:
        self._events.append((second, happens))

    def comes(self) -> None:
        self.away, self.waiting = self.away - 1, self.waiting + 1

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [one for one in self._events if one[0] <= self.now]
        self._events = [one for one in self._events if one[0] > self.now]
        for _, happens in due:
            happens()

    async def cycle(self) -> None:
        """One, and the calm after it."""
        self.cycles += 1
        self.waiting = 0  # who is there when it begins gets a list
        self.pass_time(self.took)
        await loop._calm(self.engine, self.took)


async def test_agents_that_come_late_one_by_one_cost_few_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, took=2.0, away=100)
    for number in range(100):
        stage.at(0.2 * number, stage.comes)
    while stage.away or stage.waiting:
        await stage.cycle()
    assert stage.cycles <= 7, "20 seconds, of which each cycle and the calm after it take four"


async def test_one_newcomer_waits_no_longer_than_a_cycle_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, took=0.1, away=2)
    stage.at(0.11, stage.comes)
    await stage.cycle()
    assert (stage.waiting, round(stage.now, 2)) == (1, 0.2)


async def test_nobody_waits_for_clusters_that_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, took=2.0, away=1)
    stage.at(2.5, stage.comes)
    await stage.cycle()
    assert (stage.waiting, round(stage.now, 1)) == (1, 2.5)


async def test_a_push_ends_the_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, took=2.0, away=1)
    stage.at(2.1, lambda: setattr(stage.engine.commits, "due", True))
    await stage.cycle()
    assert round(stage.now, 1) == 2.1


async def test_looking_at_a_large_fleet_takes_a_tenth_of_the_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(monkeypatch, took=1.0, away=1)
    stage.look_takes = 0.005
    await stage.cycle()
    assert stage.looks <= 20, "of 5 ms in one second"
