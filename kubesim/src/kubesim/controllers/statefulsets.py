"""StatefulSets: numbered pods, made and replaced in order, each with claims of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
STATEFUL: Final = "statefulsets.apps"
REVISION_LABEL: Final = "controller-revision-hash"
_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"


class StatefulSets:
    def __init__(self, loop: Loop, owned: objects.Owned) -> None:
        self._loop, self._owned, self._client = loop, owned, loop.client()
        loop.add(self, STATEFUL, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == STATEFUL:
            yield record.key
            return
        owner = objects.controller_of(record.body)
        if owner is not None and owner["kind"] == "StatefulSet":
            yield f"{record.namespace}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(STATEFUL, key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        body = record.body
        revision = f"{objects.meta(body)['name']}-{objects.template_hash(objects.spec(body)['template'])}"
        current = objects.state(body).get("currentRevision") or revision
        self._step(body, self._pods(body), current, revision)
        self._report(body, self._pods(body), current, revision)

    def _pods(self, body: Body) -> dict[int, Body]:
        name, found = objects.meta(body)["name"], {}
        for pod in self._owned.of("pods", body):
            number = objects.meta(pod)["name"].removeprefix(f"{name}-")
            if number.isdigit():
                found[int(number)] = pod
        return found

    def _step(self, body: Body, pods: dict[int, Body], current: str, revision: str) -> None:
        """The next thing to do. In order, one pod at a time; in parallel, all that is due at once."""
        spec = objects.spec(body)
        first = (spec.get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + spec.get("replicas", 1))
        parallel = spec.get("podManagementPolicy") == "Parallel"
        strategy = spec.get("updateStrategy") or {}
        partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
        for number in wanted:
            pod = pods.get(number)
            if pod is None:
                old = number < first + partition and current != revision
                self._create(body, number, current if old else revision)
            elif objects.state(pod).get("phase") in ("Failed", "Succeeded"):
                self._delete(pod)
            if not parallel and (
                pod is None or not objects.is_ready(pod) or objects.meta(pod).get("deletionTimestamp")
            ):
                return
        surplus = sorted((number for number in pods if number not in wanted), reverse=True)
        for number in surplus:
            self._delete(pods[number])
            if not parallel:
                return
        if strategy.get("type", "RollingUpdate") == "RollingUpdate":
            self._update(pods, [number for number in reversed(wanted) if number >= first + partition], revision)

    def _update(self, pods: dict[int, Body], numbers: list[int], revision: str) -> None:
        """Replaces pods of an older template from the last to the first, waiting for each."""
        for number in numbers:
            pod = pods.get(number)
            if pod is None or objects.meta(pod).get("deletionTimestamp"):
                return
            if (objects.meta(pod).get("labels") or {}).get(REVISION_LABEL) != revision:
                self._delete(pod)
                return
            if not objects.is_ready(pod):
                return

    def _create(self, body: Body, number: int, revision: str) -> None:
        meta, spec = objects.meta(body), objects.spec(body)
        name = f"{meta['name']}-{number}"
        labels = {REVISION_LABEL: revision, _NAME_LABEL: name, _INDEX_LABEL: str(number)}
        pod = objects.new_pod(spec["template"], body, "apps/v1", "StatefulSet", labels)
        pod["metadata"]["name"] = name
        volumes = list(pod["spec"].get("volumes") or ())
        for claim in spec.get("volumeClaimTemplates") or ():
            volume = objects.meta(claim)["name"]
            self._claim(body, claim, f"{volume}-{name}")
            volumes = [one for one in volumes if one["name"] != volume]
            volumes.append({"name": volume, "persistentVolumeClaim": {"claimName": f"{volume}-{name}"}})
        made = {**pod["spec"], "hostname": name, **({"volumes": volumes} if volumes else {})}
        if spec.get("serviceName"):
            made["subdomain"] = spec["serviceName"]
        self._client.create("pods", {**pod, "spec": made})

    def _claim(self, body: Body, template: Body, name: str) -> None:
        namespace = objects.meta(body)["namespace"]
        if self._client.find("persistentvolumeclaims", namespace, name) is not None:
            return
        labels = {
            **(objects.meta(template).get("labels") or {}),
            **(objects.spec(body)["selector"].get("matchLabels") or {}),
        }
        made = {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": template["spec"]}
        self._client.create("persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **made})

    def _delete(self, pod: Body) -> None:
        if not objects.meta(pod).get("deletionTimestamp"):
            self._client.delete("pods", objects.meta(pod)["namespace"], objects.meta(pod)["name"])

    def _report(self, body: Body, pods: dict[int, Body], current: str, revision: str) -> None:
        record = self._loop.world.store.get(STATEFUL, objects.key(body))
        if record is None:
            return
        now = self._loop.world.clock.now()
        seconds = objects.spec(body).get("minReadySeconds") or 0
        living = [pod for pod in pods.values() if not objects.meta(pod).get("deletionTimestamp")]
        waits = [objects.available_in(pod, seconds, now) for pod in living]
        marks = [(objects.meta(pod).get("labels") or {}).get(REVISION_LABEL) for pod in living]
        wanted = objects.spec(body).get("replicas", 1)
        ready, updated = sum(wait is not None for wait in waits), marks.count(revision)
        if updated == ready == wanted == len(pods):
            current = revision  # the roll-out is over: what is new now is what is current
        counts = {"readyReplicas": ready, "currentReplicas": marks.count(current), "updatedReplicas": updated}
        fresh = {
            "observedGeneration": objects.meta(record.body).get("generation", 1),
            "replicas": len(pods),
            **{name: count for name, count in counts.items() if count},
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": 0,
            "availableReplicas": sum(wait == 0 for wait in waits),
        }
        if fresh != objects.state(record.body):
            self._client.update(STATEFUL, {**record.body, "status": fresh}, subresource="status")
        if pending := [wait for wait in waits if wait]:
            self._loop.enqueue(self, objects.key(body), min(pending))
