"""What lives in one cluster: the objects with our label, of the kinds that a plan wants to know about.

One list and one watch per wanted kind (`reflect`), by the label `gitfed.io/federation`. What is kept of an object is a
`LiveObject` (`object_cache`): its body only while `assess`, given by the daemon, says that it is needed (it differs
from what was rendered). In steady state nothing is read and no bodies are held.

The label alone proves nothing, and its absence neither:

- *Ours* is an object with our label that the inventory lists (by that uid, or by none yet).
- A DELETED event may mean a stripped label. If the inventory lists that uid, the object is looked up once: it counts
  as there until that look says otherwise, and without label if it lives, for relabelling. The same after a list, for
  entries that it did not show; until they have been looked up their kind is unread.

What our own writes answered arrives through `observed`, before the watch tells it. Older versions are ignored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from gitfed import errors
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import inventory, reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.edges.kube.failed_looks import FailedLooks
from gitfed.edges.kube.object_cache import Assess, Changed, Sightings, identity, is_listed
from gitfed.edges.kube.object_cache import Assessment as Assessment
from gitfed.edges.kube.unread_kinds import UnreadKinds
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey
from gitfed.model.fleet import ClusterLive, LiveObject
from gitfed.model.keys import FEDERATION_LABEL
from gitfed.text.values import dataclass

_UNSERVED = Backoff((0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0), 0.0, 0.5)
"""Seconds until a kind that the cluster does not serve is looked for again. An event of a definition cuts it short and
begins anew: a server says "established" a moment before it serves."""
_SERVING = (Kind("apiextensions.k8s.io", "CustomResourceDefinition"), Kind("apiregistration.k8s.io", "APIService"))
_UNWANTED = "-"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ObserverCallbacks:
    """What an observer asks and tells the member that it works for."""

    assess: Assess
    changed: Changed
    cluster_changed: Callable[[ClusterName], None] = lambda cluster: None
    can_wait: Callable[[ObjectKey], bool] = lambda key: False
    """More important things are to be done than to judge what is seen of this object."""


class Observer:
    """The live objects of one cluster. `run` follows the wanted kinds, and the inventory, until it is cancelled."""

    def __init__(
        self,
        session: Session,
        discovery: Discovery,
        owned: inventory.Inventory,
        callbacks: ObserverCallbacks,
        backoff: Backoff = reflect.BACKOFF,
    ) -> None:
        self._session = session
        self._discovery = discovery
        self._inventory = owned
        self._cluster_changed = callbacks.cluster_changed
        self._backoff = backoff
        self._sightings = Sightings(session.cluster, owned, callbacks.assess, callbacks.changed, callbacks.can_wait)
        self._wanted: dict[Kind, str | None] = {}
        self._wants = asyncio.Event()
        self._dropped: set[Kind] = set()
        """No longer wanted at some time since `run` last looked: to be followed anew if it is wanted again."""
        self._wake = reflect.Wake()
        self._unread = UnreadKinds(lambda: callbacks.cluster_changed(session.cluster))
        self._looks: dict[ObjectKey, asyncio.Task[None]] = {}
        self._failed = FailedLooks(self.look, lambda: callbacks.cluster_changed(session.cluster))
        owned.on_change(self._entries_changed)

    @property
    def cluster(self) -> ClusterName:
        return self._session.cluster

    # What others ask

    def get(self, key: ObjectKey) -> LiveObject | None:
        """The object as last seen; an entry without an object gives a LiveObject with uid ""; else None."""
        return self._sightings.get(key)

    def objects(self) -> Mapping[ObjectKey, LiveObject]:
        """All that `get` would answer, by key."""
        return self._sightings.all()

    def live(self) -> ClusterLive:
        """What is known and unknown about this cluster as a whole."""
        owned = self._inventory.snapshot
        looked_for = {Kind(*key[:2]) for key in self._looks if self._sightings.seen(key) is None}
        return ClusterLive(
            name=self.cluster,
            inventory_read=self._inventory.readable,
            repository_id=owned.repository_id,
            term=owned.term,
            unread=self._unread.kinds | looked_for,
            unlooked=frozenset(key for key in self._failed.keys if self._sightings.seen(key) is None),
            error=self._inventory.problem or self._unread.error,
        )

    async def settled(self) -> None:
        """Wait until inventory and every wanted kind were read, or could not be. The caller sets the timeout."""
        while not self._is_settled():
            await self._unread.next_settled()

    # What others tell

    def want(self, kinds: Iterable[Kind], versions: Mapping[Kind, str] | None = None) -> None:
        """Follow exactly these kinds, each in the apiVersion given for it or in the one the cluster prefers."""
        chosen = {kind: (versions or {}).get(kind) for kind in kinds}
        for kind, version in self._wanted.items():
            if chosen.get(kind, _UNWANTED) != version:
                # In another version the same object has another body.
                self._sightings.forget(kind)
                self._failed.forget(kind)
                self._dropped.add(kind)
        self._unread.want(chosen, [kind for kind in chosen if kind not in self._wanted or kind in self._dropped])
        self._wanted = chosen
        self._wants.set()
        self._note_settled()

    def look_anew(self) -> None:
        """List every kind again, whatever its watch told; `settled` tells when that is over."""
        for kind in self._wanted:
            self._unread.read_anew(kind)
            self._dropped.add(kind)
        self._wants.set()
        self.wake()

    def wake(self) -> None:
        """The cluster answers again, or a person wants an answer: try now what waits."""
        self._wake.set()

    def observed(self, key: ObjectKey, uid: str, body: Body | None) -> None:
        """What one of our own requests answered; None: the object with that uid is gone."""
        if body is not None:
            if Kind(*key[:2]) in self._wanted:
                self._sightings.answered(key, body)
            return
        seen = self._sightings.seen(key)
        if seen is not None and seen.uid == uid:
            self._sightings.remove(key)

    async def look(self, key: ObjectKey) -> LiveObject | None:
        """Read one object now, whatever its label, and keep its body. Raises the session's errors; then one that was
        not seen is unknown until it could be read."""
        kind = Kind(*key[:2])
        try:
            resource = await self._discovery.resource(kind, self._wanted.get(kind))
            return await self._look(key, resource, keep_body=True)
        except errors.KindUnknown:
            self._failed.answered(key)  # none of a kind that is not served
            raise
        except errors.ClusterError:
            if kind in self._wanted and self._sightings.seen(key) is None:
                self._failed.failed(key)
            raise

    @property
    def behind(self) -> bool:
        """Whether something was seen that `get` would judge only now."""
        return bool(self._sightings.unjudged)

    def reassess(self, keys: Iterable[ObjectKey]) -> None:
        """What is rendered for these changed: judge the bodies that are held again."""
        for key in keys:
            seen = self._sightings.seen(key)
            if seen is not None and seen.body is not None:
                self._sightings.store(key, seen.body, again=True)

    # Following

    async def run(self) -> None:
        """Follow the inventory and the wanted kinds until cancelled. A cluster's failures never end it."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_inventory())
                group.create_task(self._sightings.judge_later())
                group.create_task(self._failed.run(self._wake, self._backoff))
                following: dict[Kind, tuple[str | None, asyncio.Task[None]]] = {}
                while True:
                    self._wants.clear()
                    for kind, (version, task) in list(following.items()):
                        if kind in self._dropped or self._wanted.get(kind, _UNWANTED) != version:
                            task.cancel()
                            del following[kind]
                    self._dropped.clear()
                    for kind, wanted in self._wanted.items():
                        if kind not in following:
                            following[kind] = (wanted, group.create_task(self._follow(kind, wanted)))
                    await self._wants.wait()
        finally:
            self._inventory.off_change(self._entries_changed)
            for look in self._looks.values():
                look.cancel()

    async def _follow_inventory(self) -> None:
        while True:
            try:
                await self._inventory.follow(wake=self._wake, backoff=self._backoff)
            except errors.ObjectNotFound as error:
                # No server lacks ConfigMaps: something else answers at this address.
                _log.warning("cannot follow the inventory", extra={"cluster": self.cluster, "error": str(error)})
                await self._wake.pause(_UNSERVED.longest)

    async def _follow(self, kind: Kind, api_version: str | None) -> None:
        failures = 0
        while True:
            try:
                resource = await self._discovery.resource(kind, api_version)
                followed = _Followed(self, kind, resource)
                selector = f"{FEDERATION_LABEL}={self._inventory.federation}"
                try:
                    await reflect.follow(
                        self._session,
                        reflect.Collection(resource.path(), selector),
                        followed,
                        wake=self._wake,
                        backoff=self._backoff,
                    )
                except errors.ObjectNotFound as error:
                    failures = 0 if followed.was_listed else failures
                    await self._still_served(kind, api_version, error)
            except errors.KindUnknown:
                # Discovery is complete and says so: there are no objects of a kind that is not served.
                for live in self._sightings.of_kind(kind):
                    self._sightings.remove(live.key)
                self._read(kind)
                failures += 1
                if await self._wake.pause(_UNSERVED.after(failures)):
                    failures = 0
            except Exception as error:  # noqa: BLE001
                failures += 1
                self._not_read(kind, translate.said(translate.of_taking_in(self.cluster, error)))
                await self._wake.pause(self._backoff.after(failures))

    async def _still_served(self, kind: Kind, api_version: str | None, error: errors.ObjectNotFound) -> None:
        """A path that was served is 404. Only discovery can tell a deleted definition from a proxy that lost its way.

        Returns when discovery does not know the kind any more; raises ClusterFailed when it does.
        """
        await self._discovery.refresh()
        if self._discovery.known(kind, api_version) is not None:
            raise errors.ClusterFailed(error.message, cluster=self.cluster, status=404) from error

    def _read(self, kind: Kind) -> None:
        self._unread.read(kind)
        self._note_settled()

    def _not_read(self, kind: Kind, reason: str) -> None:
        if kind in self._wanted and self._unread.failed(kind, reason):
            self._note_settled()

    def _is_settled(self) -> bool:
        unread = self._unread.awaited or self._inventory.problem == inventory.NOT_READ
        return not unread and not self._looks

    def _note_settled(self) -> None:
        if self._is_settled():
            self._unread.settle()

    def _listed(self, kind: Kind, resource: Resource, bodies: Mapping[ObjectKey, Body]) -> None:
        for key, body in bodies.items():
            self._sightings.store(key, body)
        self._sightings.listed_anew(kind)
        for live in self._sightings.of_kind(kind):
            if live.key not in bodies and not is_listed(self._inventory.entries.get(live.key), live.uid):
                self._sightings.remove(live.key)
        for key, entry in self._inventory.entries.items():
            # Written once and not seen by label: gone, or its label was taken away. An entry without a uid is only an
            # intention; what came of it bears the label, or nothing came of it.
            if entry.uid and key[:2] == kind and key not in bodies:
                self._look_soon(key, resource)
        self._read(kind)

    def _deleted(self, key: ObjectKey, resource: Resource, body: Body) -> None:
        uid, version = identity(body)
        seen = self._sightings.seen(key)
        if seen is None or seen.uid != uid or reflect.newer(seen.resource_version, version):
            return  # known already, from the answer to our own deletion
        if is_listed(self._inventory.entries.get(key), uid):
            self._look_soon(key, resource)
        else:
            self._sightings.remove(key)

    def _entries_changed(self, keys: frozenset[ObjectKey]) -> None:
        for key in keys:
            entry = self._inventory.entries.get(key)
            kind = Kind(*key[:2])
            if entry is not None and entry.uid and self._sightings.seen(key) is None and kind in self._wanted:
                # Written by another client, or read after the kind was listed: does it live without its label?
                resource = self._discovery.known(kind, self._wanted[kind])
                if resource is not None and not self._unread.is_awaited(kind):
                    self._look_soon(key, resource)
            self._sightings.entry_changed(key)
        if not keys:
            self._cluster_changed(self.cluster)
        self._note_settled()

    # Looking at what the label does not show

    def _look_soon(self, key: ObjectKey, resource: Resource) -> None:
        if key not in self._looks:
            self._looks[key] = asyncio.get_running_loop().create_task(self._look_until_known(key, resource))

    async def _look_until_known(self, key: ObjectKey, resource: Resource) -> None:
        failures, complaint = 0, ""
        try:
            while Kind(*key[:2]) in self._wanted:
                try:
                    await self._look(key, resource, keep_body=False)
                    break
                except Exception as error:  # noqa: BLE001
                    # Also an unforeseen failure: without this look the object would count as there, for ever.
                    failures += 1
                    failed = translate.of_taking_in(self.cluster, error)
                    details = {"cluster": self.cluster, "object": str(key), "error": translate.said(failed)}
                    _log.log(translate.level(failed, complaint), "cannot look at an object", extra=details)
                    complaint = details["error"]
                    await self._wake.pause(self._backoff.after(failures))
        finally:
            self._looks.pop(key, None)
            self._cluster_changed(self.cluster)
            self._note_settled()

    async def _look(self, key: ObjectKey, resource: Resource, *, keep_body: bool) -> LiveObject | None:
        moment = self._sightings.moment(key)
        body: Body | None
        try:
            body = await self._session.json("GET", resource.path(key.namespace, key.name))
            reflect.check_object(self._session, body)
        except errors.ObjectNotFound as error:
            if not translate.is_gone(error):
                raise
            body = None
        self._sightings.looked(key, body, moment, keep_body=keep_body)
        self._failed.answered(key)
        return self._sightings.seen(key)


@dataclass(slots=True)
class _Followed:
    """One kind's `reflect.Follower`."""

    observer: Observer
    kind: Kind
    resource: Resource
    was_listed: bool = False

    def listed(self, items: list[Body], version: str) -> None:
        self.was_listed = True
        self.observer._listed(self.kind, self.resource, {self._key(body): body for body in items})

    def event(self, kind: str, body: Body) -> None:
        if self.kind not in self.observer._wanted:
            return  # it was dropped a moment ago; `run` is about to end this
        if self.kind in _SERVING:
            self.observer.wake()  # kinds that were not served may be now
        key = self._key(body)
        if kind == "DELETED":
            self.observer._deleted(key, self.resource, body)
        else:
            self.observer._sightings.store(key, body)

    def resumed(self) -> None:
        self.observer._read(self.kind)

    def lost(self, error: errors.GitfedError) -> None:
        self.observer._not_read(self.kind, translate.said(error))

    def _key(self, body: Body) -> ObjectKey:
        metadata = body["metadata"]
        return ObjectKey(self.kind.group, self.kind.kind, metadata.get("namespace") or "", metadata["name"])
