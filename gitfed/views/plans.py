"""A plan: `gitfed.io/plan/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from gitfed.documents.bindings import time_text
from gitfed.model.base import Problem
from gitfed.model.decisions import PolicyRef, ScheduledCondition
from gitfed.model.fleet import FactsRef
from gitfed.model.plan import Binding, Change, Gate, HeldDecision, Plan, Totals
from gitfed.planning import retained_objects
from gitfed.planning.ordering.order import NO_WAVE
from gitfed.planning.review.declared_changes import Declaration
from gitfed.views import differences, failover
from gitfed.views.differences import DeclarationView, FieldView
from gitfed.views.value import PolicyName, ResourceRef, Time, View, resource

SCHEMA: Literal["gitfed.io/plan/v1"] = "gitfed.io/plan/v1"
POLICIES = ("PropagationPolicy", "ClusterPropagationPolicy", "MultiClusterService")
"""What stands in `Binding.policy` for a Namespace that is placed by itself is no policy to others."""


class FactsView(View):
    """Where facts about the clusters come from."""

    source: str
    """`live`, `facts branch`, `assumed`, or the name of a file."""
    commit: str
    takenAt: Time | None
    digest: str


class ComponentShare(View):
    """One component of a workload with several pod templates."""

    name: str
    replicas: int


class ClusterShare(View):
    """A cluster, and its part of the work."""

    name: str
    replicas: int | None
    """null: the kind has no replicas."""
    components: list[ComponentShare]


class ConditionView(View):
    """Karmada's condition of that type."""

    type: str
    status: str
    reason: str
    message: str


class Requirement(View):
    """What takes an object along, and where."""

    resource: str
    clusters: list[str]


class Descheduled(View):
    """When replicas were last taken back from clusters that cannot run them, and what."""

    at: Time
    message: str


class KeptCopy(View):
    """An object that stays in a cluster where it does not go any more."""

    name: str
    """Of the cluster."""
    replicas: int | None
    reason: str
    reasonCode: str


class HeldView(View):
    """What would be decided if a person let it through."""

    gate: str
    clusters: list[ClusterShare]
    replicas: int | None
    why: str


class BindingView(View):
    """Where one object goes, and why not elsewhere: what is in force."""

    id: str
    resource: ResourceRef
    policy: PolicyName | None
    """null: no policy placed it."""
    clusters: list[ClusterShare]
    """Sorted by name."""
    condition: ConditionView | None
    affinityName: str
    rejected: dict[str, str]
    """Why not, by cluster."""
    replicas: int | None
    requirements: Any
    """What one replica needs (Karmada's ReplicaRequirements)."""
    components: list[dict[str, Any]]
    requiredBy: list[Requirement]
    gracefulEvictionTasks: list[Any]
    """As in Karmada's ResourceBinding."""
    awaitsDeletion: list[str]
    """Clusters whose old object must be gone before anything is written."""
    released: list[str]
    """Clusters that it has left, where it is deleted as soon as they answer."""
    injectedLabels: dict[str, dict[str, str]]
    """State that a failover brought, by cluster."""
    why: str
    descheduled: Descheduled | None
    origin: str
    """`FILE:LINE:COLUMN` of its template."""
    held: HeldView | None
    """What a gate holds beside it."""
    kept: list[KeptCopy]
    """Clusters where it stays and is not managed any more, as far as decisions tell."""


class ChangeView(View):
    """One object in one cluster that differs from what it should be, or is deliberately left alone."""

    cluster: str
    apiVersion: str
    kind: str
    namespace: str
    name: str
    action: str
    """create, update, delete, keep or skip."""
    reason: str
    reasonCode: str
    """Stable; see the page of reasons."""
    move: bool
    drift: bool
    wave: int | None
    waits: str | None
    """What comes first; null: it is its turn."""
    diff: list[FieldView]


class GateView(View):
    """A limit, and how much it holds."""

    name: str
    limit: str
    value: str
    held: int
    exceeded: NotRequired[bool]
    """Of a quota: more than it allows runs already."""
    messages: NotRequired[list[str]]


class ProblemView(View):
    """Something wrong in a file of the repository."""

    path: str
    line: int
    column: int
    severity: str
    """error or warning."""
    message: str
    hint: str


class TotalsView(View):
    """How many changes of each action."""

    create: int
    update: int
    move: int
    delete: int
    keep: int
    skip: int
    clusters: int
    """With at least one create, update, move or delete."""


class PlanView(View):
    """What a commit does to the fleet."""

    schema: Literal["gitfed.io/plan/v1"]
    commit: str
    base: str | None
    facts: FactsView
    digest: str
    """Over commit, decisions and changes: what `gitfed approve` names."""
    federation: str
    now: Time
    observed: bool
    """false: the clusters were not observed, so there are no changes to show."""
    clusters: list[str]
    bindings: list[BindingView]
    changes: list[ChangeView]
    gates: list[GateView]
    problems: list[ProblemView]
    totals: TotalsView
    notes: list[str]
    failover: failover.FailoverView
    declared: NotRequired[list[DeclarationView]]
    """Of `gitfed plan`: what differs from `base` and no object shows, such as who may do what and who is notified."""
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


