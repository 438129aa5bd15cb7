"""`gitfed run`: the engine, what wakes it, and its health endpoint, until a signal ends them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from gitfed import errors
from gitfed.daemon import wiring
from gitfed.daemon.cycle import Engine
from gitfed.daemon.wiring import Options
from gitfed.edges import files, lock
from gitfed.hub.health import HealthServer

log = logging.getLogger("gitfed")

_STUCK = 300.0
"""Seconds without a finished cycle after which the process counts as dead. Polls end a sleep long before."""


async def run(options: Options, *, started: Callable[[Engine, int], None] = lambda engine, port: None) -> None:
    """The daemon: until SIGTERM or SIGINT. `started` hears the engine and the health port."""
    folder = wiring.data_dir(options)
    with lock.exclusive(folder):
        engine = await asyncio.to_thread(wiring.make_engine, options)
        began = time.monotonic()
        health = HealthServer(lambda: _liveness(engine, began), lambda: _readiness(engine))
        async with AsyncExitStack() as stack:
            if options.health_address:
                host, _, port = options.health_address.rpartition(":")
                await health.start(host or "127.0.0.1", int(port))
                stack.push_async_callback(health.stop)
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, stop.set)
                stack.callback(loop.remove_signal_handler, name)
            watch = engine.reader.watched()
            if watch is not None:
                watching = asyncio.create_task(_watch(watch, engine))
                stack.callback(watching.cancel)
            log.info("gitfed runs", extra={"repo": options.repo, "data": str(folder), "health": health.port})
            started(engine, health.port)
            work = asyncio.create_task(engine.run(poll=lambda: _interval(engine, options)))
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if not work.done():
                log.info("stopping: what is under way is finished first")
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work


async def _watch(path: Path, engine: Engine) -> None:
    """A push into a repository on this machine, or a commit, triggers at once. Without a watch the poll remains."""
    try:
        async for _ in files.watch_repository(path):
            engine.source_changed()
    except errors.SourceError as error:
        log.warning("the repository is not watched, only polled", extra={"error": str(error)})


def _interval(engine: Engine, options: Options) -> float:
    """±10 % so that many daemons do not ask one server at the same moment."""
    seconds = options.interval
    if seconds is None:
        seconds = engine.repo.settings.spec.sync.interval.total_seconds() if engine.repo is not None else 10.0
    return seconds * random.uniform(0.9, 1.1)


def _liveness(engine: Engine, began: float) -> str:
    silent = time.monotonic() - max(engine.last_cycle, began)
    return f"no cycle for {silent:.0f} s" if silent > _STUCK else ""


def _readiness(engine: Engine) -> str:
    if engine.plan is None:
        return engine.source_error or "no commit was planned yet"
    waiting = sorted(name for name, member in engine.fleet.members.items() if not member.looked.is_set())
    return f"clusters not looked at yet: {', '.join(waiting)}" if waiting else ""
