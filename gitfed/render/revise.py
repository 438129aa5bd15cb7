"""Writing a cluster's share into a workload (Karmada: policies §5.1, steps 1 and 2).

Which field holds the replicas is the interpreter's knowledge; that a divided Job also has its completions divided is
a rule of the pipeline, whatever interpreter is in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitfed.interpret.registry import Answer, Interpreter
from gitfed.model.base import Body
from gitfed.model.decisions import Share
from gitfed.placement import divide


def revise(body: Body, replicas: int, interpreter: Interpreter) -> Body:
    """The workload with `replicas`; unchanged if nobody can say how. Interpreters that fail raise their error."""
    answer = interpreter.revise_replica(body, replicas)
    return answer.value if isinstance(answer, Answer) else body


def completions(body: Body, shares: Sequence[Share], uid: str) -> Mapping[str, int]:
    """How a Job's completions are divided, by cluster; empty when this is no Job with completions.

    For divided workloads only. Weights are the clusters' replicas, so that all clusters finish at about the same time.
    """
    if body["kind"] != "Job" or body["apiVersion"].partition("/")[0] != "batch":
        return {}
    wanted = (body.get("spec") or {}).get("completions")
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        return {}
    weights = {share.cluster: share.replicas or 0 for share in shares}
    return divide.by_weight(wanted, weights, uid) if any(weights.values()) else {}


def with_completions(body: Body, count: int) -> Body:
    return {**body, "spec": {**body["spec"], "completions": count}}
