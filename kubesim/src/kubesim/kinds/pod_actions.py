"""What is done to Pods by addresses of their own: binding to a node, eviction within disruption budgets.

Pure: the server reads the Pod and the budgets, calls one of these, and stores what it gets back. Kubernetes:
BindingREST, EvictionREST.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from kubesim import status
from kubesim.kind import Body
from kubesim.kinds import fields, selectors, table

_REFUSED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_MANY: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def _time(now: datetime | str) -> str:
    return now if isinstance(now, str) else now.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_condition(body: Body, condition: Body, now: datetime | str) -> Body:
    """The Pod with the condition set; its time moves only with its status."""
    found = fields.obj(body, "status")
    conditions = list(fields.items(found, "conditions"))
    at = next((index for index, one in enumerate(conditions) if one.get("type") == condition["type"]), None)
    old = conditions[at] if at is not None else None
    moved = old is None or old.get("status") != condition["status"]
    when = _time(now) if moved or old is None else old.get("lastTransitionTime")
    new = {"type": condition["type"], "status": condition["status"], "lastProbeTime": None, "lastTransitionTime": when}
    new |= {key: condition[key] for key in ("reason", "message") if condition.get(key)}
    if at is None:
        conditions.append(new)
    else:
        conditions[at] = new
    return {**body, "status": {**found, "conditions": conditions}}


def bind(pod: Body, binding: Body, now: datetime | str) -> Body:
    """The Pod on its node. Raises `ApiError`: 400 for another name, 409 where it cannot be."""
    name = table.name(pod)
    if table.name(binding) not in ("", name):
        raise status.bad_request("name in URL does not match name in Binding object")
    why = _unbindable(pod, binding, name)
    if why:
        raise status.conflict("", "pods/binding", name, why)
    spec = {**fields.obj(pod, "spec"), "nodeName": binding["target"]["name"]}
    meta = fields.obj(pod, "metadata")
    for key in ("annotations", "labels"):
        if extra := fields.obj(binding, "metadata", key):
            meta = {**meta, key: {**fields.obj(meta, key), **extra}}
    found = fields.without(fields.obj(pod, "status"), "nominatedNodeName")
    return with_condition(
        {**pod, "metadata": meta, "spec": spec, "status": found}, {"type": "PodScheduled", "status": "True"}, now
    )


def check_target(binding: Body) -> None:
    """Raises `ApiError` 500 for a binding to something that is no node, or to none."""
    target = fields.obj(binding, "target")
    kind = fields.text(target, "kind")
    errors = [] if kind in ("", "Node") else fields.unsupported("target.kind", kind, "Node", "<empty>")
    errors += [] if target.get("name") else fields.required("target.name")
    if errors:
        raise status.untyped(status.aggregate(errors))


def _unbindable(pod: Body, binding: Body, name: str) -> str:
    meta, spec = fields.obj(pod, "metadata"), fields.obj(pod, "spec")
    wanted = fields.text(fields.obj(binding, "metadata"), "uid")
    if wanted and wanted != meta.get("uid"):
        return f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {meta.get('uid')}"
    if meta.get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def evict(pod: Body, budgets: Iterable[Body], now: datetime | str) -> tuple[Body, Body | None]:
    """The Pod marked as evicted, to be deleted next, and the budget that was charged for it.

    Raises `ApiError` 429 where a budget has no room, 500 where there are several.
    """
    evicted = with_condition(
        pod,
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        },
        now,
    )
    done = fields.obj(pod, "status").get("phase") in ("Succeeded", "Failed", "Pending")
    if done or fields.obj(pod, "metadata").get("deletionTimestamp"):
        return evicted, None
    labels = fields.obj(pod, "metadata", "labels")
    found = [one for one in budgets if selectors.matches(fields.obj(one, "spec").get("selector"), labels)]
    if len(found) > 1:
        raise status.ApiError(500, "", _MANY)
    if not found or _unhealthy_may_go(pod, found[0]):
        return evicted, None
    return evicted, _charged(found[0], table.name(pod), now)


def _unhealthy_may_go(pod: Body, budget: Body) -> bool:
    """A Pod that is not ready costs no disruption."""
    ready = any(
        one.get("type") == "Ready" and one.get("status") == "True" for one in fields.items(pod, "status", "conditions")
    )
    if ready:
        return False
    found = fields.obj(budget, "status")
    healthy, desired = found.get("currentHealthy") or 0, found.get("desiredHealthy") or 0
    policy = fields.obj(budget, "spec").get("unhealthyPodEvictionPolicy")
    return policy == "AlwaysAllow" or (healthy >= desired > 0)


def _charged(budget: Body, pod_name: str, now: datetime | str) -> Body:
    name, found = table.name(budget), fields.obj(budget, "status")
    generation = fields.obj(budget, "metadata").get("generation") or 0
    if (found.get("observedGeneration") or 0) < generation:
        raise _refusal(f"The disruption budget {name} is still being processed by the server.", 10)
    allowed = found.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise status.forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    if len(fields.obj(found, "disruptedPods")) > 2000:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise status.forbidden("policy", "poddisruptionbudget", name, text)
    if not allowed:
        raise _refusal(_why_full(name, found), 0)
    disrupted = {**fields.obj(found, "disruptedPods"), pod_name: _time(now)}
    changed = {**found, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    if allowed == 1:
        changed["conditions"] = _no_room(fields.items(found, "conditions"), generation, now)
    return {**budget, "status": changed}


def _refusal(text: str, seconds: int) -> status.ApiError:
    return status.too_many_requests(_REFUSED, seconds, [{"reason": "DisruptionBudget", "message": text}])


def _why_full(name: str, found: Body) -> str:
    conditions = [one for one in fields.items(found, "conditions") if one.get("type") == "DisruptionAllowed"]
    condition: Body = conditions[0] if conditions else {}
    text = fields.text(condition, "message") if condition.get("status") == "False" else ""
    healthy, desired = found.get("currentHealthy") or 0, found.get("desiredHealthy") or 0
    if text and condition.get("reason") == "SyncFailed":
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {text}"
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    if text:
        return (
            f"The disruption budget {name} does not allow evicting pods currently ({condition.get('reason')}): {text}"
        )
    return f"The disruption budget {name} does not allow evicting pods currently"


def _no_room(conditions: list[Body], generation: int, now: datetime | str) -> list[Body]:
    old = next((one for one in conditions if one.get("type") == "DisruptionAllowed"), {})
    when = old.get("lastTransitionTime") if old.get("status") == "False" else _time(now)
    new = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": generation,
        "lastTransitionTime": when,
        "reason": "InsufficientPods",
        "message": "",
    }
    return [*(one for one in conditions if one.get("type") != "DisruptionAllowed"), new]
