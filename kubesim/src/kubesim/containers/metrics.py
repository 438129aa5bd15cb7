"""The resource metrics API: what nodes and pods would use, if anything ran. A share of what they request.

Kubernetes: metrics-server.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind, Lookup
from kubesim.kinds import resources

_CPU_SHARE, _MEMORY_SHARE = 0.6, 0.75
_LEAST: Final = {"cpu": 0.001, "memory": 16 * 2**20}
"""Of a running container, whatever it requests: cores, bytes."""
_NODE: Final = {"cpu": 0.05, "memory": 200 * 2**20}
"""What a node needs for itself."""
Use = dict[str, float]


def _use(container: Body) -> Use:
    requests = (container.get("resources") or {}).get("requests") or {}
    asked = {name: float(resources.value(requests.get(name, 0))) for name in _LEAST}
    return {
        "cpu": max(_LEAST["cpu"], asked["cpu"] * _CPU_SHARE),
        "memory": max(_LEAST["memory"], asked["memory"] * _MEMORY_SHARE),
    }


def _running(pod: Body) -> list[Body]:
    told = (pod.get("status") or {}).get("containerStatuses") or ()
    names = {one["name"] for one in told if (one.get("state") or {}).get("running")}
    return [one for one in pod["spec"]["containers"] if one["name"] in names]


def _shown(use: Use) -> Body:
    return {"cpu": f"{round(use['cpu'] * 10**9)}n", "memory": f"{round(use['memory']) // 1024}Ki"}


def _measured(kind: str, body: Body, now: datetime, **what: Any) -> Body:
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    meta = {name: body["metadata"][name] for name in ("name", "namespace", "labels") if name in body["metadata"]}
    head = {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {**meta, "creationTimestamp": stamp}}
    return {**head, "timestamp": stamp, "window": "10s", **what}


def _pods(lookup: Lookup, now: datetime) -> Iterator[Body]:
    for pod in lookup.list("pods"):
        if running := _running(pod):
            used = [{"name": one["name"], "usage": _shown(_use(one))} for one in running]
            yield _measured("PodMetrics", pod, now, containers=used)


def _nodes(lookup: Lookup, now: datetime) -> Iterator[Body]:
    total: dict[str, Use] = {}
    for pod in lookup.list("pods"):
        node = total.setdefault(pod["spec"].get("nodeName") or "", dict(_NODE))
        for container in _running(pod):
            for name, amount in _use(container).items():
                node[name] += amount
    for body in lookup.list("nodes"):
        yield _measured("NodeMetrics", body, now, usage=_shown(total.get(body["metadata"]["name"], dict(_NODE))))


KINDS: Final = (
    Kind(
        group="metrics.k8s.io",
        version="v1beta1",
        kind="NodeMetrics",
        plural="nodes",
        namespaced=False,
        verbs=("get", "list"),
        computed=_nodes,
    ),
    Kind(
        group="metrics.k8s.io",
        version="v1beta1",
        kind="PodMetrics",
        plural="pods",
        verbs=("get", "list"),
        computed=_pods,
    ),
)
