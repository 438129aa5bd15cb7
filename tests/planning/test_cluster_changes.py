"""A cluster is declared otherwise: to which policies that makes a difference."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.declared.cluster import Cluster
from gitfed.planning.review import cluster_changes
from tests.placement.make import policy

IN_A = {"labelSelector": {"matchLabels": {"tier": "a"}}}
WEIGHED = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"staticWeightList": [{"targetCluster": IN_A, "weight": 2}]},
}


def declared(tier: str, region: str = "eu") -> dict[str, Cluster]:
    metadata = {"name": "c1", "labels": {"tier": tier}}
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata}
    return {"c1": Cluster.read({**body, "spec": {"syncMode": "Push", "region": region}})}


@pytest.mark.parametrize(
    ("placement", "relabelled", "moved"),
    [
        ({}, False, False),
        ({"clusterAffinity": IN_A}, True, False),
        ({"clusterAffinity": {"fieldSelector": {"matchExpressions": [
            {"key": "region", "operator": "In", "values": ["eu"]}]}}}, False, True),
        ({"clusterAffinities": [{"affinityName": "first", **IN_A}]}, True, False),
        ({"replicaScheduling": WEIGHED}, True, False),
        ({"spreadConstraints": [{"spreadByField": "region", "minGroups": 1}]}, False, True),
    ],
    ids=["any cluster", "labels", "fields", "ordered groups", "weights", "regions"],
)  # fmt: skip
def test_a_policy_is_concerned_by_what_it_chooses_by(placement: dict[str, Any], relabelled: bool, moved: bool) -> None:
    for head, concerned in ((declared("b"), relabelled), (declared("a", "us"), moved)):
        changes = cluster_changes.of(declared("a"), head)
        assert len(changes) == 1
        assert bool([*cluster_changes.choosing(changes, [policy("web", placement=placement)])]) is concerned
