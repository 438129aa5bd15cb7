"""Clusters that misbehave under way: all ends well when that ends, and others neither wait nor lose anything.

Faults are those of the embedded fleet; a real server cannot be told to fail.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kubesim.faults import Faults
from tests.clusters.faulty import Faulty
from tests.e2e.shop import BASE, image, inventory
from tests.e2e.world import Daemon, World, config_map, deployment, policy

pytestmark = pytest.mark.e2e

COUNT = 20
APPS = {f"apps/d{n}.json": deployment(f"d{n}") for n in range(COUNT)}
MAPS = {
    "apps/conf.json": config_map("conf", {"a": "1"}),
    "policies/conf.json": policy("conf", ["m1", "m2"], (("v1", "ConfigMap"),)),
}


def whole(faulty: Faulty, cluster: str) -> bool:
    """Whether all Deployments are there, seen from within: faults do not disturb who looks."""
    found = {body["metadata"]["name"] for body in faulty.inside(cluster, lambda m: m.api.list("deployments.apps"))}
    return {f"d{n}" for n in range(COUNT)} <= found


def recorded(faulty: Faulty, cluster: str) -> bool:
    listed = json.dumps(faulty.inside(cluster, lambda m: m.api.list("configmaps", "gitfed-system")))
    return all(f"d{n}" in listed for n in range(COUNT))


def theirs(world: World) -> dict[str, Any]:
    """Something of somebody else in m1, as it stands now."""
    body = world.get("m1", "ConfigMap", "default", "theirs")
    if body is None:
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"a": "1"}}
        body = dict(world.ask("m1", "POST", world.path("ConfigMap", "default"), made))
    return body


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda f: f.fail(429, share=0.5, retry_after=1), id="half 429"),
        pytest.param(lambda f: f.fail(500, share=0.5, verb="patch"), id="half of the writes 500"),
        pytest.param(lambda f: f.fail(503, verb="patch"), id="no write 503"),
        pytest.param(lambda f: f.fail(504, share=0.3, verb="patch"), id="timeouts"),
    ],
)
def test_errors_delay_only_their_cluster_and_everything_arrives_once_they_end(
    world: World, faulty: Faulty, fault: Callable[[Faults], None]
) -> None:
    before = theirs(world)
    faulty.tell("m1", fault)
    world.push({**BASE, **APPS})
    world.daemon()
    world.until(lambda: whole(faulty, "m2"), "m2 is not delayed")
    faulty.tell("m1", lambda f: f.clear())
    world.until(lambda: whole(faulty, "m1") and recorded(faulty, "m1"), "m1 has everything in the end")
    assert theirs(world) == before


def test_a_slow_server_delays_nobody_else(world: World, faulty: Faulty) -> None:
    faulty.tell("m1", lambda f: f.slow(60.0))
    world.push({**BASE, **APPS})
    world.daemon()
    world.until(lambda: whole(faulty, "m2"), "m2 is whole")
    assert not faulty.inside("m1", lambda m: m.api.list("deployments.apps")), "m1 has not answered the first writes yet"
    faulty.tell("m1", lambda f: f.clear())
    world.until(lambda: whole(faulty, "m1"), "m1 is whole")


def test_watches_that_end_lose_no_event(world: World, faulty: Faulty) -> None:
    world.push({**BASE, **APPS})
    world.daemon()
    world.until(lambda: whole(faulty, "m1") and recorded(faulty, "m1"), "m1 is whole")
    for n in range(5):
        faulty.tell("m1", lambda f: f.drop_watches())
        world.ask("m1", "DELETE", world.path("Deployment", "shop", f"d{n}"))
        faulty.tell("m1", lambda f: f.drop_watches())
    world.until(lambda: whole(faulty, "m1"), "all came back")


def test_one_object_that_admission_rejects_stops_no_other(world: World, faulty: Faulty) -> None:
    faulty.tell("m1", lambda f: f.reject("images must be signed", resource="deployments", name="d7"))
    world.push({**BASE, **APPS})
    daemon = world.daemon()
    said = world.until(lambda: daemon.said("change failed"), "the refusal is said")
    assert "images must be signed" in said[0]["error"]
    world.until(lambda: len(world.objects("m1", "Deployment", "shop")) == COUNT, "the others and web")
    world.until(lambda: whole(faulty, "m2"), "m2 whole")
    tried = len(daemon.said("change failed"))
    time.sleep(2)
    assert len(daemon.said("change failed")) - tried <= 3, "a refusal is not asked for again and again"
    faulty.tell("m1", lambda f: f.clear())
    world.push({"apps/d7.json": deployment("d7", image="signed:1")})
    world.until(lambda: image(world, "d7", "m1") == "signed:1", "the corrected one")


def test_somebody_who_fights_over_a_field_is_answered_at_a_calm_pace(world: World, faulty: Faulty) -> None:
    world.push(BASE)
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    faulty.tell("m1", lambda f: f.overwrite("deployments.apps", ("spec", "replicas"), 9, manager="stubborn"))
    before = int(world.versions("Deployment", "shop", "web")["m1"])
    world.ask("m1", "PATCH", world.path("Deployment", "shop", "web"), {"spec": {"replicas": 9}},
              "application/merge-patch+json")  # fmt: skip
    time.sleep(6)
    writes = int(world.versions("Deployment", "shop", "web")["m1"]) - before
    # Each round is two writes, theirs and ours.
    assert writes <= 16, f"{writes} writes in 6 s: two controllers in a hot loop"
    world.push({"apps/extra.json": deployment("extra")})
    world.until(lambda: image(world, "extra", "m1") and image(world, "extra", "m2"), "other work goes on")
    faulty.tell("m1", lambda f: f.clear())
    # It may have been put back five times by now, and would rest for an hour: what somebody pushes is written at once.
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the commit")
    world.until(lambda: _replicas(world, "m1", "web") == 2, "peace")


def test_somebody_who_is_at_it_from_the_first_moment_is_answered_calmly_too(world: World, faulty: Faulty) -> None:
    """The roll-out is never over then, and nothing counts as drift."""
    faulty.tell("m1", lambda f: f.overwrite("deployments.apps", ("spec", "replicas"), 9, manager="stubborn"))
    world.push(BASE)
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    time.sleep(1)
    before = int(world.versions("Deployment", "shop", "web")["m1"])
    time.sleep(5)
    writes = int(world.versions("Deployment", "shop", "web")["m1"]) - before
    assert writes <= 16, f"{writes} writes in 5 s: two controllers in a hot loop"
    world.push({"apps/extra.json": deployment("extra")})
    world.until(lambda: image(world, "extra", "m1") and image(world, "extra", "m2"), "other work goes on")


def _replicas(world: World, cluster: str, name: str) -> int:
    body = world.get(cluster, "Deployment", "shop", name)
    return int(body["spec"]["replicas"]) if body else -1


def test_an_object_whose_finalizer_never_clears_holds_nothing_else_up(world: World) -> None:
    world.push({**BASE, **MAPS})
    daemon = world.daemon()
    world.until(lambda: world.get("m1", "ConfigMap", "shop", "conf"), "conf")
    path = world.path("ConfigMap", "shop", "conf")
    world.ask("m1", "PATCH", path, {"metadata": {"finalizers": ["example.com/never"]}}, "application/merge-patch+json")
    world.push({"apps/conf.json": None})
    world.until(lambda: "deletionTimestamp" in world.ask("m1", "GET", path)["metadata"], "it is going away")
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "conf") is None, "gone from m2")
    asked = len(daemon.said("object deleted"))
    world.push({"apps/extra.json": deployment("extra")})
    world.until(lambda: image(world, "extra", "m1"), "later work")
    time.sleep(2)
    assert len(daemon.said("object deleted")) - asked <= 1, "it is not deleted again and again"
    assert "conf" in inventory(world, "m1"), "what is still there is still ours"
    world.ask("m1", "PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    world.until(lambda: "conf" not in inventory(world, "m1"), "gone from the inventory")


def test_a_change_between_plan_and_write_is_seen_and_the_later_look_decides(world: World, faulty: Faulty) -> None:
    """The write waits in a slow server while somebody replaces the object by another of its name."""
    world.push({**BASE, **MAPS})
    world.daemon()
    world.until(lambda: world.get("m1", "ConfigMap", "shop", "conf"), "conf")
    world.until(lambda: '"conf"' in inventory(world, "m1") or "conf" in inventory(world, "m1"), "in the inventory")
    faulty.tell("m1", lambda f: f.slow(2.0, verb="patch", resource="configmaps", name="conf"))
    world.push({"apps/conf.json": config_map("conf", {"a": "2"})})
    time.sleep(0.7)
    path = world.path("ConfigMap", "shop", "conf")
    faulty.inside("m1", lambda m: m.api.delete("configmaps", "shop", "conf"))
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"whose": "theirs"}}
    world.ask("m1", "POST", world.path("ConfigMap", "shop"), foreign)
    world.until(lambda: (world.get("m2", "ConfigMap", "shop", "conf") or {}).get("data") == {"a": "2"}, "m2 has it")
    time.sleep(4)
    assert world.ask("m1", "GET", path)["data"] == {"whose": "theirs"}, "another object of that name is not ours"


def test_a_cluster_that_cuts_every_connection_catches_up(world: World, faulty: Faulty) -> None:
    world.push({**BASE})
    world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web")
    faulty.tell("m1", lambda f: f.down("reset"))
    world.push(APPS)
    world.until(lambda: whole(faulty, "m2"), "m2 goes on")
    faulty.tell("m1", lambda f: f.up())
    world.until(lambda: whole(faulty, "m1"), "m1 caught up")


def test_a_cache_that_cannot_be_written_only_makes_things_slower(world: World, faulty: Faulty) -> None:
    world.data.mkdir(parents=True)
    (world.data / "parse").write_text("a file where a folder has to be")
    world.push({**BASE, **APPS})
    daemon = world.daemon()
    world.until(lambda: whole(faulty, "m1") and whole(faulty, "m2"), "all there")
    warned = [line for line in daemon.lines() if "cache" in json.dumps(line)]
    assert 1 <= len(warned) <= 3, warned


def test_on_a_full_disk_nothing_is_done_that_cannot_be_recorded_and_nothing_is_lost(
    world: World, faulty: Faulty
) -> None:
    """No file of the daemon may grow beyond what a small record needs: eighty new decisions cannot be written down."""
    world.environment |= KEEP_NO_MODULES
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "the state is recorded")
    written = sorted(world.state())
    with full_disk(daemon):
        world.push(MANY)
        said = world.until(lambda: daemon.said("what is decided cannot be recorded: nothing new is done"), "said")
        assert "(make room in the data directory)" in said[0]["error"]
        names = [body["metadata"]["name"] for body in faulty.inside("m1", lambda m: m.api.list("deployments.apps"))]
        assert names == ["web"]
        assert sorted(world.state()) == written
        assert daemon.process.poll() is None, "it waits"
    world.until(lambda: whole(faulty, "m1") and whole(faulty, "m2"), "all well with room again")
    world.until(lambda: daemon.said("what is decided can be recorded again"), "said, too")
    assert not list((world.data / "clone.git").glob("fast_import_crash_*"))
    assert daemon.stop() == 0


def test_a_daemon_that_starts_on_a_full_disk_waits_for_room(world: World, faulty: Faulty) -> None:
    world.environment |= KEEP_NO_MODULES
    world.push({**BASE, **MANY})
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, old[1]))
    try:
        daemon = world.daemon()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    world.until(lambda: "make room in the data directory" in daemon.log_path.read_text(), "said")
    assert not whole(faulty, "m1")
    assert daemon.process.poll() is None, "it waits"
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, old)
    world.until(lambda: whole(faulty, "m1") and whole(faulty, "m2"), "all well with room")


def test_one_apply_on_a_full_disk_says_so_and_ends(world: World, faulty: Faulty) -> None:
    world.environment |= KEEP_NO_MODULES
    world.push({**BASE, **MANY})
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, old[1]))
    try:
        done = world.apply(check=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert (done.returncode, "hint: make room in the data directory" in done.stderr) == (4, True), done.stderr
    assert not whole(faulty, "m1")


KEEP_NO_MODULES = {"PYTHONDONTWRITEBYTECODE": "1"}
"""On a disk without room Python would keep half a module, and every later run would read it."""
MANY = {**APPS, **{f"apps/e{n}.json": deployment(f"e{n}") for n in range(60)}}
SMALL = 24 * 1024
"""bytes: enough for a log, too little for what is decided about so many objects"""


@contextmanager
def full_disk(daemon: Daemon) -> Iterator[None]:
    """A disk that the process and what it starts cannot write much to; afterwards there is room again."""
    old = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (SMALL, old[1]))
    try:
        yield
    finally:
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, old)
