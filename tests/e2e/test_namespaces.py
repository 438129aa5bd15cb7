"""Namespaces: before their content, and away only when nothing of anybody is left in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.looking import looked
from tests.e2e.shop import BASE, image
from tests.e2e.world import World, config_map, deployment, policy, settings

pytestmark = pytest.mark.e2e


def namespace(name: str, **labels: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def there(world: World, where: str, name: str) -> bool:
    body = world.get(where, "Namespace", "", name)
    return body is not None and body.get("status", {}).get("phase") != "Terminating"


def theirs(world: World, where: str, space: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": space}}
    world.ask(where, "POST", world.path("ConfigMap", space), body)


def test_a_namespace_goes_after_its_content_and_never_with_somebody_elses(world: World) -> None:
    apps: dict[str, Any] = {
        "apps/a.json": config_map("a", {"k": "1"}, namespace="lab"),
        "policies/a.json": policy("a", ["m1", "m2"], (("v1", "ConfigMap"),), namespace="lab"),
    }
    world.push({**BASE, **apps, "spaces/lab.json": namespace("lab")})
    daemon = world.daemon()
    world.until(lambda: all(world.get(n, "ConfigMap", "lab", "a") for n in world.names), "content in lab")
    theirs(world, "m2", "lab")
    world.push({**dict.fromkeys(apps), "spaces/lab.json": None})
    world.until(lambda: all(world.get(n, "ConfigMap", "lab", "a") is None for n in world.names), "the content is gone")
    world.until(lambda: not there(world, "m1", "lab"), "lab is gone in m1")
    said = world.until(
        lambda: [one for one in daemon.said("object skipped") if one["object"] == "Namespace/lab"], "m2 keeps it"
    )
    assert said[0]["cluster"] == "m2"
    assert said[0]["reason"] == "stays: ConfigMap/theirs is still in it"
    assert there(world, "m2", "lab")
    assert world.get("m2", "ConfigMap", "lab", "theirs") is not None
    world.until(lambda: "in use: 1" in world.state()["state.yaml"], "the record says that it is held, not applied")
    totals, changes = looked(world)
    assert (totals["delete"], totals["keep"]) == (0, 1)
    assert [(one["cluster"], one["action"], one["reason"], one["reasonCode"]) for one in changes] == [
        ("m2", "keep", "stays: ConfigMap/theirs is still in it", "InUseByOthers")
    ]
    world.ask("m2", "DELETE", world.path("ConfigMap", "lab", "theirs"))
    world.until(lambda: not there(world, "m2", "lab"), "lab is gone in m2 too")
    world.until(lambda: "in use" not in world.state()["state.yaml"], "nothing is held any more")


def test_a_namespace_that_nobody_declared_leaves_with_the_last_object(world: World) -> None:
    world.push(BASE)
    world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web everywhere")
    world.push({"policies/web.json": policy("web", ["m2"])})
    world.mark_available("m2", "shop", "web")
    world.until(lambda: image(world, "web", "m1") is None, "web left m1")
    world.until(lambda: not there(world, "m1", "shop"), "its namespace too")
    assert there(world, "m2", "shop")


def test_which_namespaces_go_everywhere_and_which_do_not(world: World) -> None:
    skipping = settings(namespaces={"autoPropagate": True, "skip": ["kube-.*", "team-.*"]})
    placed = json.loads(policy("spaces", ["m1"], (("v1", "Namespace"),)))
    placed = {**placed, "kind": "ClusterPropagationPolicy", "metadata": {"name": "spaces"}}
    placed["spec"]["resourceSelectors"][0]["name"] = "placed"
    override = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": {"name": "tier"},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Namespace"}],
                 "overrideRules": [{"overriders": {"labelsOverrider": [{"operator": "add", "value": {"tier": "x"}}]}}]},
    }  # fmt: skip
    world.push({
        **BASE, "gitfed.json": skipping, "policies/spaces.json": json.dumps(placed),
        "policies/tier.json": json.dumps(override), "spaces/a.json": namespace("everywhere"),
        "spaces/b.json": namespace("placed", **{"namespace.karmada.io/skip-auto-propagation": "true"}),
        "spaces/c.json": namespace("nowhere", **{"namespace.karmada.io/skip-auto-propagation": "TRUE"}),
        "spaces/d.json": namespace("team-x"),
    })  # fmt: skip
    world.daemon()
    world.until(lambda: there(world, "m1", "placed") and there(world, "m2", "everywhere"), "those that go")
    world.push({"apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m2"), "a later push")
    for where in world.names:
        assert there(world, where, "everywhere")
        assert not there(world, where, "nowhere")
        assert not there(world, where, "team-x")
    assert not there(world, "m2", "placed")
    body = world.get("m2", "Namespace", "", "everywhere")
    assert body is not None
    assert body["metadata"]["labels"]["tier"] == "x"
