"""A repository whose limits hold what removes much."""

from __future__ import annotations

import re

from tests.e2e.world import World, cluster, config_map, policy, settings

MAPS = {f"apps/c{n}.json": config_map(f"c{n}", {"k": "v"}) for n in range(4)}


LOOSE = settings(guards={"maxDeletions": 1000, "maxDeletionPercent": 100})


BASE = {
    "gitfed.json": settings(guards={"maxDeletions": 1, "maxDeletionPercent": 100}),
    "clusters/m1.json": cluster("m1"),
    "policies/all.json": policy("all", ["m1"], (("v1", "ConfigMap"),)),
    **MAPS,
}


GONE = dict.fromkeys(MAPS)


def left(world: World) -> list[str]:
    return sorted(name for name in world.objects("m1", "ConfigMap", "shop") if re.fullmatch(r"c\d", name))
