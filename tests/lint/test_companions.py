"""Objects that belong together: where they go, and who writes what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.world import cluster, deployment, policy, settings
from tests.lint.repository import said

EVERYTHING = (("apps/v1", "Deployment"), ("v1", "Service"), ("policy/v1", "PodDisruptionBudget"),
              ("autoscaling/v2", "HorizontalPodAutoscaler"))  # fmt: skip


def fleet(*names: str, **federation: Any) -> dict[str, str]:
    return {"gitfed.json": settings(**federation), **{f"clusters/{name}.json": cluster(name) for name in names}}


def thing(api_version: str, kind: str, name: str, spec: Mapping[str, Any], **top: Any) -> str:
    metadata = {"name": name, "namespace": "shop"}
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec), **top})


SERVICE = thing("v1", "Service", "web", {"selector": {"app": "web"}, "ports": [{"port": 80}]})
BUDGET = thing("policy/v1", "PodDisruptionBudget", "web", {"selector": {"matchLabels": {"app": "web"}}})
SCALER = thing(
    "autoscaling/v2", "HorizontalPodAutoscaler", "web",
    {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9},
)  # fmt: skip


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [(SERVICE, ("v1", "Service"), "Svc"), (BUDGET, ("policy/v1", "PodDisruptionBudget"), "PDB")],
)
def test_what_selects_pods_has_to_go_where_they_run(body: str, kind: tuple[str, str], shown: str) -> None:
    files = {
        **fleet("m1", "m2", "m3"), "web.json": deployment("web"), "other.json": body,
        "policy.json": policy("web", ["m1", "m2"]), "rest.json": policy("rest", ["m2", "m3"], (kind,)),
    }  # fmt: skip
    assert said(files) == [
        f"other.json:1:1: warning: shop/{shown}/web does not go to m1, where shop/Deploy/web runs "
        "(let the policy of the workload select it too)"
    ]
    assert said({**files, "rest.json": policy("rest", None, (kind,))}) == [], "more places than pods are no harm"
    nowhere = {name: text for name, text in files.items() if name != "rest.json"}
    assert [line.partition(": warning: ")[2].partition(" (")[0] for line in said(nowhere)] == [
        "no policy sends anything to cluster m3",
        f"shop/{shown}/web goes nowhere, so not to m1 m2, where shop/Deploy/web runs",
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"selector": {"app": "other"}},
        {"ports": [{"port": 80}]},
        {"type": "ExternalName", "externalName": "x.example", "selector": {"app": "web"}},
        {"selector": "web"},
        {"selector": {}},
    ],
)
def test_a_service_of_other_pods_or_of_none_may_be_anywhere(spec: Mapping[str, Any]) -> None:
    files = {**fleet("m1", "m2"), "web.json": deployment("web"), "policy.json": policy("web", None)}
    assert said({**files, "service.json": thing("v1", "Service", "web", spec)}) == []


def test_an_autoscaler_whose_number_is_put_back_is_told() -> None:
    files = {**fleet("m1", "m2"), "web.json": deployment("web"), "hpa.json": SCALER,
             "policy.json": policy("all", None, EVERYTHING)}  # fmt: skip
    assert said(files) == [
        "hpa.json:1:1: warning: shop/HPA/web scales shop/Deploy/web, whose spec.replicas gitfed puts back each time "
        '(label shop/Deploy/web resourcetemplate.karmada.io/retain-replicas: "true")'
    ]
    retained = {"resourcetemplate.karmada.io/retain-replicas": "true"}
    assert said({**files, "web.json": deployment("web", labels=retained)}) == []
    without = json.loads(deployment("web"))
    del without["spec"]["replicas"]
    assert said({**files, "web.json": json.dumps(without)}) == []


@pytest.mark.parametrize("kind", ["Role", "RoleBinding"])
def test_rights_that_no_policy_selects_are_told(kind: str) -> None:
    right = json.dumps({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
                        "metadata": {"name": "reader", "namespace": "shop"}})  # fmt: skip
    files = {**fleet("m1", "m2"), "web.json": deployment("web"), "policy.json": policy("web", None), "role.json": right}
    assert said(files) == [
        f"role.json:1:1: warning: shop/{kind}/reader goes nowhere: no policy selects it "
        "(a PropagationPolicy of its namespace, or a ClusterPropagationPolicy)"
    ]


def test_a_repository_without_any_policy_says_so_once() -> None:
    files = {**fleet("m1"), **{f"{name}.json": deployment(name) for name in "abcde"}}
    assert said(files) == [
        "a.json:1:1: warning: there is no policy, so nothing goes anywhere: shop/Deploy/a, shop/Deploy/b, "
        "shop/Deploy/c and 2 more (a ClusterPropagationPolicy)"
    ]


def test_a_policy_for_namespaces_that_go_everywhere_is_without_effect() -> None:
    selects = json.dumps({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "spaces"},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Namespace", "name": "shop"}],
                 "placement": {"clusterAffinity": {"clusterNames": ["m1"]}}},
    })  # fmt: skip
    space = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    files = {"policy.json": selects, "space.json": space}
    assert said({**fleet("m1"), **files}) == [
        "policy.json:1:1: warning: ClusterPropagationPolicy/spaces selects the Namespace shop, without effect: a "
        "Namespace goes to every cluster by itself (spec.namespaces.autoPropagate: false of the Federation leaves "
        "Namespaces to policies)"
    ]
    assert said({**fleet("m1", namespaces={"autoPropagate": False}), **files}) == []


ONE = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
GROUPS = {"clusterAffinities": [{"affinityName": "first", "clusterNames": ["m01"]},
                                {"affinityName": "then", "clusterNames": ["m02"]}]}  # fmt: skip
STATIC = {"replicaScheduling": {
    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
    "weightPreference": {"staticWeightList": [{"targetCluster": {"clusterNames": ["m01"]}, "weight": 1}]},
}}  # fmt: skip


def test_clusters_that_stand_by_are_not_said_to_be_forgotten() -> None:
    many = [f"m{number:02}" for number in range(1, 57)]
    files = {**fleet(*many), "web.json": deployment("web")}
    assert said({**files, "policy.json": policy("web", None, placement=ONE)}) == []
    few = {**fleet("m01", "m02", "m03"), "web.json": deployment("web")}
    forgotten = "clusters/{}.json:1:1: warning: no policy sends anything to cluster {}"
    assert said({**few, "policy.json": policy("web", None, placement=GROUPS)}) == [forgotten.format("m03", "m03")]
    by_weight = said({**few, "policy.json": policy("web", None, placement=STATIC)})
    assert by_weight[:2] == [forgotten.format(name, name) for name in ("m02", "m03")], "no weight: never anything"
