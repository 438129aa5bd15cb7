"""A kind of the user's own with rules of the user's own, from one push to every cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.clusters.rest import RefusedError
from tests.e2e.world import World, cluster, config_map, policy, settings

pytestmark = pytest.mark.e2e

GROUP = "workload.example.io"
PATH = f"/apis/{GROUP}/v1alpha1/namespaces/shop/workloads/web"

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"workloads.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced",
             "names": {"plural": "workloads", "singular": "workload", "kind": "Workload"},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True,
                           "schema": {"openAPIV3Schema": {"type": "object",
                                                          "x-kubernetes-preserve-unknown-fields": True}}}]},
}  # fmt: skip

POLICY = f"""
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {{name: workloads}}
spec:
  resourceSelectors:
  - {{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: workloads.{GROUP}}}
  - {{apiVersion: {GROUP}/v1alpha1, kind: Workload}}
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {{targetCluster: {{clusterNames: [m1]}}, weight: 2}}
        - {{targetCluster: {{clusterNames: [m2]}}, weight: 1}}
"""

RULES = f"""
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {{name: workloads}}
spec:
  target: {{apiVersion: {GROUP}/v1alpha1, kind: Workload}}
  customizations:
    replicaResource:
      luaScript: |
        local kube = require("kube")
        function GetReplicas(obj)
          return obj.spec.replicas, kube.accuratePodRequirements(obj.spec.template)
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, desiredReplica)
          obj.spec.replicas = desiredReplica
          return obj
        end
    retention:
      luaScript: |
        function Retain(desiredObj, observedObj)
          desiredObj.spec.paused = observedObj.spec.paused
          return desiredObj
        end
"""
BROKEN = RULES.replace("observedObj.spec.paused", "observedObj.spec.nothing.paused")


def workload(image: str) -> str:
    spec = {"containers": [{"name": "main", "image": image, "resources": {"requests": {"cpu": "100m"}}}]}
    return yaml.safe_dump(
        {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "Workload",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": 3, "paused": False, "template": {"spec": spec}},
        }
    )


def spec_of(world: World, name: str) -> dict[str, Any]:
    return dict(world.ask(name, "GET", PATH)["spec"])


def arrived(world: World, name: str) -> bool:
    try:
        return bool(spec_of(world, name))
    except RefusedError as error:
        if ": 404 " in str(error):
            return False
        raise


def image_of(world: World, name: str) -> Any:
    return spec_of(world, name)["template"]["spec"]["containers"][0]["image"]


def workload_repository(rules: str = RULES) -> dict[str, str]:
    """All that one push needs to bring: the definition too."""
    return {
        "gitfed.json": settings(),
        "clusters/m1.json": cluster("m1"), "clusters/m2.json": cluster("m2"),
        "definition.json": json.dumps(DEFINITION), "policy.yaml": POLICY, "rules.yaml": rules,
        "web.yaml": workload("nginx:1.27"),
    }  # fmt: skip


def pause(world: World, name: str) -> None:
    """What an operator does in one member, with any tool that patches."""
    patch = {"spec": {"paused": True}}
    world.ask(name, "PATCH", PATH + "?fieldManager=operator", patch, "application/merge-patch+json")


def test_one_push_brings_a_kind_with_its_rules_and_a_members_fields_are_retained(
    world: World,
) -> None:
    world.push(workload_repository())
    world.daemon()
    for name in ("m1", "m2"):
        world.until(lambda name=name: arrived(world, name), f"the object in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    pause(world, "m1")
    world.push({"web.yaml": workload("nginx:1.28")})
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [True, False]
    left = world.gitfed("diff", "--live", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig))
    assert left.stdout == ""


def test_a_rule_that_fails_writes_nothing_and_everything_else_goes_on(world: World) -> None:
    world.push(workload_repository())
    daemon = world.daemon()
    for name in ("m1", "m2"):
        world.until(lambda name=name: arrived(world, name), f"the object in {name}")
    pause(world, "m2")
    world.push({
        "rules.yaml": BROKEN, "web.yaml": workload("nginx:1.28"),
        "other.json": config_map("other", {"a": "b"}), "others.json": policy("others", None, (("v1", "ConfigMap"),)),
    })  # fmt: skip
    world.until(lambda: world.get("m1", "ConfigMap", "shop", "other"), "another object of the same push")
    assert [image_of(world, name) for name in ("m1", "m2")] == ["nginx:1.27"] * 2
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [False, True]
    shown = world.gitfed("plan", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "--live").stdout
    assert "workloads:2: attempt to index field 'nothing' (a nil value)" in shown
    world.push({"rules.yaml": RULES})
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert [spec_of(world, name)["paused"] for name in ("m1", "m2")] == [False, True]
    assert daemon.process.poll() is None


HEALTH = """    healthInterpretation:
      luaScript: |
        function InterpretHealth(observedObj)
          return observedObj.status ~= nil and observedObj.status.ready
        end
"""


def test_apply_waits_for_what_the_script_of_a_kind_calls_healthy(world: World) -> None:
    """The object has no condition that anybody else could read."""
    world.push(workload_repository(RULES + HEALTH))
    done = world.apply("--wait", "--timeout", "12s", check=False)
    assert done.returncode == 6
    assert f"m1: Workload.{GROUP}/shop/web: not healthy, says the customization" in done.stdout + done.stderr
    for name in ("m1", "m2"):
        world.ask(name, "PATCH", PATH, {"status": {"ready": True}}, "application/merge-patch+json")
    assert world.apply("--wait", "--timeout", "30s", check=False).returncode == 0
    world.ask("m2", "PATCH", PATH, {"status": {"ready": False}}, "application/merge-patch+json")
    listed = world.gitfed(
        "get", "works", "--live", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "-o", "json"
    ).stdout
    health = {row["cluster"]: (row["health"], row["message"]) for row in json.loads(listed)["items"]
              if row["kind"] == "Workload"}  # fmt: skip
    assert health == {"m1": ("Current", "healthy"), "m2": ("InProgress", "not healthy, says the customization")}
    listed = world.gitfed(
        "get", "bindings", "--live", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "-o", "wide"
    ).stdout
    (line,) = (line for line in listed.splitlines() if "Workload" in line and "web" in line)
    assert "2/2   " in line
    assert "1/2 " in line
    assert "m2: not healthy, says the customization" in line
