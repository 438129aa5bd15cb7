"""What members of a pool ask the hub for: `GET /agents/v1/pool`, the clusters that the repository gives to their pool.

Who of them keeps which cluster they settle among themselves, by Leases (`agent.pool`). The list is that of the commit
in force, and every replica of the hub knows it.
"""

from __future__ import annotations

from aiohttp import web

from gitfed.hub import refusal, routes
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub
from gitfed.model import agent_identity

PATH = "/agents/v1/pool"


def capability(hub: Hub) -> Capability:
    async def clusters(request: web.Request) -> web.StreamResponse:
        pool = agent_identity.pool_in(routes.agent(request))
        if not pool:
            return refusal.answer(request, 403, "this certificate is a cluster's, and no pool's")
        repo = hub.running.repo
        if repo is None:
            return refusal.answer(request, 503, "the hub has read no commit yet", {"Retry-After": "5"})
        names = sorted(name for name, cluster in repo.clusters.items() if cluster.pool == pool)
        return web.json_response({"pool": pool, "clusters": names})

    return Capability(routes=(Route("GET", PATH, clusters, agents=True),))
