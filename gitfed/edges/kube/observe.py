"""What lives in one cluster: the objects with our label, of the kinds that somebody wants to know about.

One list and one watch per wanted kind (`reflect`), by the label `gitfed.io/federation`. What is kept of an object is a
`LiveObject`: its body only while `assess`, given by the daemon, says that it is needed (it differs from what was
rendered). In steady state nothing is read and no bodies are held.

The label alone proves nothing, and its absence neither:

- *Ours* is an object with our label that the inventory lists (by that uid, or by none yet).
- A DELETED event may mean a stripped label. If the inventory lists that uid, the object is looked up once, and if it
  lives it is reported without label, for relabelling. The same after a list, for entries that it did not show.

What our own writes answered arrives through `observed`, before the watch tells it. Older versions are ignored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from gitfed import errors
from gitfed.edges.kube import inventory, reflect, translate
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.edges.kube.session import Session
from gitfed.model.base import Body, ClusterName, Digest, Kind, ObjectKey
from gitfed.model.fleet import ClusterLive, Health, InventoryEntry, LiveObject

FEDERATION = "gitfed.io/federation"
_UNSERVED = 60.0
"""Seconds until a kind that the cluster does not serve is looked for again; `rediscover` cuts it short."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the daemon makes of a body: is it as rendered, is it healthy, must it be kept."""

    matches: Digest | None = None
    health: Health = Health.UNKNOWN
    message: str = ""
    keep_body: bool = True
    protected: bool = False
    """Annotated `gitfed.io/prune: disabled`."""


Assess = Callable[[ClusterName, ObjectKey, Body], Assessment]
Changed = Callable[[ClusterName, ObjectKey], None]


