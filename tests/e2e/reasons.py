"""Why the daemon holds what it holds."""

from __future__ import annotations

import json

from tests.e2e.world import World


def reasons(world: World) -> dict[tuple[str, str], tuple[str, str]]:
    """(cluster, name) → (action, reason) of the live plan."""
    done = world.gitfed(
        "plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), "-o", "json"
    )
    return {(c["cluster"], c["name"]): (c["action"], c["reason"]) for c in json.loads(done.stdout)["changes"]}
