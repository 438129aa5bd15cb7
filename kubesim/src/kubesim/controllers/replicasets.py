"""ReplicaSets: as many pods as asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim import status
from kubesim.controllers import objects
from kubesim.controllers.work import RETRY_SECONDS, Loop
from kubesim.kinds import selectors
from kubesim.store import Record

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
        refused = self._adjust(body, pods)
        self._report(body, [pod for pod in self._owned.of("pods", body) if objects.is_active(pod)], refused)

    def _adjust(self, body: Body, pods: list[Body]) -> str:
        """Why a pod could not be made (a quota, a denied name), if so."""
        wanted = objects.spec(body).get("replicas", 1)
        for _ in range(wanted - len(pods)):
            pod = objects.new_pod(objects.spec(body)["template"], body, "apps/v1", "ReplicaSet")
            pod["metadata"]["generateName"] = f"{objects.meta(body)['name'][:57]}-"
            try:
                self._client.create("pods", pod)
            except status.ApiError as error:
                self._loop.enqueue(self, objects.key(body), RETRY_SECONDS)
                return error.message
        for pod in objects.victims(pods, len(pods) - wanted) if len(pods) > wanted else ():
            self._client.delete("pods", objects.meta(pod)["namespace"], objects.meta(pod)["name"])
        return ""

    def _report(self, body: Body, pods: list[Body], refused: str) -> None:
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
        conditions = objects.state(body).get("conditions") or []
        if refused and objects.condition(body, "ReplicaFailure"):
            pass  # told once: the words differ with every try, by the name that was thought up for the pod
        elif refused:
            failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": refused}
            conditions = objects.with_condition(conditions, failure, self._loop.world.now())
        else:
            conditions = [one for one in conditions if one.get("type") != "ReplicaFailure"]
        changed = {**fresh, **({"conditions": conditions} if conditions else {})}
        if changed != objects.state(body):
            self._client.update(SETS, {**body, "status": changed}, subresource="status")
        if pending := [wait for wait in waits if wait]:
            self._loop.enqueue(self, objects.key(body), min(pending))
