"""What the daemon did lately in the clusters: the last changes that were carried out, or failed.

The state branch tells what was decided; a repair of what somebody changed by hand decides nothing, and is seen here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change

_MOST = 500
_DID = {"created": "created", "configured": "updated", "deleted": "deleted", "failed": "failed"}


class ChangeEvent(NamedTuple):
    when: datetime
    cluster: ClusterName
    key: ObjectKey
    mark: str
    words: str
    """What was done: `updated`, `repaired`, …"""
    why: str


class ChangeEvents:
    """Hears the engine's events; they are gone when the process ends."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._known: deque[ChangeEvent] = deque(maxlen=_MOST)

    def hear(self, name: str, value: Any) -> None:
        if name != "result":
            return
        change, result = value
        if result.outcome in _DID:
            self._known.append(_of(self._now(), change, result))

    def seen(self, now: Moment, sight: Sight, *, most: int, key: ObjectKey | None = None) -> list[ChangeEvent]:
        """Newest first."""
        shown = []
        for happening in reversed(self._known):
            if (key is None or happening.key == key) and sight.copy(happening.cluster, happening.key.namespace):
                why = now.hidden.text(happening.why) if sight.whole(happening.key.namespace) else ""
                shown.append(happening._replace(why=why))
                if len(shown) == most:
                    break
        return shown


def _of(when: datetime, change: Change, result: ApplyResult) -> ChangeEvent:
    words, mark = _DID[result.outcome], "ok"
    if result.outcome == "failed":
        return ChangeEvent(when, result.cluster, result.key, "bad", "failed", result.message)
    if change.drift:
        words, mark = "repaired", "event"
    elif change.action is Action.DELETE:
        mark = "dot"
    return ChangeEvent(when, result.cluster, result.key, mark, words, str(change.reason))
