"""The group of every agent's certificate."""

from __future__ import annotations

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.routes import Capability, Route


async def whose(request: web.Request) -> web.Response:
    return web.Response(text=routes.agent(request))


async def lasting(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


AGENTS = Capability(
    routes=(
        Route("GET", "/agents/v1/whose", whose, agents=True),
        Route("GET", "/agents/v1/lasting", lasting, agents=True, lasting=True),
    )
)
