"""A plan for programs: `gitfed.io/plan/v1`. Members are added, never changed or removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.cli.output import formatting, plan_failing
from gitfed.model.base import Problem
from gitfed.model.decisions import PolicyRef
from gitfed.model.fleet import FactsRef
from gitfed.model.plan import Binding, Change, FieldChange, Gate, Plan, Totals
from gitfed.planning.ordering.order import NO_WAVE

SCHEMA = "gitfed.io/plan/v1"
POLICIES = ("PropagationPolicy", "ClusterPropagationPolicy")
"""What stands in `Binding.policy` for a Namespace that is placed by itself is no policy to others."""


def document(plan: Plan) -> dict[str, Any]:
    """The whole plan as plain JSON values, without manifest bodies."""
    return {
        "schema": SCHEMA,
        "commit": plan.commit,
        "base": plan.base,
        "facts": facts(plan.facts),
        "digest": plan.digest,
        "federation": plan.federation,
        "now": formatting.time(plan.now),
        "observed": plan.changes is not None,
        "clusters": list(plan.clusters),
        "bindings": [binding(item) for item in plan.bindings.values()],
        "changes": [change(item) for item in plan.changes or ()],
        "gates": [gate(item) for item in plan.gates],
        "problems": [problem(item) for item in plan.problems],
        "totals": totals(plan.totals),
        "notes": list(plan.notes),
        "failover": plan_failing.document(plan),
    }


def facts(ref: FactsRef) -> dict[str, Any]:
    return {
        "source": ref.source,
        "commit": ref.commit,
        "takenAt": formatting.time(ref.taken_at) if ref.taken_at else None,
        "digest": ref.digest,
    }


def gate(item: Gate) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": item.name, "limit": item.limit, "value": item.value, "held": item.held}
    shown |= {"exceeded": True} if item.over else {}
    return shown | {"messages": list(item.messages)} if item.messages else shown


def totals(found: Totals) -> dict[str, int]:
    return {name: getattr(found, name) for name in ("create", "update", "move", "delete", "keep", "skip", "clusters")}


def is_policy(ref: PolicyRef | None) -> bool:
    return ref is not None and ref.kind in POLICIES


def binding(item: Binding) -> dict[str, Any]:
    condition = item.condition
    components = [{"name": name, "replicas": replicas} for name, replicas in item.each]
    return {
        "id": item.id,
        "resource": {
            "apiVersion": item.api_version,
            "kind": item.key.kind,
            "namespace": item.key.namespace,
            "name": item.key.name,
        },
        "policy": None
        if item.policy is None or not is_policy(item.policy)
        else {"kind": item.policy.kind, "namespace": item.policy.namespace, "name": item.policy.name},
        "clusters": [
            {"name": share.cluster, "replicas": share.replicas, "components": components}
            for share in sorted(item.shares)
        ],
        "condition": None
        if condition is None
        else {
            "type": "Scheduled",
            "status": "True" if condition.status else "False",
            "reason": condition.reason,
            "message": condition.message,
        },
        "affinityName": item.affinity_name,
        "rejected": {rejection.cluster: rejection.reason for rejection in item.rejections},
        "replicas": item.replicas,
        "requirements": item.requirements,
        "components": [dict(component) for component in item.components],
        "requiredBy": [
            {"resource": str(one.owner), "clusters": list(one.clusters)}
            for one in (item.decision.required_by if item.decision else ())
            if one.clusters
        ],
        **plan_failing.members(item),
        "why": item.why,
        "descheduled": _descheduled(item),
        "origin": str(item.origin),
    }


def _descheduled(item: Binding) -> dict[str, str] | None:
    """When replicas were last taken back from clusters that cannot run them, and what."""
    told = item.decision.descheduled if item.decision is not None else None
    return {"at": formatting.time(told.at), "message": told.message} if told is not None else None


def change(item: Change) -> dict[str, Any]:
    return {
        "cluster": item.cluster,
        "apiVersion": item.api_version,
        "kind": item.key.kind,
        "namespace": item.key.namespace,
        "name": item.key.name,
        "action": item.action.value,
        "reason": str(item.reason),
        "reasonCode": item.reason.code.value,
        "move": item.move,
        "drift": item.drift,
        "wave": None if item.wave == NO_WAVE else item.wave,
        "waits": item.waits or None,
        "diff": [field(part) for part in item.diff],
    }


def field(part: FieldChange) -> dict[str, Any]:
    """A side without the field has no member, which is not the same as null."""
    shown: dict[str, Any] = {"path": part.pointer}
    if not part.absent_before:
        shown["before"] = part.before
    if not part.absent_after:
        shown["after"] = part.after
    return shown


def problem(item: Problem) -> Mapping[str, Any]:
    return {
        "path": item.origin.path,
        "line": item.origin.line,
        "column": item.origin.column,
        "severity": item.severity.value,
        "message": item.message,
        "hint": item.hint,
    }
