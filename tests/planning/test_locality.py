"""Every declared field says how far another value of it reaches, and what a review looks at goes by that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from gitfed.model.declared import registry
from gitfed.model.declared.cluster import Cluster, ClusterSpec
from gitfed.model.declared.federation import Federation, FederationSpec
from gitfed.model.declared.policy import OverrideSpec, Propagation, PropagationSpec
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.review import affected_templates, cluster_changes, locality
from gitfed.planning.review.locality import Locality
from tests.source.declared import snapshot

TABLES: list[tuple[type[BaseModel], Mapping[str, Locality]]] = [
    (FederationSpec, locality.SETTINGS),
    (ClusterSpec, locality.CLUSTER),
    (PropagationSpec, locality.PROPAGATION),
    (OverrideSpec, locality.OVERRIDE),
]
"""A member that is a part with members of its own stands in its table itself, or all of them do."""


def members(model: type[BaseModel], table: Mapping[str, Locality]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        part = field.annotation
        if name not in table and isinstance(part, type) and issubclass(part, BaseModel):
            yield from (f"{name}.{inner}" for inner in part.model_fields)
        else:
            yield name


@pytest.mark.parametrize(("model", "table"), TABLES, ids=lambda one: getattr(one, "__name__", ""))
def test_every_declared_member_says_how_far_it_reaches(model: type[BaseModel], table: Mapping[str, Locality]) -> None:
    assert set(members(model, table)) == set(table), f"classify it in planning/review/locality.py: {model.__name__}"


@pytest.mark.parametrize("member", [name for name, reach in locality.SETTINGS.items() if reach is Locality.NONE])
def test_a_setting_that_reaches_nothing_is_classified_on_its_own(member: str) -> None:
    """A part that reaches nothing as a whole would hide what it gains."""
    outer, _, inner = member.partition(".")
    assert inner, outer


def test_every_member_of_a_snapshot_says_how_far_it_reaches() -> None:
    assert {one.name for one in fields(RepoSnapshot)} == set(locality.REPOSITORY)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in registry.MODELS if kind[1] not in ("Cluster", "Federation")],  # see below
    ids=lambda kind: kind[1],
)
def test_a_kind_that_comes_is_looked_at_as_far_as_its_list_reaches(kind: tuple[str, str]) -> None:
    empty, full = snapshot(), snapshot(kind)
    lists = [
        one.name
        for one in fields(full)
        if one.name not in ("commit", "settings", "origins") and getattr(empty, one.name) != getattr(full, one.name)
    ]
    assert len(lists) == 1
    everything = locality.REPOSITORY[lists[0]] is Locality.ALL
    assert (affected_templates.further(empty, full, {}, {}) is None) is everything
    assert (affected_templates.further(full, empty, {}, {}) is None) is everything


SETTINGS: dict[str, Any] = {
    "sources.include": ("apps/**",),
    "sources.exclude": ("docs/**",),
    "sources.verify": {"commits": "head", "keys": ("SHA256:abc",)},
    "sync.interval": timedelta(minutes=3),
    "sync.prune": False,
    "sync.self_heal": False,
    "sync.on_invalid_file": "reject",
    "sync.health_timeout": timedelta(minutes=3),
    "guards.max_deletions": 1,
    "guards.max_deletion_percent": 1,
    "guards.max_moved_replicas_percent": 1,
    "guards.max_clusters_touched": 1,
    "guards.approvers": ("ada",),
    "guards.operators": ("ada",),
    "failover": {"enabled": False},
    "namespaces": {"autoPropagate": False},
    "scheduling.empty_workload_propagation": True,
    "scheduling.deschedule_interval": timedelta(minutes=3),
    "scheduling.unschedulable_threshold": timedelta(minutes=3),
    "state.branch": "another",
    "state.facts_branch": "another",
    "state.writers": ("ada",),
    "state.url": "https://a.example/b",
    "state.push": False,
    "state.wait_for_push": timedelta(minutes=3),
    "render.branch": "another",
    "feature_gates": {"Failover": False},
}


@pytest.mark.parametrize("member", locality.SETTINGS)
def test_another_setting_is_looked_at_as_far_as_it_reaches(member: str) -> None:
    base = snapshot()
    head = replace(base, settings=with_member(base.settings, member, SETTINGS[member]))
    assert head.settings != base.settings
    found = affected_templates.further(base, head, {}, {})
    assert found == (None if locality.SETTINGS[member] is Locality.ALL else set())


def with_member(settings: Federation, member: str, value: Any) -> Federation:
    spec: Any = settings.spec
    outer, _, inner = member.partition(".")
    if inner:
        part = getattr(spec, outer)
        made = type(part).model_fields[inner].annotation
        value = part.model_copy(update={inner: made(**value) if isinstance(value, dict) and made else value})
    elif isinstance(getattr(spec, outer), BaseModel):
        value = type(getattr(spec, outer)).model_validate(value)
    return settings.model_copy(update={"spec": spec.model_copy(update={outer: value})})


CLUSTER: dict[str, Any] = {
    "id": "another",
    "sync_mode": "Pull",
    "api_endpoint": "https://a.example",
    "secret_ref": {"namespace": "a", "name": "b"},
    "impersonator_secret_ref": {"namespace": "a", "name": "b"},
    "insecure_skip_tls_verification": True,
    "proxy_url": "http://a.example",
    "proxy_header": {"a": "b"},
    "provider": "another",
    "region": "another",
    "zone": "another",
    "zones": ["another"],
    "taints": [{"key": "a", "effect": "NoSchedule"}],
    "resource_models": [{"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "2"}]},
                        {"grade": 1, "ranges": [{"name": "cpu", "min": "2", "max": "9223372036854775807"}]}],
}  # fmt: skip


@pytest.mark.parametrize("member", locality.CLUSTER)
def test_a_cluster_is_another_target_by_what_says_so(member: str) -> None:
    name = ClusterSpec.model_fields[member].alias or member
    before, after = cluster(), cluster(**{name: CLUSTER[member]})
    assert before != after
    found = cluster_changes.of({"m1": before}, {"m1": after})
    assert bool(found) is (locality.CLUSTER[member] is Locality.BY_CLUSTER)


def cluster(**spec: Any) -> Cluster:
    return Cluster.model_validate(
        {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"},
         "spec": {"syncMode": "Push", **spec}}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "tied"),
    [
        pytest.param({}, False, id="a plain placement"),
        pytest.param({"propagateDeps": True}, True, id="dependencies that follow"),
        pytest.param({"placement": {"workloadAffinity": {"affinity": {"groupByLabelKey": "a"}}}}, True, id="affinity"),
        pytest.param({"placement": {"clusterAffinity": {"clusterNames": ["m1"]}}}, False, id="named clusters"),
    ],
)
def test_a_policy_ties_templates_by_what_says_so(spec: dict[str, Any], tied: bool) -> None:
    selectors = [{"apiVersion": "v1", "kind": "ConfigMap"}]
    policy = Propagation.model_validate({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "one", "namespace": "shop"}, "spec": {"resourceSelectors": selectors, **spec},
    })  # fmt: skip
    assert locality.ties(policy) is tied
