"""The garbage collector: objects go with their owners.

It follows every write and keeps two indexes, uid → object and owner's uid → dependents; work is one object at a time,
decided from the present state and not from what happened (Kubernetes: the garbage collector of the controller
manager). Owners of kinds that the cluster does not know are never taken for absent.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim import status
from kubesim.client import Client
from kubesim.kind import Kind
from kubesim.server.delete import FOREGROUND, ORPHAN
from kubesim.server.world import World
from kubesim.store import Event, Record

Body = dict[str, Any]
Place = tuple[str, str]
"""(collection, key)"""

_MANAGER: Final = "kube-controller-manager"


class GarbageCollector:
    def __init__(self, world: World) -> None:
        self._world = world
        self._client = Client(world, _MANAGER)
        self._dependents: dict[str, set[Place]] = {}
        self._queued: set[Place] = set()
        world.store.observers.append(self._observe)

    # following writes

    def _observe(self, collection: str, event: Event) -> None:
        place = (collection, event.key)
        before, after = _owner_uids(event.old), _owner_uids(event.new)
        for uid in before - after:
            self._dependents.get(uid, set()).discard(place)
        for uid in after - before:
            self._dependents.setdefault(uid, set()).add(place)
        if event.new is not None and (after or _collects(event.new)):
            self._enqueue(place)
        if event.new is None and event.old is not None:
            for dependent in self._dependents.get(event.old.body["metadata"]["uid"], ()):
                self._enqueue(dependent)
            # A foreground owner waits for this one to go.
            for uid in before:
                self._enqueue_owner(event.old, uid)

    def _enqueue(self, place: Place) -> None:
        if place not in self._queued:
            self._queued.add(place)
            self._world.later(lambda: self._attend(place))

    def _enqueue_owner(self, dependent: Record, uid: str) -> None:
        for ref in dependent.body["metadata"].get("ownerReferences") or ():
            if ref["uid"] == uid:
                kind = self._world.registry.named(ref["apiVersion"], ref["kind"])
                owner = self._owner(dependent.body, ref, kind) if kind is not None else None
                if kind is not None and owner is not None:
                    self._enqueue((kind.storage_key, owner.key))

    # one object

    def _attend(self, place: Place) -> None:
        self._queued.discard(place)
        record = self._world.store.get(*place)
        kind = self._world.registry.stored(place[0])
        if record is None or kind is None:
            return
        try:
            self._collect(kind, record)
        except status.ApiError as error:
            # Somebody else was quicker; the write that was in the way is observed too.
            if error.code not in (404, 409):
                raise

    def _collect(self, kind: Kind, record: Record) -> None:
        meta = record.body["metadata"]
        finalizers = meta.get("finalizers") or ()
        if meta.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan(kind, record)
                return
            if FOREGROUND in finalizers:
                self._wait_for_dependents(kind, record)
            return
        solid, dangling, waiting = self._classified(record.body)
        if not dangling and not waiting:
            return
        if solid:
            self._drop_owners(kind, record, {ref["uid"] for ref in (*dangling, *waiting)})
            return
        policy = "Background"
        if waiting and self._living_dependents(meta["uid"]):
            policy = "Foreground"
        if ORPHAN in finalizers:
            policy = "Orphan"
        self._client.delete(kind.resource, meta.get("namespace", ""), meta["name"], policy=policy, uid=meta["uid"])

    def _classified(self, body: Body) -> tuple[list[Body], list[Body], list[Body]]:
        """(owners that live, that do not exist, that wait for their dependents)."""
        solid: list[Body] = []
        dangling: list[Body] = []
        waiting: list[Body] = []
        for ref in body["metadata"].get("ownerReferences") or ():
            kind = self._world.registry.named(ref["apiVersion"], ref["kind"])
            if kind is None:
                solid.append(ref)
                continue
            owner = self._owner(body, ref, kind)
            if owner is None:
                dangling.append(ref)
            elif _is_waiting(owner):
                waiting.append(ref)
            else:
                solid.append(ref)
        return solid, dangling, waiting

    def _owner(self, body: Body, ref: Body, kind: Kind) -> Record | None:
        record = self._world.record(kind, body["metadata"].get("namespace", ""), ref["name"])
        return record if record is not None and record.body["metadata"]["uid"] == ref["uid"] else None

    def _living_dependents(self, uid: str) -> list[tuple[Kind, Record]]:
        found: list[tuple[Kind, Record]] = []
        for place in sorted(self._dependents.get(uid, ())):
            kind, record = self._world.registry.stored(place[0]), self._world.store.get(*place)
            if kind is not None and record is not None:
                found.append((kind, record))
        return found

    def _wait_for_dependents(self, kind: Kind, record: Record) -> None:
        uid = record.body["metadata"]["uid"]
        blocking = [
            (dependent, found)
            for dependent, found in self._living_dependents(uid)
            if any(
                ref["uid"] == uid and ref.get("blockOwnerDeletion") for ref in found.body["metadata"]["ownerReferences"]
            )
        ]
        for dependent, found in self._living_dependents(uid):
            if not found.body["metadata"].get("deletionTimestamp"):
                self._enqueue((dependent.storage_key, found.key))
        if not blocking:
            self._drop_finalizer(kind, record, FOREGROUND)

    def _orphan(self, kind: Kind, record: Record) -> None:
        uid = record.body["metadata"]["uid"]
        for dependent, found in self._living_dependents(uid):
            self._drop_owners(dependent, found, {uid})
        self._drop_finalizer(kind, record, ORPHAN)

    def _drop_owners(self, kind: Kind, record: Record, uids: set[str]) -> None:
        meta = record.body["metadata"]
        kept = [ref for ref in meta["ownerReferences"] if ref["uid"] not in uids]
        change = {"metadata": {"uid": meta["uid"], "ownerReferences": kept or None}}
        self._client.patch(kind.resource, meta.get("namespace", ""), meta["name"], change)

    def _drop_finalizer(self, kind: Kind, record: Record, finalizer: str) -> None:
        meta = record.body["metadata"]
        kept = [name for name in meta["finalizers"] if name != finalizer]
        change = {"metadata": {"uid": meta["uid"], "finalizers": kept or None}}
        self._client.patch(kind.resource, meta.get("namespace", ""), meta["name"], change)


def _owner_uids(record: Record | None) -> set[str]:
    if record is None:
        return set()
    return {ref["uid"] for ref in record.body["metadata"].get("ownerReferences") or ()}


def _collects(record: Record) -> bool:
    """Whether the object itself waits for the collector."""
    meta = record.body["metadata"]
    return bool(meta.get("deletionTimestamp")) and not {ORPHAN, FOREGROUND}.isdisjoint(meta.get("finalizers") or ())


def _is_waiting(owner: Record) -> bool:
    meta = owner.body["metadata"]
    return bool(meta.get("deletionTimestamp")) and FOREGROUND in (meta.get("finalizers") or ())
