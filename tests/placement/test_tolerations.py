"""How long work stays in a tainted cluster: the table of the reference (Karmada: failover §2.3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitfed.model.decisions import TimedTaint
from gitfed.model.declared.federation import FailoverSettings
from gitfed.model.declared.placement import Toleration
from gitfed.model.keys import NOT_READY, UNREACHABLE
from gitfed.placement.failover import tolerations as tolerate

TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def taint(key: str, minutes: int = 0) -> TimedTaint:
    return TimedTaint(key, "NoExecute", "", TEN + timedelta(minutes=minutes))


def tolerates(key: str, seconds: int | None = None) -> Toleration:
    return Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("taints", "tolerations", "minutes"),
    [
        ([taint("t1")], [], 0),
        ([taint("t1")], [tolerates("t1")], None),
        ([taint("t1")], [tolerates("t1", 300)], 5),
        ([taint("t1")], [tolerates("t1", 0)], 0),
        ([taint("t1")], [tolerates("t1", -5)], 0),
        ([taint("t1"), taint("t2")], [tolerates("t1")], 0),
        ([taint("t1"), taint("t2")], [tolerates("t1", 600)], 0),
        ([taint("t1"), taint("t2", 2)], [tolerates("t1", 600), tolerates("t2", 60)], 3),
        ([taint("t1"), taint("t2")], [tolerates("t1", 60), tolerates("t2")], 1),
        ([taint("t1")], [tolerates("t1"), tolerates("t1", 60)], None),
        ([taint("t1")], [tolerates("t1", 600), tolerates("", 60)], 10),
        ([taint("t1"), taint("t2")], [tolerates("t1", 600), tolerates("", 60)], 1),
        ([taint("t1"), taint("t2", 2)], [tolerates("t2", 60), tolerates("")], 3),
        ([TimedTaint("t1", "NoSchedule", "", TEN)], [], None),
        ([taint("t1")], [tolerates("", 60)], 1),
    ],
)
def test_when_work_has_to_leave(taints: list[TimedTaint], tolerations: list[Toleration], minutes: int | None) -> None:
    found = tolerate.due(taints, tolerations)
    assert (found[0] if found else None) == (None if minutes is None else TEN + timedelta(minutes=minutes))


def test_a_toleration_longer_than_the_calendar_is_a_long_one() -> None:
    found = tolerate.due([taint("t1")], [tolerates("t1", 2**62)])
    assert found is not None
    assert found[0].year > 2100


def test_defaults_are_added_where_a_policy_says_nothing_of_a_key() -> None:
    settings = FailoverSettings(not_ready_toleration_seconds=10, unreachable_toleration_seconds=20)
    assert [(one.key, one.toleration_seconds) for one in tolerate.with_defaults((), settings)] == [
        (NOT_READY, 10),
        (UNREACHABLE, 20),
    ]
    own = tolerates(UNREACHABLE, 5)
    assert tolerate.with_defaults((own,), settings)[1].key == NOT_READY
    everything = Toleration(operator="Exists")
    assert tolerate.with_defaults((everything,), settings) == (everything,)
    other_effect = Toleration(key=NOT_READY, operator="Exists", effect="NoSchedule")
    assert len(tolerate.with_defaults((other_effect,), settings)) == 3


def test_a_toleration_of_not_ready_clusters_holds_for_unreachable_ones_too() -> None:
    """Karmada: a member in mode Push that does not answer is not ready; only a silent agent makes it unreachable."""
    patient = tolerates(NOT_READY, 7)
    found = tolerate.with_defaults((patient,), FailoverSettings())
    assert [(one.key, one.toleration_seconds) for one in found] == [(NOT_READY, 7), (UNREACHABLE, 7)]
    both = (patient, tolerates(UNREACHABLE, 9))
    assert tolerate.with_defaults(both, FailoverSettings()) == both
