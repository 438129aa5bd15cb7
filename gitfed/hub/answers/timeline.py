"""What was decided when, from the state branch. Everything blocks: call it in a thread."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from gitfed.edges import git
from gitfed.errors import NothingDecided
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.model.base import Commit, ObjectKey
from gitfed.offline import inputs
from gitfed.offline.state_log import Chronicle, StateLogEntry
from gitfed.planning.review.events import BindingEvent
from gitfed.source.read_cache import ReadCache
from gitfed.views import history

_EVENTS = 50
"""Commits that are read for events, unless more are asked for."""
_MOST_REMEMBERED = 32
Told = tuple[tuple[StateLogEntry, ObjectKey, BindingEvent], ...]


def decisions(moment: Moment, sight: Sight, key: ObjectKey | None, limit: int) -> history.LogView:
    """Newest first; with `key` only what concerns it. Reasons name every object of a cycle: they are for callers who
    see the whole fleet."""
    with _chronicle(moment) as log:
        entries = [history.entry(entry) for entry in log.entries(limit=limit, key=key)] if log is not None else []
    if not sight.everything:
        entries = [{**entry, "reasons": []} for entry in entries]
    return {"schema": history.SCHEMA, "entries": entries}


class Remembered:
    """What commits of the branch tell of the objects that are looked at: a page that is open asks again with everything
    that happens anywhere, and only the newest commits are new to it."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[ObjectKey | None, dict[Commit, Told]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, chronicle: Chronicle, key: ObjectKey | None) -> Told:
        with self._lock:
            earlier = self._by_key.get(key, {})
        now: dict[Commit, Told] = {}
        for entry in chronicle.entries(limit=_EVENTS, key=key, applied=True):
            told = earlier.get(entry.commit)
            now[entry.commit] = (
                tuple((entry, *event) for event in chronicle.events_of(entry, key)) if told is None else told
            )
        with self._lock:
            self._by_key[key] = now
            self._by_key.move_to_end(key)
            while len(self._by_key) > _MOST_REMEMBERED:
                self._by_key.popitem(last=False)
        return tuple(happened for told in now.values() for happened in told)


def events(moment: Moment, sight: Sight, key: ObjectKey | None, commits: int = _EVENTS) -> history.EventList:
    """What happened to objects and clusters, newest first."""
    with _chronicle(moment) as log:
        told = tuple(log.events(limit=commits, key=key)) if log is not None else ()
    return {"schema": "gitfed.io/events/v1", "items": seen(told, sight)}


def told(moment: Moment, key: ObjectKey | None, remembered: Remembered) -> Told:
    """The same for all callers; `seen` shows what one of them may see."""
    with _chronicle(moment) as log:
        return remembered.of(log, key) if log is not None else ()


def seen(told: Told, sight: Sight) -> list[history.EventView]:
    return [
        history.event(*happened)
        for happened in told
        if sight.everything
        or (
            (happened[2].cluster and happened[1].namespace and sight.copy(happened[2].cluster, happened[1].namespace))
            and sight.whole(happened[1].namespace)
        )
    ]


@contextmanager
def _chronicle(moment: Moment) -> Iterator[Chronicle | None]:
    """A reader of our own: Git's processes are not shared between threads. None: nothing was decided yet."""
    if moment.clone is None:
        yield None
        return
    repository = git.Repository.open(moment.clone)
    source = git.Repository.open(moment.source) if moment.source is not None else None
    try:
        yield Chronicle(inputs.Opened(repository, str(moment.clone), ReadCache(), None), moment.repo, source)
    except NothingDecided:
        yield None
    finally:
        repository.close()
        if source is not None:
            source.close()
