"""What the search cache costs: a list of 10,000 pods of 10 clusters against writing their JSON, and a pod in memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson

from gitfed.hub.search import stored_object
from gitfed.hub.search.collection import Budget, Collection, Filter
from gitfed.text import selector

CLUSTERS = 10
PODS = 1_000
ROUNDS = 15
_WORKLOADS = 50


def pod(cluster: int, number: int) -> dict[str, Any]:
    """As an API server tells of one that runs: two containers, probes, tolerations, conditions, managedFields."""
    workload = f"web-{number % _WORKLOADS}"
    name = f"{workload}-7d4b9c6f5-{number:05x}"
    mount = {"name": f"kube-api-access-{number:05x}", "readOnly": True,
             "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}  # fmt: skip
    container = {
        "name": "web", "image": f"registry.example/{workload}:1.2.3", "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}], "volumeMounts": [mount],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    }  # fmt: skip
    at, address = "2026-01-01T00:00:00Z", f"10.{cluster}.{number % 250}.7"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    conditions = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": at} for kind in kinds]
    return {
        "metadata": {
            "name": name, "generateName": f"{workload}-7d4b9c6f5-", "namespace": f"shop-{number % _WORKLOADS % 7}",
            "uid": f"0b9c2f1e-{cluster:04x}-4a70-9d1c-{number:012x}", "resourceVersion": str(100_000 + number),
            "creationTimestamp": at, "labels": {"app": workload, "pod-template-hash": "7d4b9c6f5"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{workload}-7d4b9c6f5",
                                 "uid": f"5d1e-{number % _WORKLOADS}", "controller": True, "blockOwnerDeletion": True}],
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {
                f"f:{index}": {"f:status": {"f:conditions": {}}} for index in range(30)}}],
        },
        "spec": {
            "containers": [container], "nodeName": f"node-{number % 20}", "serviceAccountName": "default",
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler", "priority": 0, "enableServiceLinks": True, "securityContext": {},
            "tolerations": [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute",
                             "tolerationSeconds": 300} for key in ("not-ready", "unreachable")],
            "volumes": [{"name": mount["name"], "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]}}],
        },
        "status": {
            "phase": "Running", "conditions": conditions, "hostIP": "10.0.0.1", "podIP": address,
            "podIPs": [{"ip": address}], "startTime": at, "qosClass": "Burstable",
            "containerStatuses": [{
                "name": "web", "ready": True, "started": True, "restartCount": 0, "image": container["image"],
                "imageID": f"registry.example/{workload}@sha256:{number:064x}", "state": {"running": {"startedAt": at}},
                "lastState": {}, "containerID": f"containerd://{number:064x}"}],
        },
    }  # fmt: skip


def run() -> list[tuple[str, str]]:
    texts = [[orjson.dumps(pod(cluster, number)) for number in range(PODS)] for cluster in range(CLUSTERS)]
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    cached = [_cached(f"m{cluster}", found) for cluster, found in enumerate(texts)]
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    plain = sum(len(text) for found in texts for text in found)
    bodies = [orjson.loads(text) for found in texts for text in found]
    for body in bodies:
        del body["metadata"]["managedFields"]
    kept = len(orjson.dumps(bodies))
    app = Filter(labels=selector.from_text("app in (web-1,web-2)"))

    encode = _seconds(lambda: orjson.dumps({"items": bodies}))
    own = _seconds(lambda: _listed(cached, Filter(), fleet=False))
    fleet = _seconds(lambda: _listed(cached, Filter(), fleet=True))
    chosen = _seconds(lambda: _listed(cached, app, fleet=False))
    pods = CLUSTERS * PODS
    claimed = sum(one.size for one in cached)
    return [
        (f"{pods:,} pods of {CLUSTERS} clusters: JSON of one, with managedFields", f"{plain / pods:.0f} B"),
        ("without", f"{kept / pods:.0f} B"),
        ("a cached pod in memory (target 3 kB)", f"{held / pods:.0f} B"),
        ("what the cache counts for it", f"{claimed / pods:.0f} B"),
        ("list from the cache / writing the same JSON (target 1.2)", f"{own / encode:.2f} ({own * 1e3:.0f} ms)"),
        ("the same with versions of the fleet", f"{fleet / encode:.2f} ({fleet * 1e3:.0f} ms)"),
        ("4 % of them by label", f"{chosen / encode:.2f}"),
    ]


def _cached(name: str, texts: list[bytes]) -> Collection:
    made = Collection(name, "v1", "Pod", Budget(1 << 30))
    items = [made.project(orjson.loads(text)) for text in texts]
    made.listed(items, "200000")
    return made


def _listed(cached: list[Collection], wanted: Filter, *, fleet: bool) -> bytes:
    chunks = (stored_object.texts(one.find(wanted), one.head, one.cluster if fleet else "") for one in cached)
    return b'{"items":[' + b",".join(filter(None, chunks)) + b"]}"


def _seconds(work: Callable[[], object]) -> float:
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)  # what else the machine does makes it longer