class Observer:
    """The live objects of one cluster. `run` follows the wanted kinds until it is cancelled."""

    def __init__(
        self,
        session: Session,
        discovery: Discovery,
        owned: inventory.Inventory,
        *,
        assess: Assess,
        changed: Changed,
        cluster_changed: Callable[[ClusterName], None] = lambda cluster: None,
        backoff: tuple[float, ...] = reflect.BACKOFF,
    ) -> None:
        self._session = session
        self._discovery = discovery
        self._inventory = owned
        self._assess = assess
        self._changed = changed
        self._cluster_changed = cluster_changed
        self._backoff = backoff
        self._wanted: dict[Kind, str | None] = {}
        self._wants = asyncio.Event()
        self._wake = reflect.Wake()
        self._unread: dict[Kind, str] = {}
        self._settled = asyncio.Event()
        self._seen: dict[ObjectKey, LiveObject] = {}
        self._gone: dict[ObjectKey, tuple[str, str]] = {}
        """Last deletions, (uid, version): a late answer must not bring an object back."""
        self._lookups: set[asyncio.Task[None]] = set()
        owned.on_change(self._entries_changed)

    @property
    def cluster(self) -> ClusterName:
        return self._session.cluster

    # What others ask

    def get(self, key: ObjectKey) -> LiveObject | None:
        """The object as last seen; an entry without an object gives a LiveObject with uid ""; else None."""
        seen = self._seen.get(key)
        if seen is not None:
            return seen
        entry = self._inventory.entries.get(key)
        if entry is None:
            return None
        return LiveObject(key, self.cluster, uid="", resource_version="", ours=False, entry=entry)

    def objects(self) -> Mapping[ObjectKey, LiveObject]:
        """All that `get` would answer, by key."""
        missing = (self.get(key) for key in self._inventory.entries if key not in self._seen)
        return {**self._seen, **{live.key: live for live in missing if live is not None}}

    def live(self) -> ClusterLive:
        """What is known and unknown about this cluster as a whole."""
        owned = self._inventory.snapshot
        return ClusterLive(
            name=self.cluster,
            inventory_read=self._inventory.readable,
            repository_id=owned.repository_id,
            term=owned.term,
            unread=frozenset(self._unread),
            error=self._inventory.problem or next(iter(sorted(self._unread.values())), ""),
        )

    async def settled(self) -> None:
        """Wait until inventory and every wanted kind were read, or could not be. The caller sets the timeout."""
        while not self._is_settled():
            self._settled.clear()
            await self._settled.wait()

    # What others tell

    def want(self, kinds: Iterable[Kind], versions: Mapping[Kind, str] | None = None) -> None:
        """Follow exactly these kinds, each in the apiVersion given for it or in the one the cluster prefers."""
        chosen = {kind: (versions or {}).get(kind) for kind in kinds}
        for kind in set(chosen) - set(self._wanted):
            self._unread[kind] = _NOT_YET
            self._settled.clear()
        for kind in set(self._wanted) - set(chosen):
            self._unread.pop(kind, None)
            for key in [key for key in self._seen if key[:2] == kind]:
                del self._seen[key]
                self._changed(self.cluster, key)
        self._wanted = chosen
        self._wants.set()
        self._note_settled()

    def wake(self) -> None:
        """The cluster answers again, or a person wants an answer: try now what waits."""
        self._wake.set()

    def observed(self, key: ObjectKey, uid: str, body: Body | None) -> None:
        """What one of our own requests answered; None: the object with that uid is gone."""
        if body is None:
            seen = self._seen.get(key)
            if seen is not None and seen.uid == uid:
                self._remove(key, seen.uid, seen.resource_version)
            return
        if self._kind_followed(key):
            self._store(key, body)

    async def look(self, key: ObjectKey) -> LiveObject | None:
        """Read one object now, whatever its label, and keep its body. Raises the session's errors."""
        resource = await self._discovery.resource(
            Kind(key.group, key.kind), self._wanted.get(Kind(key.group, key.kind))
        )
        return await self._look(key, resource, keep_body=True)

    def reassess(self, keys: Iterable[ObjectKey]) -> None:
        """What is rendered for these changed: judge the bodies that are held again."""
        for key in keys:
            seen = self._seen.get(key)
            if seen is not None and seen.body is not None:
                self._store(key, seen.body, again=True)

    # Following

    async def run(self) -> None:
        """Follow the inventory and the wanted kinds until cancelled. A cluster's failures never end it."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_inventory())
                following: dict[Kind, tuple[str | None, asyncio.Task[None]]] = {}
                while True:
                    self._wants.clear()
                    for kind, (version, task) in list(following.items()):
                        if self._wanted.get(kind, _UNWANTED) != version:
                            task.cancel()
                            del following[kind]
                    for kind, wanted in self._wanted.items():
                        if kind not in following:
                            following[kind] = (wanted, group.create_task(self._follow(kind, wanted)))
                    await self._wants.wait()
        finally:
            self._inventory.off_change(self._entries_changed)
            for task in self._lookups:
                task.cancel()

    async def _follow_inventory(self) -> None:
        while True:
            try:
                await self._inventory.follow(wake=self._wake, backoff=self._backoff)
            except errors.ObjectNotFound as error:
                # No server lacks ConfigMaps: something else answers at this address.
                _log.warning("cannot follow the inventory", extra={"cluster": self.cluster, "error": str(error)})
                await self._wake.pause(_UNSERVED)

    async def _follow(self, kind: Kind, api_version: str | None) -> None:
        failures = 0
        while True:
            try:
                resource = await self._discovery.resource(kind, api_version)
                failures = 0
                followed = _Followed(self, kind, resource)
                selector = f"{FEDERATION}={self._inventory.federation}"
                await reflect.follow(
                    self._session, resource.path(), selector, followed, wake=self._wake, backoff=self._backoff
                )
            except (errors.KindUnknown, errors.ObjectNotFound):
                # Discovery is complete and says so: there are no objects of a kind that is not served.
                self._read(kind)
                for key in [key for key in self._seen if key[:2] == kind]:
                    self._remove(key, self._seen[key].uid, self._seen[key].resource_version)
                await self._wake.pause(_UNSERVED)
            except errors.ClusterError as error:
                failures += 1
                self._not_read(kind, translate.said(error))
                await self._wake.pause(reflect.delay(self._backoff, failures))

    def _kind_followed(self, key: ObjectKey) -> bool:
        return Kind(key.group, key.kind) in self._wanted

    def _read(self, kind: Kind) -> None:
        if self._unread.pop(kind, None) is not None:
            self._cluster_changed(self.cluster)
        self._note_settled()

    def _not_read(self, kind: Kind, reason: str) -> None:
        if kind in self._wanted and self._unread.get(kind) != reason:
            self._unread[kind] = reason
            self._cluster_changed(self.cluster)
            self._note_settled()

    def _is_settled(self) -> bool:
        unread = _NOT_YET in self._unread.values() or self._inventory.problem == inventory.NOT_READ
        return not unread and not self._lookups

    def _note_settled(self) -> None:
        if not self._is_settled():
            self._settled.clear()
        else:
            self._settled.set()

    # The store

    def _store(self, key: ObjectKey, body: Body, *, keep_body: bool = False, again: bool = False) -> None:
        metadata = body["metadata"]
        uid, version = str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or "")
        seen = self._seen.get(key)
        if not again:
            if seen is not None and not reflect.newer(version, seen.resource_version):
                return
            gone = self._gone.get(key)
            if gone is not None and gone[0] == uid and not reflect.newer(version, gone[1]):
                return
        entry = self._inventory.entries.get(key)
        judged = self._assess(self.cluster, key, body)
        labelled = (metadata.get("labels") or {}).get(FEDERATION) == self._inventory.federation
        live = LiveObject(
            key=key,
            cluster=self.cluster,
            uid=uid,
            resource_version=version,
            ours=labelled and _lists(entry, uid),
            body=body if judged.keep_body or keep_body or not labelled else None,
            matches=judged.matches,
            health=judged.health,
            health_message=judged.message,
            entry=entry,
            protected=judged.protected,
        )
        self._seen[key] = live
        # A status that moved, of an object that is as rendered and as healthy as before, is nobody's business.
        if seen is None or live.body is not None or live != replace(seen, resource_version=version):
            self._changed(self.cluster, key)

    def _remove(self, key: ObjectKey, uid: str, version: str) -> None:
        self._gone[key] = (uid, version)
        if self._seen.pop(key, None) is not None:
            self._changed(self.cluster, key)

    def _entries_changed(self, keys: frozenset[ObjectKey]) -> None:
        for key in keys:
            entry = self._inventory.entries.get(key)
            seen = self._seen.get(key)
            if seen is not None:
                # Without its body the label cannot be looked at: bodies are dropped of labelled objects only.
                labels = {} if seen.body is None else seen.body["metadata"].get("labels") or {}
                labelled = seen.body is None or labels.get(FEDERATION) == self._inventory.federation
                self._seen[key] = replace(seen, entry=entry, ours=labelled and _lists(entry, seen.uid))
            elif entry is not None and entry.uid:
                # Written by somebody else, or read after the kind was listed: does it live without its label?
                kind = Kind(key.group, key.kind)
                resource = self._discovery.known(kind, self._wanted.get(kind))
                if resource is not None and kind in self._wanted and self._unread.get(kind) != _NOT_YET:
                    self._look_soon(key, resource)
            self._changed(self.cluster, key)
        if not keys:
            self._cluster_changed(self.cluster)
        self._note_settled()

    # Looking again at what the label does not show

    def _event_deleted(self, key: ObjectKey, resource: Resource, body: Body) -> None:
        metadata = body["metadata"]
        uid, version = str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or "")
        seen = self._seen.get(key)
        if seen is None or seen.uid != uid:
            return  # known already, from the answer to our own deletion
        if reflect.newer(seen.resource_version, version):
            return
        self._remove(key, uid, version)
        if _lists(self._inventory.entries.get(key), uid):
            self._look_soon(key, resource)

    def _look_soon(self, key: ObjectKey, resource: Resource) -> None:
        async def look() -> None:
            try:
                await self._look(key, resource, keep_body=False)
            except errors.ClusterError as error:
                # It stays out of sight until the next list, and its kind is unread: nothing is concluded.
                self._not_read(Kind(key.group, key.kind), translate.said(error))
                _log.info("cannot look again", extra={"cluster": self.cluster, "object": str(key)})

        task = asyncio.get_running_loop().create_task(look())
        self._lookups.add(task)
        self._settled.clear()
        task.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._lookups.discard(task)
        self._note_settled()
        if not task.cancelled() and task.exception() is not None:
            _log.error("looking again failed", exc_info=task.exception(), extra={"cluster": self.cluster})

    async def _look(self, key: ObjectKey, resource: Resource, *, keep_body: bool) -> LiveObject | None:
        try:
            body = await self._session.json("GET", resource.path(key.namespace, key.name))
        except errors.ObjectNotFound:
            seen = self._seen.get(key)
            if seen is not None:
                self._remove(key, seen.uid, seen.resource_version)
            return None
        # `again`: also an object that did not change may have to show its body now.
        seen = self._seen.get(key)
        newest = seen is None or not reflect.newer(seen.resource_version, body["metadata"]["resourceVersion"])
        if newest:
            self._gone.pop(key, None)
            self._store(key, body, keep_body=keep_body, again=True)
        return self._seen.get(key)


@dataclass(frozen=True, slots=True)
class _Followed:
    """One kind's `reflect.Follower`: sorts what comes into the observer's store."""

    observer: Observer
    kind: Kind
    resource: Resource

    def listed(self, items: list[Body]) -> None:
        observer = self.observer
        present = set()
        for body in items:
            key = self._key(body)
            present.add(key)
            observer._store(key, body)
        for key in [key for key in observer._gone if key[:2] == self.kind]:
            del observer._gone[key]
        for key in [key for key in observer._seen if key[:2] == self.kind and key not in present]:
            seen = observer._seen[key]
            observer._remove(key, seen.uid, seen.resource_version)
        for key in observer._inventory.entries:
            # Listed in the inventory and not seen by label: gone, not made yet, or its label was taken away.
            if key[:2] == self.kind and key not in present:
                observer._look_soon(key, self.resource)
        observer._read(self.kind)

    def event(self, kind: str, body: Body) -> None:
        key = self._key(body)
        if kind == "DELETED":
            self.observer._event_deleted(key, self.resource, body)
        else:
            self.observer._store(key, body)

    def resumed(self) -> None:
        self.observer._read(self.kind)

    def lost(self, error: errors.GitfedError) -> None:
        self.observer._not_read(self.kind, translate.said(error))

    def _key(self, body: Body) -> ObjectKey:
        metadata = body["metadata"]
        return ObjectKey(self.kind.group, self.kind.kind, metadata.get("namespace") or "", metadata["name"])


_NOT_YET = "not read yet"
_UNWANTED = "-"


def _lists(entry: InventoryEntry | None, uid: str) -> bool:
    return entry is not None and entry.uid in ("", uid)
