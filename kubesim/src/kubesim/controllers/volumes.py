"""Volumes: every claim is bound at once, to a volume that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
CLAIMS: Final = "persistentvolumeclaims"


class Volumes:
    def __init__(self, loop: Loop) -> None:
        self._loop, self._client = loop, loop.client()
        loop.add(self, CLAIMS)

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        yield record.key

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(CLAIMS, key)
        if record is None or objects.state(record.body).get("phase") == "Bound":
            return
        spec = objects.spec(record.body)
        capacity = (spec.get("resources") or {}).get("requests") or {}
        fresh = {"phase": "Bound", "accessModes": spec.get("accessModes") or [], "capacity": capacity}
        self._client.update(CLAIMS, {**record.body, "status": fresh}, subresource="status")
