"""One delivery of a forge, from its bytes to a look at the repository.

    headers      none twice that the signature or the event depend on
    body         at most 1 MiB, in so much time, few at once
    signature    over the bytes as they came; nothing is parsed before
    replays      what came before does nothing
    payload      which refs of which repository
    look         the engine looks at the repository as if a poll were due

A delivery about another repository or branch is answered well too: forges give up on a hook that refuses.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection
from enum import StrEnum

from aiohttp import web

from gitfed.errors import UsageError
from gitfed.hub.forge_webhooks import payloads, signatures
from gitfed.hub.forge_webhooks.payloads import Delivery
from gitfed.hub.forge_webhooks.replays import Repetition, Replays
from gitfed.hub.polling import Polling
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.hub")
audit = logging.getLogger("gitfed.audit")

LARGEST = 1 << 20
_PATIENCE = 10.0
"""Seconds for a body."""
_MOST_AT_ONCE = 32
"""Bodies that are read: each may take a megabyte, and its sender is not authenticated yet."""
_PAUSE = 0.5
"""Seconds between two looks that deliveries ask for."""
_QUIET = 10.0
"""Seconds without another line about deliveries that are refused: strangers must not fill the log."""


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    STANDING_BY = "standing-by"
    PING = "ping"
    IGNORED = "ignored"
    REPLAYED = "replayed"
    FORGED = "forged"
    MALFORMED = "malformed"
    BUSY = "busy"


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    status: int
    outcome: Outcome
    text: str
    delivery: Delivery | None = None


@dataclass(frozen=True, slots=True)
class Followed:
    """What deliveries can be about."""

    branches: Collection[str] = ()
    """Full names of the branch that is followed, and of the one with decisions. Nothing: not known yet."""
    source: str = ""
    """The full name of the first of them; "" when it is not known yet."""
    standing_by: bool = False
    """This process cannot do more than look at what the one that leads has recorded, and tell that one."""
    hands_on: bool = False
    """It can tell the one that leads."""
    paths: Collection[str] = ()
    """Of the URLs that the repositories have here. Nothing: they are read from this machine, under any name."""

    def has_repository(self, name: str) -> bool:
        """Whether it may be one of ours: a URL's path may have more in front, and is not always told."""
        wanted = f"/{name.strip('/').lower()}"
        return not name or not self.paths or any(_plain(path).endswith(wanted) for path in self.paths)


def _plain(path: str) -> str:
    return "/" + path.strip("/").lower().removesuffix(".git")


class Receiver:
    """Of one hub. `look` makes gitfed look at the repository, `polling` hears how far forges can be relied upon."""

    def __init__(
        self,
        secrets: signatures.Secrets,
        followed: Callable[[], Followed],
        look: Callable[[], None],
        polling: Polling,
    ) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        """Deliveries by forge and outcome."""
        self._secrets = secrets
        self._followed = followed
        self._look = look
        self._polling = polling
        self._replays = Replays()
        self._reading = 0
        self._looked = -_PAUSE
        self._soon: asyncio.TimerHandle | None = None
        self._told: dict[str, tuple[float, int]] = {}
        """Of refused deliveries, by outcome: when that was said last, and how many came since."""

    async def receive(self, forge: str, request: web.Request) -> web.StreamResponse:
        answer = await self._judge(forge, request)
        self.counts[forge, answer.outcome.value] += 1
        self._tell(forge, request, answer)
        return web.Response(status=answer.status, text=f"{answer.text}\n")

    async def _judge(self, forge: str, request: web.Request) -> DeliveryResult:
        for name in (*signatures.headers_of(forge), *payloads.headers_of(forge)):
            if len(request.headers.getall(name, ())) > 1:
                return DeliveryResult(400, Outcome.MALFORMED, f"the header {name} stands twice")
        if self._reading >= _MOST_AT_ONCE:
            return DeliveryResult(503, Outcome.BUSY, "too many deliveries at a time")
        self._reading += 1
        try:
            async with asyncio.timeout(_PATIENCE):
                body = await request.read()
        except TimeoutError:
            return DeliveryResult(408, Outcome.MALFORMED, "the body did not come in time")
        finally:
            self._reading -= 1
        try:
            secrets = self._secrets.now()
        except UsageError as error:
            log.error("no delivery of a forge can be judged", extra={"error": str(error)})
            return DeliveryResult(503, Outcome.BUSY, "the secret cannot be read now")
        if not signatures.holds(forge, request.headers, body, secrets, time.time()):
            return DeliveryResult(401, Outcome.FORGED, "the signature does not hold")
        delivery = payloads.read(forge, request.headers, request.content_type, body)
        if isinstance(delivery, str):
            return DeliveryResult(400, Outcome.MALFORMED, delivery)
        seen = self._replays.look(forge, body, delivery.ids)
        if seen is not Repetition.NEVER:
            if seen is Repetition.UNDER_ANOTHER_ID:
                self._polling.doubt()
            return DeliveryResult(200, Outcome.REPLAYED, "this came before", delivery)
        return self._heed(delivery)

    def _heed(self, delivery: Delivery) -> DeliveryResult:
        if delivery.ping:
            return DeliveryResult(200, Outcome.PING, "pong", delivery)
        if not delivery.refs:
            return DeliveryResult(200, Outcome.IGNORED, "only pushes matter here", delivery)
        followed = self._followed()
        if not followed.has_repository(delivery.repository):
            return DeliveryResult(200, Outcome.IGNORED, "another repository is followed", delivery)
        ours = [ref for ref in delivery.refs if ref in followed.branches]
        if followed.branches and not ours:
            return DeliveryResult(200, Outcome.IGNORED, "another branch is followed", delivery)
        if followed.source in (*ours, ""):
            self._polling.delivered()
        self._look_soon()
        if followed.standing_by:
            then = "is told" if followed.hands_on else "finds it with the next poll"
            return DeliveryResult(202, Outcome.STANDING_BY, f"this one stands by: who leads {then}", delivery)
        return DeliveryResult(202, Outcome.ACCEPTED, "gitfed looks at the repository", delivery)

    def _look_soon(self) -> None:
        """At once, or with the others that come in a swarm."""
        loop = asyncio.get_running_loop()
        wait = self._looked + _PAUSE - loop.time()
        if wait <= 0:
            self._looked = loop.time()
            self._look()
        elif self._soon is None:
            self._soon = loop.call_later(wait, self._look_now)

    def _look_now(self) -> None:
        self._soon, self._looked = None, asyncio.get_running_loop().time()
        self._look()

    async def close_at_end(self) -> None:
        """A service: what is to come soon does not come after the end."""
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: self._soon.cancel() if self._soon is not None else None)
            await asyncio.Event().wait()

    def _tell(self, forge: str, request: web.Request, answer: DeliveryResult) -> None:
        keys = {"forge": forge, "result": answer.outcome.value, "remote": request.remote}
        if answer.delivery is not None:
            refs = list(answer.delivery.refs[:5])
            audit.info(
                "delivery",
                extra={
                    **keys,
                    "event": answer.delivery.event,
                    "refs": refs,
                    "repository": answer.delivery.repository[:200],
                    "id": " ".join(answer.delivery.ids),
                },
            )
            return
        now = time.monotonic()
        last, more = self._told.get(answer.outcome.value, (-_QUIET, 0))
        if now - last < _QUIET:
            self._told[answer.outcome.value] = last, more + 1
            return
        self._told[answer.outcome.value] = now, 0
        audit.warning("delivery refused", extra={**keys, "why": answer.text, "others": more})
