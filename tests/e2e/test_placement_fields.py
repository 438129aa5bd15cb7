"""Each field of a placement, from a push to the copies in the clusters: one fleet, one daemon, a namespace per case.

m1 and m2 are in the region eu, m3 is in us, has neither zone nor provider, and is tainted. Cases that go by room ask
for a resource of their own, so that none takes another's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from tests.e2e.node_facts import MERGE, asking, shown
from tests.e2e.world import World, cluster, deployment, policy, settings

pytestmark = pytest.mark.e2e

CLUSTERS = {
    "m1": {"region": "eu", "zones": ["eu-a"], "provider": "one"},
    "m2": {"region": "eu", "zones": ["eu-b"], "provider": "two"},
    "m3": {"region": "us", "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]},
}
TIERS = {"m1": "gold", "m2": "silver", "m3": "gold"}
ROOM = {
    "m1": {"dynamic": 2, "aggregated": 4, "overflow": 4, "moves": 4, "urgent": 3, "one": 3, "two": 5},
    "m2": {"dynamic": 4, "aggregated": 8, "overflow": 8, "moves": 100, "one": 9, "two": 6},
    "m3": {"two": 1},
}
"""Amounts of `example.com/<name>` on the one node of a cluster."""
TOLERANT = {"clusterTolerations": [{"key": "dedicated", "operator": "Exists"}]}


def affinity(**wanted: Any) -> dict[str, Any]:
    return {"clusterAffinity": wanted}


def fields(key: str, operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": key, "operator": operator, "values": list(values)}
    return affinity(fieldSelector={"matchExpressions": [expression]})


def groups(*terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"clusterAffinities": [{"affinityName": f"g{number}", **term} for number, term in enumerate(terms)]}


def tolerating(**toleration: str) -> dict[str, Any]:
    return {"clusterTolerations": [toleration]}


def spread(*constraints: tuple[str, int, int]) -> dict[str, Any]:
    return {
        "spreadConstraints": [
            {"spreadByField": name, "minGroups": least, **({"maxGroups": most} if most else {})}
            for name, least, most in constraints
        ]
    }


def divided(**how: Any) -> dict[str, Any]:
    return {"replicaScheduling": {"replicaSchedulingType": "Divided", **how}}


def weights(**of: int) -> dict[str, Any]:
    listed = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in of.items()]
    return divided(replicaDivisionPreference="Weighted", weightPreference={"staticWeightList": listed})


DYNAMIC = divided(weightPreference={"dynamicWeight": "AvailableReplicas"})
AGGREGATED = divided(replicaDivisionPreference="Aggregated")
BOTH = {"m1": 2, "m2": 2}


@dataclass(frozen=True)
class Case:
    placement: Mapping[str, Any]
    expected: Mapping[str, int]
    replicas: int = 2
    asks: str = ""
    """The resource of which each replica wants one."""
    spec: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "no affinity is every cluster": Case({}, BOTH),
    "clusters by name": Case(affinity(clusterNames=["m2", "nobody"]), {"m2": 2}),
    "all but some": Case({**affinity(exclude=["m1"]), **TOLERANT}, {"m2": 2, "m3": 2}),
    "clusters by label": Case(
        {**affinity(labelSelector={"matchLabels": {"tier": "gold"}}), **TOLERANT}, {"m1": 2, "m3": 2}
    ),
    "clusters by label expression": Case(
        affinity(labelSelector={"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}),
        {"m2": 2},
    ),
    "clusters by region": Case({**fields("region", "In", "us"), **TOLERANT}, {"m3": 2}),
    "clusters by provider which need not be known": Case(
        {**fields("provider", "NotIn", "one"), **TOLERANT}, {"m2": 2, "m3": 2}
    ),
    "clusters by zone": Case(fields("zone", "In", "eu-b", "us-a"), {"m2": 2}),
    "the first group that fits": Case(groups({"clusterNames": ["m2"]}, {"clusterNames": ["m1"]}), {"m2": 2}),
    "the next group when none of the first fits": Case(
        groups({"clusterNames": ["m3"]}, {"clusterNames": ["m1"]}), {"m1": 2}
    ),
    "what overflows goes on": Case(
        {
            **groups(
                {"clusterNames": ["m1"], "overflowAffinities": [{"affinityName": "more", "clusterNames": ["m2"]}]}
            ),
            **AGGREGATED,
        },
        {"m1": 4, "m2": 2},
        6,
        "overflow",
    ),
    "a toleration by value": Case(
        tolerating(key="dedicated", operator="Equal", value="gpu", effect="NoSchedule"), {**BOTH, "m3": 2}
    ),
    "a toleration of something else": Case(tolerating(key="dedicated", operator="Equal", value="cpu"), BOTH),
    "a toleration of everything": Case(tolerating(operator="Exists"), {**BOTH, "m3": 2}),
    "one cluster, the roomiest": Case({**spread(("cluster", 1, 1)), **DYNAMIC}, {"m2": 2}, 2, "one"),
    "two clusters of three": Case({**spread(("cluster", 2, 2)), **DYNAMIC, **TOLERANT}, BOTH, 4, "two"),
    "static weights switch spreading off": Case(
        {**spread(("cluster", 2, 2)), **weights(m1=1, m2=1, m3=1), **TOLERANT}, {"m1": 1, "m2": 1, "m3": 1}, 3
    ),
    "two regions": Case({**spread(("region", 2, 2), ("cluster", 2, 0)), **TOLERANT}, {**BOTH, "m3": 2}),
    "one region": Case({**spread(("region", 1, 1), ("cluster", 1, 5)), **TOLERANT}, BOTH),
    "zones must be known": Case({**spread(("zone", 1, 0), ("cluster", 1, 0)), **TOLERANT}, BOTH),
    "the provider must be known": Case({**spread(("provider", 1, 0), ("cluster", 1, 0)), **TOLERANT}, BOTH),
    "spreading by label does nothing": Case({"spreadConstraints": [{"spreadByLabel": "tier"}]}, BOTH),
    "copied to each": Case({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, BOTH),
    "divided and nothing else is said": Case({"replicaScheduling": {}}, {"m1": 3, "m2": 3}, 6),
    "divided by equal weights": Case(divided(weightPreference={}), {"m1": 3, "m2": 3}, 6),
    "divided by weights": Case(weights(m1=1, m2=2), {"m1": 2, "m2": 4}, 6),
    "divided by room": Case(DYNAMIC, {"m1": 1, "m2": 2}, 3, "dynamic"),
    "in as few clusters as possible": Case(AGGREGATED, {"m2": 5}, 5, "aggregated"),
}
"""Their names are the test ids, and with dashes their namespaces."""


def space_of(name: str) -> str:
    return name.replace(",", "").replace(" ", "-")


def files(name: str, case: Case) -> dict[str, str]:
    space = space_of(name)
    body = json.loads(asking("web", case.replicas, {f"example.com/{case.asks}": "1"} if case.asks else {}))
    if case.asks:  # what is no resource of Kubernetes itself is given whole: a limit, and the same request
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["resources"]["limits"] = container["resources"]["requests"]
    body["metadata"]["namespace"] = space
    return {
        f"{space}/web.json": json.dumps(body),
        f"{space}/policy.json": policy("web", None, namespace=space, placement=dict(case.placement), **case.spec),
    }


def add_room(world: World, where: str) -> None:
    name = f"{where}-node"
    world.ask(where, "POST", "/api/v1/nodes", {"metadata": {"name": name}})
    world.ask(where, "PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, MERGE)
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "1000"}
    amounts |= {f"example.com/{resource}": str(amount) for resource, amount in ROOM[where].items()}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    world.ask(where, "PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)


def labelled(name: str) -> str:
    body = json.loads(cluster(name, **CLUSTERS[name]))
    body["metadata"]["labels"] = {"tier": TIERS[name]}
    return json.dumps(body)


@pytest.fixture(scope="module")
def fleet(three: World) -> World:
    """Everything is pushed at once, and a daemon is at work."""
    for name in three.names:
        add_room(three, name)
    three.push(
        {
            # Grades of nodes know cpu and memory only; room for anything else is none (Karmada: scheduling §5.2).
            "gitfed.json": settings(
                featureGates={"WorkloadAffinity": True, "CustomizedClusterResourceModeling": False}
            ),
            **{f"clusters/{name}.json": labelled(name) for name in three.names},
            **{path: text for name, case in CASES.items() for path, text in files(name, case).items()},
        }
    )
    three.daemon()
    return three


def copies(world: World, space: str, name: str = "web") -> dict[str, int]:
    """Replicas by cluster, as they are there."""
    found = {}
    for where in world.names:
        body = world.get(where, "Deployment", space, name)
        if body is not None:
            found[where] = body["spec"]["replicas"]
    return found


def recorded(world: World, space: str, name: str = "web") -> str:
    """The decision on the state branch; "" before there is one."""
    return shown(world, f"gitfed/state:bindings/{space}/{name}-Deployment.apps.yaml")


def binding(world: World, space: str, name: str = "web") -> dict[str, Any]:
    return dict(yaml.safe_load(recorded(world, space, name)) or {})


def decided(world: World, space: str, name: str = "web") -> dict[str, int]:
    return {one["name"]: one["replicas"] for one in binding(world, space, name).get("spec", {}).get("clusters", [])}


def settled(world: World, space: str, expected: Mapping[str, int], name: str = "web") -> None:
    """As decided, and there: in these clusters and in no other."""
    world.until(lambda: decided(world, space, name) == expected, f"{name} in {space} is decided: {dict(expected)}")
    world.until(lambda: copies(world, space, name) == expected, f"{name} in {space} is there: {dict(expected)}")


@pytest.mark.parametrize("name", CASES)
def test_a_placement_is_carried_out(fleet: World, name: str) -> None:
    settled(fleet, space_of(name), CASES[name].expected)


def test_a_cluster_that_is_not_used_and_a_workload_that_fits_nowhere_say_why(fleet: World) -> None:
    fleet.push({**files("too far", Case(spread(("cluster", 3, 0)), {}))})
    said = "failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups"
    fleet.until(lambda: said in recorded(fleet, "too-far"), "the reason on record")
    assert copies(fleet, "too-far") == {}
    told = fleet.gitfed("explain", "--repo", str(fleet.bare), "deploy/too-far/web").stdout
    assert said in told
    told = fleet.gitfed("explain", "--repo", str(fleet.bare), "deploy/clusters-by-zone/web").stdout
    assert "cluster(s) did not match the placement cluster affinity constraint" in told
    told = fleet.gitfed("explain", "--repo", str(fleet.bare), "deploy/no-affinity-is-every-cluster/web").stdout
    assert "cluster(s) had untolerated taint {dedicated=gpu:NoSchedule}" in told


def test_workloads_of_a_group_go_together_or_keep_apart(fleet: World) -> None:
    def member(name: str, where: list[str] | None, kind: str) -> dict[str, str]:
        selector = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}]
        placement = {"workloadAffinity": {kind: {"groupByLabelKey": "team"}}}
        body = json.loads(policy(name, where, namespace="company", placement=placement))
        body["spec"]["resourceSelectors"] = selector
        return {
            f"company/{name}.json": deployment(name, namespace="company", labels={"team": kind}),
            f"company/{name}-policy.json": json.dumps(body),
        }

    fleet.push(
        {
            **member("a", ["m2"], "affinity"), **member("b", None, "affinity"),
            **member("c", ["m2"], "antiAffinity"), **member("d", None, "antiAffinity"),
        }
    )  # fmt: skip
    settled(fleet, "company", {"m2": 2}, "a")
    settled(fleet, "company", {"m2": 2}, "b")
    settled(fleet, "company", {"m2": 2}, "c")
    settled(fleet, "company", {"m1": 2}, "d")


def test_the_more_urgent_workload_gets_the_room(fleet: World) -> None:
    """By name alone `a` would come first."""
    made = {}
    for name, extra in (("a", {}), ("z", {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"})):
        case = Case({**affinity(clusterNames=["m1"]), **DYNAMIC}, {}, 2, "urgent")
        web, rule = (json.loads(text) for text in files("urgent", case).values())
        web["metadata"]["name"] = rule["metadata"]["name"] = rule["spec"]["resourceSelectors"][0]["name"] = name
        if extra:
            rule["spec"]["schedulePriority"] = extra
        made |= {f"urgent/{name}.json": json.dumps(web), f"urgent/{name}-policy.json": json.dumps(rule)}
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    fleet.push({**made, "urgent/class.json": json.dumps(high)})
    settled(fleet, "urgent", {"m1": 2}, "z")
    assert decided(fleet, "urgent", "a") == {}
    said = "failed to scale up: Clusters available replicas 1 are not enough to schedule."
    assert said in recorded(fleet, "urgent", "a")


def test_selectors_take_by_name_by_label_and_by_namespace(fleet: World) -> None:
    def rule(called: str, where: str, **selector: Any) -> str:
        body = json.loads(policy(called, [where]))
        body["kind"], body["metadata"] = "ClusterPropagationPolicy", {"name": called}
        body["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment", **selector}]
        return json.dumps(body)

    fleet.push(
        {
            "selected/named.json": deployment("named", namespace="selected"),
            "selected/labelled.json": deployment("labelled", namespace="selected", labels={"app": "labelled"}),
            "selected/other.json": deployment("other", namespace="unselected"),
            "selected/by-name.json": rule("by-name", "m1", namespace="selected", name="named"),
            "selected/by-label.json": rule(
                "by-label", "m2", namespace="selected", labelSelector={"matchLabels": {"app": "labelled"}}
            ),
        }
    )
    settled(fleet, "selected", {"m1": 2}, "named")
    settled(fleet, "selected", {"m2": 2}, "labelled")
    assert copies(fleet, "unselected", "other") == {}


def test_a_divided_workload_moves_when_a_rebalancer_asks_for_it_and_only_once(fleet: World) -> None:
    narrow = Case({**affinity(clusterNames=["m1"]), **DYNAMIC}, {}, 4, "moves")
    fleet.push(files("moves", narrow))
    settled(fleet, "moves", {"m1": 4})
    fleet.push(files("moves", Case({**affinity(clusterNames=["m1", "m2"]), **DYNAMIC}, {}, 4, "moves")))
    fleet.until(lambda: "m2" in recorded(fleet, "moves"), "the wider placement is on record")
    assert decided(fleet, "moves") == {"m1": 4}, "what runs stays where it is"

    rebalancer = {
        "apiVersion": "apps.karmada.io/v1alpha1", "kind": "WorkloadRebalancer", "metadata": {"name": "spread-out"},
        "spec": {"workloads": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "moves", "name": "web"}]},
    }  # fmt: skip
    fleet.push({"moves/rebalancer.json": json.dumps(rebalancer)})
    fleet.until(lambda: decided(fleet, "moves") == {"m2": 4}, "it is placed as if it ran nowhere")
    record = binding(fleet, "moves")
    assert record["metadata"]["annotations"]["gitfed.io/rebalanced-by"] == "spread-out"
    fleet.until(lambda: copies(fleet, "moves") == {"m1": 4, "m2": 4}, "the new copy comes first")
    fleet.mark_available("m2", "moves", "web")
    fleet.until(lambda: copies(fleet, "moves") == {"m2": 4}, "and then the old one goes")

    when = binding(fleet, "moves")["spec"]["rescheduleTriggeredAt"]
    fleet.push({"moves/marker.json": deployment("marker", namespace="moves")})
    fleet.until(lambda: decided(fleet, "moves", "marker"), "a later decision")
    assert binding(fleet, "moves")["spec"]["rescheduleTriggeredAt"] == when
    assert decided(fleet, "moves") == {"m2": 4}


def test_fields_without_an_effect_are_said(fleet: World) -> None:
    without = {"schedulerName": "mine", "preemption": "Always", "association": True}
    body = json.loads(policy("idle", ["m1"], namespace="idle", **without))
    body["spec"]["resourceSelectors"][0]["name"] = "web"
    fleet.push({"idle/policy.json": json.dumps(body), "idle/web.json": deployment("web", namespace="idle")})
    settled(fleet, "idle", {"m1": 2})
    said = fleet.gitfed("validate").stdout
    assert "preemption Always has no effect: the best policy wins at every commit" in said
    assert "schedulerName mine has no effect: gitfed schedules everything itself" in said
    assert "association has no effect: it is an ignored ancestor of propagateDeps" in said
    assert "spreadByLabel tier has no effect: Karmada ignores it too" in said
