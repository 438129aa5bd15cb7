"""A push that a forge tells of: nobody waits for the next poll."""

from __future__ import annotations

import urllib.request

import pytest

from tests.e2e.candidates import candidate
from tests.e2e.world import World, cluster, config_map, policy, settings
from tests.hub import deliveries
from tests.support import needs, patience

pytestmark = [pytest.mark.e2e, needs.pushed("its hub has no TLS, and agents want it")]


def test_a_delivery_brings_a_push_into_the_clusters_long_before_the_next_poll(world: World) -> None:
    world.push(
        {
            "gitfed.json": settings(), "clusters/m1.json": cluster("m1"),
            "policy.json": policy("maps", ["m1"], (("v1", "ConfigMap"),)), "maps/a.json": config_map("a", {"is": "1"}),
        }
    )  # fmt: skip
    secret = world.directory / "hook-secret"
    secret.write_text(deliveries.SECRET)
    daemon = world.daemon("--interval", "24h", "--hub-address", "127.0.0.1:0", "--hook-secret-file", str(secret),
                          repo=f"file://{world.bare}")  # fmt: skip
    world.until(lambda: daemon.said("the hub listens"), "the hub listens")
    world.until(lambda: "a" in world.objects("m1", "ConfigMap", "shop"), "the first roll-out")
    world.push({"maps/a.json": config_map("a", {"is": "2"})})
    sent = deliveries.github(repository=world.bare.name.removesuffix(".git"))
    request = urllib.request.Request(
        f"{daemon.said('the hub listens')[0]['url']}/hooks/github", sent.body, dict(sent.headers), method="POST"
    )
    with urllib.request.urlopen(request, timeout=patience.SECONDS) as answer:
        assert (answer.status, answer.read()) == (202, b"gitfed looks at the repository\n")
    world.until(lambda: (world.get("m1", "ConfigMap", "shop", "a") or {})["data"] == {"is": "2"}, "the push is applied")
    told = daemon.said("delivery")
    assert [(line["forge"], line["result"], line["refs"]) for line in told] == [
        ("github", "accepted", ["refs/heads/main"])
    ]
    assert daemon.stop() == 0


def test_a_replica_that_stands_by_tells_the_leader_of_a_push(world: World) -> None:
    world.push(
        {
            "gitfed.json": settings(), "clusters/m1.json": cluster("m1"),
            "policy.json": policy("maps", ["m1"], (("v1", "ConfigMap"),)), "maps/a.json": config_map("a", {"is": "1"}),
        }
    )  # fmt: skip
    secret = world.directory / "hook-secret"
    secret.write_text(deliveries.SECRET)
    arguments = ("--interval", "24h", "--hub-address", "127.0.0.1:0", "--hook-secret-file", str(secret))
    url = f"file://{world.bare}"
    leads = candidate(world, "leases", 1, arguments=arguments, repo=url)
    world.until(lambda: leads.said("leading"), "one leads")
    world.until(lambda: "a" in world.objects("m1", "ConfigMap", "shop"), "the first roll-out")
    stands_by = candidate(world, "leases", 2, arguments=arguments, repo=url)
    world.until(lambda: stands_by.said("standing by while another daemon leads"), "the other stands by")
    world.until(lambda: stands_by.said("the hub listens"), "its hub listens")
    world.push({"maps/a.json": config_map("a", {"is": "2"})})
    sent = deliveries.github(repository=world.bare.name.removesuffix(".git"))
    request = urllib.request.Request(
        f"{stands_by.said('the hub listens')[0]['url']}/hooks/github", sent.body, dict(sent.headers), method="POST"
    )
    with urllib.request.urlopen(request, timeout=patience.SECONDS) as answer:
        assert (answer.status, answer.read()) == (202, b"this one stands by: who leads is told\n")
    world.until(lambda: (world.get("m1", "ConfigMap", "shop", "a") or {})["data"] == {"is": "2"}, "the push is applied")
    assert len(leads.said("leading")) == 1
    assert not stands_by.said("leading")
    assert leads.said("another replica tells of a push")
    assert stands_by.stop() == 0
    assert leads.stop() == 0
