"""The live objects of one cluster as last seen, and what may be concluded from each sight. Asks nothing itself.

`observe` brings the bodies: from lists, watches, single looks and the answers to our own requests, in any order. Here
the newest wins, ownership is decided from label and inventory, and a body is kept only while a plan needs it.

Judging a body costs more than everything else about it, and a rush (a roll-out whose objects change their status again
and again) brings more of them than any plan asks for. So while `can_wait` says so, only the newest body of an object is
kept, and judged when the object is asked for, or by `judge_later`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.inventory import Inventory
from gitfed.model.base import Body, ClusterName, Digest, Kind, ObjectKey
from gitfed.model.fleet import Health, InventoryEntry, LiveObject
from gitfed.model.keys import FEDERATION_LABEL
from gitfed.text.values import dataclass

_LATEST = 0.8
"""Seconds that judging what was seen is put off at most."""
_PAUSE = 0.02
_SLICE = 20
"""Objects judged in one turn of the loop: a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the daemon makes of a body: is it as rendered, is it healthy, must it be kept."""

    matches: Digest | None = None
    health: Health = Health.UNKNOWN
    message: str = ""
    keep_body: bool = True
    protected: bool = False
    """Annotated `gitfed.io/prune: disabled`."""
    deletion_protected: bool = False
    healthy: bool | None = None
    status: Body | None = None
    """See `LiveObject`."""
    deletion_held: bool = False


Assess = Callable[[ClusterName, ObjectKey, Body], Assessment]
Changed = Callable[[ClusterName, ObjectKey], None]


class Sightings:
    def __init__(
        self,
        cluster: ClusterName,
        inventory: Inventory,
        assess: Assess,
        changed: Changed,
        can_wait: Callable[[ObjectKey], bool] = lambda key: False,
    ) -> None:
        self.cluster = cluster
        self.unjudged: dict[ObjectKey, tuple[float, Body]] = {}
        """The newest bodies of objects that were not judged yet, in the order of their first arrival, with its time
        (time.monotonic())."""
        self._can_wait = can_wait
        self._later = asyncio.Event()
        self._inventory = inventory
        self._assess = assess
        self._changed = changed
        self._seen: dict[ObjectKey, LiveObject] = {}
        self._gone: dict[ObjectKey, tuple[str, str]] = {}
        """Last deletions, (uid, version): a late answer must not bring an object back."""

    def seen(self, key: ObjectKey) -> LiveObject | None:
        """The object as last seen; None for one that was never seen or is gone."""
        if key in self.unjudged:
            self.judge((key,))
        return self._seen.get(key)

    def judge(self, keys: Iterable[ObjectKey]) -> None:
        """Judge what waits for it, of these."""
        for key in keys:
            waiting = self.unjudged.pop(key, None)
            if waiting is not None:
                self._judge(key, waiting[1])

    async def judge_later(self) -> None:
        """Judge what could wait as soon as the rush is over, the rest in time; others have their turn in between."""
        while True:
            await self._later.wait()
            self._later.clear()
            while self.unjudged:
                too_late = time.monotonic() - _LATEST
                due = [
                    key
                    for key, (since, _) in itertools.islice(self.unjudged.items(), _SLICE)
                    if since <= too_late or not self._can_wait(key)
                ]
                self.judge(due)
                await asyncio.sleep(0 if due else _PAUSE)

    def of_kind(self, kind: Kind) -> list[LiveObject]:
        self.judge(list(self.unjudged))
        return [live for key, live in self._seen.items() if key[:2] == kind]

    def get(self, key: ObjectKey) -> LiveObject | None:
        """The object as last seen; an entry without an object gives a LiveObject with uid ""; else None."""
        seen = self.seen(key)
        if seen is not None:
            return seen
        entry = self._inventory.entries.get(key)
        if entry is None:
            return None
        return LiveObject(key, self.cluster, uid="", resource_version="", ours=False, entry=entry)

    def all(self) -> Mapping[ObjectKey, LiveObject]:
        """All that `get` would answer, by key."""
        self.judge(list(self.unjudged))
        missing = (self.get(key) for key in self._inventory.entries if key not in self._seen)
        return {**self._seen, **{live.key: live for live in missing if live is not None}}

    def store(self, key: ObjectKey, body: Body, *, keep_body: bool = False, again: bool = False) -> None:
        """Take in one sight of an object, unless a newer one is known. `again`: judge it also if it is the same."""
        uid, version = identity(body)
        stored = self._version(key)
        if stored is not None and not reflect.newer(version, stored) and not (again and version == stored):
            return
        gone = self._gone.get(key)
        if gone is not None and gone[0] == uid and not reflect.newer(version, gone[1]):
            return
        if not keep_body and self._can_wait(key):
            waiting = self.unjudged.get(key)
            self.unjudged[key] = (time.monotonic() if waiting is None else waiting[0], body)
            self._later.set()
            return
        self.unjudged.pop(key, None)
        self._judge(key, body, keep_body=keep_body)

    def answered(self, key: ObjectKey, body: Body) -> None:
        """One sight of an object that one of our own writes answered.

        Judged also if the write changed nothing: what was seen before any plan said what it should be was not judged,
        and would be written again and again. What the watch told first, and was judged, is not.
        """
        seen = self._seen.get(key)
        self.store(key, body, again=key not in self.unjudged and (seen is None or seen.matches is None))

    def _version(self, key: ObjectKey) -> str | None:
        """The newest that was seen of it, judged or not."""
        waiting = self.unjudged.get(key)
        if waiting is not None:
            return identity(waiting[1])[1]
        seen = self._seen.get(key)
        return None if seen is None else seen.resource_version

    def _judge(self, key: ObjectKey, body: Body, *, keep_body: bool = False) -> None:
        uid, version = identity(body)
        seen = self._seen.get(key)
        entry = self._inventory.entries.get(key)
        judged = self._assessed(key, body)
        labelled = self._is_labelled(body)
        live = LiveObject(
            key=key,
            cluster=self.cluster,
            uid=uid,
            resource_version=version,
            ours=labelled and is_listed(entry, uid),
            # Without the label no watch will tell us of changes, so what was seen must speak for itself.
            body=body if judged.keep_body or keep_body or not labelled else None,
            matches=judged.matches,
            health=judged.health,
            health_message=judged.message,
            entry=entry,
            protected=judged.protected,
            deletion_protected=judged.deletion_protected,
            deletion_held=judged.deletion_held,
            healthy=judged.healthy,
            status=judged.status,
        )
        self._seen[key] = live
        # A status that moved, of an object that is as rendered and as healthy as before, matters to no plan.
        if seen is None or live.body is not None or live != replace(seen, resource_version=version, status=live.status):
            self._changed(self.cluster, key)

    def _assessed(self, key: ObjectKey, body: Body) -> Assessment:
        """Of what makes us fail nothing is known, and so it is not deleted. Everything else goes on."""
        try:
            return self._assess(self.cluster, key, body)
        except Exception as error:  # noqa: BLE001
            failure = translate.of_taking_in(self.cluster, error)
            return Assessment(message=translate.said(failure), protected=True, deletion_protected=True)

    def remove(self, key: ObjectKey) -> None:
        """The object is gone; nothing happens if it was not seen."""
        seen = self.seen(key)
        if seen is not None:
            del self._seen[key]
            self._gone[key] = (seen.uid, seen.resource_version)
            self._changed(self.cluster, key)

    def forget(self, kind: Kind) -> None:
        """This kind is not wanted any more."""
        for live in self.of_kind(kind):
            del self._seen[live.key]
            self._changed(self.cluster, live.key)
        self.listed_anew(kind)

    def listed_anew(self, kind: Kind) -> None:
        """The whole collection was read: what came before it cannot come late any more."""
        for key in [key for key in self._gone if key[:2] == kind]:
            del self._gone[key]

    def moment(self, key: ObjectKey) -> object:
        """What is known now; to be handed to `looked` with the answer of a request that begins now."""
        seen = self.seen(key)
        # What the inventory says of it may change meanwhile, or how it is judged: it is the same sight all the same.
        return None if seen is None else (seen.uid, seen.resource_version), self._gone.get(key)

    def looked(self, key: ObjectKey, body: Body | None, moment: object, *, keep_body: bool = False) -> None:
        """What one read of the object answered; None: not found.

        The answer may be older than what came while it was under way. So "not found" removes only what was seen
        before the request, and a body brings back only what was thought gone before it.
        """
        same = moment == self.moment(key)
        if body is None:
            if same:
                self.remove(key)
            return
        if same:
            self._gone.pop(key, None)
        self.store(key, body, keep_body=keep_body, again=True)

    def entry_changed(self, key: ObjectKey) -> None:
        """The inventory says something new of this object."""
        entry = self._inventory.entries.get(key)
        seen = self._seen.get(key)
        if seen is not None:
            # Bodies are dropped of labelled objects only, so one without body has the label.
            labelled = seen.body is None or self._is_labelled(seen.body)
            self._seen[key] = replace(seen, entry=entry, ours=labelled and is_listed(entry, seen.uid))
        self._changed(self.cluster, key)

    def _is_labelled(self, body: Body) -> bool:
        return bool((body["metadata"].get("labels") or {}).get(FEDERATION_LABEL) == self._inventory.federation)


def is_listed(entry: InventoryEntry | None, uid: str) -> bool:
    """Whether the inventory means this object: by its uid, or by none while the first write is under way."""
    return entry is not None and entry.uid in ("", uid)


def identity(body: Body) -> tuple[str, str]:
    """uid and resourceVersion."""
    metadata = body["metadata"]
    return str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or "")
