"""The other side of the state may take its time: what waits for it, what does not, and for how long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import cast

import pytest

from gitfed import errors
from gitfed.daemon import push_queue
from gitfed.daemon.push_queue import Records, Sending
from gitfed.daemon.record import Record
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions

WEB = ObjectKey("apps", "Deployment", "shop", "web")
CACHE = ObjectKey("apps", "Deployment", "shop", "cache")
FOR_EVER = 3600.0


class Slow:
    """A record whose other side answers when it is told to."""

    def __init__(self) -> None:
        self.shared = True
        self.away = False
        self.insists = False
        self.differs = False
        self.moved_there = False
        self.conflict = False
        self.asked = 0
        self.loaded = 0
        self.left: list[ObjectKey] = []
        self._answers = threading.Semaphore(0)
        self._begun = threading.Semaphore(0)

    def exchange(self) -> bool:
        self.asked += 1
        self._begun.release()
        self._answers.acquire()
        if self.conflict:
            raise errors.StateConflict("somebody else was first")
        return self.moved_there

    def load(self) -> Decisions:
        self.loaded += 1
        return Decisions()

    def untold(self) -> list[ObjectKey]:
        return self.left

    def answer(self) -> None:
        self._answers.release()

    async def begun(self) -> None:
        """The next question has arrived there."""
        await asyncio.to_thread(self._begun.acquire)

    def interrupt(self) -> None:
        for _ in range(10):
            self._answers.release()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_queue, "_PATIENCE", 0.0)
    monkeypatch.setattr(push_queue, "_LAST_WORDS", 0.0)


@pytest.fixture
def record() -> Slow:
    return Slow()


@pytest.fixture
def woken() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def side(record: Slow, woken: asyncio.Event) -> AsyncIterator[Sending]:
    made = Sending(Records(cast(Record, record)), woken.set)
    yield made
    await made.close()


async def idle(side: Sending) -> None:
    while side.busy:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_what_was_decided_waits_for_its_record_and_the_loop_hears_when_it_may_go(
    side: Sending, record: Slow, woken: asyncio.Event
) -> None:
    await side.recorded([WEB], FOR_EVER)
    assert set(side.waiting) == {WEB}
    assert not woken.is_set()
    record.answer()
    await woken.wait()
    assert not side.waiting


async def test_what_is_decided_while_a_push_is_under_way_waits_for_the_next_one(side: Sending, record: Slow) -> None:
    await side.recorded([WEB], FOR_EVER)
    await record.begun()
    await side.recorded([CACHE], FOR_EVER)
    record.answer()
    await record.begun()
    assert set(side.waiting) == {CACHE}
    record.answer()
    await idle(side)
    assert not side.waiting
    assert record.asked == 2


async def test_a_quick_answer_is_waited_for_in_the_same_cycle(
    side: Sending, record: Slow, woken: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_queue, "_PATIENCE", FOR_EVER)
    record.answer()
    await side.recorded([WEB], FOR_EVER)
    assert not side.waiting
    assert not woken.is_set(), "a cycle that saw it itself needs no second one"


async def test_a_server_that_timed_out_is_not_waited_for_until_it_answers_again(
    side: Sending, record: Slow, woken: asyncio.Event, caplog: pytest.LogCaptureFixture
) -> None:
    await side.recorded([WEB], 0.001)
    await woken.wait()
    assert not side.waiting
    assert [one.message for one in caplog.records] == [
        "the state's server does not answer: decisions wait for it no longer"
    ]
    await side.recorded([CACHE], FOR_EVER)
    assert not side.waiting
    record.answer()
    record.answer()
    await idle(side)
    await side.recorded([WEB], FOR_EVER)
    assert set(side.waiting) == {WEB}


async def test_of_a_server_that_is_known_to_be_away_nobody_waits(side: Sending, record: Slow) -> None:
    record.away = True
    await side.recorded([WEB], FOR_EVER)
    assert not side.waiting
    assert side.busy, "it is told all the same"


async def test_a_rejected_push_is_told_once_and_reading_again_ends_every_wait(
    side: Sending, record: Slow, woken: asyncio.Event
) -> None:
    record.conflict = True
    await side.recorded([WEB], FOR_EVER)
    record.answer()
    await woken.wait()
    assert set(side.waiting) == {WEB}, "it must not be carried out"
    with pytest.raises(errors.StateConflict, match="somebody else was first"):
        side.heard()
    assert not side.heard()
    await side.load(FOR_EVER)
    assert not side.waiting


async def test_the_state_is_not_read_while_something_is_asked(side: Sending, record: Slow) -> None:
    await side.recorded([], FOR_EVER)
    loading = asyncio.create_task(side.load(FOR_EVER))
    await record.begun()
    assert record.loaded == 0
    record.answer()
    await loading
    assert record.loaded == 1


async def test_an_unpublished_decision_of_an_earlier_process_waits_for_its_record_too(
    side: Sending, record: Slow, woken: asyncio.Event
) -> None:
    record.left = [WEB]
    await side.load(FOR_EVER)
    assert set(side.waiting) == {WEB}
    record.answer()
    await woken.wait()
    assert not side.waiting


async def test_that_somebody_else_wrote_is_heard_after_a_question_that_nobody_waited_for(
    side: Sending, record: Slow, woken: asyncio.Event
) -> None:
    record.moved_there = True
    await side.ask()
    assert not side.heard()
    record.answer()
    await woken.wait()
    assert side.heard()
    assert not side.heard()


async def test_a_mistake_of_ours_ends_the_loop_and_not_just_a_task(
    side: Sending, record: Slow, woken: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "exchange", lambda: 1 / 0)
    await side.recorded([], FOR_EVER)
    await woken.wait()
    with pytest.raises(ZeroDivisionError):
        side.heard()


async def test_who_lost_the_lead_ends_what_is_under_way(side: Sending, record: Slow) -> None:
    await side.recorded([WEB], FOR_EVER)
    side.abandon()
    await idle(side)
    assert record.asked <= 1
