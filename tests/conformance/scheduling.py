"""One scheduling pass of one template over a fleet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from gitfed.documents import facts
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpretation, Interpreter
from gitfed.model.decisions import Share
from gitfed.model.declared.policy import Placement, Propagation
from gitfed.model.fleet import ApiEnablements
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling import reschedule, schedule
from gitfed.placement.scheduling.cluster import Candidate, Taint, candidate
from gitfed.placement.scheduling.request import PlacementRequest
from tests.conformance import equal

APPLIED = "policy.karmada.io/applied-placement"


def matches(case: Mapping[str, Any]) -> bool:
    return "trigger" in case and "clusters" in case


def placement(case: Mapping[str, Any]) -> Placement:
    return Propagation.read(case["policy"]).spec.placement


def run(case: Mapping[str, Any]) -> list[str]:
    result = decide(case)
    expect = case["expect"]
    found = equal.differences("affinityName", result.affinity_name, expect.get("affinityName", ""))
    if "error" in expect:
        wanted = expect["error"]
        found += equal.differences("reason", result.condition.reason, wanted["reason"])
        found += equal.differences("message", result.condition.message, wanted["message"])
        kept = "cleared" if result.shares is None else "kept"
        return found + equal.differences("previous targets", kept, wanted["clusters"])
    got = {share.cluster: share.replicas or 0 for share in result.shares or ()}
    wanted = {item["name"]: item.get("replicas", 0) for item in expect["clusters"]}
    if not result.condition.status:
        found.append(f"failed: {result.condition.message}")
    return found + equal.differences("clusters", got, wanted)


def decide(case: Mapping[str, Any]) -> schedule.ScheduleResult:
    return schedule.schedule(request(case), [_candidate(item) for item in case["clusters"]])


def request(case: Mapping[str, Any]) -> PlacementRequest:
    template, binding = case["template"], case["binding"] or {}
    spec, status = binding.get("spec") or {}, binding.get("status") or {}
    answer = Interpreter([Native()]).replicas(template)
    assert isinstance(answer, Interpretation)
    count, requirements = answer.value
    return PlacementRequest(
        placement=placement(case),
        api_version=template["apiVersion"],
        kind=template["kind"],
        replicas=count,
        is_workload=count > 0 or requirements is not None,
        requirements=requirements,
        previous=tuple(Share(item["name"], item.get("replicas")) for item in spec.get("clusters") or ()),
        evicting=frozenset(task["fromCluster"] for task in spec.get("gracefulEvictionTasks") or ()),
        observed_affinity=status.get("schedulerObservingAffinityName", ""),
        uid=template["metadata"].get("uid", ""),
        fresh=reschedule.rescheduled(_time(spec.get("rescheduleTriggeredAt")), _time(status.get("lastScheduledTime"))),
    )


def _candidate(document: Mapping[str, Any]) -> Candidate:
    """Absent keys are absent in the recorded object: a cluster without enablements serves nothing.

    Its taints are complete as well: Karmada's controller has already written down what follows from its condition.
    """
    seen = candidate(None, facts.from_document(document))
    taints = tuple(
        Taint(item["key"], item.get("value", ""), item["effect"]) for item in document["spec"].get("taints", ())
    )
    nothing_free = Capacity({}, {})
    return replace(
        seen,
        apis=seen.apis or ApiEnablements(frozenset()),
        taints=taints,
        capacity=seen.capacity or nothing_free,
    )


def applied_placement(case: Mapping[str, Any]) -> Placement | None:
    text = ((case["binding"] or {}).get("metadata") or {}).get("annotations", {}).get(APPLIED)
    return None if text is None else Placement.model_validate(json.loads(text))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
