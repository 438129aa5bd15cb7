"""Placing workloads anew on request (Karmada: scheduling §7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.declared.policy import WorkloadRebalancer
from gitfed.placement.rebalance import Observed, rebalance

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")
API = ObjectKey("apps", "Deployment", "shop", "api")
DECISIONS = Decisions(bindings={key: Decision(key, "apps/v1", last_scheduled=NOW) for key in (WEB, API)})


def rebalancer(*names: str) -> WorkloadRebalancer:
    workloads = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name} for name in names]
    return WorkloadRebalancer.read(
        {
            "apiVersion": "apps.karmada.io/v1alpha1",
            "kind": "WorkloadRebalancer",
            "metadata": {"name": "spread"},
            "spec": {"workloads": workloads},
        }
    )


def test_a_workload_is_placed_anew_once() -> None:
    first = NOW + timedelta(hours=1)
    after, seen, outcome = rebalance([rebalancer("web")], DECISIONS, {}, first)
    assert after.bindings[WEB].reschedule_triggered == first
    assert after.bindings[API].reschedule_triggered is None
    assert outcome == (Observed("spread", "apps/v1 Deployment shop web", "Successful"),)
    later, again, _ = rebalance([rebalancer("web")], after, seen, first + timedelta(hours=1))
    assert later is after
    assert again is seen


def test_a_workload_that_is_added_later_counts_from_then() -> None:
    first, second = NOW + timedelta(hours=1), NOW + timedelta(hours=2)
    after, seen, _ = rebalance([rebalancer("web")], DECISIONS, {}, first)
    after, _, _ = rebalance([rebalancer("web", "api")], after, seen, second)
    assert (after.bindings[WEB].reschedule_triggered, after.bindings[API].reschedule_triggered) == (first, second)


def test_a_later_request_is_not_taken_back() -> None:
    asked = NOW + timedelta(days=1)
    before = Decisions(bindings={WEB: replace(DECISIONS.bindings[WEB], reschedule_triggered=asked)})
    after, _, _ = rebalance([rebalancer("web")], before, {}, NOW)
    assert after is before


def test_a_workload_without_a_binding_has_failed_for_good() -> None:
    _, seen, outcome = rebalance([rebalancer("gone")], DECISIONS, {}, NOW)
    assert outcome == (Observed("spread", "apps/v1 Deployment shop gone", "Failed", "ReferencedBindingNotFound"),)
    gone = ObjectKey("apps", "Deployment", "shop", "gone")
    born = Decisions(bindings={gone: Decision(gone, "apps/v1", last_scheduled=NOW + timedelta(hours=1))})
    after, _, _ = rebalance([rebalancer("gone")], born, seen, NOW + timedelta(hours=2))
    assert after.bindings[gone].reschedule_triggered == NOW


def test_a_rebalancer_that_is_gone_is_forgotten() -> None:
    _, seen, _ = rebalance([rebalancer("web")], DECISIONS, {}, NOW)
    assert rebalance([], DECISIONS, seen, NOW)[1] == {}
