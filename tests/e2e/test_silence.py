"""The state's server accepts every connection and says nothing: what waits for it, and what must not."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.clusters.cable import Cable, Cables
from tests.e2e.failing import FAST, SOON, binding, files, log, settled_in_m1
from tests.e2e.shop import image
from tests.e2e.world import Daemon, World, deployment, settings
from tests.support import git_servers, ports

pytestmark = [pytest.mark.e2e, git_servers.needs_git_program("git-daemon")]

GAVE_WAY = "the state's server does not answer: decisions wait for it no longer"
NOT_PUSHED = "the state branch could not be pushed"


@pytest.fixture
def state(world: World) -> Iterator[tuple[str, Cable]]:
    """(URL of the state's repository, the cable to it). The source is read from the disk."""
    with git_servers.git_daemon(world.directory, ports.free_port(), push=True) as url, Cables() as cables:
        cable = cables.to(urlsplit(url).port or 0)
        try:
            yield f"git://127.0.0.1:{cable.port}/fleet.git", cable
        finally:
            world.close()


def follow(world: World, url: str, wait: str) -> Daemon:
    where = {"state": {"url": url, "waitForPush": wait}}
    world.push({**files(), "gitfed.json": settings(**SOON, **where), "apps/cache.json": deployment("cache")})
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.until(lambda: image(world, "cache", "m1") or image(world, "cache", "m2"), "cache is somewhere")
    return daemon


def decided_here(world: World) -> str:
    """The binding in the daemon's own clone."""
    path = "gitfed/state:bindings/shop/web-Deployment.apps.yaml"
    command = ["git", "-C", str(world.data / "clone.git"), "show", path]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def alive(daemon: Daemon) -> int:
    port = int(daemon.said("gitfed runs")[0]["health"])
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/livez")
        return connection.getresponse().status


def test_a_move_waits_for_its_record_and_nothing_else_does(world: World, state: tuple[str, Cable]) -> None:
    url, cable = state
    daemon = follow(world, url, "1h")
    cable.cut()
    world.servers["m1"].kill()
    world.until(lambda: "fromCluster: m1" in decided_here(world), "it is decided that web leaves m1", 60)
    world.push({"apps/late.json": deployment("late")})
    world.until(lambda: "late-Deployment" in decided_paths(world), "a push is planned", 60)
    assert alive(daemon) == 200
    assert "fromCluster" not in binding(world), "the record was not taken"
    assert image(world, "web", "m2") is None or daemon.said(NOT_PUSHED)
    cable.mend()
    world.until(lambda: image(world, "web", "m2"), "web starts in m2", 90)
    world.until(lambda: "fromCluster: m1" in binding(world), "the record is there", 90)
    assert daemon.stop() == 0


def decided_paths(world: World) -> str:
    command = ["git", "-C", str(world.data / "clone.git"), "ls-tree", "-r", "--name-only", "gitfed/state"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_work_leaves_a_dead_cluster_without_a_pushed_record_and_survives_restarts(
    world: World, state: tuple[str, Cable]
) -> None:
    url, cable = state
    daemon = follow(world, url, "500ms")
    cable.cut()
    world.servers["m1"].kill()
    world.until(lambda: image(world, "web", "m2"), "web starts in m2", 60)
    assert daemon.said(GAVE_WAY) or daemon.said(NOT_PUSHED)
    assert "fromCluster" not in binding(world)
    daemon.kill()
    cable.mend()
    again = world.daemon(*FAST)
    world.until(lambda: "fromCluster: m1" in binding(world), "the record is there", 60)
    assert "Deployment.apps/shop/web leaves m1" in log(world)
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over", 60)
    world.servers["m1"].start()
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone", 60)
    assert image(world, "web", "m2")
    assert again.stop() == 0


def test_a_decision_not_pushed_when_the_daemon_died_goes_on_beside_a_new_order(
    world: World, state: tuple[str, Cable]
) -> None:
    """The order goes to the same file that the daemon wrote last."""
    url, cable = state
    daemon = follow(world, url, "1h")
    cable.cut()
    world.servers["m1"].kill()
    world.until(lambda: "fromCluster: m1" in decided_here(world), "it is decided that web leaves m1", 60)
    daemon.kill()
    assert image(world, "web", "m2") is None or daemon.said(NOT_PUSHED)
    world.git("fetch", "-q", "origin", "gitfed/state")
    world.git("checkout", "-q", "-B", "order", "FETCH_HEAD")
    path = world.work / "bindings/shop/web-Deployment.apps.yaml"
    path.write_text(path.read_text().replace("\nspec:\n", "\nspec:\n  orderedBy: somebody\n"))
    world.git("commit", "-qam", "An order")
    world.git("push", "-q", "origin", "HEAD:gitfed/state")
    world.git("checkout", "-q", "main")
    cable.mend()
    again = world.daemon(*FAST)
    world.until(lambda: "fromCluster: m1" in binding(world), "the record is there")
    world.until(lambda: image(world, "web", "m2"), "web starts in m2")
    assert "orderedBy: somebody" in binding(world)
    assert log(world).count("web leaves m1") == 1, "it was decided once"
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over")
    assert "orderedBy: somebody" in binding(world)
    assert again.stop() == 0


def test_drift_is_repaired_while_the_server_says_nothing(world: World, state: tuple[str, Cable]) -> None:
    url, cable = state
    daemon = follow(world, url, "1h")
    cable.cut()
    world.push({"apps/late.json": deployment("late")})
    world.until(lambda: "late-Deployment" in decided_paths(world), "a decision waits for the server", 60)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:drifted"}]}}}}
    world.ask("m1", "PATCH", world.path("Deployment", "shop", "web"), patch, "application/strategic-merge-patch+json")
    world.until(lambda: image(world, "web", "m1") == "nginx:1.27", "it is repaired")
    late = image(world, "late", "m1") or image(world, "late", "m2")
    assert late is None or daemon.said(NOT_PUSHED), "what was decided anew waits"
    cable.mend()
    world.until(lambda: image(world, "late", "m1") or image(world, "late", "m2"), "it is carried out", 90)


def test_a_stop_waits_no_longer_than_for_a_moment(world: World, state: tuple[str, Cable]) -> None:
    url, cable = state
    daemon = follow(world, url, "1h")
    cable.cut()
    world.push({"apps/late.json": deployment("late")})
    world.until(lambda: "late-Deployment" in decided_paths(world), "a decision waits for the server", 60)
    assert daemon.stop() == 0
