"""A short way to write down the reference's tables: `a=10 b=20` are clusters with room for so many replicas.

A word may carry a region (`A:a1=10,a2=20`). Results read `a4 c6`; a decision that failed reads as its message.
"""

from __future__ import annotations

from typing import Any

from gitfed.model.decisions import Share
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling import schedule
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.request import PlacementRequest
from tests.placement.make import placement

ONE_CPU = {"resourceRequest": {"cpu": "1"}}
DUPLICATED: dict[str, Any] = {"replicaSchedulingType": "Duplicated"}
DIVIDED: dict[str, Any] = {"replicaSchedulingType": "Divided"}
DYNAMIC = {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
AGGREGATED = {**DIVIDED, "replicaDivisionPreference": "Aggregated"}
DIVISIONS = {"dup": DUPLICATED, "dyn": DYNAMIC, "agg": AGGREGATED, "static": DIVIDED}


def fleet(text: str) -> list[Candidate]:
    found = []
    for word in text.split():
        region, _, rest = word.rpartition(":")
        for entry in rest.split(","):
            name, _, cpu = entry.partition("=")
            found.append(Candidate(name, region=region, capacity=capacity(cpu or "0")))
    return found


def capacity(cpu: str) -> Capacity:
    return Capacity({"allocatable": {"cpu": cpu, "pods": "1000"}}, {})


def shares(text: str) -> tuple[Share, ...]:
    pairs = (word.partition("=") for word in text.split())
    return tuple(sorted(Share(name, int(count) if count else None) for name, _, count in pairs))


def spread(text: str) -> list[dict[str, Any]]:
    """`region 2-2, cluster 1-3`"""
    found = []
    for part in filter(None, text.split(", ")):
        field, _, limits = part.partition(" ")
        least, _, most = limits.partition("-")
        found.append({"spreadByField": field, "minGroups": int(least), "maxGroups": int(most or 0)})
    return found


def place(
    clusters: str | list[Candidate],
    how: str | dict[str, Any] | None,
    replicas: int,
    *,
    before: str = "",
    constraints: str = "",
    requirements: Any = ONE_CPU,
    members: dict[str, Any] | None = None,
    **more: Any,
) -> schedule.ScheduleResult:
    division = DIVISIONS[how] if isinstance(how, str) else how
    wanted: dict[str, Any] = {"spreadConstraints": spread(constraints), **(members or {})}
    if division is not None:
        wanted["replicaScheduling"] = division
    request = PlacementRequest(
        placement=placement(**wanted),
        api_version="apps/v1",
        kind="Deployment",
        replicas=replicas,
        is_workload=replicas > 0 or requirements is not None or bool(more.get("components")),
        requirements=requirements,
        previous=shares(before),
        **more,
    )
    return schedule.schedule(request, fleet(clusters) if isinstance(clusters, str) else clusters)


def told(result: schedule.ScheduleResult) -> str:
    if not result.condition.status:
        return result.condition.message
    return " ".join(
        f"{share.cluster}{'' if share.replicas is None else f'={share.replicas}'}" for share in result.shares or ()
    )


def names(result: schedule.ScheduleResult) -> set[str]:
    assert result.condition.status, result.condition.message
    return {share.cluster for share in result.shares or ()}
