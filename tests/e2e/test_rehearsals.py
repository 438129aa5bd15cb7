"""What `gitfed simulate` foretells is what the daemon then decides, sentence for sentence but for times.

One cluster that dies is compared where failures are tested (`test_failover`); here are the other shapes: a taint that
a person sets, several clusters at once, and state that goes with the work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import worlds
from tests.e2e.failing import FAST, SOON, decided, files, plain, settled_in_m1
from tests.e2e.shop import image
from tests.e2e.world import World, cluster, deployment, settings

pytestmark = pytest.mark.e2e

_CLOCK = ("--until", "2m", "--healthy-after", "2s", "--cluster-failure-threshold", "600ms",
          "--cluster-success-threshold", "600ms", "-o", "json")  # fmt: skip


@pytest.fixture
def four(tmp_path: Path) -> Iterator[World]:
    """Half of them may be away before the daemon takes itself for cut off. Real servers would show nothing more."""
    with worlds.embedded(["m1", "m2", "m3", "m4"], tmp_path) as made:
        yield made


def foretold(world: World, *events: str) -> list[str]:
    told = json.loads(world.gitfed("simulate", "--repo", str(world.bare), *events, *_CLOCK).stdout)
    return [plain(one["text"]) for one in told["timeline"] if one["kind"] == "decision"]


def binding(world: World, name: str = "web") -> str:
    return world.state().get(f"bindings/shop/{name}-Deployment.apps.yaml", "")


def is_over(world: World) -> bool:
    """Nothing of the failover is left to be done or remembered."""
    recorded = binding(world)
    return "fromCluster" not in recorded and "released" not in recorded


def placed(name: str, clusters: list[str], **spec: Any) -> str:
    """One of these clusters."""
    return json.dumps({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            "placement": {
                "clusterAffinity": {"clusterNames": clusters},
                "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
            },
            **spec,
        },
    })  # fmt: skip


def test_a_rehearsed_taint_foretells_what_the_daemon_then_does(world: World) -> None:
    world.push(files())
    world.daemon(*FAST)
    settled_in_m1(world)
    told = foretold(world, "--taint", "cluster/m1:drain:NoExecute")
    before = len(decided(world))
    world.push({"clusters/m1.json": cluster("m1", taints=[{"key": "drain", "effect": "NoExecute"}])})
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    world.mark_available("m2", "shop", "web")
    world.until(lambda: world.get("m1", "Deployment", "shop", "web") is None, "the old copy is gone")
    world.until(lambda: is_over(world), "nothing is left to be remembered")
    done = [plain(line) for line in decided(world)[before:]]
    assert done == told
    assert "cluster m1 gets the taint drain:NoExecute (Cluster)" in told
    assert "Deployment.apps/shop/web has left m1: its copy there may go" in told


def test_a_simulation_of_clusters_failing_together_predicts_the_daemon(four: World) -> None:
    names = {"web": ["m1", "m3"], "api": ["m2", "m4"]}
    four.push({
        "gitfed.json": settings(**SOON),
        **{f"clusters/{name}.json": cluster(name) for name in four.servers},
        **{f"apps/{name}.json": deployment(name) for name in names},
        **{f"policies/{name}.json": placed(name, clusters) for name, clusters in names.items()},
    })  # fmt: skip
    four.daemon(*FAST)
    for name, clusters in names.items():
        four.until(lambda name=name, where=clusters[0]: image(four, name, where), f"{name} is there")
        four.mark_available(clusters[0], "shop", name)
    four.until(lambda: "appliedCommit" in four.state().get("state.yaml", ""), "it is recorded as applied")
    told = foretold(four, "--fail", "cluster/m1", "--fail", "cluster/m2", "--recover", "cluster/m1@1m",
                    "--recover", "cluster/m2@1m")  # fmt: skip
    before = len(decided(four))
    for name in ("m1", "m2"):
        four.servers[name].kill()
    for name, clusters in names.items():
        four.until(lambda name=name, where=clusters[1]: image(four, name, where), f"{name} has moved")
        four.mark_available(clusters[1], "shop", name)
    for name in names:
        four.until(lambda name=name: "gitfed.io/released" in binding(four, name), f"the eviction of {name} is over")
    for name in ("m1", "m2"):
        four.servers[name].start()
    for name in names:
        four.until(lambda name=name: "released" not in binding(four, name), f"the old copy of {name} is gone")
    done = [plain(line) for line in decided(four)[before:]]
    # Two clusters are hardly ever noticed in the same moment, so only what concerns one workload has an order.
    for name in names:
        about = f"Deployment.apps/shop/{name} "
        assert [line for line in done if line.startswith(about)] == [line for line in told if line.startswith(about)]
        assert [line for line in told if line.startswith(about)]
    for name in ("m1", "m2"):
        down = f"cluster {name} gets the taint cluster.karmada.io/unreachable:NoExecute (failover)"
        assert (done.count(down), told.count(down)) == (1, 1)


def test_a_rehearsal_with_state_that_goes_along_foretells_what_the_daemon_then_does(world: World) -> None:
    """The new copy waits until the old one is gone for sure, and gets what was known of it."""
    preserved = {"rules": [{"aliasLabelName": "ready", "jsonPath": "{.readyReplicas}"}]}
    policy = placed(
        "web", ["m1", "m2"], failover={"cluster": {"purgeMode": "Directly", "statePreservation": preserved}}
    )
    world.push({**files(), "policies/web.json": policy})
    world.daemon(*FAST)
    settled_in_m1(world)
    world.until(lambda: "gitfed.io/preserved-state" in binding(world), "its state is written down")
    told = foretold(world, "--fail", "cluster/m1", "--recover", "cluster/m1@1m")
    before = len(decided(world))
    world.servers["m1"].kill()
    world.until(lambda: "fromCluster: m1" in binding(world), "it leaves m1")
    assert image(world, "web", "m2") is None, "the old copy may still run"
    world.servers["m1"].start()
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    copy = world.get("m2", "Deployment", "shop", "web")
    assert copy is not None
    assert copy["metadata"]["labels"]["ready"] == "2"
    world.mark_available("m2", "shop", "web")
    world.until(lambda: is_over(world), "nothing is left to be remembered")
    world.until(lambda: "taints" not in world.state()["clusters/m1.yaml"], "the taint is gone")
    done = [plain(line) for line in decided(world)[before:]]
    # What the new copy says of its own state cannot be foretold; nor how often a server that starts is not ready yet.
    of_work = [line for line in done if not line.startswith("cluster ") and " in m2: state " not in line]
    assert of_work == [line for line in told if not line.startswith("cluster ")]
    assert "Deployment.apps/shop/web waits no longer for the deletion in m1: its new copy may start" in of_work
