"""Cluster affinities (Karmada: policies §4.2)."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.declared.policy import ClusterAffinity
from gitfed.placement.scheduling import affinity
from gitfed.placement.scheduling.cluster import Candidate
from tests.placement.make import placement

M1 = Candidate("m1", {"env": "prod"}, "acme", "eu", ("z1", "z2"))
BARE = Candidate("bare")


def field(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("wanted", "on_m1", "on_bare"),
    [
        ({}, True, True),
        ({"fieldSelector": {}}, True, True),
        ({"labelSelector": {}}, True, True),
        ({"exclude": ["m1"]}, False, True),
        ({"exclude": ["m1"], "clusterNames": ["m1"]}, False, False),
        ({"labelSelector": {"matchLabels": {"env": "prod"}}, "clusterNames": ["bare"]}, False, False),
        ({"fieldSelector": {"matchExpressions": [field("provider", "NotIn", "other")]}}, True, True),
        ({"fieldSelector": {"matchExpressions": [field("provider", "In", "acme")]}}, True, False),
        ({"fieldSelector": {"matchExpressions": [field("zone", "In", "z2", "z9")]}}, True, False),
        ({"fieldSelector": {"matchExpressions": [field("zone", "NotIn", "z2")]}}, False, True),
        (
            {"fieldSelector": {"matchExpressions": [field("region", "In", "eu"), field("provider", "NotIn", "acme")]}},
            False,
            False,
        ),
        ({"fieldSelector": {"matchExpressions": [field("region", "In")]}}, False, False),
        ({"fieldSelector": {"matchExpressions": [field("color", "In", "red")]}}, False, False),
        ({"fieldSelector": {"matchExpressions": [field("zone", "Exists", "ignored")]}}, True, False),
        ({"fieldSelector": {"matchExpressions": [field("zone", "NotIn")]}}, True, True),
        ({"fieldSelector": {"matchExpressions": [field("zone", "DoesNotExist")]}}, False, True),
        ({"fieldSelector": {"matchExpressions": [field("region", "Exists")]}}, True, False),
        ({"fieldSelector": {"matchExpressions": [field("region", "Exists", "eu")]}}, False, False),
        ({"fieldSelector": {"matchExpressions": [field("provider", "NotIn")]}}, False, False),
        ({"labelSelector": {"matchExpressions": [{"key": "env", "operator": "Bogus"}]}}, False, False),
    ],
)
def test_every_given_part_must_hold(wanted: dict[str, Any], on_m1: bool, on_bare: bool) -> None:
    matches = affinity.compile(ClusterAffinity.model_validate(wanted))
    assert matches(M1) is on_m1
    assert matches(BARE) is on_bare


def test_no_affinity_matches_everywhere() -> None:
    assert affinity.compile(None)(BARE)


def test_a_placement_without_groups_has_one_nameless_term() -> None:
    (term,) = affinity.terms(placement(clusterAffinity={"clusterNames": ["m1"]}))
    assert term.name == ""
    assert term.matches(M1)
    assert not term.matches(BARE)


def test_groups_keep_their_order_and_names() -> None:
    groups = [{"affinityName": "first", "clusterNames": ["m1"]}, {"affinityName": "second"}]
    terms = affinity.terms(placement(clusterAffinities=groups))
    assert [term.name for term in terms] == ["first", "second"]
    assert [term.matches(BARE) for term in terms] == [False, True]
