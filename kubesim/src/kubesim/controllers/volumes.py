"""Claims on volumes: each is bound at once, to a volume that is not there; a deleted one goes when no pod uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
CLAIMS: Final = "persistentvolumeclaims"
_HELD: Final = "kubernetes.io/pvc-protection"


class Volumes:
    def __init__(self, loop: Loop) -> None:
        self._loop, self._client = loop, loop.client()
        loop.add(self, CLAIMS, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == CLAIMS:
            yield record.key
            return
        for claim in _claims(record.body):
            yield f"{record.namespace}/{claim}"

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(CLAIMS, key)
        if record is None:
            return
        if objects.meta(record.body).get("deletionTimestamp"):
            self._release(record)
        elif objects.state(record.body).get("phase") != "Bound":
            spec = objects.spec(record.body)
            capacity = (spec.get("resources") or {}).get("requests") or {}
            fresh = {"phase": "Bound", "accessModes": spec.get("accessModes") or [], "capacity": capacity}
            self._client.update(CLAIMS, {**record.body, "status": fresh}, subresource="status")

    def _release(self, record: Record) -> None:
        """Takes the mark away that keeps it, unless it is in use (Kubernetes: pvc-protection-controller)."""
        meta = objects.meta(record.body)
        kept = [finalizer for finalizer in meta.get("finalizers") or () if finalizer != _HELD]
        if kept == (meta.get("finalizers") or []) or self._is_used(record):
            return
        self._client.update(CLAIMS, {**record.body, "metadata": {**meta, "finalizers": kept}})

    def _is_used(self, record: Record) -> bool:
        name = objects.meta(record.body)["name"]
        pods = self._loop.world.store.collection("pods").between(f"{record.namespace}/")
        # A pod that is not placed yet is not let onto a node while its claim is going.
        return any(objects.spec(pod.body).get("nodeName") and name in _claims(pod.body) for pod in pods)


def _claims(pod: Body) -> set[str]:
    """The claims that a pod's volumes name, or that are made for it under its own name."""
    found = set()
    for volume in objects.spec(pod).get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            found.add(source.get("claimName", ""))
        elif volume.get("ephemeral"):
            found.add(f"{objects.meta(pod)['name']}-{volume['name']}")
    return found
