"""`/metrics` for Prometheus: the metrics of the daemon and the hub, and those that other capabilities bring along.

Labels have closed sets of values (clusters, gates, verbs, …): never the name of an object, which somebody else chooses.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from gitfed.hub.access.rights import Right
from gitfed.hub.metrics import clusters, exposition, planning, process
from gitfed.hub.metrics.commit_ages import CommitAges
from gitfed.hub.metrics.loop_lag import LoopLag
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub


def capability(hub: Hub) -> Capability:
    ages, lag = CommitAges(hub.running), LoopLag()

    async def scrape(request: web.Request) -> web.StreamResponse:
        values = [(metric, list(metric.read())) for metric in hub.metrics]  # at one moment, in the loop
        content = await asyncio.to_thread(exposition.text, values)
        return web.Response(body=content, headers={"Content-Type": exposition.CONTENT_TYPE})

    return Capability(
        routes=(Route("GET", "/metrics", scrape, needs=Right.VIEW, whole_fleet=True),),
        services=(ages.run, lag.run),
        metrics=(
            *process.metrics(hub),
            *lag.metrics(),
            *clusters.metrics(hub.running),
            *ages.metrics(),
            *planning.metrics(hub.running),
        ),
    )
