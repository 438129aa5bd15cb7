"""Dividing a Job's completions (Karmada: policies §5.1, step 2).

Which field holds a workload's replicas is the interpreter's knowledge; that a divided Job also has its completions
divided is a rule of the pipeline, whatever interpreter is in use.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.model.base import Body, ClusterName
from gitfed.model.plan import Binding
from gitfed.placement.scheduling import divide


def completions(body: Body, binding: Binding) -> Mapping[ClusterName, int]:
    """How a divided Job's completions are divided, by cluster; empty when there is nothing to divide.

    Weights are the clusters' replicas, so that all clusters finish at about the same time.
    """
    if (
        binding.key.kind != "Job"
        or binding.key.group != "batch"
        or not binding.scheduled.replicas
        or not _is_divided(binding)
    ):
        return {}
    wanted = (body.get("spec") or {}).get("completions")
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        return {}
    weights = {share.cluster: share.replicas or 0 for share in binding.scheduled.shares}
    if not any(weights.values()):
        return {}
    return divide.by_weight(wanted, weights, (body.get("metadata") or {}).get("uid") or binding.id)


def with_completions(body: Body, count: int) -> Body:
    return {**body, "spec": {**body["spec"], "completions": count}}


def _is_divided(binding: Binding) -> bool:
    """By the recorded placement: no `replicaScheduling` is Duplicated, one without a type is Divided."""
    placement = binding.decision.placement if binding.decision is not None else None
    scheduling = (placement or {}).get("replicaScheduling")
    return bool(scheduling) and (scheduling or {}).get("replicaSchedulingType", "Divided") == "Divided"
