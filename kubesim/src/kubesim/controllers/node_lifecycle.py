"""Nodes that are not ready take no new pods, until they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import nodes, objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
_TAINT: Final = "node.kubernetes.io/not-ready"


class NodeLifecycle:
    def __init__(self, loop: Loop) -> None:
        self._loop, self._client = loop, loop.client()
        loop.add(self, "nodes")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        yield record.key

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get("nodes", key)
        if record is None:
            return
        taints = objects.spec(record.body).get("taints") or []
        kept = [one for one in taints if one.get("key") != _TAINT]
        if not nodes.is_ready(record.body):
            kept.append({"key": _TAINT, "effect": "NoSchedule"})
        if kept != taints:
            self._client.patch("nodes", "", key, {"spec": {"taints": kept or None}})
