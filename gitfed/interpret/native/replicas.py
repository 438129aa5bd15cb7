"""How many replicas a workload asks for, what one of them needs, and how to write another number.

Karmada: interpreters §4.1, §4.2. What a replica needs is the pod template's sum of requests (limits stand in for
requests that are not given), at least what the largest init container needs, plus the pod's overhead. Amounts are
rounded up per container: cpu to thousandths, everything else to whole units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gitfed.interpret import shapes
from gitfed.interpret.native import read
from gitfed.interpret.registry import InterpretError, Replicas
from gitfed.model.base import Body
from gitfed.text import quantity
from gitfed.text.quantity import Quantity

_MILLI = 10**6
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


def _scaled(body: Body) -> Replicas:
    return Replicas(read.number(body, "spec", "replicas"), requirements(read.table(body, "spec", "template", "spec")))


def _job(body: Body) -> Replicas:
    """Never more pods at once than completions are wanted."""
    count = read.number(body, "spec", "parallelism")
    completions = read.optional(body, "spec", "completions")
    if completions is not None:
        count = min(count, completions)
    return Replicas(count, requirements(read.table(body, "spec", "template", "spec")))


def _pod(body: Body) -> Replicas:
    return Replicas(1, requirements(read.table(body, "spec")))


RULES: Mapping[tuple[str, str], Callable[[Body], Replicas]] = {
    ("apps/v1", "Deployment"): _scaled,
    ("apps/v1", "ReplicaSet"): _scaled,
    ("apps/v1", "StatefulSet"): _scaled,
    ("batch/v1", "Job"): _job,
    ("v1", "Pod"): _pod,
}


def requirements(pod: Mapping[str, Any]) -> Body | None:
    """ReplicaRequirements of a pod spec; None when it asks for nothing."""
    result: dict[str, Any] = {}
    if claim := _node_claim(pod):
        result["nodeClaim"] = claim
    if request := _resource_request(pod):
        result["resourceRequest"] = request
    return result or None


def _node_claim(pod: Mapping[str, Any]) -> dict[str, Any]:
    claim: dict[str, Any] = {}
    required = read.table(pod, "affinity", "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    for name, value in (
        ("hardNodeAffinity", required),
        ("nodeSelector", pod.get("nodeSelector")),
        ("tolerations", pod.get("tolerations")),
    ):
        if value:
            claim[name] = value
    return shapes.node_claim(claim, "pod") if claim else claim


def _resource_request(pod: Mapping[str, Any]) -> Mapping[str, str]:
    """One container that says everything as text is what most pods are, and many say the same."""
    containers = read.rows(pod, "containers")
    if len(containers) == 1 and not pod.get("initContainers") and not pod.get("overhead"):
        limits, requests = _said(containers[0], "limits"), _said(containers[0], "requests")
        if all(type(value) is str for _, value in (*limits, *requests)):
            return _request_of_one(limits, requests)
    return _sum(pod)


def _said(container: Mapping[str, Any], member: str) -> tuple[tuple[str, Any], ...]:
    return tuple(read.table(container, "resources", member).items())


@lru_cache(maxsize=4096)
def _request_of_one(limits: tuple[tuple[str, str], ...], requests: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return _sum({"containers": [{"resources": {"limits": dict(limits), "requests": dict(requests)}}]})


def _sum(pod: Mapping[str, Any]) -> dict[str, str]:
    total: dict[str, Quantity] = {}
    for container in read.rows(pod, "containers"):
        _add(total, _requests(container))
    for container in read.rows(pod, "initContainers"):
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, quantity.ZERO), amount)
    _add(total, _amounts(read.table(pod, "overhead")))
    asked = {name: amount for name, amount in sorted(total.items()) if amount > quantity.ZERO and _counts(name)}
    return {name: _text(name, amount) for name, amount in asked.items()}


def _requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    limits = _amounts(read.table(container, "resources", "limits"))
    return {**limits, **_amounts(read.table(container, "resources", "requests"))}


def _amounts(resources: Mapping[str, Any]) -> dict[str, Quantity]:
    try:
        return {
            name: _read(name, value) if type(value) is str else _rounded(name, quantity.parse(value))
            for name, value in resources.items()
            if value is not None
        }
    except quantity.QuantityError as error:
        raise InterpretError(str(error)) from error


@lru_cache(maxsize=4096)
def _read(name: str, value: str) -> Quantity:
    """Thousands of templates ask for the same."""
    return _rounded(name, quantity.parse(value))


def _rounded(name: str, amount: Quantity) -> Quantity:
    if name == "cpu":
        return Quantity(amount.milli * _MILLI)
    return Quantity(amount.ceil * quantity.NANO)


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, quantity.ZERO) + amount


def _counts(name: str) -> bool:
    """Whether a scheduler knows the resource at all; others are names without a meaning."""
    return (
        name in _PLAIN
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or ("/" in name and not name.startswith("requests."))
    )


@lru_cache(maxsize=4096)
def _text(name: str, amount: Quantity) -> str:
    binary = name in ("memory", "ephemeral-storage") or name.startswith("hugepages-")
    return str(Quantity(amount.nano, quantity.Format.BINARY if binary else quantity.Format.DECIMAL))


def _write(body: Body, member: str, replicas: int) -> Body:
    """Only where the number is there already: an author who leaves it out does not want it managed."""
    spec = read.table(body, "spec")
    if member not in spec:
        return body
    if read.optional(body, "spec", member) is None:
        raise InterpretError(f"spec.{member} is null")
    return body if spec[member] == replicas else {**body, "spec": {**spec, member: replicas}}


def _write_replicas(body: Body, replicas: int) -> Body:
    return _write(body, "replicas", replicas)


def _write_parallelism(body: Body, replicas: int) -> Body:
    return _write(body, "parallelism", replicas)


REVISIONS: Mapping[tuple[str, str], Callable[[Body, int], Body]] = {
    ("apps/v1", "Deployment"): _write_replicas,
    ("apps/v1", "ReplicaSet"): _write_replicas,
    ("apps/v1", "StatefulSet"): _write_replicas,
    ("batch/v1", "Job"): _write_parallelism,
}
