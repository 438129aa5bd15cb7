"""What Remedies ask for, said again from the reference's description."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.declared.remedy import Remedy
from gitfed.model.fleet import ClusterCondition
from gitfed.placement.failover import remedies

NAMES = "ServiceDomainNameResolutionReady"


def remedy(**spec: Any) -> Remedy:
    return Remedy.model_validate(
        {
            "apiVersion": "remedy.karmada.io/v1alpha1",
            "kind": "Remedy",
            "metadata": {"name": "dns"},
            "spec": {"actions": ["TrafficControl"], **spec},
        }
    )


def match(operator: str, status: str, kind: str = NAMES) -> dict[str, Any]:
    return {"clusterConditionMatch": {"conditionType": kind, "operator": operator, "conditionStatus": status}}


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({}, True),
        ({"clusterAffinity": {"clusterNames": ["m1"]}}, True),
        ({"clusterAffinity": {"clusterNames": ["m2"]}}, False),
        ({"clusterAffinity": {}}, False),
        ({"decisionMatches": [match("Equal", "False")]}, True),
        ({"decisionMatches": [match("Equal", "True")]}, False),
        ({"decisionMatches": [match("NotEqual", "True")]}, True),
        ({"decisionMatches": [match("NotEqual", "False")]}, False),
        ({"decisionMatches": [match("Equal", "True"), match("Equal", "False")]}, True),
        ({"decisionMatches": [match("NotEqual", "True", "Absent")]}, False),
        ({"decisionMatches": [{}]}, False),
        ({"actions": []}, False),
    ],
)
def test_a_remedy_asks_where_its_cluster_and_one_condition_match(spec: dict[str, Any], asked: bool) -> None:
    found = remedies.actions(
        [remedy(**spec)], "m1", [ClusterCondition(NAMES, "False"), ClusterCondition("Ready", "True")]
    )
    assert found == (("TrafficControl",) if asked else ())


@given(st.lists(st.sampled_from(["m1", "m2", "m3"]), unique=True), st.lists(st.booleans(), max_size=4))
def test_several_remedies_ask_for_an_action_once(names: list[str], hold: list[bool]) -> None:
    asked = [
        remedy(clusterAffinity={"clusterNames": names}, decisionMatches=[match("Equal", "False" if one else "True")])
        for one in hold
    ]
    found = remedies.actions(asked, "m1", [ClusterCondition(NAMES, "False")])
    assert found == (("TrafficControl",) if "m1" in names and any(hold) else ())


def test_what_a_remedy_can_never_do_is_said() -> None:
    odd = remedy(clusterAffinity={}, decisionMatches=[{}], actions=[])
    assert [one.message for one in odd.findings()] == [
        "no cluster is named: nothing is asked for anywhere",
        "no clusterConditionMatch: it matches nothing",
        "no actions: nothing is asked for",
    ]
