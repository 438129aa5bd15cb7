"""Names that change, objects that one server alone refuses, servers that answer with nothing but errors."""

from __future__ import annotations

import json

import pytest

from tests.clusters.faulty import Faulty
from tests.e2e.shop import BASE, image, inventory
from tests.e2e.world import World, cluster, config_map, deployment, policy
from tests.support import needs

pytestmark = pytest.mark.e2e


CONF = {
    "apps/conf.json": config_map("conf", {"a": "1"}),
    "policies/conf.json": policy("conf", ["m1", "m2"], (("v1", "ConfigMap"),)),
}


def test_files_that_get_another_name_move_nothing_and_write_nothing(world: World) -> None:
    world.push({**BASE, **CONF})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.get("m2", "ConfigMap", "shop", "conf"), "conf, too")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "recorded")
    before = {kind: world.versions(kind, "shop", name) for kind, name in (("Deployment", "web"), ("ConfigMap", "conf"))}
    done = len(daemon.said("object configured")) + len(daemon.said("object deleted"))
    renamed = dict.fromkeys(("apps/web.json", "apps/conf.json", "policies/web.json", "policies/conf.json"))
    moved = {f"moved/{path}": text for path, text in {**BASE, **CONF}.items() if path in renamed}
    head = world.push({**renamed, **moved})
    world.until(lambda: head in world.state().get("state.yaml", ""), "the renaming commit is applied")
    world.push({"apps/later.json": deployment("later")})
    world.until(lambda: image(world, "later", "m1") and image(world, "later", "m2"), "later work")
    after = {kind: world.versions(kind, "shop", name) for kind, name in (("Deployment", "web"), ("ConfigMap", "conf"))}
    assert after == before
    assert len(daemon.said("object configured")) + len(daemon.said("object deleted")) == done


def test_a_cluster_that_gets_another_name_keeps_what_it_holds_and_is_told(world: World, faulty: Faulty) -> None:
    """`west` is declared instead of `m2`, and nothing reaches it: a slip of the pen."""
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: world.state().get("state.yaml", "").count("outcome: applied") == 2, "recorded of both")
    before = world.versions("Deployment", "shop", "web")
    renamed = {"clusters/m2.json": None, "clusters/west.json": cluster("west", region="us"),
               "policies/web.json": policy("web", ["m1", "west"])}  # fmt: skip
    world.push({**renamed, "apps/later.json": deployment("later")})
    world.until(lambda: image(world, "later", "m1"), "m1 goes on")
    world.until(lambda: [x for x in daemon.said("cluster cannot be used") if x["cluster"] == "west"], "west is unknown")
    assert world.versions("Deployment", "shop", "web") == before
    assert faulty.names("m2", namespace="shop") == ["web"], "it keeps what it holds"
    assert "web" in inventory(world, "m2")
    done = world.gitfed("plan", "--repo", str(world.bare), check=False)
    assert "warning: cluster m2 is no longer declared: 2 objects stay there untouched" in done.stderr


@needs.pushed("an agent's certificate names its cluster: under another name it registers anew")
def test_a_cluster_renamed_at_the_same_address_is_taken_over_without_a_gap(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "recorded")
    before = world.versions("Deployment", "shop", "web")
    west = json.loads(cluster("west", region="us"))
    west["metadata"]["annotations"] = {"gitfed.io/context": "m2"}
    head = world.push({"clusters/m2.json": None, "clusters/west.json": json.dumps(west),
                       "policies/web.json": policy("web", ["m1", "west"])})  # fmt: skip
    world.until(lambda: head in world.state().get("state.yaml", ""), "the renaming commit is applied")
    world.push({"apps/later.json": deployment("later")})
    world.until(lambda: image(world, "later", "m2"), "work goes on there")
    assert world.versions("Deployment", "shop", "web") == before
    assert len(daemon.said("cycle finished")) < 40, "what is as it should be is not written again and again"


OVERRIDE = json.dumps({
    "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
    "metadata": {"name": "odd-port", "namespace": "shop"},
    "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
             "overrideRules": [{"targetCluster": {"clusterNames": ["m1"]},
                                "overriders": {"plaintext": [
                                    {"path": "/spec/template/spec/containers/0/ports", "operator": "add",
                                     "value": [{"containerPort": 99999}]}]}}]},
})  # fmt: skip


