"""Resource quotas: what a namespace uses, counted anew whenever something goes or a quota comes.

Admission counts what is added; nobody else would notice what is taken away. Quotas that are limited to scopes are
left to admission.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.kinds import quotas, resources
from kubesim.store import Record

Body = dict[str, Any]
QUOTAS: Final = "resourcequotas"
_COUNTED: Final = (
    "pods",
    "services",
    "persistentvolumeclaims",
    "configmaps",
    "secrets",
    "replicationcontrollers",
    "resourcequotas",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "ingresses.networking.k8s.io",
)


class Usage:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._client = loop.client()
        loop.add(self, *_COUNTED)

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == QUOTAS:
            yield record.key
            return
        gone = self._loop.world.store.get(collection, record.key) is None
        finished = objects.state(record.body).get("phase") in ("Succeeded", "Failed")
        if gone or finished:
            for quota in self._loop.world.lookup.list(QUOTAS, record.namespace):
                yield objects.key(quota)

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(QUOTAS, key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        spec = objects.spec(record.body)
        if spec.get("scopes") or spec.get("scopeSelector"):
            return
        hard = spec.get("hard") or {}
        used = dict.fromkeys(hard, "0")
        for collection in _COUNTED:
            for body in self._loop.world.lookup.list(collection, record.namespace):
                mine = {name: amount for name, amount in quotas.usage(collection, body).items() if name in hard}
                used = resources.add(used, mine)
        fresh = {"hard": hard, "used": used}
        if fresh != objects.state(record.body):
            self._client.update(QUOTAS, {**record.body, "status": fresh}, subresource="status")
