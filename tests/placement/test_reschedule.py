"""When a template is scheduled again (Karmada: scheduling §1.2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Rescheduling, Scheduled, Share
from gitfed.placement.scheduling import reschedule
from gitfed.planning.schedule_cache import Schedules
from tests.placement.make import placement

KEY = ObjectKey("apps", "Deployment", "shop", "web")
DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
ALL = frozenset({"a", "b"})
EARLY, LATE = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 2, tzinfo=UTC)


def decided(
    *shares: Share,
    affinity_name: str = "",
    triggered: datetime | None = None,
    last_scheduled: datetime | None = None,
) -> Decision:
    return Decision(
        KEY,
        "apps/v1",
        Scheduled(shares or (Share("a", 2), Share("b", 1)), affinity_name=affinity_name),
        last_scheduled=last_scheduled,
        rescheduling=Rescheduling(triggered),
    )


def why(
    decision: Decision | None,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    **given: Any,
):
    now = placement(**(DIVIDED if after is None else after))
    applied = now if before is None else placement(**before)
    if decision is not None and decision.placement is None:
        decision = replace(decision, placement=applied.as_json())
    arguments = {"replicas": 3, "is_workload": True, "clusters": ALL, **given}
    changed = decision is not None and reschedule.placement_changed(now, applied, decision.scheduled.affinity_name)
    return reschedule.why(now, decision, changed=changed, **arguments)


def test_a_divided_workload_rests_while_nothing_it_asked_for_changes() -> None:
    assert why(decided()) is None


def test_what_was_never_scheduled_is_due() -> None:
    assert why(None) == "it was never scheduled"


def test_another_number_of_replicas_makes_it_due() -> None:
    assert why(decided(), replicas=4) == "the number of replicas changed"


def test_a_share_without_a_number_has_none() -> None:
    duplicated = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
    assert why(decided(Share("a")), after=duplicated, replicas=0) == "it is placed anew every time"
    assert why(decided(Share("a")), replicas=0) is None


def test_a_target_that_is_gone_makes_it_due() -> None:
    assert why(decided(), clusters=frozenset({"a"})) == "cluster b is gone"


def test_what_is_not_divided_is_placed_every_time() -> None:
    assert why(decided(), after={}) == "it is placed anew every time"
    assert why(decided(Share("a"), Share("b")), replicas=0, is_workload=False) == "it is placed anew every time"


@pytest.mark.parametrize(
    "member",
    [
        {"clusterAffinity": {"clusterNames": ["a"]}},
        {"clusterTolerations": [{"operator": "Exists"}]},
        {"spreadConstraints": [{"maxGroups": 2}]},
        {"clusterAffinities": [{"affinityName": "g"}]},
    ],
)
def test_a_changed_placement_makes_it_due(member: dict[str, Any]) -> None:
    assert why(decided(), before=DIVIDED, after={**DIVIDED, **member}) == "the placement changed"


GROUPS = {**DIVIDED, "clusterAffinities": [{"affinityName": "g1"}, {"affinityName": "g2"}]}
G1_CHANGED = {
    **DIVIDED,
    "clusterAffinities": [{"affinityName": "g1", "clusterNames": ["a"]}, {"affinityName": "g2"}],
}


@pytest.mark.parametrize(
    ("observed", "reason"), [("g2", None), ("g1", "the placement changed"), ("", "the placement changed")]
)
def test_of_the_groups_only_the_one_in_use_counts(observed: str, reason: str | None) -> None:
    assert why(decided(affinity_name=observed), before=GROUPS, after=G1_CHANGED) == reason


def test_other_workload_affinity_alone_moves_nothing() -> None:
    after = {**DIVIDED, "workloadAffinity": {"affinity": {"groupByLabelKey": "team"}}}
    assert why(decided(), before=DIVIDED, after=after) is None


def test_a_reschedule_is_served_once() -> None:
    asked = decided(triggered=LATE, last_scheduled=EARLY)
    assert why(asked) == "a reschedule was asked for"
    assert why(decided(triggered=LATE, last_scheduled=LATE)) is None
    assert why(decided(triggered=LATE)) is None


def test_a_placement_not_on_record_changed_and_an_unreadable_one_did_not() -> None:
    now, decision = placement(**DIVIDED), decided()
    given = {"replicas": 3, "is_workload": True, "clusters": ALL}
    assert reschedule.why(now, decision, changed=False, **given) == "the placement changed"
    unreadable = {"unreadable": "{"}
    changed = Schedules().placement_changed(now, unreadable, "")
    assert reschedule.why(now, replace(decision, placement=unreadable), changed=changed, **given) is None
