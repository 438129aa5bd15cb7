"""What fits on single nodes, and whole sets of components (Karmada: scheduling §5, §5.3, §5.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitfed.model.fleet import NodeFacts
from gitfed.placement.capacity import estimate, nodes
from gitfed.placement.capacity.estimate import Capacity, Estimate
from gitfed.placement.capacity.fleet_capacity import FleetCapacity
from gitfed.placement.scheduling.cluster import Candidate
from tests.placement.reference import place, told

TAINT = {"key": "k", "value": "", "effect": "NoSchedule"}
SSD = {"d": "ssd"}
BUSY = {"cpu": "1", "pods": "1"}


def node(name: str, cpu: str, memory: str, pods: str, used: dict[str, str] | None = None, **more: Any) -> NodeFacts:
    more.setdefault("labels", {})
    return NodeFacts(name, {"cpu": cpu, "memory": memory, "pods": pods}, used or {}, **more)


NODES = (
    node("n1", "4", "8Gi", "10", BUSY, labels=SSD),
    node("n2", "8", "8Gi", "3", BUSY),
    node("n3", "16", "64Gi", "10", labels=SSD, taints=(TAINT,)),
    node("n4", "16", "64Gi", "10", labels=SSD, taints=(TAINT,), unschedulable=True),
)
CLUSTER = Capacity(None, {}, NODES)


def asks(claim: dict[str, Any] | None = None, **amounts: str) -> dict[str, Any]:
    found: dict[str, Any] = {"resourceRequest": amounts}
    return {**found, "nodeClaim": claim} if claim else found


@pytest.mark.parametrize(
    ("requirements", "replicas"),
    [
        (asks(cpu="1"), 5),
        (asks(cpu="1", memory="3Gi"), 4),
        (None, 11),
        (asks({"nodeSelector": SSD}, cpu="1"), 3),
        (asks({"tolerations": [{"key": "k", "operator": "Exists"}]}, cpu="1"), 15),
        (asks({"tolerations": [{"operator": "Exists"}]}, cpu="1"), 25),
        (asks(gpu="1"), 0),
    ],
)
def test_replicas_are_counted_node_by_node(requirements: dict[str, Any] | None, replicas: int) -> None:
    assert estimate.room(CLUSTER, requirements) == replicas
    assert FleetCapacity({"a": CLUSTER}).of(requirements) == {"a": replicas}


def test_a_class_of_nodes_counts_as_so_many() -> None:
    many = Capacity(None, {}, (node("class", "4", "8Gi", "10", count=50),))
    assert estimate.room(many, asks(cpu="3")) == 50


def test_the_smaller_of_two_estimators_counts() -> None:
    whole = {"allocatable": {"cpu": "10", "pods": "100"}}
    assert estimate.room(Capacity(whole, {}, NODES), asks(cpu="1")) == 5
    assert estimate.estimates(Capacity(whole, {}, NODES), asks(cpu="3")) == (
        Estimate("resource summary", 3, "cpu"),
        Estimate("nodes", 3, "cpu"),
    )
    assert estimate.estimates(CLUSTER, asks({"nodeSelector": {"d": "none"}})) == (
        Estimate("nodes", 0, "node selector, affinity or taints"),
    )


def rooms(*pairs: tuple[str, str | None]) -> list[Candidate]:
    """Clusters with so much by their summary and by their nodes (None: not known)."""
    found = []
    for name, (general, accurate) in zip("ab", pairs, strict=True):
        known = () if accurate is None else (node("n", accurate, "1Ti", "900"),)
        summary = {"allocatable": {"cpu": general, "pods": "900"}}
        found.append(Candidate(name, capacity=Capacity(summary, {}, known)))
    return found


@pytest.mark.parametrize(
    ("accurate", "result"),
    [((("5"), "7"), "a=5 b=7"), (("50", "7"), "a=7 b=5"), (("5", None), "a=2 b=10"), ((None, None), "a=4 b=8")],
)
def test_each_cluster_is_estimated_by_all_that_is_known_of_it(accurate: tuple[str | None, ...], result: str) -> None:
    """A cluster whose nodes are not known is estimated as a whole; it does not take the others' nodes away."""
    assert told(place(rooms(("10", accurate[0]), ("20", accurate[1])), "dyn", 12)) == result


