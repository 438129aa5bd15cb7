"""What one cluster still has to do, in the order it has to be done.

A queue item is a key, never an event: handing over a new list replaces the old one, and a key that is being worked on
is looked at again when it is finished. Three classes of urgency (a person's change, then what is left over from
before, then repair of drift) and, inside a class, stages: wave and kind. A stage begins when nothing of an earlier
stage of its class is under way.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from enum import IntEnum
from typing import NamedTuple

from gitfed.edges.backoff import Backoff
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Action, Change
from gitfed.model.reason import ReasonCode
from gitfed.planning.ordering import order

BACKOFF = Backoff((1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0))
"""Seconds until a failed change is tried again."""
FIGHT = 5
"""Repairs of one object in a row after which it counts as contested: two programs want different things of it."""
PATIENCE = (0.0, 1.0, 2.0, 5.0, 3600.0)
"""Seconds between two repairs of one object, by the number of repairs before: a client that writes the same field again
and again is answered, but never as fast as two programs can."""
_PEACE = 300.0
"""Seconds without a repair after which an object counts as left alone."""
_TRUCE = 7200.0
"""The same for one that is contested."""


_EVICTED = (-(1 << 20), 0)
"""The stage of copies that were evicted."""
_BEFORE_ALL = (_EVICTED[0], order.NO_WAVE)
"""Waves that all others wait for, whatever their urgency: evicted copies, and what everything else stands in."""


class Urgency(IntEnum):
    PERSON = 0
    RESUMED = 1
    DRIFT = 2


class _Place(NamedTuple):
    """Where a change stands in the queue. A tuple, because the heap compares many."""

    urgency: Urgency
    stage: tuple[int, int]
    key: ObjectKey


class Queue:
    """Changes of one cluster. Not thread-safe: it belongs to its worker."""

    def __init__(self, waited: Callable[[float], None] = lambda seconds: None) -> None:
        """`waited` hears how long each change was in the list when it was begun for the first time."""
        self._waited = waited
        self._since: dict[ObjectKey, float] = {}
        self._changes: dict[ObjectKey, Change] = {}
        self._places: dict[ObjectKey, _Place] = {}
        self._heap: list[_Place] = []
        self._parked: dict[ObjectKey, list[_Place]] = {}
        """Places out of the heap, by what they wait for: looking at each again with every turn would be quadratic."""
        self._later: list[tuple[float, _Place]] = []
        """A heap of places that wait for their time."""
        self._flying: dict[ObjectKey, _Place] = {}
        self._stages: Counter[tuple[Urgency, tuple[int, int]]] = Counter()
        """How many changes of each stage are under way: few stages, and asked for every change."""
        self._attempts: dict[ObjectKey, tuple[int, float, object]] = {}
        self._repaired: dict[ObjectKey, tuple[object, int, float]] = {}
        """What was asked for, how often in a row, and when the last repair was."""
        self._urgent: set[ObjectKey] = set()

    def __len__(self) -> int:
        return len(self._changes)

    def __contains__(self, key: ObjectKey) -> bool:
        return key in self._changes or key in self._flying

    @property
    def flying(self) -> int:
        return len(self._flying)

    def startable(self, now: float) -> bool:
        """Whether any change may be waiting for nothing but a free place."""
        return bool(self._heap) or bool(self._later and self._later[0][0] <= now)

    def stage(self, key: ObjectKey) -> tuple[int, tuple[int, int]]:
        """Urgency and stage of a change that is not under way; what is not in the list goes last."""
        place = self._places.get(key)
        return (place.urgency, place.stage) if place is not None else (len(Urgency), (0, 0))

    def waiting(self) -> Iterable[Change]:
        """Changes that are not under way, in no particular order."""
        return [self._changes[key] for key in self._places if key in self._changes]

    def replace(self, changes: Iterable[Change], urgent: Collection[ObjectKey], now: float = 0.0) -> None:
        """Take over the present list. What is under way goes on; `urgent` keys stay urgent until they are done."""
        before = self._changes.keys()
        self._changes = {
            change.key: change for change in changes if change.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
        }
        self._since = {
            key: self._since.get(key, now) for key in self._changes if key in self._since or key not in before
        }
        self._urgent = {key for key in self._urgent | set(urgent) if key in self._changes or key in self._flying}
        self._attempts = {
            key: tried
            for key, tried in self._attempts.items()
            if key in self._changes and tried[2] == _identity(self._changes[key])
        }
        self._places = {key: self._place(change) for key, change in self._changes.items() if key not in self._flying}
        self._parked.clear()
        self._heap, self._later = [], []
        for place in self._places.values():
            self._line_up(place)

    def pop(self, now: float, blocked: Callable[[Change], ObjectKey | None] = lambda change: None) -> Change | None:
        """The next change that may start; None when there is none now (see `next_time`).

        `blocked` says what a change waits for outside the queue (`depends-on`, its own inventory entry); it is asked
        again after `release` of that key.
        """
        while self._later and self._later[0][0] <= now:
            heapq.heappush(self._heap, heapq.heappop(self._later)[1])
        while self._heap:
            place = heapq.heappop(self._heap)
            change = self._changes.get(place.key)
            if change is None or self._places.get(place.key) is not place:
                continue
            if self._behind(place):
                heapq.heappush(self._heap, place)
                return None
            if self._not_before(place.key) > now:
                self._line_up(place)
                continue
            waits_for = blocked(change)
            if waits_for is not None:
                self._parked.setdefault(waits_for, []).append(place)
                continue
            del self._places[place.key]
            self._flying[place.key] = place
            if (since := self._since.pop(place.key, None)) is not None:
                self._waited(max(0.0, now - since))
            self._stages[place[:2]] += 1
            return change
        return None

    def _line_up(self, place: _Place) -> None:
        not_before = self._not_before(place.key)
        if not_before:
            heapq.heappush(self._later, (not_before, place))
        else:
            heapq.heappush(self._heap, place)

    def release(self, key: ObjectKey) -> None:
        """Something happened to this object: what waits for it may be able to start."""
        for place in self._parked.pop(key, ()):
            heapq.heappush(self._heap, place)

    def awaits(self, key: ObjectKey) -> bool:
        """Whether a change waits for `release` of that key."""
        return key in self._parked

    def _behind(self, place: _Place) -> bool:
        return any(
            stage < place.stage and (urgency == place.urgency or stage[0] in _BEFORE_ALL)
            for urgency, stage in self._stages
        )

    def _not_before(self, key: ObjectKey) -> float:
        tried = self._attempts.get(key)
        return max(tried[1] if tried is not None else 0.0, self._patient_until(key))

    def _patient_until(self, key: ObjectKey) -> float:
        """When an object that was just repaired may be repaired again; a person's change never waits for that."""
        repaired, change = self._repaired.get(key), self._changes.get(key)
        if repaired is None or change is None or key in self._urgent or _identity(change) != repaired[0]:
            return 0.0
        return repaired[2] + PATIENCE[min(repaired[1], len(PATIENCE)) - 1]

    def repaired(self, change: Change, now: float) -> int:
        """What had been written before was written again; how often in a row by now."""
        identity, times, last = self._repaired.pop(change.key, (None, 0, 0.0))
        again = identity == _identity(change) and now - last < _peace(times)
        self._repaired = {
            key: repaired for key, repaired in self._repaired.items() if now - repaired[2] < _peace(repaired[1])
        }
        self._repaired[change.key] = (_identity(change), times + 1 if again else 1, now)
        return self._repaired[change.key][1]

    def next_time(self) -> float | None:
        """When the earliest change in backoff may be tried again; None when none waits for time alone."""
        return self._later[0][0] if self._later else None

    def finished(self, key: ObjectKey, *, failed_at: float | None = None, delay: Callable[[int], float]) -> None:
        """A change is over. Failed: it stays in the list and waits `delay(failures)` seconds; else it is done.

        The next list decides whether there is anything left to do for the key.
        """
        place = self._flying.pop(key, None)
        if place is not None:
            self._stages[place[:2]] -= 1
            if not self._stages[place[:2]]:
                del self._stages[place[:2]]
        change = self._changes.get(key)
        if failed_at is None:
            self._attempts.pop(key, None)
            self._urgent.discard(key)
            self._changes.pop(key, None)
            return
        if change is None:
            return
        attempts = self._attempts.get(key, (0, 0.0, None))[0]
        self._attempts[key] = (attempts + 1, failed_at + delay(attempts + 1), _identity(change))
        self._places[key] = self._place(change)
        self._line_up(self._places[key])

    def hurry(self) -> None:
        """Forget all waiting times: the cluster came back."""
        self._attempts.clear()
        for _, place in self._later:
            heapq.heappush(self._heap, place)
        self._later.clear()

    def retry(self, keys: Collection[ObjectKey] | None = None) -> None:
        """Forget the waiting times of these objects, or of all: a person wants them tried now, contested ones too."""
        meant = self._attempts.keys() | self._repaired.keys() if keys is None else set(keys)
        for key in meant:
            self._attempts.pop(key, None)
            self._repaired.pop(key, None)
        later, self._later = self._later, []
        for not_before, place in later:
            if place.key in meant:
                heapq.heappush(self._heap, place)
            else:
                heapq.heappush(self._later, (not_before, place))

    def _place(self, change: Change) -> _Place:
        foundation = change.turn.wave == order.NO_WAVE and change.action is not Action.DELETE
        if change.key in self._urgent or foundation:  # what a person's change needs is never slower than that
            urgency = Urgency.PERSON
        else:
            urgency = Urgency.DRIFT if change.drift else Urgency.RESUMED
        # What leaves goes last, and in the opposite order: content before its namespace.
        stage = (change.turn.wave, change.turn.order)
        if change.turn.first:
            urgency, stage = Urgency.PERSON, _EVICTED
        elif change.action is Action.DELETE:
            stage = (1 << 20, -change.turn.order)
        return _Place(urgency, stage, change.key)


def _identity(change: Change) -> object:
    """Two lists ask for the same thing of a key when this is equal: a failed change keeps its waiting time."""
    return (change.action, change.write.rendered.digest if change.write.rendered else "", change.write.adopt)


def _peace(times: int) -> float:
    return _TRUCE if times >= FIGHT else _PEACE


def contested(change: Change) -> str:
    """Two programs want different things of one object: that is for a person to settle."""
    if change.action is Action.CREATE:
        return f"another client deletes it again and again: it was made {FIGHT} times, the next time in an hour"
    fields = ", ".join(field.pointer for field in change.write.diff[:3]) or "it"
    who = change.reason.subject if change.reason.code is ReasonCode.CHANGED_BY_OTHERS else "another client"
    return (
        f"{who} changes {fields} again and again: it was put back {FIGHT} times, the next time in an hour "
        "(gitfed.io/ignore-differences gives a field away)"
    )
