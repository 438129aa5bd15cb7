"""Disruption budgets: how many pods may be taken away right now. Evictions (``kubectl drain``) ask them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubesim.controllers import objects
from kubesim.controllers.work import Loop
from kubesim.kinds import selectors
from kubesim.store import Record

Body = dict[str, Any]
BUDGETS: Final = "poddisruptionbudgets.policy"
_SCALED: Final = {"ReplicaSet": "replicasets.apps", "StatefulSet": "statefulsets.apps"}


class Budgets:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._client = loop.client()
        loop.add(self, BUDGETS, "pods")

    def keys(self, collection: str, record: Record) -> Iterable[str]:
        if collection == BUDGETS:
            yield record.key
            return
        for budget in self._loop.world.lookup.list(BUDGETS, record.namespace):
            if _selects(budget, record.body):
                yield objects.key(budget)

    def reconcile(self, key: str) -> None:
        record = self._loop.world.store.get(BUDGETS, key)
        if record is None or objects.meta(record.body).get("deletionTimestamp"):
            return
        body = record.body
        pods = [pod for pod in self._loop.world.lookup.list("pods", record.namespace) if _selects(body, pod)]
        healthy = sum(objects.is_ready(pod) and objects.is_active(pod) for pod in pods)
        expected = self._expected(pods)
        desired = _desired(objects.spec(body), expected, len(pods))
        allowed = max(0, healthy - desired) if pods else 0
        fresh = {
            "observedGeneration": objects.meta(body).get("generation", 1),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "observedGeneration": fresh["observedGeneration"],
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
        }
        before = objects.state(body)
        conditions = objects.with_condition(before.get("conditions") or (), condition, self._loop.world.now())
        kept = {"disruptedPods": before["disruptedPods"]} if before.get("disruptedPods") else {}
        changed = {**kept, **fresh, "conditions": conditions}
        if changed != before:
            self._client.update(BUDGETS, {**body, "status": changed}, subresource="status")

    def _expected(self, pods: list[Body]) -> int:
        """What their controllers want in all; pods without one count themselves."""
        total, seen = 0, set()
        for pod in pods:
            owner = objects.controller_of(pod)
            collection = _SCALED.get(owner["kind"]) if owner is not None else None
            if owner is None or collection is None:
                total += 1
            elif owner["uid"] not in seen:
                seen.add(owner["uid"])
                held = self._loop.world.store.get(collection, f"{objects.meta(pod)['namespace']}/{owner['name']}")
                total += objects.spec(held.body).get("replicas", 1) if held is not None else 0
        return total


def _selects(budget: Body, pod: Body) -> bool:
    selector = objects.spec(budget).get("selector")
    return selector is not None and selectors.matches(selector, objects.meta(pod).get("labels") or {})


def _desired(spec: Body, expected: int, count: int) -> int:
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - objects.rounded(spec["maxUnavailable"], expected, up=True))
    least = spec.get("minAvailable")
    return objects.rounded(least, expected, up=True) if least is not None else count
