"""The statuses of Jobs and CronJobs taken together (Karmada: interpreters §4.6).

A Job's outcome is final: once the template is Complete or Failed, later reports change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitfed.interpret.native import read
from gitfed.interpret.registry import InterpretError
from gitfed.model.base import Body
from gitfed.text import moment


def job(body: Body, items: Sequence[Body], now: str) -> dict[str, Any] | None:
    """The new status, or None when the Job is finished already."""
    old = read.table(body, "status")
    if _has(old, "Complete") or _has(old, "Failed"):
        return None
    reporting = [item for item in items if item.get("status") is not None]
    statuses = [read.table(item, "status") for item in reporting]

    status: dict[str, Any] = {}
    for name in ("active", "succeeded", "failed"):
        if total := sum(read.number(report, name) for report in statuses):
            status[name] = total
    conditions = _outcome(reporting, len(items), now)
    if conditions:
        status["conditions"] = conditions
    started = _times(statuses, "startTime")
    if old.get("startTime"):
        status["startTime"] = utc(read.text(old, "startTime"))
    elif started and len(started) == len(items):
        status["startTime"] = min(started)
    completed = _times(statuses, "completionTime")
    if completed and len(completed) == len(items):
        status["completionTime"] = max(completed)
    return status


def cron_job(items: Sequence[Body]) -> dict[str, Any]:
    statuses = [read.table(item, "status") for item in items]
    status: dict[str, Any] = {}
    if active := [entry for report in statuses for entry in read.rows(report, "active")]:
        status["active"] = [{name: text for name, text in entry.items() if text} for entry in active]
    for name in ("lastScheduleTime", "lastSuccessfulTime"):
        if times := _times(statuses, name):
            status[name] = max(times)
    return status


def _outcome(reporting: Sequence[Body], expected: int, now: str) -> list[dict[str, Any]]:
    failed = [item["clusterName"] for item in reporting if _ended(item) == "Failed"]
    if failed:
        message = f"Job executed failed in member clusters {','.join(failed)}"
        return [_condition("Failed", "JobFailed", message, now)]
    complete = [item for item in reporting if _ended(item) == "Complete"]
    if not complete or len(complete) != expected:
        return []
    conditions = [_condition("Complete", "Completed", "Job completed", now)]
    if all(_has(read.table(item, "status"), "SuccessCriteriaMet") for item in complete):
        message = "All member clusters have met success criteria"
        conditions.append(_condition("SuccessCriteriaMet", "CompletionsReached", message, now))
    return conditions


def _ended(item: Body) -> str:
    """How a copy ended, "" if it runs. Of a copy that says both, what it says first counts."""
    for condition in read.rows(item, "status", "conditions"):
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return str(condition["type"])
    return ""


def _has(status: Mapping[str, Any], kind: str) -> bool:
    return any(item.get("type") == kind and item.get("status") == "True" for item in read.rows(status, "conditions"))


def _condition(kind: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastProbeTime": now,
        "lastTransitionTime": now,
    }


def _times(statuses: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    """In UTC and whole seconds, so that they sort as text."""
    return [utc(text) for status in statuses if (text := read.text(status, name))]


def utc(text: str) -> str:
    """A moment as a server writes it."""
    when = moment.read(text)
    if when is None:
        raise InterpretError(f"{text!r} is no time")
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
