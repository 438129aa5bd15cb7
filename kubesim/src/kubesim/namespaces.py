"""The namespace controller: a deleted namespace is emptied, says in its conditions what remains, and goes when
nothing does."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from kubesim import status
from kubesim.client import Client
from kubesim.kind import Kind
from kubesim.server.world import World
from kubesim.store import Event

Body = dict[str, Any]

_FINALIZER: Final = "kubernetes"
_MANAGER: Final = "kube-controller-manager"


class NamespaceController:
    def __init__(self, world: World) -> None:
        self._world = world
        self._client = Client(world, _MANAGER)
        self._queued: set[str] = set()
        world.store.observers.append(self._observe)

    def _observe(self, collection: str, event: Event) -> None:
        if collection == "namespaces":
            if event.new is not None:
                self._enqueue(event.key)
        elif "/" in event.key:
            self._enqueue(event.key.partition("/")[0])

    def _enqueue(self, name: str) -> None:
        body = self._world.lookup.get("namespaces", "", name)
        if body is None or not body["metadata"].get("deletionTimestamp") or name in self._queued:
            return
        self._queued.add(name)
        self._world.later(lambda: self._attend(name))

    def _attend(self, name: str) -> None:
        self._queued.discard(name)
        body = self._world.lookup.get("namespaces", "", name)
        if body is None or not body["metadata"].get("deletionTimestamp"):
            return
        if _FINALIZER not in ((body.get("spec") or {}).get("finalizers") or ()):
            return
        remaining = self._empty(name)
        self._tell(name, body, remaining)
        if not remaining:
            self._release(name)

    def _empty(self, name: str) -> list[tuple[Kind, Body]]:
        """Deletes all there is; answers what stays."""
        remaining: list[tuple[Kind, Body]] = []
        for kind in self._world.registry.storages():
            if not kind.namespaced or "delete" not in kind.verbs:
                continue
            for record in self._world.store.collection(kind.storage_key).between(f"{name}/"):
                meta = record.body["metadata"]
                if not meta.get("deletionTimestamp"):
                    self._client.delete(kind.resource, name, meta["name"], policy="Background")
                left = self._world.store.get(kind.storage_key, record.key)
                if left is not None:
                    remaining.append((kind, left.body))
        return remaining

    def _tell(self, name: str, body: Body, remaining: list[tuple[Kind, Body]]) -> None:
        kinds = Counter(kind.resource for kind, _ in remaining)
        holds = Counter(hold for _, left in remaining for hold in left["metadata"].get("finalizers") or ())
        wanted = [
            _condition(
                "NamespaceDeletionDiscoveryFailure",
                False,
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            _condition(
                "NamespaceDeletionGroupVersionParsingFailure",
                False,
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            _condition(
                "NamespaceDeletionContentFailure",
                False,
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            _remaining("NamespaceContentRemaining", "SomeResourcesRemain", "Some resources are remaining", kinds)
            if kinds
            else _condition("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed"),
            _remaining(
                "NamespaceFinalizersRemaining",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining",
                holds,
            )
            if holds
            else _condition(
                "NamespaceFinalizersRemaining",
                False,
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        ]
        before = {entry["type"]: entry for entry in (body.get("status") or {}).get("conditions") or ()}
        if not remaining and not before:
            return
        now = self._world.now()
        for entry in wanted:
            old = before.get(entry["type"])
            kept = old is not None and old["status"] == entry["status"]
            entry["lastTransitionTime"] = old["lastTransitionTime"] if old is not None and kept else now
        change = {"status": {"conditions": wanted}}
        self._client.patch("namespaces", "", name, change, subresource="status")

    def _release(self, name: str) -> None:
        body = self._world.lookup.get("namespaces", "", name)
        if body is None:
            return
        kept = [hold for hold in body["spec"].get("finalizers") or () if hold != _FINALIZER]
        try:
            self._client.update(
                "namespaces", {**body, "spec": {**body["spec"], "finalizers": kept}}, subresource="finalize"
            )
        except status.ApiError as error:
            if error.code not in (404, 409):
                raise


def _condition(kind: str, state: bool, reason: str, message: str) -> Body:
    return {
        "type": kind,
        "status": "True" if state else "False",
        "lastTransitionTime": "",
        "reason": reason,
        "message": message,
    }


def _remaining(kind: str, reason: str, text: str, counts: Counter[str]) -> Body:
    what = "has {} resource instances" if kind == "NamespaceContentRemaining" else "in {} resource instances"
    listed = ", ".join(f"{name} {what.format(counts[name])}" for name in sorted(counts))
    if kind == "NamespaceContentRemaining":
        listed = ", ".join(
            f"{name + '.' if '.' not in name else name} has {counts[name]} resource instances"
            for name in sorted(counts)
        )
    return _condition(kind, True, reason, f"{text}: {listed}")
