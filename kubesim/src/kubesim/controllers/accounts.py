"""What every namespace of a real cluster has: the service account ``default`` and the root certificate's ConfigMap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
_MADE: Final = (
    ("serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}),
    (
        "configmaps",
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kube-root-ca.crt"},
            "data": {"ca.crt": ""},
        },
    ),
)


class NamespaceDefaults:
    def __init__(self, loop: Loop) -> None:
        self._loop, self._client = loop, loop.client()
        loop.add(self, "namespaces")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        yield record.key

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get("namespaces", key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        for resource, body in _MADE:
            name = body["metadata"]["name"]  # type: ignore[index]
            if self._client.find(resource, key, name) is None:
                self._client.create(resource, {**body, "metadata": {"name": name, "namespace": key}})
