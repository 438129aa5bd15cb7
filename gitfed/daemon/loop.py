"""When a cycle begins: as soon as something happened, and not so often that events in swarms cost a cycle each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from gitfed.daemon import planner, trouble
from gitfed.daemon.cycle import Engine

_BUSY = 1.0
"""Seconds between two cycles while a roll-out is under way and no push comes."""
_RUSH = 3.0
"""The same while more is to be written than can be: a plan costs time in which nothing is sent."""
_CALM = 0.03
"""Seconds between two cycles that only clusters woke: their own events come in swarms."""
_TICK, _LONGEST = 0.01, 0.1
"""Seconds between two looks at the fleet meanwhile."""


async def run_cycles(engine: Engine, *, poll: Callable[[], float] = lambda: 60.0) -> None:
    """Turn the engine until cancelled. `poll` gives the seconds until a remote is asked again."""
    with planner.collecting_rarely():
        await _run(engine, poll)


async def _run(engine: Engine, poll: Callable[[], float]) -> None:
    engine.asking.start()
    beside = {
        "descheduler": (engine.descheduler.run, "descheduling failed"),
        "autoscaling": (engine.autoscaling.run, "autoscaling failed"),
    }
    tasks = {name: asyncio.create_task(work(), name=name) for name, (work, _) in beside.items()}
    polled = time.monotonic()
    took = 0.0
    try:
        while True:
            for name, (work, failed) in beside.items():
                if tasks[name].done():
                    trouble.say(failed, tasks[name].exception())
                    tasks[name] = asyncio.create_task(work(), name=name)
            engine.wake.clear()
            if engine.commits.due:
                polled = time.monotonic()
            report = await engine.turn()
            if engine.trouble is not None:
                await asyncio.sleep(engine.pause)  # whatever happens meanwhile: it would only fail again
                continue
            took = report.took if report is not None else took
            if engine.plan is not None:
                await _calm(engine, took)  # a look that found nothing new does not end the calm that it came into
            # What clusters do wakes the loop, often without an end; a poll is due all the same.
            pause = poll()
            seconds = max(0.0, polled + pause - time.monotonic())
            due = _falls_due(engine)
            await _sleep(engine.wake, seconds if due is None else min(seconds, due))
            if time.monotonic() - polled >= pause - _CALM:
                engine.commits.changed()
            if not engine.wake.is_set():
                engine.rouse()
    finally:
        for task in tasks.values():
            task.cancel()
        await engine.close()


async def _calm(engine: Engine, took: float) -> None:
    """Let swarms of events become one cycle: while clusters are busy with this plan, theirs tell us little.

    `took`: seconds of the last cycle. While more clusters may come at any moment, one that has come waits for as long:
    when a thousand agents come back one by one, half of the time is left for them.
    """
    began, fleet = time.monotonic(), engine.fleet
    while not engine.commits.due:
        looked = time.monotonic()
        newcomers = fleet.newcomers()
        if newcomers and not fleet.awaited():
            break  # they have no list at all yet, and no other cluster will come that could share a cycle with them
        pause = min(_RUSH, max(_CALM, took)) if newcomers else min(_BUSY, max(_CALM, took))
        if fleet.rush and not newcomers:
            pause = _RUSH
        elif fleet.busy() and not newcomers and not fleet.differs:
            pause = _BUSY
        now = time.monotonic()
        if now - began >= pause:
            break
        # In a large fleet a look takes milliseconds: what waits calmly must not keep the loop from news.
        await asyncio.sleep(min(_LONGEST, max(_TICK, 10 * (now - looked))))


def _falls_due(engine: Engine) -> float | None:
    """Seconds until something has to be decided although nothing happens: a taint, an eviction, a timeout."""
    if engine.plan is None or engine.plan.look_again is None or not engine.decisions.known:
        return None
    return max(_CALM, (engine.plan.look_again - engine.options.now()).total_seconds())


async def _sleep(wake: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        pass
