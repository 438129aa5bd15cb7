"""Placing workloads anew on request (Karmada: scheduling §7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision
from gitfed.model.declared.policy import WorkloadRebalancer
from gitfed.placement.scheduling import rebalance

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")
API = ObjectKey("apps", "Deployment", "shop", "api")
DECISION = Decision(WEB, "apps/v1", last_scheduled=NOW - timedelta(hours=1))


def rebalancer(name: str, *workloads: str) -> WorkloadRebalancer:
    listed = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": item} for item in workloads]
    return WorkloadRebalancer.read(
        {
            "apiVersion": "apps.karmada.io/v1alpha1",
            "kind": "WorkloadRebalancer",
            "metadata": {"name": name},
            "spec": {"workloads": listed},
        }
    )


def test_who_asks_for_which_workload() -> None:
    found = rebalance.wanted([rebalancer("two", "web"), rebalancer("one", "web", "api", "api")])
    assert found == {WEB: ("one", "two"), API: ("one",)}


def test_a_rebalancer_asks_once() -> None:
    asked = rebalance.triggered(DECISION, ("one",), NOW)
    assert asked is not None
    assert asked.rescheduling.triggered == NOW
    served = replace(asked, rescheduling=replace(asked.rescheduling, rebalancers=("one",)))
    assert rebalance.triggered(served, ("one",), NOW + timedelta(hours=1)) is served
    assert rebalance.triggered(served, (), NOW) is served


def test_another_one_asks_again() -> None:
    served = replace(DECISION, rescheduling=replace(DECISION.rescheduling, rebalancers=("one",)))
    asked = rebalance.triggered(served, ("one", "two"), NOW)
    assert asked is not None
    assert asked.rescheduling.triggered == NOW


def test_a_later_request_is_not_taken_back() -> None:
    later = replace(DECISION, rescheduling=replace(DECISION.rescheduling, triggered=NOW + timedelta(days=1)))
    assert rebalance.triggered(later, ("one",), NOW) is later


def test_what_was_never_placed_is_not_placed_anew() -> None:
    assert rebalance.triggered(None, ("one",), NOW) is None
