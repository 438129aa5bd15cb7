"""`gitfed get --server`: what the hub tells is printed as what the repository and the clusters tell, byte for byte."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.world import gitfed
from tests.e2e.hub_port import listening_port
from tests.e2e.world import World, cluster, config_map, deployment, policy, settings
from tests.planning.hours import hours
from tests.support import patience, ports

pytestmark = pytest.mark.e2e

_QUOTA = {
    "apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
    "metadata": {"name": "budget", "namespace": "shop"},
    "spec": {"overall": {"requests.cpu": "8", "pods": "40"},
             "staticAssignments": [{"clusterName": "m1", "hard": {"requests.cpu": "4"}}]},
}  # fmt: skip
_ACCESS = {
    "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "ann"},
    "spec": {"subjects": [{"kind": "User", "name": "ann"}], "allow": ["view", "operate"]},
}  # fmt: skip
_ASKED = (
    ("get", "clusters"), ("get", "clusters", "-o", "wide"), ("get", "clusters", "m1"),
    ("get", "bindings"), ("get", "bindings", "-o", "wide"), ("get", "bindings", "deploy/shop/web"),
    ("get", "bindings", "-n", "shop", "-c", "m1"),
    ("get", "policies"),
    ("get", "works"), ("get", "works", "-c", "m2"), ("get", "orphans"),
    ("get", "quotas"), ("get", "quotas", "-c", "m1"), ("get", "autoscalers"), ("get", "autoscalers", "-n", "web"),
    ("get", "gates"), ("get", "events"), ("get", "events", "configmap/shop/c0", "deploy/shop/web"),
    ("explain", "deploy/shop/web"), ("explain", "configmap/c0", "-n", "shop", "-c", "m2"),
)  # fmt: skip


def _files() -> dict[str, str | None]:
    maps = {f"maps/{number}.json": config_map(f"c{number}", {"a": "b"}) for number in range(3)}
    return {
        "gitfed.json": settings(guards={"maxDeletions": 1}),
        "access.json": json.dumps(_ACCESS),
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "policies/web.json": policy("web", ["m1", "m2"]),
        "policies/maps.json": policy("maps", ["m1", "m2"], (("v1", "ConfigMap"),)),
        "apps/web.json": deployment("web"),
        "quota.json": json.dumps(_QUOTA),
        "hours.json": hours(("newyear", "0 0 1 1 *", 4)),
        **maps,
    }


def _credential(world: World, url: str) -> Path:
    done = gitfed("kubeconfig", "--admin", "--user", "ann", "--data-dir", world.data, "--hub-url", url)
    config = world.directory / "hub.conf"
    config.write_text(done.out)
    return config


def test_the_same_bytes_are_printed_with_and_without_server(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in world.environment.items():
        if name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            monkeypatch.setenv(name, value)
    world.push(_files())
    daemon = world.daemon("--hub-address", "0.0.0.0:0", "--interval", "1s")
    url = f"https://127.0.0.1:{listening_port(world, daemon)}"
    config = _credential(world, url)
    here = ("--repo", world.bare, "--kubeconfig", world.kubeconfig, "--live")
    there = ("--server", url, "--kubeconfig", config)

    def applied() -> bool:
        works = gitfed("get", "works", "-o", "json", *there)
        return works.code == 0 and {one["state"] for one in json.loads(works.out)["items"]} == {"applied"}

    world.until(applied, "all is applied")

    def alike(*asked: tuple[str, ...]) -> None:
        for one in asked:
            of_clusters = here if one[1] not in ("problems", "events") else here[:2]
            for words in (one, (*one, "-o", "json")) if "-o" not in one else (one,):
                world.until(lambda words=words, of=of_clusters: gitfed(*words, *there).out == gitfed(*words, *of).out,
                            f"the same of gitfed {' '.join(words)}")  # fmt: skip

    alike(*_ASKED)
    broken = config_map("c2", {"a": "b"}).replace("metadata", "metadta")
    world.push({"maps/0.json": None, "maps/1.json": None, "maps/2.json": broken})
    world.until(lambda: '"held": 4' in gitfed("get", "gates", "-o", "json", *there).out, "deletions are held")
    alike(("get", "gates"), ("get", "works"), ("get", "problems"), ("get", "problems", "-o", "wide"))
    given = gitfed("suspend", "cluster/m1", "--reason", "maintenance", *there)
    assert (given.code, given.out.partition(" since ")[0]) == (0, "cluster/m1 is suspended by ann"), given.err
    again = gitfed("resume", "cluster/m1", *there)
    assert again.out == f"cluster/m1 is resumed: it was {given.out.removeprefix('cluster/m1 is ')}"
    digest = json.loads(gitfed("get", "gates", "-o", "json", *there).out)["digest"]
    world.until(lambda: gitfed("approve", digest, *there).code == 0, "what is held was written down and is let through")
    world.until(lambda: world.get("m1", "ConfigMap", "shop", "c0") is None, "c0 is deleted")
    assert gitfed("reconcile", *there).out == "all will be reconciled.\n"
    said = [(one["what"], one["who"], one["result"]) for one in daemon.said("request") if one["result"] == "202"]
    assert said == [(f"POST /api/v1/{name}", "ann", "202") for name in ("suspend", "resume", "approve", "reconcile")]
    assert daemon.stop() == 0


def test_a_watch_outlasts_a_hub_that_is_killed_and_loses_no_change(world: World) -> None:
    world.push(_files())
    address = f"0.0.0.0:{ports.free_port()}"
    first = world.daemon("--hub-address", address)
    url = f"https://127.0.0.1:{listening_port(world, first)}"
    there = ("--server", url, "--kubeconfig", str(_credential(world, url)))
    world.until(lambda: gitfed("get", "policies", *there).code == 0, "the first commit is planned")
    printed = world.directory / "watched"
    with printed.open("wb") as out, (world.directory / "watch.err").open("wb") as err:
        watch = subprocess.Popen(
            [sys.executable, "-m", "gitfed", "get", "policies", "--watch", "-o", "json", *there],
            stdout=out, stderr=err, env=world.environment | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip

    def told() -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in printed.read_text().splitlines()]
        return [(one["type"], one["object"]["name"]) for one in lines]

    try:
        known = [("ADDED", "maps"), ("ADDED", "web")]
        world.until(lambda: told() == known, "what is there is told")
        world.push({"policies/one.json": policy("one", ["m1"], (("v1", "Service"),))})
        known.append(("ADDED", "one"))
        world.until(lambda: told() == known, "what is new is told")
        first.kill()
        world.push({"policies/one.json": None, "policies/two.json": policy("two", ["m2"], (("v1", "Service"),))})
        notes = world.directory / "watch.err"
        world.until(lambda: ": trying again" in notes.read_text(), "that the hub is away is said")
        second = world.daemon("--hub-address", address)
        known += [("ADDED", "two"), ("DELETED", "one")]
        world.until(lambda: told() == known, "what became different meanwhile is told, once")
        world.until(lambda: "is back" in notes.read_text(), "that the hub is back is said")
        watch.send_signal(signal.SIGINT)
        assert watch.wait(patience.SECONDS) == 130
        said = notes.read_text().splitlines()
        assert said[0].endswith(": trying again")
        assert said[1] == f"note: the hub at {url} is back"
        assert second.stop() == 0
    finally:
        watch.kill()
