"""A workload of several pod templates: its components flow from its interpreter into plan, capacity and quota."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.e2e.world import World, cluster, settings

pytestmark = pytest.mark.e2e

FLINK = """
apiVersion: flink.apache.org/v1beta1
kind: FlinkDeployment
metadata: {name: app, namespace: shop}
spec:
  image: flink:1.20
  flinkVersion: v1_20
  flinkConfiguration: {taskmanager.numberOfTaskSlots: "1"}
  jobManager: {replicas: 1, resource: {cpu: 1, memory: 1024m}}
  taskManager: {replicas: 1, resource: {cpu: 2, memory: 2048m}}
  job: {jarURI: "local:///app.jar", parallelism: 1}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: flink, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: flink.apache.org/v1beta1, kind: FlinkDeployment}]
  placement:
    clusterAffinity: {clusterNames: [m1, m2]}
    spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}
"""
QUOTA = """
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: shop, namespace: shop}
spec: {overall: {cpu: "%s", memory: "%s"}}
"""


def facts(name: str, cpu: str, memory: str) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "apiEnablements": [{"groupVersion": "flink.apache.org/v1beta1",
                                "resources": [{"kind": "FlinkDeployment", "name": "flinkdeployments"}]}],
            "resourceSummary": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "100"},
                                "allocated": {"cpu": "0", "memory": "0", "pods": "0"}},
        },
    }  # fmt: skip


def planned(world: World, quota: tuple[str, str], rooms: dict[str, tuple[str, str]]) -> dict[str, Any]:
    world.push({
        "gitfed.json": settings(), "clusters/m1.json": cluster("m1"), "clusters/m2.json": cluster("m2"),
        "flink.yaml": FLINK, "policy.yaml": POLICY, "quota.yaml": QUOTA % quota,
    })  # fmt: skip
    fleet = world.directory / "fleet.yaml"
    fleet.write_text(yaml.safe_dump_all([facts(name, *room) for name, room in rooms.items()]))
    done = world.gitfed("plan", "--fleet", str(fleet), "-o", "json", check=False)
    return dict(json.loads(done.stdout))


def of_flink(plan: dict[str, Any]) -> dict[str, Any]:
    (found,) = [one for one in plan["bindings"] if one["resource"]["kind"] == "FlinkDeployment"]
    return dict(found)


ROOMY = {"m1": ("2", "64Gi"), "m2": ("8", "64Gi")}


def test_two_components_go_where_all_of_them_fit_and_are_counted_by_the_quota(world: World) -> None:
    """Karmada v1.15's example: a jobManager of 1 cpu and 1024m beside a taskManager of 2 cpu and 2048m."""
    found = of_flink(planned(world, ("3", "3072m"), ROOMY))
    components = {
        part["name"]: (part["replicas"], part["replicaRequirements"]["resourceRequest"]) for part in found["components"]
    }
    assert components == {
        "jobmanager": (1, {"cpu": "1", "memory": "1024m"}), "taskmanager": (1, {"cpu": "2", "memory": "2048m"})
    }  # fmt: skip
    assert [(one["name"], sorted(part["name"] for part in one["components"])) for one in found["clusters"]] == [
        ("m2", ["jobmanager", "taskmanager"])
    ]
    assert found["condition"]["status"] == "True"


@pytest.mark.parametrize("quota", [("2999m", "3072m"), ("3", "3000m")])
def test_a_quota_that_one_component_alone_would_pass_refuses_both(world: World, quota: tuple[str, str]) -> None:
    found = of_flink(planned(world, quota, ROOMY))
    assert found["clusters"] == []
    assert found["condition"]["reason"] == "QuotaExceeded"


def test_where_no_cluster_holds_all_components_none_is_chosen(world: World) -> None:
    found = of_flink(planned(world, ("9", "9Gi"), {"m1": ("2", "64Gi"), "m2": ("2", "64Gi")}))
    assert (found["clusters"], found["condition"]["status"]) == ([], "False")
