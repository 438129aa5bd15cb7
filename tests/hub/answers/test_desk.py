"""Answers are formed once for many, and nobody is given one that is older than what they were told."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gitfed.daemon import planner
from gitfed.errors import TooBusy
from gitfed.hub.answers import desk as desks
from gitfed.hub.answers.desk import Desk
from gitfed.hub.running import Running
from tests.hub import fleet
from tests.support import patience


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Counted:
    """Forms `0`, `1`, …; waits while `may` is not set."""

    def __init__(self) -> None:
        self.times = 0
        self.may, self.begun = threading.Event(), threading.Event()
        self.may.set()

    def __call__(self) -> bytes:
        number, self.times = self.times, self.times + 1
        self.begun.set()
        assert self.may.wait(patience.SECONDS)
        return str(number).encode()


@pytest.fixture
async def running() -> Running:
    return Running(fleet.planned())


@pytest.fixture
async def clock() -> Clock:
    return Clock()


@pytest.fixture
async def desk(running: Running, clock: Clock) -> AsyncIterator[Desk]:
    found = Desk(running, clock)
    yield found
    found.close()


async def _body(desk: Desk, form: Counted, **options: Any) -> str:
    return (await desk.answer("question", form, **options)).body.decode()


async def test_an_answer_is_given_again_until_the_engine_has_turned(running: Running, clock: Clock, desk: Desk) -> None:
    form = Counted()
    assert [await _body(desk, form), await _body(desk, form)] == ["0", "0"]
    running.heard("cycle", None)
    assert await _body(desk, form) == "0", "many who look at a busy fleet cost as much as one"
    clock.now = 1.0
    assert await _body(desk, form) == "1"
    clock.now = 10.9
    assert await _body(desk, form) == "1"
    clock.now = 11.0
    assert await _body(desk, form) == "2", "the state branch and the clock move without the engine"


async def test_who_was_told_of_a_turn_is_given_nothing_older(running: Running, desk: Desk) -> None:
    form = Counted()
    await _body(desk, form)
    running.heard("cycle", None)
    assert desk.turn == 1
    assert await _body(desk, form, since=1) == "1"
    assert await _body(desk, form, since=1) == "1", "the next who was told shares it"
    assert await _body(desk, form, since=10**9) == "1", "another process may have turned more often"


async def test_what_is_being_formed_is_too_old_for_who_was_told_later(running: Running, desk: Desk) -> None:
    form = Counted()
    form.may.clear()
    first = asyncio.create_task(_body(desk, form))
    await asyncio.to_thread(form.begun.wait, patience.SECONDS)
    running.heard("cycle", None)
    second = asyncio.create_task(_body(desk, form))
    third = asyncio.create_task(_body(desk, form, since=1))
    await asyncio.sleep(0)
    form.may.set()
    assert [await first, await second, await third] == ["0", "0", "1"]
    assert await _body(desk, form) == "1", "whichever of the two ended last"


async def test_an_answer_is_of_the_moment_at_which_it_was_asked_for(running: Running, clock: Clock, desk: Desk) -> None:
    form = Counted()
    asking = asyncio.create_task(_body(desk, form))
    await asyncio.sleep(0)
    running.heard("cycle", None)  # before a thread has begun with it
    assert await asking == "0"
    clock.now = 1.0
    assert await _body(desk, form) == "1"


async def test_who_comes_when_too_much_waits_is_told_to_come_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Counted()
    form.may.clear()
    waiting = [asyncio.create_task(desk.answer(number, form)) for number in range(desks._MOST_WAITING)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(TooBusy):
        await desk.answer("one more", form)
    form.may.set()
    await asyncio.gather(*waiting)


async def test_threads_that_compute_give_way_until_the_last_has_ended(desk: Desk) -> None:
    usual = sys.getswitchinterval()
    form = Counted()
    form.may.clear()
    with planner.giving_way():
        asking = asyncio.create_task(_body(desk, form))
        await asyncio.to_thread(form.begun.wait, patience.SECONDS)
    assert sys.getswitchinterval() < usual, "the answer is still being formed"
    form.may.set()
    await asking
    assert sys.getswitchinterval() == usual


async def test_forming_waits_a_moment_while_the_engine_is_at_work(running: Running, clock: Clock, desk: Desk) -> None:
    engine = SimpleNamespace(at_work=True, repo=None, plan=None, decisions=None)
    running.recorded = None
    running.engine = cast(Any, engine)
    form = Counted()
    first = asyncio.create_task(_body(desk, form))
    await asyncio.sleep(0.05)
    assert form.times == 0
    engine.at_work = False
    assert await first == "0"
    engine.at_work = True
    running.heard("cycle", None)
    clock.now = 2.0
    second = asyncio.create_task(_body(desk, form))
    await asyncio.sleep(0.05)
    assert form.times == 1
    clock.now = 2.3
    assert await second == "1", "a roll-out may last for minutes"
