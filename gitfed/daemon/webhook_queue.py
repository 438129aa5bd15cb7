"""Asks webhooks what builds wanted to know: many at a time, none too often, and no cycle waits for a slow one.

Every webhook has a line of its own, so one that is down or slow holds up no other. While it does not answer, one
question at a time is tried, with growing pauses; the first that comes back opens the line again. A question that alone
fails (an answer that cannot be used) has pauses of its own. Unanswered is never final: the last decision stays, and the
webhook is asked again. After the last retry a question is forgotten; a build that still wants to know brings it back,
and what no plan wants to know any more (the object changed, or is gone) is not asked for ever.

The client is imported with the first question, in a thread: most fleets have no webhook, and importing takes a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from gitfed.edges.backoff import Backoff
from gitfed.errors import WebhookError, WebhookUnreachable
from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body
from gitfed.model.webhook import Webhook, WebhookQuestion
from gitfed.reading.webhook_cache import Answers
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.webhooks")

AT_A_TIME = 16
"""Questions to one webhook."""
RETRIES = Backoff((1.0, 5.0, 15.0, 60.0, 300.0))
"""Seconds until a question, or a webhook that does not answer, is tried again, by failures in a row."""


class WebhookCaller(Protocol):
    """`edges.webhook.WebhookClient`, or what a test puts in its place."""

    async def ask(self, question: WebhookQuestion) -> Body: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class _Waiting:
    question: WebhookQuestion
    failures: int = 0
    due: float = 0.0
    """time.monotonic()"""


@dataclass(slots=True)
class _Line:
    webhook: Webhook
    waiting: dict[str, _Waiting] = field(default_factory=dict)
    failures: int = 0
    """Tries in a row without an answer."""
    fault: WebhookError | None = None
    """Of the last of them."""
    until: float = 0.0
    more: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Asking:
    """Of one engine and one event loop. `changed` is called whenever something new is known."""

    def __init__(
        self,
        answers: Answers,
        changed: Callable[[], None],
        *,
        client: Callable[[], WebhookCaller] | None = None,
        retries: Backoff = RETRIES,
    ) -> None:
        self._answers = answers
        self._changed = changed
        self._make_client = client or _client
        self._retries = retries
        self._client: WebhookCaller | None = None
        self._opening = asyncio.Lock()
        self._lines: dict[Webhook, _Line] = {}
        self._untried: set[str] = set()
        self._tried = asyncio.Event()

    def start(self) -> None:
        """From now on, what is wanted is asked for. Call it in the event loop."""
        loop = asyncio.get_running_loop()

        def wanted() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: no cycle wants to know any more
                loop.call_soon_threadsafe(self._take)

        self._answers.on_wanted = wanted
        self._take()

    async def close(self) -> None:
        self._answers.on_wanted = lambda: None
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lines.clear()
        self._untried.clear()
        if self._client is not None:
            await self._client.close()
            self._client = None

    def busy(self) -> bool:
        """Whether something wanted was not even tried yet."""
        self._take()
        return bool(self._untried)

    async def settle(self, seconds: float) -> None:
        """Until everything wanted was tried once, at most so long."""
        end = time.monotonic() + seconds
        while self.busy() and time.monotonic() < end:
            self._tried.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, end - time.monotonic())):
                    await self._tried.wait()

    def _take(self) -> None:
        for question in self._answers.take():
            line = self._lines.setdefault(question.webhook, _Line(question.webhook))
            line.waiting[question.digest] = _Waiting(question)
            if line.fault is None:
                self._untried.add(question.digest)
            elif self._fail([question], line.fault):
                self._changed()
            line.more.set()
            if line.task is None:
                line.task = asyncio.create_task(self._serve(line), name=f"webhook {question.webhook.name}")

    # -- one line -----------------------------------------------------------------------------------------------

    async def _serve(self, line: _Line) -> None:
        """Until nothing is left to ask."""
        while self._drop_unwanted(line):
            line.more.clear()
            now = time.monotonic()
            due = sorted(
                (waiting for waiting in line.waiting.values() if waiting.due <= now), key=lambda waiting: waiting.due
            )
            if now >= line.until and due:
                await self._ask(line, due[: 1 if line.failures else AT_A_TIME])
                continue
            earliest = min(waiting.due for waiting in line.waiting.values())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(line.until, earliest) - now):
                    await line.more.wait()
                    await asyncio.sleep(max(0.0, line.until - time.monotonic()))
        self._lines.pop(line.webhook, None)

    def _drop_unwanted(self, line: _Line) -> bool:
        """Whether something is left. What was changed or removed meanwhile is not asked any more."""
        for digest in [digest for digest in line.waiting if not self._answers.is_open(digest)]:
            del line.waiting[digest]
            self._now_tried(digest)
        return bool(line.waiting)

    async def _ask(self, line: _Line, batch: list[_Waiting]) -> None:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make_client)
        client = self._client
        faults = await asyncio.gather(*(self._one(client, waiting) for waiting in batch))
        now, fresh = time.monotonic(), False
        silent = [fault for fault in faults if isinstance(fault, WebhookUnreachable)]
        if len(silent) == len(batch):
            line.failures += 1
            line.fault, line.until = silent[0], now + self._retries.after(line.failures)
            # The others would not be answered either: say so once, and do not try them one by one.
            fresh = self._fail([waiting.question for waiting in line.waiting.values()], silent[0])
            faults = [silent[0]] * len(batch)
            for digest in line.waiting:
                self._now_tried(digest)
        else:
            if line.failures:
                log.info("webhook answers again", extra={"webhook": line.webhook.name})
            line.failures, line.fault, line.until = 0, None, 0.0
        for waiting, fault in zip(batch, faults, strict=True):
            fresh |= self._settled(line, waiting, fault, now)
            self._now_tried(waiting.question.digest)
        if fresh:
            self._changed()

    def _settled(self, line: _Line, waiting: _Waiting, fault: WebhookError | None, now: float) -> bool:
        """One question of a batch is over. Whether something new is known."""
        if fault is None:
            line.waiting.pop(waiting.question.digest, None)
            return True
        fresh = self._fail([waiting.question], fault)
        waiting.failures += 1
        waiting.due = now + self._retries.after(waiting.failures)
        if waiting.failures > len(self._retries.pauses):
            self._answers.give_up(waiting.question)
            return True
        return fresh

    async def _one(self, client: WebhookCaller, waiting: _Waiting) -> WebhookError | None:
        """Why there is no answer; None when there is."""
        try:
            self._answers.put(waiting.question, await client.ask(waiting.question))
        except WebhookError as error:
            return error
        except InterpretError as error:
            return WebhookError(f"gave an answer that cannot be used: {error}")
        except ValueError:
            return WebhookError("gave an answer that cannot be used")
        return None

    def _fail(self, questions: list[WebhookQuestion], fault: WebhookError) -> bool:
        fresh = self._answers.fail(questions, fault.message)
        if fresh:
            about = questions[0]
            log.warning(
                "webhook gives no answer",
                extra={
                    "webhook": about.webhook.name,
                    "operation": about.operation,
                    "kind": about.key.kind,
                    "object": str(about.key),
                    "questions": len(questions),
                    "error": fault.message,
                },
            )
        return fresh

    def _now_tried(self, digest: str) -> None:
        self._untried.discard(digest)
        if not self._untried:
            self._tried.set()


def _client() -> WebhookCaller:
    from gitfed.edges.webhook import WebhookClient

    return WebhookClient()
