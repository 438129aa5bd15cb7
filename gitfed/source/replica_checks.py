"""Numbers of workloads that every API server refuses: found here once, with their line, and not in each cluster.

Only the counts that placement reads and divides; the rest of an object's schema is the clusters' business. Kubernetes:
they are 32-bit integers, and not negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitfed.model.base import Body, Kind, Problem
from gitfed.source.declare import Place

_LARGEST = 2**31 - 1
_OF: dict[Kind, tuple[str, ...]] = {
    Kind("apps", "Deployment"): ("replicas",),
    Kind("apps", "StatefulSet"): ("replicas",),
    Kind("apps", "ReplicaSet"): ("replicas",),
    Kind("", "ReplicationController"): ("replicas",),
    Kind("batch", "Job"): ("parallelism", "completions", "backoffLimit"),
}


def problems(body: Body, kind: Kind, place: Place) -> Iterator[Problem]:
    """Of one object; `place` tells where a path of it stands."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return
    for name in _OF.get(kind, ()):
        if why := _why_not(spec.get(name)):
            yield Problem(place(("spec", name)), f"spec.{name} {why}")


def _why_not(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # larger than 64 bits: that is how it was read
    if type(value) is not int:
        return "must be a whole number"
    if value < 0:
        return f"is {value}, it must be at least 0"
    return f"is {value}, it must be at most {_LARGEST}" if value > _LARGEST else ""
