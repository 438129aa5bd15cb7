"""ReplicaSets: as many pods as asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gitfed.sim.controllers import objects
from gitfed.sim.controllers.work import Loop
from gitfed.sim.kinds import selectors
from gitfed.sim.store import Record

Body = dict[str, Any]
SETS: Final = "replicasets.apps"


class ReplicaSets:
    def __init__(self, loop: Loop, owned: objects.Owned) -> None:
        self._loop, self._owned, self._client = loop, owned, loop.client()
        loop.add(self, SETS, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == SETS:
            yield record.key
            return
        owner = objects.controller_of(record.body)
        if owner is not None and owner["kind"] == "ReplicaSet":
            yield f"{record.namespace}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(SETS, key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        body = record.body
        pods = [pod for pod in self._owned.of("pods", body) if objects.is_active(pod)]
        self._adjust(body, pods)
        self._report(body, [pod for pod in self._owned.of("pods", body) if objects.is_active(pod)])

    def _adjust(self, body: Body, pods: list[Body]) -> None:
        wanted = objects.spec(body).get("replicas", 1)
        for _ in range(wanted - len(pods)):
            pod = objects.new_pod(objects.spec(body)["template"], body, "apps/v1", "ReplicaSet")
            pod["metadata"]["generateName"] = f"{objects.meta(body)['name'][:57]}-"
            self._client.create("pods", pod)
        for pod in objects.victims(pods, len(pods) - wanted) if len(pods) > wanted else ():
            self._client.delete("pods", objects.meta(pod)["namespace"], objects.meta(pod)["name"])

    def _report(self, body: Body, pods: list[Body]) -> None:
        now = self._loop.world.clock.now()
        seconds = objects.spec(body).get("minReadySeconds") or 0
        waits = [objects.available_in(pod, seconds, now) for pod in pods]
        labels = objects.meta(objects.spec(body)["template"]).get("labels") or {}
        template = {"matchLabels": labels}
        counts = {
            "fullyLabeledReplicas": sum(
                selectors.matches(template, objects.meta(pod).get("labels") or {}) for pod in pods
            ),
            "readyReplicas": sum(wait is not None for wait in waits),
            "availableReplicas": sum(wait == 0 for wait in waits),
        }
        fresh = {"replicas": len(pods), **{name: count for name, count in counts.items() if count}}
        fresh["observedGeneration"] = objects.meta(body).get("generation", 1)
        kept = {name: value for name, value in objects.state(body).items() if name == "conditions"}
        if {**kept, **fresh} != objects.state(body):
            self._client.update(SETS, {**body, "status": {**kept, **fresh}}, subresource="status")
        if pending := [wait for wait in waits if wait]:
            self._loop.enqueue(self, objects.key(body), min(pending))
