"""A failover whose daemon dies between a write and the note of it, whose record somebody edits, or that must not be."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import yaml

from tests.e2e.candidates import candidate
from tests.e2e.failing import FAST, ONE, SOON, binding, files, log, settled_in_m1
from tests.e2e.shop import image, inventory
from tests.e2e.world import World, deployment, policy, settings

pytestmark = pytest.mark.e2e

STATE = "bindings/shop/web-Deployment.apps.yaml"


def refuse(world: World, where: str, **match: str) -> None:
    """That cluster refuses such writes. A real server cannot be told to: there the moment is only met by luck."""
    server = world.servers[where]
    if hasattr(server, "tell"):
        server.tell(lambda faults: faults.fail(500, **match))


def heal(world: World, where: str) -> None:
    server = world.servers[where]
    if hasattr(server, "tell"):
        server.tell(lambda faults: faults.clear())


@pytest.mark.parametrize("step", ["announced", "made", "deleted", "forgotten"])
def test_kill_9_between_an_object_and_the_note_of_it_loses_neither(world: World, step: str) -> None:
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    if step == "announced":
        refuse(world, "m2", verb="patch", resource="deployments")
    world.servers["m1"].kill()
    world.until(lambda: "web" in inventory(world, "m2"), "web is announced in m2", 60)
    if step == "made":
        world.until(lambda: image(world, "web", "m2"), "web in m2", 60)
    if step in ("announced", "made"):
        daemon.kill()
        heal(world, "m2")
        world.daemon(*FAST)
    world.until(lambda: image(world, "web", "m2"), "web in m2", 60)
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over", 60)
    if step == "deleted":
        refuse(world, "m1", verb="patch", resource="configmaps")
    world.servers["m1"].start()
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone", 60)
    if step == "forgotten":
        world.until(lambda: "released" not in binding(world), "that is written down", 60)
    if step in ("deleted", "forgotten"):
        daemon.kill()
        heal(world, "m1")
        world.daemon(*FAST)
    world.until(lambda: "web" not in inventory(world, "m1"), "its entry is gone", 60)
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered", 60)
    world.until(lambda: "taints" not in world.state()["clusters/m1.yaml"], "the taint is gone", 60)
    assert image(world, "web", "m2")
    assert image(world, "web", "m1") is None
    assert "fromCluster" not in binding(world)
    assert log(world).count("web leaves m1") == 1, "it was decided once"


STATE_GOES_ALONG = {"cluster": {"purgeMode": "Directly", "statePreservation": {
    "rules": [{"aliasLabelName": "ready-before", "jsonPath": "{.readyReplicas}"}]}}}  # fmt: skip


def label(world: World, where: str) -> str | None:
    """What came with the work."""
    body = world.get(where, "Deployment", "shop", "web") or {}
    found: str | None = body.get("metadata", {}).get("labels", {}).get("ready-before")
    return found


@pytest.mark.parametrize("step", ["decided", "announced", "released"])
def test_kill_9_between_decision_and_writes_neither_loses_nor_keeps_a_label(world: World, step: str) -> None:
    quick = {"failover": {**SOON["failover"], "startWithoutConfirmation": True}}
    # Declared, so that it stays: no controller finishes the deletion of a namespace here.
    space = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    world.push({**files(failover=STATE_GOES_ALONG), "gitfed.json": settings(**quick), "spaces/shop.json": space})
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.until(lambda: "ready-before" in binding(world), "its state is written down while all is well")
    if step == "decided":
        refuse(world, "m2", resource="configmaps", namespace="gitfed-system", verb="patch")
        refuse(world, "m2", resource="configmaps", namespace="gitfed-system", verb="create")
        refuse(world, "m2", resource="configmaps", namespace="gitfed-system", verb="update")
    if step == "announced":
        refuse(world, "m2", verb="patch", resource="deployments")
    world.servers["m1"].kill()
    if step == "decided":
        world.until(lambda: "injected-labels" in binding(world), "it is decided that web goes to m2")
    if step == "announced":
        world.until(lambda: "web" in inventory(world, "m2"), "web is announced in m2")
    if step in ("decided", "announced"):
        daemon.kill()
        heal(world, "m2")
        daemon = world.daemon(*FAST)
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    assert label(world, "m2") == "2"
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "fromCluster" not in binding(world), "the failover is over")
    world.servers["m1"].start()
    world.until(lambda: image(world, "web", "m1") is None, "the old copy is gone")
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered")
    world.until(lambda: "taints" not in world.state()["clusters/m1.yaml"], "the taint is gone")
    assert label(world, "m2") == "2", "as long as the failover stands"
    if step == "released":
        refuse(world, "m1", verb="patch", resource="deployments")
    world.push({"policies/web.json": policy("web", ["m1"], placement=ONE, failover=STATE_GOES_ALONG)})
    if step == "released":
        world.until(lambda: "injected-labels" not in binding(world), "it is decided that the state does not go home")
        daemon.kill()
        heal(world, "m1")
        daemon = world.daemon(*FAST)
    world.until(lambda: image(world, "web", "m1"), "web is at home")
    assert label(world, "m1") is None
    world.mark_available("m1", "shop", "web")
    world.until(lambda: image(world, "web", "m2") is None, "and nowhere else")
    assert daemon.stop() == 0


def test_kill_9_during_the_deletion_of_an_old_object_deletes_it_once(world: World) -> None:
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    where = world.path("Deployment", "shop", "web")
    merge = "application/merge-patch+json"
    world.ask("m1", "PATCH", where, {"metadata": {"finalizers": ["example.com/slow"]}}, merge)
    world.servers["m1"].kill()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over")
    world.servers["m1"].start()

    def leaving() -> bool:
        body = world.get("m1", "Deployment", "shop", "web")
        return body is not None and "deletionTimestamp" in body["metadata"]

    world.until(leaving, "the old copy is being deleted")
    daemon.kill()
    daemon = world.daemon(*FAST)
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m2") == "nginx:1.28", "the daemon goes on")
    assert leaving(), "who wants something to be done first is waited for"
    assert "web" in inventory(world, "m1"), "it is not forgotten before it is gone"
    assert "gitfed.io/released: m1" in binding(world)
    world.ask("m1", "PATCH", where, {"metadata": {"finalizers": None}}, merge)
    world.until(lambda: "web" not in inventory(world, "m1"), "its entry is gone")
    world.until(lambda: "released" not in binding(world), "nothing is left to be remembered")
    assert image(world, "web", "m1") is None
    assert log(world).count("web leaves m1") == 1, "it was decided once"
    assert daemon.stop() == 0


@pytest.mark.parametrize("step", ["tainted", "left", "placed"])
def test_another_daemon_goes_on_with_a_failover_where_the_first_one_died(world: World, step: str) -> None:
    world.push(files())
    first = candidate(world, "git", 1, arguments=FAST)
    world.until(lambda: first.said("leading"), "the first leads")
    settled_in_m1(world)
    second = candidate(world, "git", 2, arguments=FAST)
    world.until(lambda: second.said("standing by while another daemon leads"), "the second stands by", 60)
    world.servers["m1"].kill()
    steps = {
        "tainted": lambda: "unreachable" in world.state().get("clusters/m1.yaml", ""),
        "left": lambda: "fromCluster: m1" in binding(world),
        "placed": lambda: image(world, "web", "m2"),
    }
    world.until(steps[step], step, 60)
    first.kill()
    world.until(lambda: second.said("leading"), "the second leads", 60)
    world.until(lambda: image(world, "web", "m2"), "web in m2", 60)
    world.mark_available("m2", "shop", "web")
    world.until(lambda: "gitfed.io/released: m1" in binding(world), "the eviction is over", 60)
    world.servers["m1"].start()
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone", 60)
    assert log(world).count("web leaves m1") == 1, "it was decided once"
    assert image(world, "web", "m2")
    assert second.stop() == 0


WRONG = [
    7,
    {"fromCluster": "nowhere", "purgeMode": "Never"},
    {"fromCluster": "m2", "purgeMode": "Directy", "creationTimestamp": "yesterday", "gracePeriodSeconds": "x",
     "suppressDeletion": "no", "preservedLabelState": ["job"], "clustersBeforeFailover": 3, "replicas": -1},
    {"fromCluster": "m2", "suppressDeletion": False},
]  # fmt: skip


def edited(world: World, tasks: list[Any]) -> bool:
    """Whether a person could push these tasks before the daemon wrote something else."""
    world.git("fetch", "-q", "origin", "gitfed/state")
    world.git("checkout", "-q", "-B", "edited", "FETCH_HEAD")
    document = yaml.safe_load((world.work / STATE).read_text())
    document["spec"]["gracefulEvictionTasks"] = tasks
    (world.work / STATE).write_text(yaml.safe_dump(document))
    world.git("commit", "-qam", "by hand")
    try:
        world.git("push", "-q", "origin", "HEAD:gitfed/state")
    except subprocess.CalledProcessError:
        return False
    finally:
        world.git("checkout", "-q", "main")
    return True


def test_eviction_tasks_written_wrongly_by_hand_move_nothing_and_are_reported(world: World) -> None:
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    world.until(lambda: edited(world, WRONG), "the daemon does not write in between")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the daemon goes on", 60)
    said = world.until(lambda: daemon.said("problem on the state branch"), "it is said", 60)
    where = f"gitfed/state:{STATE}: warning: spec.gracefulEvictionTasks"
    assert [line["problem"] for line in said[:6]] == [
        f"{where}[0]: not an object: no task",
        f"{where}[2].purgeMode: unknown mode Directy: Gracefully counts, did you mean Directly?",
        f"{where}[2].creationTimestamp: no time: it begins now",
        f"{where}[2].gracePeriodSeconds: not a number of seconds: failover.gracefulEvictionTimeout counts",
        f"{where}[2].suppressDeletion: neither true nor false: nothing is suppressed",
        f"{where}[3].fromCluster: m2 has a task already: the first counts",
    ]
    assert image(world, "web", "m2") is None
    assert daemon.stop() == 0


def test_a_cluster_that_says_it_is_well_and_fails_every_write_is_not_left(world: World) -> None:
    """What another cluster goes through meanwhile tells that there was time enough for it."""
    if not hasattr(world.servers["m1"], "tell"):
        pytest.skip("a real server cannot be told to fail")
    world.push(files())
    daemon = world.daemon(*FAST)
    settled_in_m1(world)
    for verb in ("create", "update", "patch", "delete"):
        refuse(world, "m1", verb=verb)
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    said = world.until(lambda: daemon.said("change failed"), "it is said", 60)
    assert (said[0]["cluster"], said[0]["object"]) == ("m1", "Deployment.apps/shop/web")
    world.servers["m2"].kill()
    world.until(lambda: "NoExecute" in world.state().get("clusters/m2.yaml", ""), "m2 is tainted", 60)
    assert "taints" not in world.state().get("clusters/m1.yaml", "")
    assert "fromCluster" not in binding(world)
    heal(world, "m1")
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "it arrives when it may", 60)
    assert daemon.stop() == 0
