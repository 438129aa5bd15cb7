"""Fleets that fail over within seconds, and what is recorded of it."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from tests.e2e.shop import image
from tests.e2e.world import World, cluster, deployment, policy, settings

FAST = ("--cluster-status-update-frequency", "300ms", "--cluster-failure-threshold", "600ms",
        "--cluster-success-threshold", "600ms")  # fmt: skip


SOON = {
    "failover": {
        "evictionTimeout": "1s", "notReadyTolerationSeconds": 1, "unreachableTolerationSeconds": 1,
        "gracefulEvictionTimeout": "10m",
    }
}  # fmt: skip


ONE = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}


def files(**policy_spec: Any) -> dict[str, str]:
    return {
        "gitfed.json": settings(**SOON),
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "apps/web.json": deployment("web"),
        "policies/web.json": policy("web", None, placement=ONE, **policy_spec),
    }


def log(world: World) -> str:
    """Bodies of the state branch's commits, newest first."""
    done = subprocess.run(
        ["git", "-C", str(world.bare), "log", "--format=%B", "gitfed/state"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def binding(world: World) -> str:
    return world.state().get("bindings/shop/web-Deployment.apps.yaml", "")


def settled_in_m1(world: World) -> None:
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    world.mark_available("m1", "shop", "web")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "it is recorded as applied")


def decided(world: World) -> list[str]:
    """Sentences of all decisions, oldest first."""
    done = subprocess.run(
        ["git", "-C", str(world.bare), "log", "--reverse", "--format=%x00%B", "gitfed/state"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    bodies = [text.splitlines() for text in done.split("\0") if text.startswith("Decide for")]
    return [line for lines in bodies for line in lines[1:] if line and not line.startswith("Gitfed-")]


def plain(line: str) -> str:
    """Without times, and without the words of the error."""
    line = re.sub(r"since \S+Z", "since", line)
    return re.sub(r"\(ClusterNotReachable.*\)", "(ClusterNotReachable)", line)
