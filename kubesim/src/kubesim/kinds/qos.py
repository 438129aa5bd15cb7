"""The class of quality of a pod, by what its containers request and are limited to. Kubernetes: ComputePodQOS."""

from __future__ import annotations

from fractions import Fraction

from kubesim.kinds import fields, resources
from kubesim.kinds.fields import Body


def of(spec: Body) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`."""
    whole = spec.get("resources")
    parts = (
        [{"resources": whole}] if whole else [*fields.items(spec, "containers"), *fields.items(spec, "initContainers")]
    )
    requests: dict[str, Fraction] = {}
    limits: dict[str, Fraction] = {}
    guaranteed = True
    for part in parts:
        _count(requests, fields.obj(part, "resources", "requests"))
        limited = _count(limits, fields.obj(part, "resources", "limits"))
        guaranteed = guaranteed and limited == 2
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _count(total: dict[str, Fraction], amounts: Body) -> int:
    """Adds the positive amounts of processor and memory; answers how many of the two there are."""
    found = 0
    for name in ("cpu", "memory"):
        amount = resources.value(amounts.get(name, "0"))
        if amount > 0:
            total[name] = total.get(name, Fraction(0)) + amount
            found += 1
    return found
