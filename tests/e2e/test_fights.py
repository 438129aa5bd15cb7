"""Others who write what we write: named, answered, and not for ever."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tests.clusters.rest import RefusedError
from tests.e2e.shop import BASE, image
from tests.e2e.world import World, deployment, settings

pytestmark = pytest.mark.e2e


def scale(world: World, where: str, manager: str, replicas: int) -> None:
    path = world.path("Deployment", "shop", "web") + f"?fieldManager={manager}"
    world.ask(where, "PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")


def replicas(world: World, where: str) -> int:
    body = world.get(where, "Deployment", "shop", "web")
    return int(body["spec"]["replicas"]) if body is not None else -1


def test_drift_names_who_changed_which_field(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(sync={"selfHeal": False})})
    world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded")
    scale(world, "m1", "somebody", 9)

    def drift() -> list[tuple[str, str]]:
        done = world.gitfed("plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig),
                            "-o", "json")  # fmt: skip
        return [(c["action"], c["reason"]) for c in json.loads(done.stdout)["changes"] if c["drift"]]

    world.until(lambda: drift() == [("skip", "drift: changed by somebody, and selfHeal is off")], "the plan says who")
    assert replicas(world, "m1") == 9


def test_a_fight_is_reported_and_not_fought_for_ever(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded")
    over = threading.Event()

    def rival() -> None:
        while not over.is_set():
            try:
                if replicas(world, "m1") != 9:
                    scale(world, "m1", "rival", 9)
            except RefusedError:
                pass
            time.sleep(0.05)

    other = threading.Thread(target=rival)
    other.start()
    try:
        expected = (
            "rival changes /spec/replicas again and again: it was put back 5 times, the next time in an hour "
            "(gitfed.io/ignore-differences gives a field away)"
        )
        world.until(lambda: expected in [line.get("error") for line in daemon.said("change failed")], "reported")
        world.until(lambda: replicas(world, "m1") == 9, "left as it is")
        # A person's change is written at once.
        world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
        world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "a new commit")
    finally:
        over.set()
        other.join()


def test_what_a_cluster_missed_while_it_was_away_is_no_drift(world: World) -> None:
    world.push({**BASE, "gitfed.json": settings(sync={"selfHeal": False})})
    world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded")
    world.servers["m2"].kill()
    commit = world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.until(lambda: image(world, "web", "m1") == "nginx:1.28", "the push in m1")
    world.daemons[-1].kill()
    world.daemon()
    world.until(lambda: f"appliedCommit: {commit}" in world.state().get("state.yaml", ""), "recorded without m2")
    world.servers["m2"].start()
    world.until(lambda: image(world, "web", "m2") == "nginx:1.28", "m2 catches up")
