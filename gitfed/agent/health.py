"""What an agent answers about itself: `/livez`, `/readyz` and `/metrics`."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from aiohttp import web

from gitfed.errors import UsageError
from gitfed.hub.listener import ConnectionLimits, Listener

Number: TypeAlias = tuple[str, str, str, int]
"""Name, kind, what it is, value."""
_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_MOST_CONNECTIONS = 32


async def listen(
    stack: contextlib.AsyncExitStack,
    address: str,
    why_not_ready: Callable[[], str],
    numbers: Callable[[], Iterable[Number]],
) -> int:
    """The port; it listens as long as `stack` lasts. Nowhere without an address. Raises UsageError."""
    app = web.Application()
    app.router.add_get("/livez", _answer(str))
    app.router.add_get("/readyz", _answer(why_not_ready))
    app.router.add_get("/metrics", _metrics(numbers))
    listener = Listener(app, ConnectionLimits(connections=_MOST_CONNECTIONS))
    if address:
        host, _, port = address.rpartition(":")
        try:
            await listener.start(host or "127.0.0.1", int(port))
        except (OSError, ValueError) as error:
            raise UsageError(
                f"the health endpoint cannot listen on {address}: {error}",
                hint="name another address with --health-address, or none",
            ) from error
        stack.push_async_callback(listener.stop)
    return listener.port


def _answer(question: Callable[[], str]) -> _Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        reason = question()
        answer = web.Response(status=503 if reason else 200, text=f"{reason or 'ok'}\n")
        answer.force_close()
        return answer

    return handle


def _metrics(numbers: Callable[[], Iterable[Number]]) -> _Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        text = "".join(f"# HELP {n} {what}\n# TYPE {n} {kind}\n{n} {value}\n" for n, kind, what, value in numbers())
        answer = web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
        answer.force_close()
        return answer

    return handle
