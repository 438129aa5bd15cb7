"""One request body passed on and one answer passed back, each sent on as it arrives."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from gitfed.edges.kube.connection import translate
from gitfed.fleet_api import headers

LARGEST = 64 << 20
"""Bytes of a body. API servers take 3 MiB; a program behind `services/proxy` may take more."""
_CSP = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""A page of a program in a member is nothing that a browser should run in the hub's name."""
_PROBES = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


def upgrade_of(request: web.BaseRequest) -> str:
    """The protocol that the caller wants to change to; "" for none."""
    wanted = {word.strip().lower() for word in request.headers.get("Connection", "").split(",")}
    return request.headers.get("Upgrade", "") if "upgrade" in wanted else ""


async def pass_back(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    kept = CIMultiDict(headers.to_caller(answer.headers.items()))
    kept["Content-Security-Policy"] = _CSP
    if answer.status == 200 and request.method != "HEAD" and _is_whole(answer):
        # It came with its head and goes on with its head: one write, and the caller's program wakes up once.
        return web.Response(body=await answer.content.read(), headers=kept)
    back = web.StreamResponse(status=answer.status, headers=kept)
    await back.prepare(request)
    try:
        async for part in answer.content.iter_any():
            await back.write(part)
    except translate.NO_ANSWER:
        # Its head is sent: what is missing can only be told by not ending well.
        if request.transport is not None:
            request.transport.abort()
        return back
    await back.write_eof()
    return back


def _is_whole(answer: aiohttp.ClientResponse) -> bool:
    """Whether nothing of it is still to come."""
    return answer.content.is_eof() and answer.content.exception() is None


class Upload:
    """The body of a request, in parts."""

    def __init__(self, request: web.BaseRequest, largest: int = LARGEST) -> None:
        self._request = request
        self.largest = largest
        self.too_large = False

    async def parts(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._request.content.iter_any():
            size += len(part)
            if size > self.largest:
                self.too_large = True
                raise ConnectionAbortedError
            yield part


def keep_alive(transport: object) -> None:
    """Have the system ask whether the other side is there: a quiet shell must survive what forgets quiet connections,
    and one whose other side is gone must not stay open for ever."""
    opened = getattr(transport, "get_extra_info", lambda _: None)("socket")
    if opened is None or opened.family not in (socket.AF_INET, socket.AF_INET6):
        return
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES:
        if hasattr(socket, name):  # not every system has them all
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
