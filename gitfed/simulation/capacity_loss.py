"""What a plan leaves short of replicas while some clusters do not answer: what a failure would cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.plan import Binding, Plan
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """A workload that has fewer replicas in clusters that answer than are wanted. `replicas` None: it has none."""

    key: ObjectKey
    running: int | None
    wanted: int | None
    why: str


def of(plan: Plan, away: Iterable[ClusterName], before: Mapping[ObjectKey, Binding]) -> list[Loss]:
    """Workloads that have less in the clusters that are left than they should have.

    Divided: all replicas together. Copied: one full copy is enough, for the others died with their clusters.
    """
    gone, losses = set(away), []
    for key, binding in plan.bindings.items():
        decision = before.get(key)
        if (
            decision is None
            or not decision.scheduled.shares
            or binding.scheduled.policy is None
            or key.kind == "Namespace"
        ):
            continue
        stuck = bool(binding.awaits_deletion)  # then its copies do not start yet
        left = [] if stuck else [share for share in binding.scheduled.shares if share.cluster not in gone]
        if binding.scheduled.replicas is None:
            if not left:
                losses.append(Loss(key, None, None, _why(binding, plan, gone)))
            continue
        copied = all((share.replicas or 0) == binding.scheduled.replicas for share in decision.scheduled.shares)
        running = sum(share.replicas or 0 for share in left)
        if copied:
            running = max((share.replicas or 0 for share in left), default=0)
        if running < binding.scheduled.replicas:
            losses.append(Loss(key, running, binding.scheduled.replicas, _why(binding, plan, gone)))
    return losses


def _why(binding: Binding, plan: Plan, gone: set[ClusterName]) -> str:
    if plan.outage is not None and plan.outage.ended is None:
        return "so many clusters at once are not ready that nothing is evicted from them"
    if binding.awaits_deletion:
        return f"waits for the confirmed deletion in {', '.join(binding.awaits_deletion)}"
    if binding.scheduled.condition is not None and not binding.scheduled.condition.status:
        return binding.scheduled.condition.message
    if there := [share.cluster for share in binding.scheduled.shares if share.cluster in gone]:
        return f"what it has in {', '.join(there)} is away and has not left"
    return binding.reasons.why
