"""Placements that rely on something odd are told so."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.placement.explain import caveats
from tests.placement.make import placement
from tests.placement.reference import AGGREGATED, DIVIDED, DUPLICATED, DYNAMIC, spread

LISTED = {"staticWeightList": [{"targetCluster": {"clusterNames": ["a"]}, "weight": 1}]}


def selecting(operator: str, *values: str) -> dict[str, Any]:
    return {"labelSelector": {"matchExpressions": [{"key": "tier", "operator": operator, "values": list(values)}]}}


@pytest.mark.parametrize(
    ("members", "sentences"),
    [
        ({}, []),
        ({"spreadConstraints": spread("region 1-2, cluster 2-4"), "replicaScheduling": DYNAMIC}, []),
        (
            {"spreadConstraints": spread("cluster 1")},
            ["spreading by cluster without maxGroups has no upper limit; Karmada would select nothing"],
        ),
        (
            {"spreadConstraints": spread("zone 2-2, cluster 1-2")},
            ["spreading by zone only asks that clusters have a zone: nothing is spread, as in Karmada"],
        ),
        (
            {"spreadConstraints": spread("region 3-3, cluster 1-2")},
            [
                "3 regions need more clusters than maxGroups 2 allows: "
                "one cluster of each region is used all the same, as in Karmada"
            ],
        ),
        (
            {"spreadConstraints": spread("cluster 1-2"), "replicaScheduling": DIVIDED},
            ["static weights switch spread constraints off: every cluster with a weight is used, as in Karmada"],
        ),
        (
            {"spreadConstraints": spread("cluster 1-2"), "replicaScheduling": {**DIVIDED, "weightPreference": {}}},
            [
                "an empty weightPreference divides evenly but keeps spread constraints in force, and clusters "
                "are then chosen by their room, as in Karmada; leave weightPreference out to use every cluster"
            ],
        ),
        (
            {"replicaScheduling": {**DIVIDED, "weightPreference": {**LISTED, "dynamicWeight": "AvailableReplicas"}}},
            ["staticWeightList has no effect beside dynamicWeight"],
        ),
        (
            {"replicaScheduling": {**DUPLICATED, "weightPreference": LISTED}},
            ["weightPreference has no effect: every cluster gets all replicas"],
        ),
        (
            {"replicaScheduling": {**AGGREGATED, "weightPreference": LISTED}},
            ["weightPreference has no effect: Aggregated goes by room"],
        ),
        (
            {"clusterAffinity": selecting("In")},
            ["a label selector matches no cluster: In of tier needs at least one value"],
        ),
        (
            {"clusterAffinities": [{"affinityName": "g", **selecting("Exists", "x")}]},
            ["a label selector matches no cluster: Exists of tier takes no values"],
        ),
    ],
)
def test_what_a_placement_relies_on_is_said(members: dict[str, Any], sentences: list[str]) -> None:
    assert caveats.relied_on(placement(**members)) == sentences
