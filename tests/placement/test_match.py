"""Which policy takes a template (Karmada: policies §2.2-2.4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.decisions import PolicyRef
from gitfed.placement.scheduling import match
from tests.placement.make import policy, template

WEB = template(labels={"app": "web"})
ALL: dict[str, Any] = {}
BY_LABEL = {"labelSelector": {"matchLabels": {"app": "web"}}}
BY_NAME = {"name": "web"}


def winner(*policies: Any, of: Any = WEB) -> str | None:
    best = match.best(of, policies).policy
    return best.metadata.name if best is not None else None


def test_a_name_beats_a_label_beats_everything() -> None:
    assert winner(policy("a", ALL), policy("b", BY_LABEL), policy("c", BY_NAME)) == "c"
    assert winner(policy("a", ALL), policy("b", BY_LABEL)) == "b"


def test_explicit_priority_comes_before_precision() -> None:
    assert winner(policy("a", ALL, priority=1), policy("c", BY_NAME)) == "a"
    assert winner(policy("a", BY_NAME, priority=-1), policy("c", ALL)) == "c"


def test_among_equals_the_smaller_name_wins() -> None:
    assert winner(policy("foo", ALL), policy("bar", ALL)) == "bar"
    assert winner(policy("p10", BY_NAME), policy("p2", BY_NAME)) == "p10"


def test_a_policy_of_the_namespace_beats_any_cluster_wide_one() -> None:
    assert winner(policy("near", ALL), policy("far", BY_NAME, cluster_wide=True, priority=100)) == "near"


def test_a_policy_sees_only_its_own_namespace() -> None:
    assert winner(policy("other", ALL, namespace="bank")) is None


def test_a_cluster_wide_policy_covers_every_namespace_unless_it_names_one() -> None:
    assert winner(policy("far", ALL, cluster_wide=True)) == "far"
    assert winner(policy("far", {"namespace": "shop"}, cluster_wide=True)) == "far"
    assert winner(policy("far", {"namespace": "bank"}, cluster_wide=True)) is None


def test_a_cluster_scoped_template_is_only_for_cluster_wide_policies() -> None:
    role = template(namespace="")
    assert winner(policy("far", ALL, cluster_wide=True), of=role) == "far"
    assert winner(policy("near", ALL), of=role) is None


def test_a_label_selector_beside_a_name_is_ignored() -> None:
    assert winner(policy("c", {"name": "web", "labelSelector": {"matchLabels": {"app": "other"}}})) == "c"


def test_an_empty_label_selector_matches_and_counts_as_one() -> None:
    assert winner(policy("z", {"labelSelector": {}}), policy("a", ALL)) == "z"


def test_an_invalid_label_selector_matches_nothing() -> None:
    bad = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Bogus"}]}}
    assert winner(policy("bad", bad)) is None


def test_the_best_selector_of_a_policy_counts() -> None:
    assert winner(policy("z", ALL, BY_NAME), policy("a", BY_LABEL)) == "z"


@pytest.mark.parametrize("member", [{"apiVersion": "apps/v1beta1"}, {"kind": "StatefulSet"}, {"name": "web2"}])
def test_kind_version_and_name_must_be_equal(member: dict[str, str]) -> None:
    assert winner(policy("p", member)) is None


def test_the_losers_are_listed_the_next_best_first() -> None:
    found = match.best(WEB, [policy("a", ALL), policy("c", BY_NAME), policy("far", ALL, cluster_wide=True)])
    assert found.losers == (
        PolicyRef("PropagationPolicy", "shop", "a"),
        PolicyRef("ClusterPropagationPolicy", "", "far"),
    )


POLICIES = [
    policy(f"{name}{priority}", selector, priority=priority, cluster_wide=wide)
    for priority in (0, 1)
    for wide in (False, True)
    for name, selector in (("all", ALL), ("label", BY_LABEL), ("name", BY_NAME))
]


@given(st.permutations(POLICIES))
def test_the_order_of_policies_never_matters(shuffled: list[Any]) -> None:
    assert match.best(WEB, shuffled) == match.best(WEB, POLICIES)
