"""The declared kinds: defaults as admission sets them, what is accepted, what two equal objects are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gitfed.model.base import ObjectKey, Origin, Severity
from gitfed.model.declared import cluster, federation, interpreter, names, policy, registry, shape

_POLICY = "policy.karmada.io/v1alpha1"


def propagation(kind: str = "PropagationPolicy", namespace: str = "shop", **spec: Any) -> policy.Propagation:
    metadata = {"name": "p", **({"namespace": namespace} if namespace else {})}
    selectors = [{"apiVersion": "v1", "kind": "ConfigMap"}]
    body = {"apiVersion": _POLICY, "kind": kind, "metadata": metadata, "spec": {"resourceSelectors": selectors, **spec}}
    return policy.Propagation.read(body)


def fleet_member(**spec: Any) -> cluster.Cluster:
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}}
    return cluster.Cluster.read({**body, "spec": {"syncMode": "Push", **spec}})


def test_a_policy_of_a_namespace_selects_there() -> None:
    assert propagation().spec.resource_selectors[0].namespace == "shop"
    assert propagation("ClusterPropagationPolicy", "").spec.resource_selectors[0].namespace == ""


def test_the_defaults_of_a_policy_are_karmadas() -> None:
    spec = propagation().spec
    assert spec.priority == 0
    assert spec.preemption == "Never"
    assert spec.conflict_resolution == "Abort"
    assert spec.propagate_deps is False
    assert spec.preserve_resources_on_deletion is None
    assert spec.placement.replica_scheduling_type == "Duplicated"


@pytest.mark.parametrize(
    ("given_", "kind", "preference"),
    [
        ({}, "Divided", "Weighted"),
        ({"replicaSchedulingType": "Divided"}, "Divided", "Weighted"),
        ({"replicaDivisionPreference": "Aggregated"}, "Divided", "Aggregated"),
        ({"replicaSchedulingType": "Duplicated"}, "Duplicated", None),
    ],
)
def test_division_is_completed(given_: dict[str, str], kind: str, preference: str | None) -> None:
    division = propagation(placement={"replicaScheduling": given_}).spec.placement.replica_scheduling
    assert division is not None
    assert (division.replica_scheduling_type, division.replica_division_preference) == (kind, preference)


@pytest.mark.parametrize(
    ("given_", "field", "least", "most"),
    [
        ({}, "cluster", 1, 0),
        ({"spreadByField": "region", "maxGroups": 3}, "region", 1, 3),
        ({"spreadByLabel": "rack", "minGroups": 2}, None, 2, 0),
    ],
)
def test_spread_is_completed(given_: dict[str, Any], field: str | None, least: int, most: int) -> None:
    constraint = propagation(placement={"spreadConstraints": [given_]}).spec.placement.spread_constraints[0]
    assert (constraint.spread_by_field, constraint.min_groups, constraint.max_groups) == (field, least, most)


def test_graceful_failover_gets_its_grace_and_others_do_not() -> None:
    def grace(**application: Any) -> int | None:
        failover = propagation(failover={"application": {"decisionConditions": {}, **application}}).spec.failover
        assert failover is not None
        assert failover.application is not None
        assert failover.application.decision_conditions.toleration_seconds == 300
        return failover.application.grace_period_seconds

    assert grace() == 600
    assert grace(gracePeriodSeconds=5) == 5
    assert grace(purgeMode="Directly") is None


def test_selecting_service_imports_brings_their_dependencies() -> None:
    selectors = [{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport"}]
    assert propagation(resourceSelectors=selectors).spec.propagate_deps


def test_a_policy_without_mistakes_has_no_findings() -> None:
    placement = {
        "clusterAffinities": [
            {
                "affinityName": "primary",
                "clusterNames": ["m1"],
                "fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["z"]}]},
                "overflowAffinities": [{"affinityName": "more", "labelSelector": {"matchLabels": {"a": "b"}}}],
            }
        ],
        "clusterTolerations": [
            {"operator": "Exists"},
            {"key": "a/b", "operator": "Equal", "value": "x", "effect": "NoExecute", "tolerationSeconds": 0},
        ],
        "spreadConstraints": [{"spreadByField": "region", "minGroups": 2, "maxGroups": 2}, {}],
        "replicaScheduling": {"weightPreference": {"dynamicWeight": "AvailableReplicas"}},
        "workloadAffinity": {"affinity": {"groupByLabelKey": "app"}, "antiAffinity": {"groupByLabelKey": "x/app"}},
    }
    suspension = {"dispatching": False, "dispatchingOnClusters": {"clusterNames": ["m1"]}}
    assert list(propagation(placement=placement, suspension=suspension).findings()) == []


def test_what_karmada_accepts_is_accepted() -> None:
    body = {
        "apiVersion": _POLICY,
        "kind": "ClusterOverridePolicy",
        "metadata": {"name": "o"},
        "spec": {
            "resourceSelectors": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]},
                }
            ],
            "overrideRules": [
                {
                    "overriders": {
                        "plaintext": [{"path": "no/pointer", "operator": "remove", "value": 1}],
                        "imageOverrider": [{"component": "Tag", "operator": "add"}],
                    }
                }
            ],
        },
    }
    assert [f for f in policy.Override.read(body).findings() if f.severity is Severity.ERROR] == []


def test_the_old_form_of_an_override_is_one_rule() -> None:
    overriders = {"argsOverrider": [{"containerName": "web", "operator": "add", "value": ["-v"]}]}
    body = {"apiVersion": _POLICY, "kind": "OverridePolicy", "metadata": {"name": "o", "namespace": "shop"}}
    old = policy.Override.read({**body, "spec": {"targetCluster": {"clusterNames": ["m1"]}, "overriders": overriders}})
    rule = {"targetCluster": {"clusterNames": ["m1"]}, "overriders": overriders}
    assert old.spec.rules == policy.Override.read({**body, "spec": {"overrideRules": [rule]}}).spec.rules
    assert policy.Override.read({**body, "spec": {}}).spec.rules == ()


def test_field_overrider_texts_have_attributes() -> None:
    operation = {"subPath": "/a", "operator": "add", "value": {"deep": None}}
    overrider = policy.FieldOverrider.model_validate({"fieldPath": "/data/a", "json": [operation], "yaml": [operation]})
    assert overrider.json_[0].value == {"deep": None}
    assert overrider.json_ == overrider.yaml


def test_equal_objects_may_stand_in_different_places() -> None:
    one = propagation()
    moved = one.at(Origin("b.yaml", 3, 1))
    assert one == moved
    assert hash(one) == hash(moved)
    assert (str(moved.origin), str(one.origin)) == ("b.yaml:3:1", "")
    assert one != propagation(priority=1)
    assert one != "text"


def test_status_is_accepted_and_ignored() -> None:
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}}
    spec = {"spec": {"syncMode": "Push"}}
    with_status = cluster.Cluster.read({**body, **spec, "status": {"kubernetesVersion": "v1.30.0"}})
    assert with_status == cluster.Cluster.read({**body, **spec})
    assert "status" not in with_status.as_json()


def test_files_spell_members_in_camel_case_only() -> None:
    with pytest.raises(ValidationError):
        propagation(propagate_deps=True)
    assert policy.ClusterAffinity(cluster_names=("m1",)) == policy.ClusterAffinity.model_validate(
        {"clusterNames": ["m1"]}
    )


def test_a_declared_object_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        propagation().spec.priority = 3  # type: ignore[misc]


def test_the_deprecated_zone_becomes_a_zone() -> None:
    spec = fleet_member(zone="z1").spec
    assert (spec.zone, spec.zones) == ("", ("z1",))


def test_a_cluster_without_models_has_the_nine_usual_ones() -> None:
    models = fleet_member().spec.resource_models
    assert models is not None
    assert [model.grade for model in models] == list(range(9))
    assert [(r.name, r.min, r.max) for r in models[8].ranges] == [
        ("cpu", "128", "9223372036854775807"),
        ("memory", "1Ti", "9223372036854775807"),
    ]
    assert list(fleet_member().findings()) == []
    assert fleet_member(resourceModels=[]).spec.resource_models == ()


def test_models_are_sorted_and_their_ends_opened() -> None:
    models = fleet_member(
        resourceModels=[
            {"grade": 1, "ranges": [{"name": "cpu", "min": 2, "max": "4"}]},
            {"grade": 0, "ranges": [{"name": "cpu", "min": "1", "max": 2}]},
        ]
    )
    assert [(m.grade, m.ranges[0].min, m.ranges[0].max) for m in models.spec.resource_models or ()] == [
        (0, "0", "2"),
        (1, "2", "9223372036854775807"),
    ]
    assert list(models.findings()) == []


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://1.2.3.4:6443", ""),
        ("https://[::1]:6443/path", ""),
        ("1.2.3.4:6443", "the address is not a URL with a scheme"),
        ("1.2.3.4", "the address is not a URL with a scheme"),
        ("host:6443", "the address is not a URL with a scheme"),
        ("https://host:port", "the address is not a URL with a scheme"),
        ("https://", "the address has no host"),
        ("https://u@host", "the address must not hold user information"),
        ("https://host?a", "the address must not have a query or fragment"),
        ("https://host#a", "the address must not have a query or fragment"),
    ],
)
def test_an_api_endpoint_is_a_url_with_a_host(address: str, why: str) -> None:
    assert [finding.message for finding in fleet_member(apiEndpoint=address).findings()] == ([why] if why else [])


def test_spellings_that_camel_case_does_not_give() -> None:
    spec = fleet_member(proxyURL="socks5://p", insecureSkipTLSVerification=True).spec
    assert (spec.proxy_url, spec.insecure_skip_tls_verification) == ("socks5://p", True)


def test_settings_have_the_documented_defaults() -> None:
    spec = federation.unnamed().spec
    assert spec.sources.include == ("**/*.yaml", "**/*.yml", "**/*.json")
    assert spec.sources.exclude == (".github/**",)
    assert spec.sync.interval == timedelta(seconds=60)
    assert spec.sync.health_timeout == timedelta(minutes=5)
    assert (spec.sync.prune, spec.sync.self_heal, spec.sync.on_invalid_file) == (True, True, "hold")
    assert (spec.guards.max_deletions, spec.guards.max_deletion_percent) == (50, 25)
    assert (spec.guards.max_moved_replicas_percent, spec.guards.max_clusters_touched) == (25, None)
    assert spec.failover.eviction_timeout == timedelta(minutes=5)
    assert spec.failover.graceful_eviction_timeout == timedelta(minutes=10)
    assert (spec.failover.enabled, spec.failover.max_unreachable_percent) == (True, 50)
    assert spec.failover.start_without_confirmation is False
    assert (spec.namespaces.auto_propagate, spec.namespaces.skip) == (True, ("kube-.*",))
    assert spec.scheduling.deschedule_interval == timedelta(minutes=2)
    assert spec.scheduling.unschedulable_threshold == timedelta(minutes=5)
    assert spec.scheduling.empty_workload_propagation is False
    assert (spec.state.branch, spec.state.facts_branch) == ("gitfed/state", "gitfed/facts")
    assert (spec.state.url, spec.state.push, spec.render.branch) == (None, True, None)
    assert list(federation.unnamed().spec.feature_gates) == []


def test_feature_gates_are_on_by_default_and_can_be_turned_off() -> None:
    body = {"apiVersion": federation.API_VERSION, "kind": "Federation", "metadata": {"name": "a"}}
    settings = federation.Federation.read({**body, "spec": {"featureGates": {"Failover": False}}})
    assert (settings.gate("Failover"), settings.gate("PropagateDeps"), settings.gate("ControllerPriorityQueue")) == (
        False,
        True,
        False,
    )


def test_skip_patterns_match_the_whole_name() -> None:
    namespaces = federation.Namespaces(skip=("kube-.*", "x"))
    assert [n for n in ("kube-system", "my-kube-system", "x", "xy") if namespaces.skips(n)] == ["kube-system", "x"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("10m", 600), ("1h30m", 5400), ("500ms", 0.5), ("0", 0), ("0s", 0), ("1h0m1s", 3601)],
)
def test_durations_are_kubernetes_durations(text: str, seconds: float) -> None:
    assert shape.duration(text).total_seconds() == seconds


@pytest.mark.parametrize("text", ["", "5", "-5s", "1d", "5 s", "s", "1s1m", "9" * 30 + "h"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        shape.duration(text)


@given(st.integers(0, 10**9).map(lambda ms: timedelta(milliseconds=ms)))
def test_durations_survive_being_written(span: timedelta) -> None:
    assert shape.duration(shape.duration_text(span)) == span


def test_scripts_are_found_by_operation() -> None:
    body = {
        "apiVersion": registry.CONFIG,
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "r"},
        "spec": {
            "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
            "customizations": {
                rule: {"luaScript": rule}
                for rule in (
                    "retention",
                    "replicaResource",
                    "componentResource",
                    "replicaRevision",
                    "statusReflection",
                    "statusAggregation",
                    "healthInterpretation",
                    "dependencyInterpretation",
                )
            },
        },
    }
    customization = interpreter.ResourceInterpreterCustomization.read(body)
    assert [customization.script(operation) for operation in interpreter.OPERATIONS] == [
        "replicaResource",
        "componentResource",
        "replicaRevision",
        "retention",
        "statusAggregation",
        "statusReflection",
        "healthInterpretation",
        "dependencyInterpretation",
    ]


def test_every_declared_kind_is_known_by_version_and_kind() -> None:
    assert registry.model_of(_POLICY, "PropagationPolicy") is policy.Propagation
    assert registry.model_of("policy.karmada.io/v1", "PropagationPolicy") is None
    assert registry.model_of("apps/v1", "Deployment") is None


def test_the_key_of_a_declared_object() -> None:
    assert propagation().key == ObjectKey("policy.karmada.io", "PropagationPolicy", "shop", "p")


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (names.why_not_dns_label, ["a", "a-1", "a" * 63], ["", "-a", "a.b", "A", "a" * 64, "a_b", "a\n"]),
        (names.why_not_dns_subdomain, ["a", "a.b-c.d", "1" * 253], ["", ".a", "a..b", "A", "a/b", "a" * 254, "a\n"]),
        (names.why_not_path_segment, ["system:x", "A b"], ["", ".", "..", "a/b", "a%", "a" * 254]),
        (names.why_not_label_key, ["a", "A_b.c", "x.y/A"], ["", "/a", "a/", "X/a", "a/b/c", "-a", "a" * 64, "a\n"]),
        (names.why_not_label_value, ["", "A_b.c", "a" * 63], ["-", "a b", "a" * 64, "a\n"]),
    ],
)
def test_names_follow_kubernetes(check: Any, good: list[str], bad: list[str]) -> None:
    assert [name for name in good if check(name)] == []
    assert [name for name in bad if not check(name)] == []


def test_the_older_names_of_purge_modes_are_read() -> None:
    from gitfed.model.declared.failover import Failover

    read = Failover.model_validate(
        {"cluster": {"purgeMode": "Immediately"},
         "application": {"purgeMode": "Graciously", "decisionConditions": {}}}
    )  # fmt: skip
    assert read.cluster is not None
    assert read.application is not None
    assert (read.cluster.purge_mode, read.application.purge_mode) == ("Directly", "Gracefully")
    assert read.application.grace_period_seconds == 600
