"""`/metrics` for Prometheus: what is measured is in `catalogue`, how it is written in `exposition`."""

from __future__ import annotations

import asyncio

from aiohttp import web

from gitfed.hub.access.rights import Right
from gitfed.hub.metrics import catalogue, exposition
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub


def capability(hub: Hub) -> Capability:
    async def scrape(request: web.Request) -> web.StreamResponse:
        values = catalogue.read(hub)  # at one moment, in the loop
        content = await asyncio.to_thread(exposition.text, values)
        return web.Response(body=content, headers={"Content-Type": exposition.CONTENT_TYPE})

    return Capability(routes=(Route("GET", "/metrics", scrape, needs=Right.VIEW, whole_fleet=True),))
