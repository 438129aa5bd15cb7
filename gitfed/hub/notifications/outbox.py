"""What was told to whom, and what is still to be told: survives a restart, so that nothing is lost or told twice.

An entry is one condition of one Notification. It begins when the condition is seen first and goes when its end was
told. It is written down before anything is sent, and forgets what it owed once the destination has taken it; a
process that is killed in between sends once more, under the same id. What came and went while a destination was
unreachable is told all the same, as one line.

Lives in the daemon's data folder. A replica with a folder of its own that takes over tells what is so at that moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from gitfed.hub.notifications.conditions import FleetCondition, NotificationEvent
from gitfed.model.base import ClusterName
from gitfed.model.declared.notification import Notification
from gitfed.text import moment
from gitfed.text.values import dataclass

MOST = 1000
"""Entries of one Notification: what is more than that is left out, the oldest that are over first."""
_MOST_TOLD = 100
"""Of one message."""


@dataclass(slots=True)
class OutboxEntry:
    condition: FleetCondition
    began: datetime
    ended: datetime | None = None
    told: str | None = None
    """The essence that was told; None: nothing was."""
    told_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class News:
    """One line of a message."""

    id: str
    """The same however often it is sent."""
    condition: FleetCondition
    began: datetime
    ended: datetime | None

    @property
    def over(self) -> bool:
        return self.ended is not None


@dataclass(slots=True)
class Outbox:
    """Of one Notification."""

    entries: dict[str, OutboxEntry] = field(default_factory=dict)
    sent_at: datetime | None = None
    """When something was told last."""
    dropped: int = 0
    _owes_since: datetime | None = None

    def see(
        self,
        present: Mapping[str, FleetCondition],
        unknown: Collection[ClusterName],
        now: datetime,
        *,
        new: bool = False,
    ) -> bool:
        """Take in what is so now; whether that is to be written down. `new`: nobody was ever told anything: a commit
        that was applied long ago is no news."""
        changed = False
        for key, condition in present.items():
            entry = self.entries.get(key)
            if entry is None:
                entry = self.entries[key] = OutboxEntry(condition, now)
                if new and condition.event is NotificationEvent.APPLIED:
                    entry.told, entry.told_at = condition.essence, now
                changed = True
            elif _may_be_less(entry, condition, unknown):
                continue  # it may be less only because a part of it cannot be seen
            else:
                # Details may be others every second; they are told as they are when their turn comes.
                changed |= entry.ended is not None or entry.condition.essence != condition.essence
                entry.condition, entry.ended = condition, None
        for key in [key for key in self.entries if key not in present]:
            entry = self.entries[key]
            if _is_hidden(entry, unknown):
                continue
            if entry.condition.event is not NotificationEvent.APPLIED:
                changed |= entry.ended is None
                entry.ended = entry.ended or now
            elif entry.told is not None:
                del self.entries[key]  # another commit is on its way: that this one was applied stays true
                changed = True
        self._bound()
        return changed

    def owed(self, notification: Notification, now: datetime) -> tuple[News, ...]:
        """What is to be told, the oldest first; what needs not to be told any more is forgotten."""
        spec = notification.spec
        owed = []
        for key in list(self.entries):
            entry = self.entries[key]
            if entry.ended is not None and entry.told is not None and not spec.send_resolved:
                del self.entries[key]
            elif self._is_news(entry, spec.repeat_interval, now):
                owed.append(_news(notification.metadata.name, key, entry))
        self._owes_since = (self._owes_since or now) if owed else None
        return tuple(owed[:_MOST_TOLD])

    @staticmethod
    def _is_news(entry: OutboxEntry, again: timedelta, now: datetime) -> bool:
        if entry.ended is not None or entry.told is None or entry.told != entry.condition.essence:
            return True
        return bool(again) and entry.told_at is not None and now - entry.told_at >= again

    def due(self, notification: Notification) -> datetime | None:
        """When what is owed may be told; None: nothing is. Ask after `owed`."""
        if self._owes_since is None:
            return None
        spec = notification.spec
        first = self._owes_since + spec.group_wait
        return first if self.sent_at is None else max(first, self.sent_at + spec.group_interval)

    @property
    def owes_since(self) -> datetime | None:
        return self._owes_since

    def taken(self, news: News, now: datetime) -> None:
        """The destination has it."""
        self.sent_at = now
        entry = self.entries.get(news.condition.key)
        if entry is None or entry.began != news.began:
            return
        if news.over and entry.ended == news.ended:
            del self.entries[news.condition.key]
        else:  # it changed again while this was on its way
            entry.told, entry.told_at = news.condition.essence, now

    def _bound(self) -> None:
        over = [key for key, entry in self.entries.items() if entry.ended is not None]
        for key in (*over, *self.entries)[: max(0, len(self.entries) - MOST)]:
            if self.entries.pop(key, None) is not None:
                self.dropped += 1

    # -- as a file ----------------------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        return {
            "sentAt": _text(self.sent_at),
            "entries": [
                {
                    "event": entry.condition.event.value,
                    "about": entry.condition.about,
                    "summary": entry.condition.summary,
                    "details": list(entry.condition.details),
                    "clusters": list(entry.condition.clusters),
                    "essence": entry.condition.essence,
                    "began": _text(entry.began),
                    "ended": _text(entry.ended),
                    "told": entry.told,
                    "toldAt": _text(entry.told_at),
                }
                for entry in self.entries.values()
            ],
        }


def read(document: Any) -> Outbox:
    """What `as_json` made. Raises ValueError, KeyError, TypeError."""
    outbox = Outbox(sent_at=moment.read(document["sentAt"]))
    for entry in document["entries"]:
        condition = FleetCondition(
            NotificationEvent(entry["event"]),
            str(entry["about"]),
            str(entry["summary"]),
            tuple(map(str, entry["details"])),
            tuple(map(str, entry["clusters"])),
            str(entry["essence"]),
        )
        began = moment.read(entry["began"])
        if began is None:
            raise ValueError("an entry without its beginning")
        told = entry["told"]
        outbox.entries[condition.key] = OutboxEntry(
            condition,
            began,
            moment.read(entry["ended"]),
            None if told is None else str(told),
            moment.read(entry["toldAt"]),
        )
    return outbox


def _is_hidden(entry: OutboxEntry, unknown: Collection[ClusterName]) -> bool:
    """Whether a cluster that it concerns cannot be seen."""
    return entry.ended is None and not set(entry.condition.clusters).isdisjoint(unknown)


def _may_be_less(entry: OutboxEntry, now: FleetCondition, unknown: Collection[ClusterName]) -> bool:
    """Whether what is so now may be less than it was only because a part of it is hidden."""
    if now.event is NotificationEvent.UNREACHABLE:
        return False  # that a cluster cannot be seen is what it says
    return _is_hidden(entry, unknown) and set(now.clusters) <= set(entry.condition.clusters)


def _news(notification: str, key: str, entry: OutboxEntry) -> News:
    state = _text(entry.ended) if entry.ended is not None else f"{entry.condition.essence} {_text(entry.told_at)}"
    identity = hashlib.sha256("\0".join((notification, key, str(_text(entry.began)), str(state))).encode()).hexdigest()
    return News(identity[:32], entry.condition, entry.began, entry.ended)


def _text(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()
