"""A kind of a project of our own, with its rules."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.clusters.rest import RefusedError
from tests.e2e.world import World, cluster, settings

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
