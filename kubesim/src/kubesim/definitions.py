"""Definitions of custom resources at work: names accepted, kinds served, instances removed with their definition.

What a definition means is ``crd``'s business; this reacts to its changes, as the controllers inside a real API server
do: after the answer to the writing request, and so usually before the client's next one.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim import crd, managed, schema
from kubesim.server import delete
from kubesim.server.options import DeleteOptions
from kubesim.server.request import User
from kubesim.server.world import World
from kubesim.store import Event, Record

Body = dict[str, Any]

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_CONTROLLER: Final = User("system:apiserver", groups=("system:masters",))


class Definitions:
    """Keeps the registry equal to the stored definitions."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._served: dict[str, tuple[object, ...]] = {}
        world.store.observers.append(self._observe)

    def _observe(self, collection: str, event: Event) -> None:
        if collection == DEFINITIONS:
            self._look_later(event.key)
        elif event.new is None and collection in self._served:
            # An instance went: its definition may be waiting for that.
            self._look_later(collection)

    def _look_later(self, name: str) -> None:
        self._world.later(lambda: self._look(name))

    def _look(self, name: str) -> None:
        record = self._record(name)
        if record is None:
            self._withdraw(name)
            return
        body = record.body
        if crd.is_terminating(body):
            self._serve(name, body)
            self._clean_up(record)
            return
        settled = crd.settle(body, self._others(name), self._world.now())
        if settled is not None:
            # The write is observed, and the definition looked at again, until nothing changes.
            self._world.store.put(DEFINITIONS, name, self._owned(body, settled))
            return
        self._serve(name, body)

    def _owned(self, body: Body, settled: Body) -> Body:
        """The status belongs to the server that wrote it."""
        kind = self._world.registry.stored(DEFINITIONS)
        assert kind is not None
        writer = managed.Writer("kube-apiserver", kind.api_version, self._world.clock.now(), "status", kind.kind)
        return managed.update(body, settled, writer, kind.schema or schema.OPEN)

    def _record(self, name: str) -> Record | None:
        return self._world.store.get(DEFINITIONS, name)

    def _others(self, name: str) -> list[Body]:
        return [body for body in self._world.lookup.list(DEFINITIONS) if body["metadata"]["name"] != name]

    def _serve(self, name: str, body: Body) -> None:
        meta = body["metadata"]
        conditions = [(entry["type"], entry["status"]) for entry in (body.get("status") or {}).get("conditions") or ()]
        mark = (meta["uid"], meta.get("generation"), *sorted(conditions))
        before = self._served.get(name)
        if before == mark:
            return
        self._served[name] = mark
        if before is None:
            # Nothing can be watched from before there was such a kind.
            collection = self._world.store.collection(name)
            collection.oldest = max(collection.oldest, self._world.store.version)
        self._world.registry.set_custom(name, crd.custom_kinds(body))
        if before is not None and before[:2] != mark[:2]:
            # Watches were opened under the old schema; their clients come back under the new one.
            self._world.store.cut(name)
        self._reconsider(name)

    def _reconsider(self, name: str) -> None:
        """Names given up or taken matter to the other definitions of the group."""
        group = name.partition(".")[2]
        for body in self._others(name):
            if body["spec"]["group"] == group and not self._accepted(body):
                self._look_later(body["metadata"]["name"])

    def _accepted(self, body: Body) -> bool:
        conditions = (body.get("status") or {}).get("conditions") or ()
        return any(entry["type"] == "NamesAccepted" and entry["status"] == "True" for entry in conditions)

    def _clean_up(self, record: Record) -> None:
        world, name = self._world, record.key
        kinds = world.registry.custom.get(name, ())
        if kinds:
            for instance in world.store.collection(name).between(""):
                meta = instance.body["metadata"]
                if not meta.get("deletionTimestamp"):
                    delete.delete(
                        world, kinds[0], meta.get("namespace", ""), meta["name"], DeleteOptions(), _CONTROLLER, []
                    )
        if world.store.collection(name).keys:
            return
        body = crd.finish_deletion(record.body)
        if body is record.body:
            return
        if body["metadata"].get("finalizers"):
            world.store.put(DEFINITIONS, name, body)
        else:
            world.store.delete(DEFINITIONS, name)

    def _withdraw(self, name: str) -> None:
        self._served.pop(name, None)
        self._world.registry.set_custom(name, ())
        self._world.store.drop(name)
        self._reconsider(name)
