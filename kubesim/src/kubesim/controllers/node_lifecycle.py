"""Nodes that are not ready take no new pods, until they are; nodes that keep no pods lose those they have; nodes that
are ready renew their lease."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from kubesim.controllers import nodes, objects
from kubesim.controllers.settings import Settings
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
_TAINT: Final = "node.kubernetes.io/not-ready"
_LEASES: Final = "leases.coordination.k8s.io"
_LEASE_NAMESPACE: Final = "kube-node-lease"
_EVICTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


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


class TaintEviction:
    """NoExecute: pods that do not tolerate the taint go at once, others when the seconds they bear it are over."""

    def __init__(self, loop: Loop) -> None:
        self._loop, self._client = loop, loop.client()
        self._due: dict[str, datetime] = {}
        """uid → when the pod has to go. The time runs from the first look; later taints do not start it again."""
        loop.add(self, "nodes", "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == "pods":
            if record.body["metadata"]["uid"] in self._due or self._taints(objects.spec(record.body).get("nodeName")):
                yield record.key
        elif _no_execute(record.body) or self._due:
            for pod in self._loop.world.store.collection("pods").between(""):
                if objects.spec(pod.body).get("nodeName") == record.key:
                    yield pod.key

    def _taints(self, node: str | None) -> list[Body]:
        record = self._loop.world.store.get("nodes", node) if node else None
        return _no_execute(record.body) if record is not None else []

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get("pods", key)
        if record is None:
            return
        meta, spec = objects.meta(record.body), objects.spec(record.body)
        taints = self._taints(spec.get("nodeName"))
        if not taints or meta.get("deletionTimestamp"):
            self._due.pop(meta["uid"], None)
            return
        seconds = nodes.tolerated_seconds(taints, spec.get("tolerations") or [])
        if seconds is None:
            self._due.pop(meta["uid"], None)
            return
        now = self._loop.world.clock.now()
        due = self._due.setdefault(meta["uid"], now + timedelta(seconds=seconds))
        if not seconds or due <= now:
            self._due.pop(meta["uid"])
            self._evict(record.body)
        else:
            self._loop.enqueue(self, key, (due - now).total_seconds())

    def _evict(self, pod: Body) -> None:
        conditions = objects.with_condition(
            objects.state(pod).get("conditions") or (), {**_EVICTED, "lastProbeTime": None}, self._loop.world.now()
        )
        told = {**pod, "status": {**objects.state(pod), "conditions": conditions}}
        self._client.update("pods", told, subresource="status")
        meta = objects.meta(pod)
        self._client.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"])


class Leases:
    """The sign of life of each kubelet, by which a cluster sees that a node is gone."""

    def __init__(self, loop: Loop, settings: Settings) -> None:
        self._loop, self._client, self._seconds = loop, loop.client("kubelet"), settings.lease_seconds
        self._renewing: set[str] = set()
        """Nodes with a timer."""
        loop.add(self, "nodes")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if record.key not in self._renewing:
            yield record.key

    def reconcile(self, key: str) -> None:
        if key not in self._renewing:
            self._renewing.add(key)
            self._renew(key)

    def _renew(self, key: str) -> None:
        """Past the pipeline: there is nothing to refuse, and it happens all the time."""
        world = self._loop.world
        node = world.lookup.get("nodes", "", key)
        if node is None:
            self._renewing.discard(key)
            return
        if self._seconds:
            self._loop.after(self._seconds, lambda: self._renew(key))
        if not nodes.is_ready(node):
            return
        moment = world.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = world.store.get(_LEASES, f"{_LEASE_NAMESPACE}/{key}")
        if lease is not None:
            renewed = {**lease.body, "spec": {**lease.body["spec"], "renewTime": moment}}
            world.store.put(_LEASES, lease.key, renewed)
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": key, "uid": objects.meta(node)["uid"]}
        meta = {"name": key, "namespace": _LEASE_NAMESPACE, "ownerReferences": [owner]}
        spec = {"holderIdentity": key, "leaseDurationSeconds": 40, "renewTime": moment}
        self._client.create(_LEASES, {"metadata": meta, "spec": spec})


def _no_execute(node: Body) -> list[Body]:
    return [one for one in objects.spec(node).get("taints") or () if one.get("effect") == "NoExecute"]
