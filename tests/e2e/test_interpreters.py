"""A kind of the user's own with rules of the user's own, from one push to every cluster."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.clusters.rest import RefusedError
from tests.e2e.world import World, cluster, settings

pytestmark = pytest.mark.e2e

GROUP = "workload.example.io"
PATH = f"/apis/{GROUP}/v1alpha1/namespaces/shop/workloads/web"

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

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
"""


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


def test_a_kind_with_its_own_script_is_divided_among_the_clusters(world: World) -> None:
    for name in ("m1", "m2"):
        world.ask(name, "POST", DEFINITIONS, DEFINITION)
    world.push({
        "gitfed.json": settings(),
        "clusters/m1.json": cluster("m1"), "clusters/m2.json": cluster("m2"),
        "policy.yaml": POLICY, "rules.yaml": RULES,
        "web.yaml": workload("nginx:1.27"),
    })  # fmt: skip
    world.daemon()
    for name in ("m1", "m2"):
        world.until(lambda name=name: arrived(world, name), f"the object in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
    world.push({"web.yaml": workload("nginx:1.28")})
    for name in ("m1", "m2"):
        world.until(lambda name=name: image_of(world, name) == "nginx:1.28", f"the new image in {name}")
    assert [spec_of(world, name)["replicas"] for name in ("m1", "m2")] == [2, 1]
