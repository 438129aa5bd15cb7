"""Networks that are cut: two leaders that cannot see each other, and a daemon that sees nobody."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.clusters.cable import Cable, Cables
from tests.e2e.candidates import BASE, applied_everywhere, candidate, image
from tests.e2e.failing import FAST, SOON, files, settled_in_m1
from tests.e2e.world import Daemon, World, deployment, settings
from tests.support import git_servers, ports

pytestmark = [pytest.mark.e2e, git_servers.needs_git_program("git-daemon")]

LOST = "no longer leading: another daemon leads, or the lock could not be renewed"


class Behind:
    """The places of a world by ways that can be cut: the repository and every cluster."""

    def __init__(self, world: World, url: str, cables: Cables) -> None:
        address = urlsplit(url)
        assert address.port is not None
        self.cut, self.mend = cables.cut, cables.mend
        self.straight = url
        self.remote: Cable = cables.to(address.port)
        self.repo = f"git://127.0.0.1:{self.remote.port}{address.path}"
        self.kubeconfig: Path = world.directory / "cut.kubeconfig"
        self.clusters = world.ways(cables, self.kubeconfig)


@pytest.fixture
def behind(world: World) -> Iterator[Behind]:
    with git_servers.git_daemon(world.directory, ports.free_port(), push=True) as url, Cables() as cables:
        try:
            yield Behind(world, url, cables)
        finally:
            world.close()


@pytest.fixture(params=["leases", "git"])
def lock(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def two(world: World, lock: str, behind: Behind) -> tuple[Daemon, Daemon]:
    """The first leads and holds everything, by ways that can be cut; the second stands by with ways of its own."""
    world.push(BASE)
    first = candidate(world, lock, 1, repo=behind.repo, kubeconfig=behind.kubeconfig)
    applied_everywhere(world, "nginx:1.27")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "the roll-out recorded")
    second = candidate(world, lock, 2, repo=behind.straight)
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by")
    return first, second


def written(daemon: Daemon) -> list[tuple[str, str]]:
    """(message, cluster) of what it did to the Deployment."""
    lines = daemon.said("object created") + daemon.said("object configured") + daemon.said("object deleted")
    return [(one["msg"], one.get("cluster", "")) for one in lines if str(one.get("object", "")).endswith("/web")]


def stands_by(daemon: Daemon) -> bool:
    """It led once, and was ready to take over again after that."""
    return len(daemon.said("standing by while another daemon leads")) > len(daemon.said("leading"))


def inventories(world: World) -> dict[str, list[str]]:
    path = "/api/v1/namespaces/gitfed-system/configmaps"
    return {
        name: sorted(one["metadata"]["name"] + "@" + one["metadata"]["resourceVersion"]
                     for one in world.ask(name, "GET", path)["items"])
        for name in world.names
    }  # fmt: skip


def state_head(world: World) -> str:
    command = ["git", "-C", str(world.bare), "rev-parse", "gitfed/state"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_leader_that_is_cut_off_stops_by_itself_and_writes_nothing_more(
    world: World, lock: str, behind: Behind
) -> None:
    first, second = two(world, lock, behind)
    done = written(first)
    behind.cut()
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: first.said(LOST), "the first stops although nobody can tell it")
    world.until(lambda: second.said("leading"), "the second leads")
    applied_everywhere(world, "nginx:1.28")
    world.until(lambda: world.state()["state.yaml"].count("outcome: applied") == 2, "the roll-out recorded")
    world.until(second_is_settled(world, second), "the second has nothing left to do")
    before = world.versions("Deployment", "shop", "web"), inventories(world), state_head(world)
    behind.mend()
    world.until(lambda: stands_by(first), "the first stands by")
    assert (world.versions("Deployment", "shop", "web"), inventories(world), state_head(world)) == before
    world.push({"apps/web.json": deployment("web", image="nginx:1.29")})
    applied_everywhere(world, "nginx:1.29")
    assert written(first) == done, "the loser wrote nothing after it lost"
    generations = [world.get(name, "Deployment", "shop", "web") or {} for name in world.names]
    assert [one["metadata"]["generation"] for one in generations] == [3, 3], "each push was applied once"
    assert first.stop() == 0
    assert second.stop() == 0


def second_is_settled(world: World, second: Daemon) -> Callable[[], bool]:
    """A function that is true once the state branch and the log stand still for a second."""
    seen: list[tuple[str, int, datetime]] = []

    def settled() -> bool:
        now = (state_head(world), len(second.lines()))
        if not seen or seen[-1][:2] != now:
            seen.append((*now, datetime.now(UTC)))
        return datetime.now(UTC) - seen[-1][2] > timedelta(seconds=1)

    return settled


def test_a_write_that_was_on_its_way_when_the_leader_was_cut_off_does_not_last(
    world: World, lock: str, behind: Behind
) -> None:
    """It arrives when the cable is mended, after the other leader wrote something newer: then that is put right."""
    first, second = two(world, lock, behind)
    behind.clusters["m2"].cut()
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "m1") == "nginx:1.28", "the first goes on where it can")
    assert image(world, "m2") == "nginx:1.27"
    behind.cut()
    world.until(lambda: second.said("leading"), "the second leads")
    applied_everywhere(world, "nginx:1.28")
    world.push({"apps/web.json": deployment("web", image="nginx:1.29")})
    applied_everywhere(world, "nginx:1.29")
    done = written(first)
    behind.mend()
    world.until(lambda: stands_by(first), "the first stands by")
    assert first.stop() == 0
    world.until(second_is_settled(world, second), "the second has nothing left to do")
    assert [image(world, name) for name in world.names] == ["nginx:1.29", "nginx:1.29"]
    assert written(first) == done


def test_a_daemon_that_is_cut_off_from_everything_at_once_evicts_nothing(world: World, behind: Behind) -> None:
    # Silence is noticed by time-outs, of one cluster up to ten seconds before the other: that is no outage of one.
    failover = {**SOON["failover"], "evictionTimeout": "30s"}
    world.push({**files(), "gitfed.json": settings(failover=failover)})
    daemon = world.daemon(*FAST, repo=behind.repo, kubeconfig=behind.kubeconfig)
    settled_in_m1(world)
    behind.cut()

    def events() -> str:
        return " ".join(str(line.get("event", "")) for line in daemon.said("failover"))

    world.until(lambda: "2 of 2 clusters are not ready, more than 50%" in events(), "it is noticed")
    noticed = datetime.now(UTC)
    # Taint and toleration take 31 seconds in these settings: nothing of it may happen while all are away.
    world.until(lambda: datetime.now(UTC) - noticed > timedelta(seconds=34), "time enough to do harm")
    behind.mend()
    world.until(lambda: "evictions are possible again" in events(), "it is over")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "m1") == "nginx:1.28", "it works again")
    assert image(world, "m2") is None
    assert "NoExecute" not in events()
    assert "fromCluster" not in world.state()["bindings/shop/web-Deployment.apps.yaml"]
    assert daemon.stop() == 0
