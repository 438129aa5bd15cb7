"""A push reaches the clusters, stays there, and what leaves the repository leaves them."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.e2e.shop import BASE, image, inventory
from tests.e2e.world import World, config_map, deployment, policy
from tests.support import patience

pytestmark = pytest.mark.e2e


def test_the_thread_push_applied_kill_restart_same(world: World) -> None:
    head = world.push(BASE)
    daemon = world.daemon()
    for name in world.names:
        world.until(lambda name=name: world.get(name, "Deployment", "shop", "web"), f"web in {name}")
        body = world.get(name, "Deployment", "shop", "web")
        assert body is not None
        assert body["metadata"]["labels"]["gitfed.io/federation"] == "acme"
        assert body["spec"]["replicas"] == 2
    world.until(lambda: head in world.state().get("state.yaml", ""), "the commit recorded as applied")
    before = world.versions("Deployment", "shop", "web")
    daemon.kill()
    again = world.daemon()
    world.until(lambda: again.said("cycle finished"), "a cycle after the restart")
    world.push({"apps/marker.json": deployment("marker")})
    world.until(lambda: image(world, "marker", "m2"), "a later push")
    assert world.versions("Deployment", "shop", "web") == before
    assert again.stop() == 0


def test_one_changed_image_reaches_both_clusters_and_touches_nothing_else(world: World) -> None:
    world.push({**BASE, "apps/cache.json": deployment("cache")})
    world.daemon()
    for name in world.names:
        world.until(lambda name=name: image(world, "web", name) and image(world, "cache", name), f"both in {name}")
    before = world.versions("Deployment", "shop", "cache")
    world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    for name in world.names:
        world.until(lambda name=name: image(world, "web", name) == "nginx:1.28", f"the new image in {name}")
    assert world.versions("Deployment", "shop", "cache") == before


def test_drift_is_repaired_and_others_fields_are_left_alone(world: World) -> None:
    world.push(BASE)
    daemon = world.daemon()
    world.until(lambda: daemon.said("object created") and image(world, "web", "m1"), "web in m1")
    patch = {"metadata": {"annotations": {"mine": "stays"}},
             "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "evil:1"}]}}}}  # fmt: skip
    world.ask("m1", "PATCH", world.path("Deployment", "shop", "web"), patch, "application/strategic-merge-patch+json")
    world.until(lambda: image(world, "web", "m1") == "nginx:1.27", "the image back")
    body = world.get("m1", "Deployment", "shop", "web")
    assert body is not None
    assert body["metadata"]["annotations"]["mine"] == "stays"


def test_an_object_that_somebody_deleted_comes_back(world: World) -> None:
    world.push({**BASE, "apps/conf.json": config_map("conf", {"a": "1"}),
                "policies/conf.json": policy("conf", ["m1"], (("v1", "ConfigMap"),))})  # fmt: skip
    world.daemon()
    first = world.until(lambda: world.get("m1", "ConfigMap", "shop", "conf"), "conf in m1")
    world.ask("m1", "DELETE", world.path("ConfigMap", "shop", "conf"))
    second = world.until(lambda: world.get("m1", "ConfigMap", "shop", "conf"), "conf back in m1")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_what_leaves_the_repository_leaves_the_clusters_and_the_inventory(world: World) -> None:
    world.push({**BASE, "apps/conf.json": config_map("conf", {"a": "1"}),
                "policies/conf.json": policy("conf", ["m1", "m2"], (("v1", "ConfigMap"),))})  # fmt: skip
    world.daemon()
    for name in world.names:
        world.until(lambda name=name: world.get(name, "ConfigMap", "shop", "conf"), f"conf in {name}")
    world.push({"apps/conf.json": None})
    for name in world.names:
        world.until(lambda name=name: world.get(name, "ConfigMap", "shop", "conf") is None, f"conf gone from {name}")
        world.until(lambda name=name: "conf" not in inventory(world, name), f"conf gone from the inventory of {name}")
    assert image(world, "web", "m1") == "nginx:1.27"


def test_a_move_keeps_the_old_copy_until_the_new_one_is_healthy(world: World) -> None:
    world.push({**BASE, "policies/web.json": policy("web", ["m1"])})
    world.daemon()
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    world.mark_available("m1", "shop", "web")
    world.push({"policies/web.json": policy("web", ["m2"])})
    world.until(lambda: image(world, "web", "m2"), "web in m2")
    assert image(world, "web", "m1") is not None
    plan = world.gitfed("plan", "--repo", str(world.bare), "--live", "--kubeconfig", str(world.kubeconfig), check=False)
    assert "stays until m2 is healthy" in plan.stdout
    world.mark_available("m2", "shop", "web")
    world.until(lambda: image(world, "web", "m1") is None, "web gone from m1")


def test_karmadas_own_sample_works_unmodified(world: World) -> None:
    world.push(
        {
            **BASE,
            "samples/nginx/deployment.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx
  labels:
    app: nginx
spec:
  replicas: 2
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - image: nginx
        name: nginx
""",
            "samples/nginx/propagationpolicy.yaml": """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: nginx-propagation
  namespace: default
spec:
  resourceSelectors:
    - apiVersion: apps/v1
      kind: Deployment
      name: nginx
  placement:
    clusterAffinity:
      clusterNames:
        - m1
        - m2
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        staticWeightList:
          - targetCluster:
              clusterNames:
                - m1
            weight: 1
          - targetCluster:
              clusterNames:
                - m2
            weight: 1
""",
            "samples/nginx/overridepolicy.yaml": """\
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata:
  name: nginx-override
  namespace: default
spec:
  resourceSelectors:
    - apiVersion: apps/v1
      kind: Deployment
      name: nginx
  overrideRules:
    - targetCluster:
        clusterNames:
          - m2
      overriders:
        imageOverrider:
          - component: Registry
            operator: replace
            value: mirror.example
""",
        }
    )
    world.apply()
    found = {}
    for name in world.names:
        body = world.get(name, "Deployment", "default", "nginx")
        assert body is not None
        found[name] = (body["spec"]["replicas"], body["spec"]["template"]["spec"]["containers"][0]["image"])
    assert found == {"m1": (1, "nginx"), "m2": (1, "mirror.example/nginx")}


