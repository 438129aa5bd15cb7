"""The shop: a Deployment, its ConfigMap, a policy for both; and what a cluster holds of it."""

from __future__ import annotations

from tests.e2e.world import World, cluster, deployment, policy, settings

BASE = {
    "gitfed.json": settings(),
    "clusters/m1.json": cluster("m1", region="eu"),
    "clusters/m2.json": cluster("m2", region="us"),
    "policies/web.json": policy("web", ["m1", "m2"]),
    "apps/web.json": deployment("web"),
}


def image(world: World, name: str, where: str) -> str | None:
    body = world.get(where, "Deployment", "shop", name)
    return body["spec"]["template"]["spec"]["containers"][0]["image"] if body else None


def inventory(world: World, name: str) -> str:
    items = world.ask(name, "GET", "/api/v1/namespaces/gitfed-system/configmaps")["items"]
    return " ".join(key for item in items for key in (item.get("data") or {}))
