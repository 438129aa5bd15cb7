"""Who may use a door, for what, and for how long.

`proxy` in an AccessPolicy opens the door of its clusters. If the policy names namespaces, it opens what is in them,
and what every client has to read to find anything at all: versions, kinds and schemas.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from aiohttp import web

from gitfed.fleet_api import request as api_request
from gitfed.fleet_api import reviews
from gitfed.fleet_api.request import RequestInfo
from gitfed.http_relay import tunnel
from gitfed.hub import listener, refusal, routes
from gitfed.hub.access.rights import Right, Rights
from gitfed.hub.server import Hub
from gitfed.model.base import ClusterName

_LOOK = 2.0
"""Seconds between two looks whether the caller of a long answer may still have it."""
_SHORT = 0.05
"""Seconds that most answers take less than: only for others it is worth while to look."""
_DOOR = re.compile(r"/apis/[^/]+/[^/]+/[^/]+/[^/]+/proxy")
GONE = 499
"""No caller gets it, since they have left: for the count of answers."""


def target_of(request: web.Request) -> str:
    """What comes behind the door: path and query, as they were sent."""
    behind = _DOOR.sub("", request.raw_path, count=1)
    return behind if behind.startswith("/") else f"/{behind}"


def refused(request: web.Request, path: str) -> web.Response | None:
    """What no door lets through."""
    if wrong := api_request.why_not(path):
        return refusal.answer(request, 400, wrong)
    if routes.SESSION in request:
        return refusal.answer(request, 403, "a browser's session opens no door: send a certificate or a token")
    return None


def may(rights: Rights, cluster: ClusterName, about: RequestInfo) -> bool:
    if not about.is_resource or about.resource in reviews.RESOURCES:
        return rights.on_cluster(Right.PROXY, cluster)
    return rights.on_object(Right.PROXY, cluster, about.namespace)


def no_right(caller: str, cluster: str, about: RequestInfo) -> str:
    where = f" in namespace {about.namespace}" if about.namespace else ""
    what = f" to {about.resource}{where}" if about.is_resource else ""
    return f"no AccessPolicy lets {caller} through the door of cluster {cluster}{what}"


async def while_allowed(
    hub: Hub, request: web.Request, allowed: Callable[[Rights], bool], work: Coroutine[Any, Any, web.StreamResponse]
) -> web.StreamResponse:
    """Do it as long as the caller is there, their credential holds, and `allowed` says so of their rights."""
    caller = routes.caller(request)
    task = asyncio.ensure_future(work)
    watched: list[asyncio.Task[Literal[True]]] = []
    try:
        await asyncio.wait({task}, timeout=_SHORT)
        if task.done():
            return task.result()
        left = asyncio.create_task(listener.gone(request).wait())
        watched.append(left)
        while True:
            await asyncio.wait({task, left}, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if left.done():
                break
            if not allowed(hub.rights_of(caller)) or not await hub.authentication.holds(request, None):
                break
    finally:
        for watching in watched:
            watching.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it
    if request.transport is not None:
        request.transport.abort()
    return tunnel.Tunnelled() if tunnel.BEGUN in request else web.Response(status=GONE)