def test_a_definition_and_its_objects_arrive_in_one_commit(world: World) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
                 "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp"},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": {"type": "object",
                                                              "x-kubernetes-preserve-unknown-fields": True}}}]},
    }  # fmt: skip
    everything = {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "lamps"},
        "spec": {"resourceSelectors": [
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": "lamps.example.com"},
            {"apiVersion": "example.com/v1", "kind": "Lamp"}], "placement": {}},
    }  # fmt: skip
    lamp = {
        "apiVersion": "example.com/v1",
        "kind": "Lamp",
        "metadata": {"name": "desk", "namespace": "shop"},
        "spec": {"on": True},
    }
    world.push({**BASE, "crd.yaml": yaml.safe_dump(definition), "policies/lamps.yaml": yaml.safe_dump(everything),
                "lamp.yaml": yaml.safe_dump(lamp)})  # fmt: skip
    world.daemon()
    path = "/apis/example.com/v1/namespaces/shop/lamps/desk"
    for name in world.names:
        world.until(lambda name=name: _found(world, name, path), f"the lamp in {name}")


def test_a_daemon_says_when_it_lives_and_when_it_is_ready(world: World) -> None:
    from urllib.request import urlopen

    world.push(BASE)
    daemon = world.daemon()
    port = world.until(lambda: [line["health"] for line in daemon.said("gitfed runs")], "the health port")[0]
    world.until(lambda: image(world, "web", "m1"), "web in m1")
    for path in ("livez", "healthz", "readyz"):
        with urlopen(f"http://127.0.0.1:{port}/{path}", timeout=patience.SECONDS) as answer:
            assert answer.read() == b"ok\n"
    assert {"ts", "level", "logger", "msg"} <= daemon.lines()[0].keys()


def _found(world: World, name: str, path: str) -> bool:
    return world.endpoints[name].answers(path)


def test_a_plan_shows_changes_when_credentials_resolve(world: World) -> None:
    world.push(BASE)
    without = json.loads(world.gitfed("plan", "-o", "json").stdout)
    assert without["changes"] == []
    assert "not observed" in world.gitfed("plan").stdout
    known = json.loads(world.gitfed("plan", "--kubeconfig", str(world.kubeconfig), "-o", "json").stdout)
    made = {(change["cluster"], change["kind"], change["action"]) for change in known["changes"]}
    assert made == {(name, kind, "create") for name in world.names for kind in ("Namespace", "Deployment")}
    world.apply()
    after = world.gitfed("plan", "--kubeconfig", str(world.kubeconfig))
    assert after.stdout.count("\n") == 1, "nothing to do is one sentence"
