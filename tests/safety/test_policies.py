"""Policies and overrides as they should not be written: a reason for each, a plan all the same, nothing deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli import world

SETTINGS = world.FILES["gitfed.yaml"]
CLUSTERS = {f"clusters/{name}.yaml": world.cluster(name, name[:2]) for name in ("eu-1", "eu-2", "us-1")}


def policy(name: str, spec: str, namespace: str = "shop", kind: str = "PropagationPolicy") -> str:
    return (
        f"apiVersion: policy.karmada.io/v1alpha1\nkind: {kind}\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nspec: {spec}\n"
    )


def divided(weights: str) -> str:
    return (
        "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {replicaScheduling: "
        "{replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, "
        f"weightPreference: {{staticWeightList: [{weights}]}}}}}}}}"
    )


def weight(cluster: str, value: str) -> str:
    return f"{{targetCluster: {{clusterNames: [{cluster}]}}, weight: {value}}}"


EVERYWHERE = "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {}}"


@pytest.fixture
def planned(tmp_path: Path) -> Any:
    """`planned(files)` → (exit code, plan as data, everything said)."""

    def plan(files: Mapping[str, str]) -> tuple[int, dict[str, Any], str]:
        path = world.repository(
            tmp_path / "r", {"gitfed.yaml": SETTINGS, **CLUSTERS, "apps/web.yaml": world.deployment(), **files}
        )
        done = world.gitfed("plan", "--repo", path, "-o", "json")
        return done.code, json.loads(done.out), done.out + done.err

    return plan


def shares(plan: dict[str, Any], name: str = "web") -> dict[str, Any]:
    found = [one for one in plan["bindings"] if one["resource"]["name"] == name]
    return {share["name"]: share["replicas"] for share in found[0]["clusters"]} if found else {}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (divided(weight("eu-1", "0")), "weight is 0, it must be at least 1"),
        (divided(weight("eu-1", "-5")), "weight is -5, it must be at least 1"),
        (divided(weight("eu-1", "1.5")), "must be a whole number"),
        (divided(weight("eu-1", "99999999999999999999")), ".weight is too large"),
        ("{resourceSelectors: [], placement: {}}", "resourceSelectors must not be empty"),
        ("{resourceSelectors: [{kind: Deployment}], placement: {}}", "apiVersion is required"),
        (
            "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {spreadConstraints: "
            "[{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}}",
            "minGroups",
        ),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_a_policy_that_means_nothing_is_a_problem_with_its_place(planned: Any, spec: str, said: str) -> None:
    code, plan, _ = planned({"policies/p.yaml": policy("p", spec)})
    told = [one for one in plan["problems"] if one["path"] == "policies/p.yaml"]
    assert code == 3
    assert any(said in one["message"] for one in told), told
    assert all(one["line"] == 4 for one in told)
    assert shares(plan) == {}


def test_huge_weights_divide_exactly(planned: Any) -> None:
    code, plan, _ = planned(
        {"policies/p.yaml": policy("p", divided(f"{weight('eu-1', '9000000000000000000')}, {weight('us-1', '1')}"))}
    )
    assert code == 0
    assert sum(shares(plan).values()) == 6
    assert shares(plan)["eu-1"] == 6


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("apps/v1 Deployment", "replicas: -1", "spec.replicas is -1, it must be at least 0"),
        ("apps/v1 Deployment", "replicas: 2147483648", "spec.replicas is 2147483648, it must be at most 2147483647"),
        ("apps/v1 Deployment", f"replicas: {2**70}", f"spec.replicas is {2**70}, it must be at most 2147483647"),
        ("apps/v1 Deployment", "replicas: 1.5", "spec.replicas must be a whole number"),
        ("apps/v1 Deployment", "replicas: '3'", "spec.replicas must be a whole number"),
        ("apps/v1 StatefulSet", "replicas: 3000000000", "spec.replicas is 3000000000, it must be at most 2147483647"),
        ("v1 ReplicationController", "replicas: -7", "spec.replicas is -7, it must be at least 0"),
        ("batch/v1 Job", "parallelism: 2147483648", "spec.parallelism is 2147483648, it must be at most 2147483647"),
        ("batch/v1 Job", "completions: -1", "spec.completions is -1, it must be at least 0"),
    ],
)  # fmt: skip
def test_numbers_that_every_cluster_would_refuse_are_told_with_their_place(
    planned: Any, kind: str, spec: str, said: str
) -> None:
    version, name = kind.split()
    wrong = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: odd, namespace: shop}}\nspec:\n  {spec}\n"
    code, plan, _ = planned({"apps/odd.yaml": wrong, "policies/p.yaml": policy("p", EVERYWHERE)})
    told = [(one["line"], one["column"], one["message"]) for one in plan["problems"] if one["path"] == "apps/odd.yaml"]
    assert (code, told) == (3, [(5, 3, said)])
    assert set(shares(plan)) == {"eu-1", "eu-2", "us-1"}, "other files go on"


@pytest.mark.parametrize("replicas", [1, 2**31 - 1])
def test_replicas_up_to_the_largest_are_divided(planned: Any, replicas: int) -> None:
    weights = divided(f"{weight('eu-1', '1')}, {weight('us-1', '1')}")
    code, plan, _ = planned({"apps/web.yaml": world.deployment(replicas), "policies/p.yaml": policy("p", weights)})
    assert code == 0
    assert sum(shares(plan).values()) == replicas


def test_no_replicas_are_placed_as_none(planned: Any) -> None:
    code, plan, _ = planned({"apps/web.yaml": world.deployment(0), "policies/p.yaml": policy("p", EVERYWHERE)})
    assert code == 0
    assert set(shares(plan)) == {"eu-1", "eu-2", "us-1"}


def test_a_policy_for_everything_takes_no_namespace_and_one_for_nothing_takes_none(
    planned: Any,
) -> None:
    everything = "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}, {apiVersion: v1, kind: Namespace}]}"
    reserved = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: kube-system}\n"
    nothing = "{resourceSelectors: [{apiVersion: v1, kind: Secret, name: absent}], placement: {}}"
    code, plan, _ = planned(
        {
            "apps/reserved.yaml": reserved,
            "policies/all.yaml": policy("all", everything).replace("PropagationPolicy", "ClusterPropagationPolicy")
            .replace(", namespace: shop", ""),
            "policies/none.yaml": policy("none", nothing),
        }
    )  # fmt: skip
    assert code == 0
    assert not [one for one in plan["bindings"] if one["resource"]["namespace"] == "kube-system" and one["clusters"]]
    assert any("kube-system is skipped" in one["message"] for one in plan["problems"])


def test_an_unknown_cluster_is_told_by_validate_and_gets_nothing(planned: Any, tmp_path: Path) -> None:
    named = EVERYWHERE.replace("placement: {}", "placement: {clusterAffinity: {clusterNames: [eu-1, mars]}}")
    _, plan, _ = planned({"policies/p.yaml": policy("p", named)})
    assert shares(plan) == {"eu-1": 6}
    done = world.gitfed("validate", "--repo", tmp_path / "r")
    assert any(
        line.startswith("policies/p.yaml:4:") and "names the cluster mars, which is not declared" in line
        for line in done.out.splitlines()
    ), done.out


def test_a_cluster_that_is_declared_twice_is_a_problem_that_names_both_files(planned: Any) -> None:
    code, plan, _ = planned(
        {"policies/p.yaml": policy("p", EVERYWHERE), "clusters/again.yaml": world.cluster("eu-1", "xx")}
    )
    told = [one["message"] for one in plan["problems"] if "two files define" in one["message"]]
    assert code == 3
    assert told == ["two files define Cluster eu-1: clusters/again.yaml:1:1 and clusters/eu-1.yaml:1:1"]


def test_two_policies_of_equal_rank_are_decided_by_name_and_said(planned: Any) -> None:
    def to(cluster: str) -> str:
        return EVERYWHERE.replace("placement: {}", f"placement: {{clusterAffinity: {{clusterNames: [{cluster}]}}}}")

    _, plan, said = planned({"policies/b.yaml": policy("b", to("us-1")), "policies/a.yaml": policy("a", to("eu-1"))})
    assert shares(plan) == {"eu-1": 6}
    assert '"name": "b"' not in said


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            "{plaintext: [{path: /spec/template/spec/containers/7/image, operator: replace, value: x}]}",
            "/spec/template/spec/containers/7: the list has 1 elements",
        ),
        ("{plaintext: [{path: /kind, operator: replace, value: Secret}]}", "cannot change which object it is"),
        ("{plaintext: [{path: /metadata/name, operator: replace, value: other}]}", "cannot change which object it is"),
        ("{plaintext: [{path: /metadata/namespace, operator: remove}]}", "cannot change which object it is"),
        ("{plaintext: [{path: /metadata, operator: remove}]}", "cannot change which object it is"),
        ("{plaintext: [{path: /apiVersion, operator: remove}]}", "cannot change which object it is"),
    ],
)
def test_an_override_that_fails_in_one_cluster_spares_the_others(tmp_path: Path, rule: str, said: str) -> None:
    rules = f"{{overrideRules: [{{targetCluster: {{clusterNames: [us-1]}}, overriders: {rule}}}]}}"
    path = world.repository(
        tmp_path / "r",
        {
            "gitfed.yaml": SETTINGS,
            **CLUSTERS,
            "apps/web.yaml": world.deployment(),
            "policies/p.yaml": policy("p", EVERYWHERE),
            "policies/o.yaml": policy("o", rules, kind="OverridePolicy"),
        },
    )
    for cluster, there in (("us-1", False), ("eu-1", True)):
        done = world.gitfed("render", "--repo", path, "--cluster", cluster)
        assert done.code == 3
        assert "policies/o.yaml:1:1: OverridePolicy/shop/o: " in done.err
        assert said in done.err
        assert "Deployment.apps/shop/web in us-1 (what is there stays as it is)" in done.err
        assert ("kind: Deployment" in done.out) is there


@pytest.mark.parametrize(
    ("path", "value"),
    [("/kind", "StatefulSet"), ("/apiVersion", "batch/v1"), ("/metadata/name", "other"),
     ("/metadata/namespace", "kube-system"), ("/metadata", "{name: other, namespace: shop}")],
)  # fmt: skip
def test_an_override_makes_no_other_object_of_it(planned: Any, path: str, value: str) -> None:
    plaintext = f"{{plaintext: [{{path: {path}, operator: replace, value: {value}}}]}}"
    wrong = (
        "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}], overrideRules: [{targetCluster: "
        f"{{clusterNames: [eu-1]}}, overriders: {plaintext}}}]}}"
    )
    overrides = {"policies/odd.yaml": policy("odd", wrong, kind="OverridePolicy")}
    code, plan, _ = planned({"policies/p.yaml": policy("p", EVERYWHERE), **overrides})
    assert (code, [(one["path"], one["message"], one["hint"]) for one in plan["problems"]]) == (
        3,
        [
            (
                "policies/odd.yaml",
                "OverridePolicy/shop/odd: an override cannot change which object it is (Deployment.apps/shop/web) for "
                "Deployment.apps/shop/web in eu-1",
                "what is there stays as it is",
            )
        ],
    )


def test_policies_whose_templates_are_all_gone_are_told_and_no_error(planned: Any, tmp_path: Path) -> None:
    files = {"policies/p.yaml": policy("p", EVERYWHERE), "apps/web.yaml": "# moved to another repository\n"}
    code, plan, _ = planned(files)
    assert (code, plan["bindings"]) == (0, [])
    done = world.gitfed("validate", "--repo", tmp_path / "r")
    assert (done.code, [line.partition(": warning: ")[2] for line in done.out.splitlines() if "p.yaml" in line]) == (
        0, ["spec.resourceSelectors[0] selects nothing: no Deployment in shop"],
    )  # fmt: skip


def test_objects_that_wait_for_each_other_are_told(planned: Any) -> None:
    def waiting(name: str, other: str) -> str:
        annotations = f"annotations: {{gitfed.io/depends-on: apps/Deployment/shop/{other}}}"
        return world.deployment().replace("name: web, namespace: shop", f"name: {name}, namespace: shop, {annotations}")

    code, plan, _ = planned(
        {
            "policies/p.yaml": policy("p", EVERYWHERE),
            "apps/a.yaml": waiting("a", "b"),
            "apps/b.yaml": waiting("b", "a"),
        }
    )
    told = [one for one in plan["problems"] if one["path"] == "apps/a.yaml"]
    assert code == 3
    assert ["wait for each other" in one["message"] for one in told] == [True], told


def test_more_regions_than_exist_place_nothing_and_say_why(planned: Any) -> None:
    spread = (
        "{resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {spreadConstraints: "
        "[{spreadByField: region, minGroups: 9, maxGroups: 9}, {spreadByField: cluster, minGroups: 9}]}}"
    )
    _, plan, said = planned({"policies/p.yaml": policy("p", spread)})
    assert shares(plan) == {}
    assert "region" in said
