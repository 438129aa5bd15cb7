"""HTTP around the pipeline: bytes in, bytes out, over loopback.

No routing and no middleware: the address means what ``request.locate`` says. Large answers are compressed for who
accepts it, watches are sent as they happen, and a reader of a version not reached yet is kept waiting a moment before
he is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from multidict import CIMultiDict

from kubesim.server import api as pipeline
from kubesim.server import channels, read
from kubesim.server.request import Request, Response

_COMPRESS_FROM: Final = 128 * 1024
_RESET: Final = struct.pack("ii", 1, 0)
"""Linger for no time: closing is a reset."""

Gate = Callable[[web.BaseRequest], Awaitable[bool]]
"""Awaited before a request is looked at. ``False``: it has cut the connection, whatever is answered is lost."""


class HttpServer:
    """Serves one cluster on 127.0.0.1."""

    def __init__(self, api: pipeline.Api, gate: Gate | None = None) -> None:
        self._api = api
        self._gate = gate
        self._runner: web.ServerRunner | None = None
        self._streams: set[asyncio.Task[object]] = set()

    async def start(self, port: int = 0) -> int:
        """The port listened on; 0 chooses a free one."""
        # A watcher that goes away must not stay subscribed until something happens.
        server = web.Server(
            self._handle, handler_cancellation=True, access_log=None, max_field_size=65536, max_line_size=65536
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, backlog=1024)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Ends open watches, then closes the port."""
        for task in tuple(self._streams):
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        if self._gate is not None and not await self._gate(raw):
            return web.Response(status=503)
        headers = CIMultiDict(raw.headers)
        body = await _body(raw)
        query: dict[str, list[str]] = {}
        for key, value in raw.query.items():
            query.setdefault(key, []).append(value)
        req = Request(raw.method, raw.rel_url.raw_path, query, headers, body)
        response = await self._respond(req)
        if response.stream is not None or response.session is not None:
            return await self._open(raw, response)
        if response.breaks_off:
            return await _broken(raw, response)
        return _plain(raw, response)

    async def _respond(self, req: Request) -> Response:
        try:
            return self._api.handle(req)
        except read.NotReached:
            await asyncio.sleep(self._api.world.patience)
        try:
            return self._api.handle(req)
        except read.NotReached as error:
            return pipeline.refusal(error)

    async def _open(self, raw: web.BaseRequest, response: Response) -> web.StreamResponse:
        """What lasts. Ended when the cluster stops."""
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            if response.session is not None:
                return await channels.serve(raw, response.session)
            return await self._stream(raw, response)
        finally:
            self._streams.discard(task)

    async def _stream(self, raw: web.BaseRequest, response: Response) -> web.StreamResponse:
        assert response.stream is not None
        answer = web.StreamResponse(status=response.status)
        _set_headers(answer, response)
        answer.enable_chunked_encoding()
        try:
            await answer.prepare(raw)
            async for piece in response.stream:
                await answer.write(piece)
            await answer.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            # The client left, or the cluster stops: either way nobody listens.
            pass
        finally:
            await response.stream.aclose()
            response.end()
        return answer


async def _body(raw: web.BaseRequest) -> bytes:
    """All of it, or so much that the pipeline can see it is too much."""
    if not raw.can_read_body:
        return b""
    pieces: list[bytes] = []
    size = 0
    while piece := await raw.content.readany():
        if size <= pipeline.BODY_LIMIT:
            pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _set_headers(answer: web.StreamResponse, response: Response) -> None:
    if response.content_type:
        answer.headers["Content-Type"] = response.content_type
    answer.headers["Cache-Control"] = "no-cache, private"
    for name, value in response.headers:
        answer.headers.add(name, value)


def _plain(raw: web.BaseRequest, response: Response) -> web.Response:
    body = response.body
    compressed = len(body) >= _COMPRESS_FROM and _accepts_gzip(raw.headers.get("Accept-Encoding", ""))
    if compressed:
        body = gzip.compress(body, compresslevel=1, mtime=0)
    answer = web.Response(status=response.status, body=body)
    if not response.content_type:
        answer.headers.pop("Content-Type", None)
    _set_headers(answer, response)
    if compressed:
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Vary"] = "Accept-Encoding"
    return answer


async def _broken(raw: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Half of it, and then a reset."""
    answer = web.StreamResponse(status=response.status)
    _set_headers(answer, response)
    answer.content_length = len(response.body)
    with contextlib.suppress(ConnectionError):
        await answer.prepare(raw)
        await answer.write(response.body[: len(response.body) // 2])
    if raw.transport is not None:
        raw.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        raw.transport.abort()
    return answer


def _accepts_gzip(header: str) -> bool:
    for clause in header.split(","):
        coding, _, quality = clause.partition(";")
        if coding.strip() == "gzip":
            return quality.replace(" ", "") not in ("q=0", "q=0.0")
    return False
