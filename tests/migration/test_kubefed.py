"""KubeFed's documented semantics, said once more in the test's own words, against what the converted files do."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.migration.kubefed import replicas
from gitfed.migration.kubefed.convert import convert
from gitfed.migration.report import Code, Imported
from gitfed.model.base import Body, Commit
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from gitfed.text import patch
from tests.e2e.world import settings as federation
from tests.planning.tree import INTERPRETER, NOW, Tree

CLUSTERS = {"eu-1": {"region": "eu", "tier": "edge"}, "eu-2": {"region": "eu"}, "us-1": {"region": "us"}, "lab": {}}
TYPES = "types.kubefed.io/v1beta1"


def kubefed_cluster(name: str, labels: Mapping[str, str]) -> Body:
    return {
        "apiVersion": "core.kubefed.io/v1beta1",
        "kind": "KubeFedCluster",
        "metadata": {"name": name, "namespace": "kube-federation-system", "labels": dict(labels)},
        "spec": {"apiEndpoint": f"https://{name}.example.com", "caBundle": "Cg==", "secretRef": {"name": f"{name}-x"}},
        "status": {"region": "somewhere", "zones": ["a"]},
    }


def federated(kind: str, name: str, template: Body, placement: Any = None, **spec: Any) -> Body:
    metadata = {"name": name, "namespace": "shop"}
    body = {
        "apiVersion": TYPES,
        "kind": f"Federated{kind}",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }
    if placement is not None:
        body["spec"]["placement"] = placement
    return body


def deployment(replicas: int | None = 2) -> Body:
    labels = {"app": "web"}
    spec: Body = {"selector": {"matchLabels": labels}, "template": {
        "metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}}  # fmt: skip
    return {"metadata": {"labels": labels}, "spec": spec if replicas is None else {"replicas": replicas, **spec}}


def space(placement: Any) -> Body:
    return {"apiVersion": TYPES, "kind": "FederatedNamespace", "metadata": {"name": "shop", "namespace": "shop"},
            "spec": {"placement": placement}}  # fmt: skip


def preference(name: str, total: int, clusters: Any = None, **spec: Any) -> Body:
    return {
        "apiVersion": "scheduling.kubefed.io/v1alpha1",
        "kind": "ReplicaSchedulingPreference",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"targetKind": "FederatedDeployment", "totalReplicas": total, "clusters": clusters, **spec},
    }


def fleet() -> list[Body]:
    return [kubefed_cluster(name, labels) for name, labels in CLUSTERS.items()]


def in_clusters(imported: Imported) -> dict[tuple[str, str, str], Body]:
    """(kind, name, cluster) → body without what gitfed adds, as a plan of the repository gives it."""
    files = {path: json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies})
             for path, bodies in imported.files.items()}  # fmt: skip
    repo = source.read(Tree({"gitfed.json": federation(), **files}, Commit("1" * 40)))
    assert [str(problem) for problem in repo.problems if problem.severity == "error"] == []
    facts = {name: ClusterFacts(name) for name in CLUSTERS}
    plan = build.build(repo, FleetSnapshot(FactsRef("test"), facts), Decisions(repository_id="r"), INTERPRETER, NOW)
    found = {}
    for key, classes in plan.rendered.items():
        for rendered in classes:
            for cluster in rendered.clusters:
                found[key.kind, key.name, cluster] = _plain(rendered.body)
    return found


def _plain(body: Any) -> Body:
    body = copy.deepcopy(dict(body))
    for field in ("labels", "annotations"):
        kept = {key: value for key, value in body["metadata"].get(field, {}).items()
                if "gitfed.io/" not in key and "karmada.io/" not in key}  # fmt: skip
        body["metadata"].pop(field, None)
        if kept:
            body["metadata"][field] = kept
    return body


def codes(imported: Imported) -> set[Code]:
    return {finding.code for finding in imported.findings} - {Code.CREDENTIALS}


# -- KubeFed, in the test's words -----------------------------------------------------------------------------------


def chosen(placement: Any) -> set[str]:
    if placement is None:
        return set()
    if "clusters" in placement:
        return {one["name"] for one in placement["clusters"]} & CLUSTERS.keys()
    if "clusterSelector" not in placement:
        return set()
    wanted = placement["clusterSelector"].get("matchLabels", {})
    return {name for name, labels in CLUSTERS.items() if wanted.items() <= labels.items()}


def overridden(body: Body, overrides: Any, cluster: str) -> Body:
    for one in overrides:
        if one["clusterName"] == cluster:
            operations = patch.read({"op": "replace", **item} for item in one["clusterOverrides"])
            body = patch.apply(body, operations)
    return body


PLACEMENTS = st.one_of(
    st.none(),
    st.just({}),
    st.lists(st.sampled_from([*CLUSTERS, "gone"]), unique=True).map(
        lambda names: {"clusters": [{"name": n} for n in names]}
    ),
    st.sampled_from([{}, {"matchLabels": {"region": "eu"}}, {"matchLabels": {"tier": "edge"}}]).map(
        lambda selector: {"clusterSelector": selector}
    ),
    st.just({"clusters": [{"name": "lab"}], "clusterSelector": {}}),
)
OVERRIDES = st.lists(
    st.fixed_dictionaries({
        "clusterName": st.sampled_from([*CLUSTERS]),
        "clusterOverrides": st.lists(st.sampled_from([
            {"path": "/spec/replicas", "value": 5},
            {"path": "/spec/template/spec/containers/0/image", "value": "nginx:2"},
            {"path": "/metadata/annotations", "op": "add", "value": {"example.com/a": "b"}},
            {"path": "/metadata/labels/app", "op": "remove"},
        ]), unique_by=lambda one: one["path"]),
    }),
    unique_by=lambda one: one["clusterName"], max_size=3,
)  # fmt: skip


@given(spaces=PLACEMENTS, web=PLACEMENTS, other=PLACEMENTS, overrides=OVERRIDES)
@settings(max_examples=80, deadline=None)
def test_each_cluster_gets_the_bodies_that_kubefed_gave_it(spaces: Any, web: Any, other: Any, overrides: Any) -> None:
    imported = convert([
        *fleet(), space(spaces), federated("Deployment", "web", deployment(), web, overrides=overrides),
        federated("ConfigMap", "more", {"data": {"a": "b"}}, other),
    ])  # fmt: skip
    found = in_clusters(imported)
    where = chosen(web) & chosen(spaces)
    template = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment()}
    template["metadata"] = {**template["metadata"], "name": "web", "namespace": "shop"}
    expected = {("Deployment", "web", name): _plain(overridden(template, overrides, name)) for name in where}
    assert {key: body for key, body in found.items() if key[0] == "Deployment"} == expected
    assert {key[2] for key in found if key[0] == "ConfigMap"} == chosen(other) & chosen(spaces)
    assert {key[2] for key in found if key[0] == "Namespace"} == chosen(spaces)


BOUNDS = st.fixed_dictionaries(
    {"weight": st.integers(0, 5)}, optional={"minReplicas": st.integers(0, 3), "maxReplicas": st.integers(3, 6)}
)


SPACES = ({"clusterSelector": {}}, {"clusters": [{"name": "eu-1"}, {"name": "us-1"}]})
ASKED = st.dictionaries(st.sampled_from([*CLUSTERS, "*"]), BOUNDS)


@given(total=st.integers(0, 17), clusters=ASKED, spaces=st.sampled_from(SPACES))
@settings(max_examples=80, deadline=None)
def test_a_preference_gives_each_cluster_as_many_replicas(total: int, clusters: Any, spaces: Any) -> None:
    bodies = [*fleet(), space(spaces), federated("Deployment", "web", deployment(), {}),
              preference("web", total, clusters, rebalance=True)]  # fmt: skip
    found = in_clusters(convert(bodies))
    counts = replicas.divide(total, replicas.read({"clusters": clusters}), [*CLUSTERS], "shop/web")
    expected = {name: count for name, count in counts.items() if count and name in chosen(spaces)}
    assert {key[2]: body["spec"]["replicas"] for key, body in found.items() if key[0] == "Deployment"} == expected


@given(total=st.integers(0, 30), clusters=ASKED)
def test_no_preference_gives_more_than_there_is_or_than_is_allowed(total: int, clusters: Any) -> None:
    read = replicas.read({"clusters": clusters})
    counts = replicas.divide(total, read, [*CLUSTERS], "shop/web")
    assert sum(counts.values()) <= total
    for name, count in counts.items():
        bounds = read.get(name, read.get("*"))
        assert count == 0 if bounds is None else bounds.most is None or count <= bounds.most
    if all(one.weight and one.most is None for one in read.values()) and (read.keys() & {*CLUSTERS, "*"}):
        assert sum(counts.values()) == total


def test_shares_are_rounded_up_for_clusters_of_more_weight_first() -> None:
    read = replicas.read({"clusters": {"a": {"weight": 2}, "b": {"weight": 3}}})
    assert replicas.divide(10, read, ["a", "b"], "shop/web") == {"a": 4, "b": 6}
    assert replicas.divide(9, read, ["a", "b"], "shop/web") == {"a": 3, "b": 6}
    assert replicas.divide(9, read, ["a", "b", "c"], "shop/web") == {"a": 3, "b": 6, "c": 0}


def test_what_a_cluster_may_not_take_goes_to_the_others() -> None:
    read = replicas.read({"clusters": {"a": {"weight": 1, "maxReplicas": 2}, "b": {"weight": 1, "minReplicas": 1}}})
    assert replicas.divide(10, read, ["a", "b"], "shop/web") == {"a": 2, "b": 8}


def test_weights_stay_as_written_where_they_divide_without_remainder() -> None:
    bodies = [*fleet(), space({"clusterSelector": {}}), federated("Deployment", "web", deployment(), {}),
              preference("web", 10, {"eu-1": {"weight": 2}, "eu-2": {"weight": 3}}, rebalance=True)]  # fmt: skip
    imported = convert(bodies)
    (policy,) = imported.files["policies/shop/deployment-web.yaml"]
    listed = policy["spec"]["placement"]["replicaScheduling"]["weightPreference"]["staticWeightList"]
    assert [(one["targetCluster"]["clusterNames"], one["weight"]) for one in listed] == [(["eu-1"], 2), (["eu-2"], 3)]
    assert codes(imported) == {Code.EMPTY_WORKLOAD}


def test_without_rebalance_what_runs_now_is_what_stays() -> None:
    overrides = [{"clusterName": name, "clusterOverrides": [{"path": "/spec/replicas", "value": count}]}
                 for name, count in (("eu-1", 7), ("eu-2", 2), ("us-1", 0), ("lab", 0))]  # fmt: skip
    bodies = [*fleet(), space({"clusterSelector": {}}), preference("web", 9, {"*": {"weight": 1}}),
              federated("Deployment", "web", deployment(), {}, overrides=overrides)]  # fmt: skip
    imported = convert(bodies)
    found = in_clusters(imported)
    assert {key[2]: body["spec"]["replicas"] for key, body in found.items() if key[0] == "Deployment"} == {
        "eu-1": 7, "eu-2": 2,
    }  # fmt: skip
    assert Code.REBALANCE in codes(imported)


def test_what_cannot_be_taken_over_is_said() -> None:
    bodies = [
        *fleet(),
        space({"clusterSelector": {}}),
        federated("Secret", "key", {"data": {"a": "c2VjcmV0"}}, {"clusterSelector": {}}),
        federated("Widget", "odd", {}, {"clusterSelector": {}}),
        federated("ConfigMap", "nowhere", {"data": {}}, {}),
        {**federated("ConfigMap", "lost", {}, {}), "metadata": {"name": "lost", "namespace": "elsewhere"}},
        preference("nothing", 3),
        {"apiVersion": "multiclusterdns.kubefed.io/v1alpha1", "kind": "ServiceDNSRecord",
         "metadata": {"name": "web", "namespace": "shop"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "host", "namespace": "shop"}},
        {"apiVersion": "core.kubefed.io/v1alpha1", "kind": "PropagatedVersion", "metadata": {"name": "x"}},
        federated("ConfigMap", "patched", {}, {"clusterSelector": {}}, overrides=[
            {"clusterName": "eu-1", "clusterOverrides": [{"path": "/metadata/name", "value": "other"},
                                                         {"path": "/data", "op": "test", "value": 1}]}]),
    ]  # fmt: skip
    imported = convert(bodies)
    said = [f"{one.code} {one.subject}: {one.message}" for one in imported.findings if one.code is not Code.CREDENTIALS]
    assert said == [
        "SecretLeftOut FederatedSecret/shop/key: the values of a Secret do not belong into Git",
        "NotFederated ConfigMap/shop/host: an object of the host cluster, which KubeFed sends nowhere",
        "NotPlaced FederatedConfigMap/elsewhere/lost: namespace elsewhere has no FederatedNamespace, so KubeFed puts "
        "it nowhere",
        "NotPlaced FederatedConfigMap/shop/nowhere: KubeFed puts it into no cluster; without a policy it goes nowhere "
        "here either",
        "UnknownType FederatedWidget/shop/odd: nothing says what a FederatedWidget stands for",
        "Invalid FederatedConfigMap/shop/patched: override of /metadata/name: KubeFed refuses it",
        "Invalid ReplicaSchedulingPreference/shop/nothing: there is no FederatedDeployment shop/nothing "
        "for it to divide",
        "NoEquivalent FederatedConfigMap/shop/patched: override test /data: gitfed has add, replace and remove",
        "NoEquivalent ServiceDNSRecord/shop/web: no DNS records are made here",
    ]
    assert "c2VjcmV0" not in str(imported)
    assert {key[1] for key in in_clusters(imported)} == {"shop", "patched"}


def test_a_registered_type_stands_for_what_its_registration_says() -> None:
    bodies = [
        federated("Widget", "odd", {"spec": {"size": 1}}, {"clusterSelector": {}}),
        space({"clusterSelector": {}}),
        *fleet(),
        {"apiVersion": "core.kubefed.io/v1beta1", "kind": "FederatedTypeConfig",
         "metadata": {"name": "widgets.example.com"},
         "spec": {"federatedType": {"group": "types.kubefed.io", "kind": "FederatedWidget", "version": "v1beta1"},
                  "propagation": "Enabled",
                  "targetType": {"group": "example.com", "kind": "Widget", "version": "v1", "scope": "Namespaced"}}},
    ]  # fmt: skip
    assert convert(bodies).files["shop/widget-odd.yaml"] == [
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "odd", "namespace": "shop"},
         "spec": {"size": 1}}
    ]  # fmt: skip


def test_objects_that_go_to_the_same_clusters_share_one_policy() -> None:
    two = {"clusters": [{"name": "eu-1"}, {"name": "us-1"}]}
    all_of_them = {"clusterSelector": {}}
    bodies = [*fleet(), space(all_of_them), federated("ConfigMap", "one", {}, two),
              federated("ConfigMap", "two", {}, two), federated("ConfigMap", "all", {}, all_of_them)]  # fmt: skip
    imported = convert(bodies, folder="fleet/")
    assert [path for path in imported.files if "policies" in path] == [
        "fleet/policies/namespace-shop.yaml",
        "fleet/policies/shop/configmap-all.yaml",
        "fleet/policies/shop/on-eu-1-us-1.yaml",
    ]
    (cluster,) = imported.files["fleet/clusters/eu-1.yaml"]
    assert cluster == {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "eu-1", "labels": {"region": "eu", "tier": "edge"}},
        "spec": {
            "apiEndpoint": "https://eu-1.example.com",
            "region": "somewhere",
            "secretRef": {"namespace": "kube-federation-system", "name": "eu-1-x"},
            "syncMode": "Push",
            "zones": ["a"],
        },
    }
