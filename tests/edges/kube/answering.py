"""A server that answers what a test tells it to, over http or TLS, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.edges.kube.connection.credentials import ClusterConnection
from gitfed.edges.kube.connection.session import Session

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    url: str = ""
    asked: list[web.Request] = field(default_factory=list)
    answer: Handler | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        self.asked.append(request)
        assert self.answer is not None
        return await self.answer(request)

    def session(self, **options: Any) -> Session:
        return Session("m1", connection(self.url), **options)


def connection(url: str, **options: Any) -> ClusterConnection:
    """Without any credential."""

    async def configure() -> ClientSettings:
        return ClientSettings(host=url)

    return ClusterConnection("m1", url, "a test", configure, **options)


def body(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json", headers=headers)


def always(response: Callable[[], web.StreamResponse]) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return response()

    return answer


def by_path(answers: Mapping[str, Callable[[], web.StreamResponse]]) -> Handler:
    """404 in plain text for every other path, as an API server."""

    async def answer(request: web.Request) -> web.StreamResponse:
        chosen = answers.get(request.path)
        return chosen() if chosen else web.Response(status=404, text="404 page not found\n")

    return answer


@contextlib.asynccontextmanager
async def serving(answer: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(answer=answer)
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()
