"""What a Lease says of its leaders."""

from __future__ import annotations

from datetime import UTC, datetime

from gitfed.edges.kube.leases import lease
from gitfed.model.leader import Lead

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_a_lease_counts_how_often_it_changed_hands() -> None:
    first = lease.body_of("gitfed", Lead("a", 15, NOON, NOON), None)
    assert lease.transitions_of(first) == 0
    renewed = lease.body_of("gitfed", Lead("a", 15, NOON, NOON), first)
    assert lease.transitions_of(renewed) == 0
    taken_over = lease.body_of("gitfed", Lead("b", 15, NOON, NOON), renewed)
    assert lease.transitions_of(taken_over) == 1
    assert lease.transitions_of(lease.body_of("gitfed", Lead("b", 15, NOON, NOON), taken_over)) == 1
    assert lease.transitions_of(lease.body_of("gitfed", Lead("a", 15, NOON, NOON), taken_over)) == 2
