"""Daemons that elect who of them leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.world import Daemon, World, cluster, deployment, policy, settings

BASE = {
    "gitfed.json": settings(),
    "clusters/m1.json": cluster("m1"),
    "clusters/m2.json": cluster("m2"),
    "policies/web.json": policy("web", ["m1", "m2"]),
    "apps/web.json": deployment("web"),
}


@pytest.fixture(params=["leases", "git"])
def lock(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def candidate(world: World, lock: str, number: int, *, arguments: Sequence[str] = (), **ways: Any) -> Daemon:
    """A daemon of its own machine: nothing but the repository and the clusters is shared."""
    context = ("--leader-elect-context", "m1") if lock == "leases" else ()
    # Every renewal by the git lock is a push, and takes its time on a busy machine.
    lease, renew = ("7s", "6s") if lock == "leases" else ("12s", "10s")
    return world.daemon(
        "--data-dir", str(world.directory / f"data-{number}"), "--leader-elect", "--leader-elect-resource-lock", lock,
        *context, "--leader-elect-lease-duration", lease, "--leader-elect-renew-deadline", renew,
        "--leader-elect-retry-period", "1s", *arguments, **ways,
    )  # fmt: skip


def image(world: World, where: str, name: str = "web") -> str | None:
    body = world.get(where, "Deployment", "shop", name)
    return body["spec"]["template"]["spec"]["containers"][0]["image"] if body else None


def applied_everywhere(world: World, wanted: str) -> None:
    for name in world.names:
        world.until(lambda name=name: image(world, name) == wanted, f"{wanted} in {name}")
