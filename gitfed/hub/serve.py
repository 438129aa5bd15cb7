"""`gitfed run`: the engine, what wakes it, and its health endpoint, until a signal ends them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gitfed import errors
from gitfed.daemon import commit_status, leader, wiring
from gitfed.daemon.cycle import Engine
from gitfed.daemon.wiring import Options
from gitfed.edges import files, git
from gitfed.edges import lock as locks
from gitfed.edges.forge import Forge
from gitfed.edges.kube.election import Election
from gitfed.hub.health import HealthServer
from gitfed.reading.reader import Reader

log = logging.getLogger("gitfed")
_Made = TypeVar("_Made")

_THREADS = 32
_RETRY = 2.0
"""Seconds until a repository that could not be read at start is tried again."""
_STUCK = 300.0
"""Seconds without a finished cycle after which the process counts as dead. Polls end a sleep long before."""


@dataclass(slots=True)
class _Serving:
    """What the health endpoint and the stop look at."""

    engine: Engine | None = None
    standing_by: bool = False


async def run(
    options: Options,
    *,
    started: Callable[[Engine, int], None] = lambda engine, port: None,
    forge: Forge | None = None,
) -> signal.Signals:
    """The daemon: until SIGTERM or SIGINT, which it returns. `started` hears the engine and the health port; `forge`
    is told how commits fare."""
    folder = wiring.data_dir(options)
    began = time.monotonic()
    # Threads that wait for a server which says nothing must not be all that there are: plans are made in threads too.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="gitfed"))
    serving = _Serving()
    with locks.exclusive(folder):
        health = HealthServer(lambda: _liveness(serving, began), lambda: _readiness(serving))
        async with AsyncExitStack() as stack:
            if options.health_address:
                host, _, port = options.health_address.rpartition(":")
                try:
                    await health.start(host or "127.0.0.1", int(port))
                except OSError as error:
                    raise errors.UsageError(
                        f"the health endpoint cannot listen on {options.health_address}: {error.strerror}",
                        hint="name another address with --health-address, or none",
                    ) from error
                stack.push_async_callback(health.stop)
            stop: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, _settle, stop, name)
                stack.callback(loop.remove_signal_handler, name)
            log.info("gitfed runs", extra={"repo": git.shown(options.repo), "data": str(folder), "health": health.port})

            async def follow() -> None:
                await _follow(options, stop, serving, lambda engine: started(engine, health.port))

            if options.leader is None:
                with contextlib.suppress(errors.SourceError):  # no repository: said in a moment
                    for other in stack.enter_context(locks.sign(wiring.signs(options))):
                        log.warning("another gitfed follows this repository: who came last leads", extra={"pid": other})
                following = asyncio.create_task(follow())
            else:
                following = asyncio.create_task(_lead(options, options.leader, stop, serving, follow))
            following.add_done_callback(lambda _: _settle(stop, signal.SIGTERM))
            if forge is not None:
                telling = asyncio.create_task(commit_status.Announcer(forge).run(lambda: serving.engine))
                stack.callback(telling.cancel)
            try:
                await asyncio.wait({stop})
            except asyncio.CancelledError:
                following.cancel()  # nobody but us knows of it: what is under way is finished before we are
                await asyncio.gather(following, return_exceptions=True)
                raise
            if serving.standing_by:
                following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
            return stop.result()


async def _lead(
    options: Options,
    how: leader.Options,
    stop: asyncio.Future[signal.Signals],
    serving: _Serving,
    follow: Callable[[], Awaitable[None]],
) -> None:
    """Follow while leading; stand by otherwise."""

    def changed(leads: bool) -> None:
        serving.standing_by = not leads
        if not leads and stop.done():
            raise asyncio.CancelledError

    def lost() -> None:
        if serving.engine is not None:
            serving.engine.abandon()

    lock = await _persist(stop, lambda reading: wiring.make_lock(options, how, reading=reading))
    if lock is None:
        return
    try:
        await leader.lead(
            Election(lock, how.identity, how.times, fence=how.fence), follow, on_change=changed, on_loss=lost
        )
    finally:
        await lock.close()


async def _follow(
    options: Options, stop: asyncio.Future[signal.Signals], serving: _Serving, started: Callable[[Engine], None]
) -> None:
    """Make an engine and let it turn, until `stop` or until cancelled; what is under way is finished first, unless the
    engine was told that somebody else leads."""
    engine = await _persist(stop, lambda reading: wiring.make_engine(options, reading=reading))
    if engine is None:
        return
    serving.engine = engine
    async with AsyncExitStack() as stack:
        stack.callback(setattr, serving, "engine", None)
        watch = engine.reader.watched()
        if watch is not None:
            watching = asyncio.create_task(_watch(watch, engine))
            stack.callback(watching.cancel)
        started(engine)
        work = asyncio.create_task(engine.run(poll=lambda: _interval(engine, options)))
        either: set[asyncio.Future[Any]] = {work, stop}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not work.done():
                if not engine.abandoned:
                    log.info("stopping: what is under way is finished first")
                engine.reader.interrupt()
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work


def _settle(stop: asyncio.Future[signal.Signals], name: signal.Signals) -> None:
    if not stop.done():
        stop.set_result(name)


async def _persist(
    stop: asyncio.Future[signal.Signals], make: Callable[[Callable[[Reader], None]], _Made]
) -> _Made | None:
    """What can be made as soon as there is a commit to read settings from; None when stopped before.

    A repository that is not there yet (a remote that is down, a branch without a commit) is waited for.
    """
    said = ""
    while not stop.done():
        readers: list[Reader] = []
        making = asyncio.create_task(asyncio.to_thread(make, readers.append))
        either: set[asyncio.Future[Any]] = {making, stop}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not making.done():
            # A server that never answers must not keep us from stopping.
            for reader in readers:
                reader.interrupt()
        try:
            return await making
        except (errors.SourceUnreachable, errors.RevisionNotFound, errors.CloneUnwritable) as error:
            if str(error) != said:
                log.error("the repository cannot be read", extra={"error": str(error)})
            said = str(error)
        await asyncio.wait({stop}, timeout=_RETRY)
    return None


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


def _liveness(serving: _Serving, began: float) -> str:
    if serving.engine is None:
        return ""
    silent = time.monotonic() - max(began, serving.engine.last_cycle)
    return f"no cycle for {silent:.0f} s" if silent > _STUCK else ""


def _readiness(serving: _Serving) -> str:
    engine = serving.engine
    if serving.standing_by:
        return ""  # ready to take over: a roll-out of several replicas must not wait for it
    if engine is not None and engine.trouble is not None:
        return f"what is decided cannot be recorded: {engine.trouble}"
    if engine is None or engine.plan is None:
        return (engine.commits.error if engine is not None else "") or "no commit was planned yet"
    waiting = sorted(name for name, member in engine.fleet.members.items() if not member.looked.is_set())
    return f"clusters not looked at yet: {', '.join(waiting)}" if waiting else ""