def document(plan: Plan, declared: Sequence[Declaration] | None = None) -> PlanView:
    """The whole plan as JSON values, without manifest bodies. `declared`: None where no two commits were compared."""
    shown: PlanView = {
        "schema": SCHEMA,
        "commit": plan.commit,
        "base": plan.base,
        "facts": facts(plan.facts),
        "digest": plan.digest,
        "federation": plan.federation,
        "now": time_text(plan.now),
        "observed": plan.changes is not None,
        "clusters": list(plan.clusters),
        "bindings": [binding(item, plan.held_decisions.get(key)) for key, item in plan.bindings.items()],
        "changes": [change(item) for item in plan.changes or ()],
        "gates": [gate(item) for item in plan.gates],
        "problems": [problem(item) for item in plan.problems],
        "totals": totals(plan.totals),
        "notes": list(plan.notes),
        "failover": failover.document(plan),
    }
    if declared is not None:
        shown["declared"] = [differences.declaration(declaration) for declaration in declared]
    return shown


def facts(ref: FactsRef) -> FactsView:
    return {
        "source": ref.source,
        "commit": ref.commit,
        "takenAt": time_text(ref.taken_at) if ref.taken_at else None,
        "digest": ref.digest,
    }


def gate(item: Gate) -> GateView:
    shown: GateView = {"name": item.name, "limit": item.limit, "value": item.value, "held": item.held}
    if item.over:
        shown["exceeded"] = True
    if item.messages:
        shown["messages"] = list(item.messages)
    return shown


def totals(counted: Totals) -> TotalsView:
    return {
        "create": counted.create,
        "update": counted.update,
        "move": counted.move,
        "delete": counted.delete,
        "keep": counted.keep,
        "skip": counted.skip,
        "clusters": counted.clusters,
    }


def is_policy(ref: PolicyRef | None) -> bool:
    return ref is not None and ref.kind in POLICIES


def policy(ref: PolicyRef) -> PolicyName:
    return {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def binding(item: Binding, held: HeldDecision | None = None) -> BindingView:
    return {
        "id": item.id,
        "resource": resource(item.key, item.api_version),
        "policy": policy(item.scheduled.policy)
        if item.scheduled.policy is not None and is_policy(item.scheduled.policy)
        else None,
        "clusters": _shares(item),
        "condition": condition(item.scheduled.condition) if item.scheduled.condition is not None else None,
        "affinityName": item.scheduled.affinity_name,
        "rejected": {rejection.cluster: rejection.reason for rejection in item.reasons.rejections},
        "replicas": item.scheduled.replicas,
        "requirements": item.requirements,
        "components": [dict(component) for component in item.scheduled.components],
        "requiredBy": [
            {"resource": str(requirement.owner), "clusters": list(requirement.clusters)}
            for requirement in (item.decision.ownership.required_by if item.decision else ())
            if requirement.clusters
        ],
        "gracefulEvictionTasks": [task.raw for task in item.evictions],
        "awaitsDeletion": list(item.awaits_deletion),
        "released": list(item.decision.failover.released) if item.decision is not None else [],
        "injectedLabels": {name: dict(labels) for name, labels in item.injected},
        "why": item.reasons.why,
        "descheduled": _descheduled(item),
        "origin": str(item.origin),
        "held": _held(held) if held is not None else None,
        "kept": _kept(item),
    }


def _kept(item: Binding) -> list[KeptCopy]:
    if item.decision is None:
        return []
    were = {share.cluster: share.replicas for share in item.decision.targets}
    were |= {name: None for name in item.decision.ownership.left_behind if name not in were}
    kept = retained_objects.by_decision(item, item.decision, were)
    return [
        {"name": name, "replicas": were[name], "reason": str(reason), "reasonCode": reason.code.value}
        for name, reason in sorted(kept.items())
    ]


def _shares(item: Binding) -> list[ClusterShare]:
    components: list[ComponentShare] = [{"name": name, "replicas": replicas} for name, replicas in item.scheduled.each]
    return [
        {"name": share.cluster, "replicas": share.replicas, "components": components}
        for share in sorted(item.scheduled.shares)
    ]


def _held(held: HeldDecision) -> HeldView:
    next_ = held.binding
    return {
        "gate": held.gate,
        "clusters": _shares(next_),
        "replicas": next_.scheduled.replicas,
        "why": next_.reasons.why,
    }


def condition(scheduled: ScheduledCondition) -> ConditionView:
    return {
        "type": "Scheduled",
        "status": "True" if scheduled.status else "False",
        "reason": scheduled.reason,
        "message": scheduled.message,
    }


def _descheduled(item: Binding) -> Descheduled | None:
    told = item.decision.rescheduling.descheduled if item.decision is not None else None
    return {"at": time_text(told.at), "message": told.message} if told is not None else None


def change(item: Change) -> ChangeView:
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
        "wave": None if item.turn.wave == NO_WAVE else item.turn.wave,
        "waits": item.turn.waits or None,
        "diff": [differences.field(part) for part in item.write.diff],
    }


def problem(item: Problem) -> ProblemView:
    return {
        "path": item.origin.path,
        "line": item.origin.line,
        "column": item.origin.column,
        "severity": item.severity.value,
        "message": item.message,
        "hint": item.hint,
    }