def test_an_object_made_invalid_by_an_override_is_told_with_cluster_and_file(world: World) -> None:
    world.push({**BASE, "policies/odd.json": OVERRIDE, "apps/cache.json": deployment("cache")})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m2") and image(world, "cache", "m1"), "everything else goes on")
    said = world.until(lambda: daemon.said("change failed"), "the refusal is told")
    assert {(line["cluster"], line["object"]) for line in said} == {("m1", "Deployment.apps/shop/web")}
    assert "containerPort" in said[0]["error"]
    assert "as OverridePolicy/shop/odd-port made it, policies/odd.json:1:1" in said[0]["error"]
    assert world.get("m1", "Deployment", "shop", "web") is None
    assert daemon.stop() == 0
    done = world.apply("--timeout", "10s", check=False)
    assert done.returncode == 6
    assert "failed: m1: Deployment.apps/shop/web: " in done.stderr
    assert "policies/odd.json:1:1" in done.stderr
    world.push({"policies/odd.json": None})
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "without the override it is taken")


def test_a_server_that_answers_503_to_everything_from_the_start_delays_only_itself(
    world: World, faulty: Faulty
) -> None:
    faulty.tell("m1", lambda f: f.fail(503))
    world.push({**BASE, **CONF})
    daemon = world.daemon()
    world.until(lambda: image(world, "web", "m2") and world.get("m2", "ConfigMap", "shop", "conf"), "m2 has everything")
    said = world.until(lambda: daemon.said("cluster cannot be used"), "m1 is named")
    assert {line["cluster"] for line in said} == {"m1"}
    assert "unable to handle the request" in said[0]["error"]
    assert faulty.names("m1") == []
    faulty.tell("m1", lambda f: f.clear())
    world.until(lambda: image(world, "web", "m1") and world.get("m1", "ConfigMap", "shop", "conf"), "m1 caught up")


@pytest.mark.parametrize("verb", ["list", "patch", "get"])
def test_an_answer_that_is_cut_off_in_the_middle_loses_and_doubles_nothing(
    world: World, faulty: Faulty, verb: str
) -> None:
    """For a write: it was carried out, and nobody was told."""
    world.push(BASE)
    world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    faulty.tell("m1", lambda f: f.cut(verb=verb, times=4))
    many = {f"apps/n{n}.json": deployment(f"n{n}") for n in range(6)}
    world.push({**many, **CONF, "apps/web.json": deployment("web", image="nginx:1.28")})
    faulty.tell("m1", lambda f: f.drop_watches())
    wanted = sorted(["web", *(f"n{n}" for n in range(6))])
    for name in world.names:
        world.until(lambda name=name: faulty.names(name, namespace="shop") == wanted, f"all in {name}")
        world.until(lambda name=name: inside(faulty, name, "web") == "nginx:1.28", f"the new image in {name}")
        world.until(lambda name=name: "conf" in faulty.names(name, "configmaps", "shop"), f"conf in {name}")
    world.until(lambda: all(f"n{n}" in listed(faulty, "m1") for n in range(6)), "all in the inventory")


def listed(faulty: Faulty, cluster: str) -> str:
    return json.dumps(faulty.inside(cluster, lambda m: m.api.list("configmaps", "gitfed-system")))


def inside(faulty: Faulty, cluster: str, name: str) -> str:
    """The image of a Deployment, seen from within: who looks from outside would meet the fault."""
    body = faulty.inside(cluster, lambda m: m.api.get("deployments.apps", "shop", name))
    return str(body["spec"]["template"]["spec"]["containers"][0]["image"])


def test_a_daemon_whose_first_lists_are_cut_off_deletes_nothing(world: World, faulty: Faulty) -> None:
    world.push({**BASE, **CONF})
    first = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.until(lambda: "conf" in inventory(world, "m1"), "conf, too")
    assert first.stop() == 0
    before = world.versions("Deployment", "shop", "web")
    faulty.tell("m1", lambda f: f.cut(verb="list", times=3))
    again = world.daemon()
    world.push({"apps/later.json": deployment("later")})
    world.until(lambda: all("later" in faulty.names(name) for name in world.names), "later work")
    faulty.tell("m1", lambda f: f.clear())
    assert world.versions("Deployment", "shop", "web") == before
    assert again.said("object deleted") == []
