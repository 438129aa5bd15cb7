"""Which clusters a workload may not use, and the reason of each (Karmada: scheduling §2)."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.placement.scheduling import affinity, filters
from gitfed.placement.scheduling.cluster import Candidate, Taint
from tests.placement.make import placement, serving


def demand(*, present: tuple[str, ...] = (), evicting: tuple[str, ...] = (), **members: Any) -> filters.FilterQuery:
    wanted = placement(**members)
    return filters.FilterQuery(
        api_version="apps/v1",
        kind="Deployment",
        affinity=affinity.terms(wanted)[0].matches,
        tolerations=wanted.cluster_tolerations,
        spread=wanted.spread_constraints,
        present=frozenset(present),
        evicting=frozenset(evicting),
    )


def reason(wanted: filters.FilterQuery, candidate: Candidate) -> str | None:
    _, reasons = filters.split(wanted, [candidate])
    return reasons.get(candidate.name)


TAINTED = Candidate("m1", taints=(Taint("k", "v", "NoSchedule"),))


@pytest.mark.parametrize(
    ("taint", "text"),
    [
        (Taint("k", "v", "NoSchedule"), "cluster(s) had untolerated taint {k=v:NoSchedule}"),
        (Taint("k", "", "NoExecute"), "cluster(s) had untolerated taint {k:NoExecute}"),
        (Taint("k", "v", "PreferNoSchedule"), None),
    ],
)
def test_a_taint_that_repels_keeps_new_work_away(taint: Taint, text: str | None) -> None:
    assert reason(demand(), Candidate("m1", taints=(taint,))) == text


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "other"}, False),
        ({"key": "x", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"value": "v"}, True),
        ({"operator": "Equal"}, False),
        ({"key": "k", "operator": "Lt", "value": "v"}, False),
    ],
)
def test_tolerations_are_kubernetes_own(toleration: dict[str, str], tolerated: bool) -> None:
    assert (reason(demand(clusterTolerations=[toleration]), TAINTED) is None) is tolerated


def test_what_runs_in_a_cluster_stays_when_it_is_tainted_or_its_api_vanishes() -> None:
    assert reason(demand(present=("m1",)), TAINTED) is None
    assert reason(demand(present=("m1",)), Candidate("m1", apis=serving())) is None


def test_what_runs_in_a_cluster_does_not_stay_against_affinity_eviction_or_spread() -> None:
    wanted = demand(present=("m1",), clusterAffinity={"clusterNames": ["m2"]})
    assert reason(wanted, Candidate("m1")) == filters.AFFINITY
    assert reason(demand(present=("m1",), evicting=("m1",)), Candidate("m1")) == filters.EVICTION
    spread = [{"spreadByField": "region"}, {"spreadByField": "cluster"}]
    assert reason(demand(present=("m1",), spreadConstraints=spread), Candidate("m1")) == (
        "cluster(s) did not have region property"
    )


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("provider", "cluster(s) did not have provider property"),
        ("region", "cluster(s) did not have region property"),
        ("zone", "cluster(s) did not have zones property"),
        ("cluster", None),
    ],
)
def test_a_cluster_needs_the_property_that_is_spread_by(field: str, text: str | None) -> None:
    wanted = demand(spreadConstraints=[{"spreadByField": field}])
    assert reason(wanted, Candidate("m1")) == text
    assert reason(wanted, Candidate("m1", provider="p", region="r", zones=("z",))) is None


def test_an_api_must_be_served_unless_nothing_is_known_of_the_cluster() -> None:
    assert reason(demand(), Candidate("m1", apis=serving("StatefulSet"))) == filters.API
    assert reason(demand(), Candidate("m1", apis=serving("Deployment"))) is None
    assert reason(demand(), Candidate("m1", apis=None)) is None


def test_the_message_counts_reasons_in_the_order_of_their_text() -> None:
    reasons = {"a": "z reason", "b": "a reason", "c": "z reason"}
    assert filters.fit_message(reasons, 4) == "0/4 clusters are available: 1 a reason, 2 z reason."


def test_no_cluster_at_all_has_its_own_text() -> None:
    assert filters.fit_message({}, 0) == "0/0 clusters are available: no cluster exists."
