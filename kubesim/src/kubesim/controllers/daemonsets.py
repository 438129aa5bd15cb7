"""DaemonSets: one pod on every node that takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import nodes, objects
from kubesim.controllers.work import Loop
from kubesim.store import Record

Body = dict[str, Any]
DAEMONS: Final = "daemonsets.apps"
_LABEL: Final = "controller-revision-hash"
_TOLERATED: Final = [
    {"effect": effect, "key": f"node.kubernetes.io/{key}", "operator": "Exists"}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
]


class DaemonSets:
    def __init__(self, loop: Loop, owned: objects.Owned) -> None:
        self._loop, self._owned, self._client = loop, owned, loop.client()
        loop.add(self, DAEMONS, "pods", "nodes")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == DAEMONS:
            yield record.key
        elif collection == "nodes":
            yield from self._loop.world.store.collection(DAEMONS).keys
        else:
            owner = objects.controller_of(record.body)
            if owner is not None and owner["kind"] == "DaemonSet":
                yield f"{record.namespace}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(DAEMONS, key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        body = record.body
        template = objects.spec(body)["template"]
        mark = objects.template_hash(template)
        spec = {**template.get("spec", {})}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *_TOLERATED]
        eligible = {
            objects.meta(node)["name"]
            for node in self._loop.world.lookup.list("nodes")
            if nodes.takes(node, spec, ignore_unschedulable=True)
        }
        self._place(body, {**template, "spec": spec}, mark, eligible)
        self._replace(body, mark)
        self._report(body, mark, eligible)

    def _by_node(self, body: Body) -> dict[str, Body]:
        return {objects.spec(pod).get("nodeName", ""): pod for pod in self._owned.of("pods", body)}

    def _place(self, body: Body, template: Body, mark: str, eligible: set[str]) -> None:
        placed = self._by_node(body)
        for name in sorted(eligible - set(placed)):
            pod = objects.new_pod(template, body, "apps/v1", "DaemonSet", {_LABEL: mark})
            pod["metadata"]["generateName"] = f"{objects.meta(body)['name']}-"
            self._client.create("pods", {**pod, "spec": {**pod["spec"], "nodeName": name}})
        for name, pod in placed.items():
            finished = objects.state(pod).get("phase") in ("Failed", "Succeeded")
            if (name not in eligible or finished) and not objects.meta(pod).get("deletionTimestamp"):
                self._delete(pod)

    def _delete(self, pod: Body) -> None:
        self._client.delete("pods", objects.meta(pod)["namespace"], objects.meta(pod)["name"])

    def _replace(self, body: Body, mark: str) -> None:
        strategy = objects.spec(body).get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        pods = list(self._by_node(body).values())
        limit = max(
            1, objects.rounded((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(pods), up=True)
        )
        away = sum(not objects.is_ready(pod) or not objects.is_active(pod) for pod in pods)
        for pod in pods:
            old = (objects.meta(pod).get("labels") or {}).get(_LABEL) != mark
            if not old or not objects.is_active(pod):
                continue
            if not objects.is_ready(pod):
                self._delete(pod)
            elif away < limit:
                self._delete(pod)
                away += 1

    def _report(self, body: Body, mark: str, eligible: set[str]) -> None:
        record = self._loop.world.store.get(DAEMONS, objects.key(body))
        if record is None:
            return
        now = self._loop.world.clock.now()
        seconds = objects.spec(body).get("minReadySeconds") or 0
        living = [pod for pod in self._owned.of("pods", body) if objects.is_active(pod)]
        waits = [objects.available_in(pod, seconds, now) for pod in living]
        ready, available = sum(wait is not None for wait in waits), sum(wait == 0 for wait in waits)
        updated = sum((objects.meta(pod).get("labels") or {}).get(_LABEL) == mark for pod in living)
        optional = {
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": max(0, len(eligible) - available),
        }
        fresh = {
            "currentNumberScheduled": len(living),
            "numberMisscheduled": 0,
            "desiredNumberScheduled": len(eligible),
            "numberReady": ready,
            "observedGeneration": objects.meta(record.body).get("generation", 1),
            **{name: count for name, count in optional.items() if count},
        }
        if fresh != objects.state(record.body):
            self._client.update(DAEMONS, {**record.body, "status": fresh}, subresource="status")
        if pending := [wait for wait in waits if wait]:
            self._loop.enqueue(self, objects.key(body), min(pending))
