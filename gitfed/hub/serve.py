"""`gitfed run`: the engine, what wakes it, and its health endpoint, until a signal ends them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from gitfed import errors
from gitfed.daemon import commit_status, leader, wiring
from gitfed.daemon.cycle import Engine
from gitfed.daemon.loop import run_cycles
from gitfed.daemon.wiring import DaemonOptions
from gitfed.edges import git, repository_watch, tls_buffers
from gitfed.edges import lock as locks
from gitfed.edges.forge import Forge
from gitfed.edges.kube.leases.election import Election
from gitfed.edges.kube.leases.lease import LeaseLock
from gitfed.hub import assembly
from gitfed.hub.health import HealthServer
from gitfed.hub.notifications.notifier import Notifier
from gitfed.hub.options import HubOptions
from gitfed.hub.polling import Polling
from gitfed.hub.recorded import RecordedFleet
from gitfed.hub.running import Running
from gitfed.hub.server import Hub
from gitfed.reading.reader import Reader

log = logging.getLogger("gitfed")
_Made = TypeVar("_Made")

_THREADS = 32
_RETRY = 2.0
"""Seconds until a repository that could not be read at start is tried again."""


async def run(
    options: DaemonOptions,
    *,
    started: Callable[[Engine, int], None] = lambda engine, port: None,
    forge: Forge | None = None,
    hub: HubOptions | None = None,
    notify: Path | None = None,
    listening: Callable[[Hub], None] = lambda hub: None,
) -> signal.Signals:
    """The daemon: until SIGTERM or SIGINT, which it returns. `started` hears the engine and the health port; `forge`
    is told how commits fare; `notify` is the folder of targets of Notifications; `listening` hears of the hub, if there
    is to be one."""
    tls_buffers.keep_small()
    folder = wiring.data_dir(options)
    # Threads that wait for a server which says nothing must not be all that there are: plans are made in threads too.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="gitfed"))
    # Who stands by has to read what the leader wrote down.
    running = Running(
        RecordedFleet(options) if hub is not None and options.leader is not None else None,
        options.telemetry,
        Polling(alone=options.leader is None),
    )
    with locks.exclusive(folder):
        health = HealthServer(running)
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
            if hub is not None:
                listening(await stack.enter_async_context(assembly.serving(options, hub, running)))
            stop: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, _settle, stop, name)
                stack.callback(loop.remove_signal_handler, name)
            log.info("gitfed runs", extra={"repo": git.shown(options.repo), "data": str(folder), "health": health.port})

            async def follow() -> None:
                await _follow(options, stop, running, lambda engine: started(engine, health.port))

            if options.leader is None:
                with contextlib.suppress(errors.SourceError):  # no repository: said in a moment
                    for pid in stack.enter_context(locks.sign(wiring.signs(options))):
                        log.warning("another gitfed follows this repository: who came last leads", extra={"pid": pid})
                following = asyncio.create_task(follow())
            else:
                following = asyncio.create_task(_lead(options, options.leader, stop, running, follow))
            following.add_done_callback(lambda _: _settle(stop, signal.SIGTERM))
            if forge is not None:
                telling = asyncio.create_task(commit_status.Announcer(forge).run(lambda: running.engine))
                stack.callback(telling.cancel)
            notifier = Notifier(running, folder / "notifications.json", notify, options.now)
            stack.push_async_callback(_end, asyncio.create_task(notifier.run(), name="notifier"))
            try:
                await asyncio.wait({stop})
            except asyncio.CancelledError:
                following.cancel()  # nobody but us knows of it: what is under way is finished before we are
                await asyncio.gather(following, return_exceptions=True)
                raise
            if running.standing_by:
                following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
            return stop.result()


async def hub_alone(
    options: DaemonOptions, hub: HubOptions, *, listening: Callable[[Hub], None] = lambda hub: None
) -> signal.Signals:
    """The hub without an engine: until SIGTERM or SIGINT, which it returns. It shows what is recorded in Git."""
    running = Running(RecordedFleet(options, alone=True))
    running.standing_by = True
    with locks.exclusive(wiring.data_dir(options)):
        async with AsyncExitStack() as stack:
            loop = asyncio.get_running_loop()
            stop: asyncio.Future[signal.Signals] = loop.create_future()
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, _settle, stop, name)
                stack.callback(loop.remove_signal_handler, name)
            listening(await stack.enter_async_context(assembly.serving(options, hub, running)))
            return await stop


async def _lead(
    options: DaemonOptions,
    how: leader.LeaderOptions,
    stop: asyncio.Future[signal.Signals],
    running: Running,
    follow: Callable[[], Awaitable[None]],
) -> None:
    """Follow while leading; stand by otherwise."""

    def changed(leads: bool) -> None:
        running.standing_by = not leads
        if not leads and stop.done():
            raise asyncio.CancelledError

    def lost() -> None:
        if running.engine is not None:
            running.engine.abandon()

    def told() -> None:
        if running.engine is not None:
            log.info("another replica tells of a push")
            running.engine.source_changed()

    lock = await _persist(stop, lambda reading: wiring.make_lock(options, how, reading=reading))
    if lock is None:
        return
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lock.close)
        if isinstance(lock, LeaseLock):
            lock.on_told = told
            messenger = leader.Messenger(lock, how.times.retry)
            stack.push_async_callback(messenger.close)
            running.tell_leader = messenger.tell
        await leader.lead(
            Election(lock, how.identity, how.times, fence=how.fence), follow, on_change=changed, on_loss=lost
        )


async def _follow(
    options: DaemonOptions, stop: asyncio.Future[signal.Signals], running: Running, started: Callable[[Engine], None]
) -> None:
    """Make an engine and let it turn, until `stop` or until cancelled; what is under way is finished first, unless the
    engine was told that somebody else leads."""
    engine = await _persist(stop, lambda reading: wiring.make_engine(options, reading=reading, listener=running.heard))
    if engine is None:
        return
    running.engine = engine
    async with AsyncExitStack() as stack:
        stack.callback(setattr, running, "engine", None)
        watch = engine.reader.watched()
        if watch is not None:
            watching = asyncio.create_task(_watch(watch, engine))
            stack.callback(watching.cancel)
        started(engine)
        work = asyncio.create_task(run_cycles(engine, poll=lambda: _interval(engine, options, running.polling)))
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


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _settle(stop: asyncio.Future[signal.Signals], name: signal.Signals) -> None:
    if not stop.done():
        stop.set_result(name)


async def _persist(
    stop: asyncio.Future[signal.Signals], make: Callable[[Callable[[Reader], None]], _Made]
) -> _Made | None:
    """What can be made as soon as there is a commit to read settings from; None when stopped before.

    A repository that is not there yet (a remote that is down, a branch without a commit) is waited for.
    """
    reported = ""
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
            if str(error) != reported:
                log.error("the repository cannot be read", extra={"error": str(error)})
            reported = str(error)
        except errors.GitfedError:
            raise
        except Exception as error:  # noqa: BLE001
            unforeseen = errors.Unforeseen.of(error)
            if str(unforeseen) != reported:
                log.error("the daemon cannot begin", extra={"error": unforeseen.message, "trace": unforeseen.trace})
            reported = str(unforeseen)
        await asyncio.wait({stop}, timeout=_RETRY)
    return None


async def _watch(path: Path, engine: Engine) -> None:
    """A push into a repository on this machine, or a commit, triggers at once. Without a watch the poll remains."""
    try:
        async for _ in repository_watch.watch_repository(path):
            engine.source_changed()
    except errors.SourceError as error:
        log.warning("the repository is not watched, only polled", extra={"error": str(error)})


def _interval(engine: Engine, options: DaemonOptions, polling: Polling) -> float:
    """±10 % so that many daemons do not ask one server at the same moment."""
    seconds = options.interval
    if seconds is None:
        seconds = engine.repo.settings.spec.sync.interval.total_seconds() if engine.repo is not None else 10.0
    polling.at(engine.repo.commit if engine.repo is not None else None)
    return polling.interval(seconds) * random.uniform(0.9, 1.1)