@pytest.mark.parametrize(
    ("expression", "labels", "takes"),
    [
        (("d", "In", ["ssd"]), SSD, True),
        (("d", "In", ["ssd"]), {}, False),
        (("d", "NotIn", ["ssd"]), SSD, False),
        (("d", "NotIn", ["ssd"]), {}, True),
        (("d", "Exists", None), SSD, True),
        (("d", "DoesNotExist", None), SSD, False),
        (("n", "Gt", ["4"]), {"n": "5"}, True),
        (("n", "Gt", ["5"]), {"n": "5"}, False),
        (("n", "Gt", ["-1"]), {"n": "5"}, False),
        (("n", "Lt", ["6"]), {"n": "5"}, True),
        (("n", "Lt", ["x"]), {"n": "5"}, False),
        (("n", "Gt", ["4"]), {}, False),
        (("n", "Near", ["4"]), {"n": "4"}, False),
    ],
)
def test_required_affinity(expression: tuple[str, str, Any], labels: dict[str, str], takes: bool) -> None:
    key, operator, values = expression
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    needs = {"nodeClaim": {"hardNodeAffinity": {"nodeSelectorTerms": [term]}}}
    assert nodes.filter_of(needs)(node("n", "1", "1", "1", labels=labels)) is takes


def test_terms_are_alternatives_and_an_empty_one_matches_nothing() -> None:
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    needs = {"nodeClaim": {"hardNodeAffinity": {"nodeSelectorTerms": [{}, by_name]}}}
    takes = nodes.filter_of(needs)
    assert [takes(one) for one in NODES[:2]] == [True, False]


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k"}, True),
        ({"key": "k", "operator": "Equal", "value": "v"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Equal"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], tolerated: bool) -> None:
    takes = nodes.filter_of({"nodeClaim": {"tolerations": [toleration]}})
    assert takes(node("n", "1", "1", "1", taints=(TAINT,))) is tolerated
    assert takes(node("n", "1", "1", "1", taints=({**TAINT, "effect": "PreferNoSchedule"},)))


# -- components ----------------------------------------------------------------------------------------------------


def component(count: int, **amounts: str) -> dict[str, Any]:
    return {"name": f"c{count}", "replicas": count, "replicaRequirements": {"resourceRequest": amounts}}


GRADES = {3: {"cpu": "4", "memory": "32Gi"}}


def whole(**amounts: str) -> Capacity:
    return Capacity({"allocatable": amounts}, {})


def graded(count: int) -> Capacity:
    modelings = [{"grade": 3, "count": count}]
    return Capacity({"allocatable": {"cpu": "99", "pods": "900"}, "allocatableModelings": modelings}, GRADES)


@pytest.mark.parametrize(
    ("capacity", "components", "fitting"),
    [
        (whole(cpu="23", pods="100"), [component(1, cpu="1"), component(2, cpu="2")], 4),
        (whole(cpu="100", pods="10"), [component(1, cpu="1"), component(2, cpu="2")], 3),
        (graded(2), [component(1, cpu="2"), component(2, cpu="3")], 0),
        (graded(3), [component(1, cpu="2"), component(2, cpu="3")], 1),
        (whole(memory="8Gi", pods="100"), [component(1, memory="1Gi")], 8),
        (CLUSTER, [component(1, cpu="1"), component(1, cpu="2")], 2),
        (whole(cpu="23", pods="100"), [component(1, gpu="1")], 0),
        (whole(cpu="23", pods="100"), [component(0, cpu="1")], estimate.MOST),
    ],
)
def test_complete_sets_are_counted(capacity: Capacity, components: list[dict[str, Any]], fitting: int) -> None:
    assert estimate.sets(capacity, components) == fitting
    assert FleetCapacity({"a": capacity}).sets(components) == {"a": fitting}


def test_amounts_in_either_suffix_are_exact() -> None:
    """Other than in the reference, which compares thousandths with units and finds 0 and 10."""
    assert estimate.sets(whole(memory="8Gi", pods="100"), [component(1, memory="1G")]) == 8
    assert estimate.sets(whole(memory="8000000000", pods="10"), [component(1, memory="1Gi")]) == 7


def test_sets_of_what_is_not_known_are_not_known() -> None:
    assert estimate.sets(None, [component(1)]) is None
    assert estimate.sets(whole(pods="many"), [component(1)]) is None
    assert FleetCapacity({"a": None}).sets([component(1)]) == {"a": None}


SET = (component(1, cpu="5"),)


@pytest.mark.parametrize(
    ("clusters", "how", "before", "constraints", "result"),
    [
        ("a=4 b=6", "agg", "", "cluster 1-1", "b"),
        (
            "a=4 b=3",
            "agg",
            "",
            "cluster 1-1",
            "failed to select clusters: no enough resource when selecting 1 clusters",
        ),
        ("a=4 b=3", None, "", "cluster 1-1", "a"),
        ("a=0 b=6", "agg", "a", "cluster 1-1", "b"),
        ("a=4 b=6", "agg", "", "cluster 1-2", "a b"),
    ],
)
def test_a_workload_of_components_goes_as_a_whole(
    clusters: str, how: str | None, before: str, constraints: str, result: str
) -> None:
    found = place(clusters, how, 0, before=before, constraints=constraints, requirements=None, components=SET)
    assert told(found) == result


def test_nodes_without_a_summary_are_enough() -> None:
    known = replace(CLUSTER, summary=None)
    assert told(place([Candidate("a", capacity=known)], "dyn", 5)) == "a=5"
