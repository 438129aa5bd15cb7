"""What an API server would have filled in before it is asked about replicas.

Karmada reads templates from an API server, so a Deployment without `replicas` has one and a Job without `parallelism`
runs one pod. A file in Git has not been through one, and its author means the same. Only the numbers that decide
placement are filled in, and only for asking: what goes to the clusters stays as it was written, so that a Deployment
that leaves `replicas` to an autoscaler still does.
"""

from __future__ import annotations

from typing import Any

from gitfed.model.base import Body

_ONE_REPLICA = frozenset({("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet")})


def filled_in(body: Body) -> Body:
    """The template with Kubernetes' default for missing replica numbers; the same object when nothing is missing."""
    key = (body.get("apiVersion"), body.get("kind"))
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return body
    missing: dict[str, Any] = {}
    if key in _ONE_REPLICA and spec.get("replicas") is None:
        missing = {"replicas": 1}
    elif key == ("batch/v1", "Job") and spec.get("parallelism") is None:
        missing = {"parallelism": 1}
        if spec.get("completions") is None:
            missing["completions"] = 1
    return {**body, "spec": {**spec, **missing}} if missing else body
