"""Delivers the Notifications of the commit in force, while this process leads.

Looks at the fleet about once a second, compares with what was told (`outbox`), and has one delivery under way for each
Notification at most. A destination that is slow or unreachable delays neither the engine nor the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import orjson

from gitfed import errors
from gitfed.daemon.cycle import Engine
from gitfed.edges import files, notify
from gitfed.edges.backoff import Backoff
from gitfed.edges.notify import cloudevents, services
from gitfed.hub.notifications import conditions, interest, messages, outbox
from gitfed.hub.notifications.conditions import Situation
from gitfed.hub.notifications.outbox import News, Outbox
from gitfed.hub.running import Running
from gitfed.model.declared.notification import Notification

log = logging.getLogger("gitfed.notify")

_PAUSE = 1.0
"""Seconds between two looks."""
_AGAIN = Backoff((5.0, 15.0, 60.0, 300.0), 0.2, 0.2)
"""Seconds until a delivery that failed is tried again, by failures in a row."""
_LONGEST = 120.0
"""Seconds of one delivery."""
_VERSION = 1


class Notifier:
    """`path`: the file of what was told. `folder`: where targets lie; None: nowhere."""

    def __init__(self, running: Running, path: Path, folder: Path | None, now: Callable[[], datetime]) -> None:
        self._running = running
        self._path = path
        self._folder = folder
        self._now = now
        self._outboxes: dict[str, Outbox] | None = None
        """None: this process does not lead, so the leader's count."""
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._said: dict[str, str] = {}
        self._unforeseen = ""
        self._wake = asyncio.Event()
        self._writing = asyncio.Lock()
        running.listen(lambda name, value: self._wake.set())

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                self._wake.clear()
                try:
                    await self._turn()
                except Exception as error:  # noqa: BLE001
                    self._tell_unforeseen(errors.Unforeseen.of(error))
                await asyncio.sleep(_PAUSE)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(4 * _PAUSE):
                        await self._wake.wait()
        finally:
            await self._leave()

    async def _turn(self) -> None:
        engine = self._running.engine
        if engine is None or engine.abandoned:
            await self._leave()
            return
        repo, situation = engine.repo, situation_of(engine)
        if repo is None or situation is None:
            return
        if self._outboxes is None:
            self._outboxes = await asyncio.to_thread(self._load)
        now, outboxes = self._now(), self._outboxes
        present = conditions.of(situation) if repo.notifications else {}
        changed = False
        for notification in repo.notifications:
            name = notification.metadata.name
            is_new = name not in outboxes
            told = outboxes.setdefault(name, Outbox())
            concerned = interest.of(notification, repo, present)
            changed |= told.see(concerned, situation.unknown, now, new=is_new) or is_new
        for name in outboxes.keys() - {notification.metadata.name for notification in repo.notifications}:
            self._forget(name)
            changed = True
        if changed:
            await self._save()
        for notification in repo.notifications:
            self._begin(notification, situation.federation, outboxes[notification.metadata.name], now)

    def _begin(self, notification: Notification, federation: str, told: Outbox, now: datetime) -> None:
        name = notification.metadata.name
        news = told.owed(notification, now)
        due = told.due(notification)
        if due is None or due > now or name in self._under_way or time.monotonic() < self._not_before.get(name, 0.0):
            return
        self._running.owed.setdefault(name, time.monotonic())
        delivering = asyncio.create_task(self._deliver(notification, federation, told, news), name=f"notify-{name}")
        self._under_way[name] = delivering
        delivering.add_done_callback(lambda _: self._under_way.pop(name, None))

    async def _deliver(self, notification: Notification, federation: str, told: Outbox, news: Sequence[News]) -> None:
        name, counts = notification.metadata.name, self._running.telemetry.notifications
        keys = {"notification": name, "target": notification.spec.target}
        delivered = False
        try:
            async with asyncio.timeout(_LONGEST):
                await send(notification, self._folder, federation, news, lambda line: told.taken(line, self._now()))
        except (errors.DeliveryError, TimeoutError) as error:
            counts[name, "failed"] += 1
            self._put_off(name, error)
            why = str(error) or "it takes too long"
            if self._said.get(name) != why:
                log.warning("a notification is not delivered", extra={**keys, "error": why})
            self._said[name] = why
        except Exception as error:  # noqa: BLE001
            counts[name, "failed"] += 1
            self._put_off(name, error)
            self._tell_unforeseen(errors.Unforeseen.of(error))
        else:
            counts[name, "delivered"] += 1
            self._failures.pop(name, None)
            self._not_before.pop(name, None)
            self._said.pop(name, None)
            self._running.owed.pop(name, None)
            delivered = True
        await self._save()
        if delivered:
            # Only now: after this line a killed process sends nothing twice.
            log.info("notification delivered", extra={**keys, "news": len(news)})
        self._wake.set()

    def _put_off(self, name: str, error: BaseException) -> None:
        self._failures[name] = failures = self._failures.get(name, 0) + 1
        pause = _AGAIN.after(failures)
        retry_after = error.retry_after if isinstance(error, errors.DeliveryError) else None
        self._not_before[name] = time.monotonic() + max(pause, retry_after or 0.0)

    def _forget(self, name: str) -> None:
        """The commit in force has no such Notification any more."""
        assert self._outboxes is not None
        del self._outboxes[name]
        self._running.owed.pop(name, None)
        self._not_before.pop(name, None)

    async def _leave(self) -> None:
        """Another one leads, or the process ends: the next leader goes on from the file."""
        deliveries = list(self._under_way.values())
        for task in deliveries:
            task.cancel()
        await asyncio.gather(*deliveries, return_exceptions=True)
        if self._outboxes is not None:
            await self._save()
        self._outboxes = None
        self._running.owed.clear()

    def _tell_unforeseen(self, error: errors.Unforeseen) -> None:
        if str(error) != self._unforeseen:
            log.error("notifications failed", extra={"error": error.message, "trace": error.trace})
        self._unforeseen = str(error)

    # -- the file -----------------------------------------------------------------------------------------------

    def _load(self) -> dict[str, Outbox]:
        try:
            document = orjson.loads(self._path.read_bytes())
            if document["schemaVersion"] != _VERSION:
                raise ValueError("written by another version")
            return {str(name): outbox.read(entry) for name, entry in document["notifications"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not what this version writes"
            log.warning("what was told cannot be read: what is so now is told again", extra={"error": reason})
            return {}

    async def _save(self) -> None:
        """Who is cancelled meanwhile waits for the end of it: a thread that goes on would overwrite what is newer."""
        writing = asyncio.create_task(self._write())
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            raise

    async def _write(self) -> None:
        async with self._writing:
            if self._outboxes is not None:
                told = {name: kept.as_json() for name, kept in self._outboxes.items()}
                await self._write_down(orjson.dumps({"schemaVersion": _VERSION, "notifications": told}))

    async def _write_down(self, content: bytes) -> None:
        try:
            await asyncio.to_thread(files.write_atomically, self._path, content, durable=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            if self._said.get("") != reason:
                log.error("what was told cannot be written down", extra={"error": reason})
            self._said[""] = reason


async def send(
    notification: Notification,
    folder: Path | None,
    federation: str,
    news: Sequence[News],
    taken: Callable[[News], None],
) -> None:
    """Deliver, and say of each what the target has taken. Raises DeliveryError."""
    target = await asyncio.to_thread(notify.target, folder, notification.spec.target)
    if notification.spec.provider == "Apprise":
        await services.send(target, messages.lines(federation, news))
        for line in news:
            taken(line)
        return
    by_id = {line.id: line for line in news}
    events = [messages.cloud_event(federation, line) for line in news]
    async with contextlib.aclosing(cloudevents.send(target, events)) as sending:
        async for identity in sending:
            taken(by_id[identity])


def situation_of(engine: Engine) -> Situation | None:
    """What is so now; None while too little is known to say that something is over."""
    plan = engine.plan
    if plan is None or engine.fleet.starting() or not engine.decisions.known:
        return None
    commits, results = engine.commits, engine.memory.results
    commit = str(plan.commit)
    done = all(
        results.get(name, {}).get("outcome") == "applied" and results[name].get("commit") == commit
        for name in engine.fleet.members
    )
    return Situation(
        federation=plan.federation,
        plan=plan,
        decisions=engine.decisions,
        facts=engine.fleet.facts(),
        failures={
            name: tuple((result.key, result.message) for result in engine.fleet.unfinished.failures(name))
            for name in sorted(engine.fleet.members)
        },
        unread=[name for name, member in engine.fleet.members.items() if not member.ready.is_set()],
        rejected=(commits.rejected_commit, commits.rejected) if commits.rejected else None,
        applied=plan.commit if done and engine.decisions.applied_commit == plan.commit else None,
    )


def of_test(now: datetime) -> News:
    """What `gitfed notify --test` sends."""
    condition = conditions.FleetCondition(conditions.NotificationEvent.TEST, "", "this is a test: nothing is wrong")
    return News(f"test-{now.timestamp():.0f}", condition, now.replace(microsecond=0), None)
