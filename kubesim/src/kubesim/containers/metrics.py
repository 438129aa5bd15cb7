"""The resource metrics API: what nodes and pods would use, if anything ran. A share of what they request.

Who wants to see an autoscaler at work sets a load: the annotation `kubesim/cpu-load` of a Deployment, StatefulSet or
ReplicaSet says how many cores all its running pods use together, so that each uses less the more there are.

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
LOAD: Final = "kubesim/cpu-load"
_SCALED: Final = ("replicasets.apps", "statefulsets.apps", "deployments.apps")
"""The last counts: a Deployment's controller copies its annotations to ReplicaSets, where they may be older."""
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


class _Loads:
    """What pods use because somebody said so: the load of a workload, shared among those of its pods that run."""

    def __init__(self, lookup: Lookup) -> None:
        self._share: dict[tuple[str, str], float] = {}
        pods = [pod for pod in lookup.list("pods") if _running(pod)]
        for resource in _SCALED:
            for body in lookup.list(resource):
                load = _annotated(body)
                if load is not None:
                    self._divide(body, load, pods)

    def of(self, pod: Body, container: Body, containers: int) -> Use:
        share = self._share.get(_name(pod))
        use = _use(container)
        return use if share is None else {**use, "cpu": share / containers}

    def _divide(self, body: Body, load: float, pods: list[Body]) -> None:
        labels = ((body.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        space = body["metadata"].get("namespace")
        mine = [
            pod
            for pod in pods
            if pod["metadata"].get("namespace") == space
            and labels
            and labels.items() <= (pod["metadata"].get("labels") or {}).items()
        ]
        for pod in mine:
            self._share[_name(pod)] = load / len(mine)


def _name(body: Body) -> tuple[str, str]:
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


def _annotated(body: Body) -> float | None:
    """None without a load, and for one that is no quantity."""
    text = (body["metadata"].get("annotations") or {}).get(LOAD)
    try:
        return None if text is None else max(0.0, float(resources.value(text)))
    except ValueError:
        return None


def _pods(lookup: Lookup, now: datetime) -> Iterator[Body]:
    loads = _Loads(lookup)
    for pod in lookup.list("pods"):
        if running := _running(pod):
            used = [{"name": one["name"], "usage": _shown(loads.of(pod, one, len(running)))} for one in running]
            yield _measured("PodMetrics", pod, now, containers=used)


def _nodes(lookup: Lookup, now: datetime) -> Iterator[Body]:
    total: dict[str, Use] = {}
    loads = _Loads(lookup)
    for pod in lookup.list("pods"):
        node = total.setdefault(pod["spec"].get("nodeName") or "", dict(_NODE))
        running = _running(pod)
        for container in running:
            for name, amount in loads.of(pod, container, len(running)).items():
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
