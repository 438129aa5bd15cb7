"""How often one object is repaired when somebody writes the same field again and again."""

from __future__ import annotations

import itertools
from dataclasses import replace

from gitfed.daemon.fleet import queue
from gitfed.edges.backoff import Backoff
from gitfed.model.plan import Action, Change
from tests.daemon.changes import change as made

REPAIR = replace(made("web"), action=Action.UPDATE, drift=True)


def repair(changes: queue.Queue, now: float, change: Change = REPAIR, urgent: bool = False) -> bool:
    """Somebody changed it again: whether it may be repaired now, and then it is."""
    changes.replace([change], [change.key] if urgent else [])
    found = changes.pop(now)
    if found is None:
        return False
    changes.repaired(found, now)
    changes.finished(found.key, delay=Backoff(queue.BACKOFF.pauses, 0, 0).after)
    return True


def test_the_first_repair_is_immediate_and_later_ones_come_ever_more_slowly() -> None:
    changes = queue.Queue()
    times = [step / 10 for step in range(1000) if repair(changes, step / 10)]
    assert times[:2] == [0.0, 0.1]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times[1:])]
    assert pauses == sorted(pauses)
    assert len(times) < 8


def test_who_is_left_alone_for_long_is_repaired_at_once_again() -> None:
    changes = queue.Queue()
    assert [repair(changes, 0.0), repair(changes, 0.1), repair(changes, 0.2)] == [True, True, False]
    assert [repair(changes, 1000.0), repair(changes, 1000.1)] == [True, True]


def test_a_persons_change_waits_for_no_quarrel_and_the_waiting_time_is_told() -> None:
    changes = queue.Queue()
    for now in (0.0, 0.1):
        repair(changes, now)
    changes.replace([REPAIR], [])
    assert changes.pop(0.2) is None
    assert changes.next_time() == 0.1 + queue.PATIENCE[1]
    assert not changes.startable(0.2)
    assert repair(changes, 0.2, urgent=True)
