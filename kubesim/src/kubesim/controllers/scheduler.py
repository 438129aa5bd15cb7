"""The scheduler: a node for each pod, within what nodes have left.

It looks at requests for cpu, memory and other amounts, the number of pods, node selectors and affinity, taints. Of
the nodes that fit the one with the most room is taken. A pod that fits nowhere says why, and is tried again when a
node or another pod changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import nodes, objects
from kubesim.controllers.work import Loop
from kubesim.kinds import pod_actions, resources
from kubesim.store import Record

Body = dict[str, Any]
Amounts = dict[str, int]
"""Name of a resource → thousandths of its unit."""
_MANAGER: Final = "kube-scheduler"


class Scheduler:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._client = loop.client(_MANAGER)
        self._taken: dict[str, Counter[str]] = {}
        """Node → what its pods asked for in all, and how many they are."""
        self._placed: dict[str, tuple[str, Amounts]] = {}
        """Pod → its node, and what it asked for."""
        self._total: dict[str, tuple[Body, Amounts]] = {}
        """Node → the body last seen, and what it has to give."""
        self._waiting: dict[str, None] = {}
        loop.add(self, "pods", "nodes")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == "nodes":
            yield from tuple(self._waiting)
            return
        freed = self._account(record.key)
        if record.key in self._waiting or not objects.spec(record.body).get("nodeName"):
            yield record.key
        if freed:
            yield from tuple(self._waiting)

    def _account(self, key: str) -> bool:
        """Keeps the books on one pod as it is now. ``True`` if room became free."""
        record = self._loop.world.store.get("pods", key)
        body = record.body if record is not None else None
        node = objects.spec(body).get("nodeName", "") if body is not None else ""
        if body is not None and objects.state(body).get("phase") in ("Succeeded", "Failed"):
            node = ""
        before, amounts = self._placed.get(key, ("", {}))
        if before == node:
            return False
        if before:
            self._taken[before].subtract(amounts)
            self._placed.pop(key)
        if node and body is not None:
            amounts = {**_requests(body), "pods": 1000}
            self._placed[key] = (node, amounts)
            self._taken.setdefault(node, Counter()).update(amounts)
        return bool(before)

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get("pods", key)
        body = record.body if record is not None else None
        if body is None or objects.spec(body).get("nodeName") or objects.meta(body).get("deletionTimestamp"):
            self._waiting.pop(key, None)
            return
        if (
            objects.spec(body).get("schedulingGates")
            or objects.spec(body).get("schedulerName", "default-scheduler") != "default-scheduler"
        ):
            return
        known = [node for node in self._loop.world.lookup.list("nodes") if nodes.is_ready(node)]
        reasons: Counter[str] = Counter()
        wanted = _requests(body)
        best: tuple[float, str] | None = None
        for node in known:
            why = nodes.refusal(node, objects.spec(body)) or self._lacks(node, wanted)
            if why:
                reasons[why] += 1
                continue
            score = (self._fullness(node, wanted), objects.meta(node)["name"])
            if best is None or score < best:
                best = score
        if best is None:
            self._refuse(key, body, len(known), reasons)
            return
        self._waiting.pop(key, None)
        self._bind(body, best[1])

    def _room(self, node: Body) -> tuple[Amounts, Counter[str]]:
        """(what the node has, what of it is taken)."""
        name = objects.meta(node)["name"]
        known = self._total.get(name)
        if known is None or known[0] is not node:
            known = (node, _amounts(objects.state(node).get("allocatable") or {}))
            self._total[name] = known
        return known[1], self._taken.get(name, Counter())

    def _lacks(self, node: Body, wanted: Amounts) -> str:
        total, taken = self._room(node)
        if taken["pods"] + 1000 > total.get("pods", 0):
            return "Too many pods"
        for name, amount in sorted(wanted.items()):
            if amount and taken[name] + amount > total.get(name, 0):
                return f"Insufficient {name}"
        return ""

    def _fullness(self, node: Body, wanted: Amounts) -> float:
        """The largest share in use once the pod is there: the node with most room wins, evenly in all amounts."""
        total, taken = self._room(node)
        after = {
            "pods": taken["pods"] + 1000,
            **{name: taken[name] + wanted.get(name, 0) for name in ("cpu", "memory")},
        }
        return max(amount / total[name] if total.get(name) else 0.0 for name, amount in after.items())

    def _bind(self, body: Body, node: str) -> None:
        meta = objects.meta(body)
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}, "target": target}
        bound = pod_actions.bind(body, binding, self._loop.world.now())
        self._loop.world.store.put("pods", objects.key(body), bound)

    def _refuse(self, key: str, body: Body, known: int, reasons: Counter[str]) -> None:
        self._waiting[key] = None
        told = ", ".join(sorted(f"{count} {why}" for why, count in reasons.items()))
        message = f"0/{known} nodes are available: {told}." if known else "no nodes available to schedule pods"
        if known:
            help_text = (
                "Preemption is not helpful for scheduling."
                if not any("Insufficient" in why or "Too many" in why for why in reasons)
                else ("No preemption victims found for incoming pod.")
            )
            message = f"{message} preemption: 0/{known} nodes are available: {known} {help_text}"
        fresh = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        before = objects.condition(body, "PodScheduled")
        if before is not None and before.get("message") == message:
            return
        conditions = objects.with_condition(objects.state(body).get("conditions") or (), fresh, self._loop.world.now())
        conditions = [{"lastProbeTime": None, **one} for one in conditions]
        self._client.update(
            "pods", {**body, "status": {**objects.state(body), "conditions": conditions}}, subresource="status"
        )


def _requests(body: Body) -> Amounts:
    return _amounts(resources.of_pod(objects.spec(body), "requests"))


def _amounts(quantities: Body) -> Amounts:
    """Rounded up, as the scheduler counts."""
    return {name: math.ceil(resources.value(amount) * 1000) for name, amount in quantities.items()}
