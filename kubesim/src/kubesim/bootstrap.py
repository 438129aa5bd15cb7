"""What a fresh cluster holds: its namespaces, the service of its own API, roles that clients count on, two priority
classes."""

from __future__ import annotations

from typing import Any, Final

from kubesim.client import Client
from kubesim.server.world import World

Body = dict[str, Any]

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "delete", "deletecollection", "patch", "update"]
_WORKLOADS: Final = {
    "": [
        "configmaps",
        "endpoints",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "serviceaccounts",
        "services",
    ],
    "apps": [
        "daemonsets",
        "deployments",
        "deployments/scale",
        "replicasets",
        "replicasets/scale",
        "statefulsets",
        "statefulsets/scale",
    ],
    "autoscaling": ["horizontalpodautoscalers"],
    "batch": ["cronjobs", "jobs"],
    "networking.k8s.io": ["ingresses", "networkpolicies"],
    "policy": ["poddisruptionbudgets"],
    "coordination.k8s.io": ["leases"],
}


def fill(world: World) -> None:
    """Once, before the first request."""
    client = Client(world, "kube-apiserver")
    for name in NAMESPACES:
        client.create("namespaces", {"metadata": {"name": name}})
    for body in _roles():
        client.create("clusterroles.rbac.authorization.k8s.io", body)
    for body in _bindings():
        client.create("clusterrolebindings.rbac.authorization.k8s.io", body)
    if world.registry.preferred("priorityclasses.scheduling.k8s.io") is not None:
        for name, value in (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)):
            client.create("priorityclasses.scheduling.k8s.io", {"metadata": {"name": name}, "value": value})
    if world.registry.preferred("services") is not None:
        client.create("services", _own_service())
    world.settle()


def _own_service() -> Body:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    return {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {"clusterIP": "10.0.0.1", "ports": [port], "type": "ClusterIP"},
    }


def _role(name: str, *rules: Body, **labels: str) -> Body:
    marks = {"kubernetes.io/bootstrapping": "rbac-defaults", **labels}
    return {"metadata": {"name": name, "labels": marks}, "rules": list(rules)}


def _resources(group: str, resources: list[str], verbs: list[str]) -> Body:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _paths(*paths: str) -> Body:
    return {"nonResourceURLs": list(paths), "verbs": ["get"]}


def _roles() -> list[Body]:
    reading = [_resources(group, names, _READ) for group, names in _WORKLOADS.items()]
    reading.append(
        _resources("", ["events", "limitranges", "namespaces", "pods/log", "pods/status", "resourcequotas"], _READ)
    )
    writing = [_resources(group, names, _WRITE) for group, names in _WORKLOADS.items()]
    secrets = _resources("", ["secrets"], [*_READ, *_WRITE])
    roles = _resources("rbac.authorization.k8s.io", ["rolebindings", "roles"], [*_READ, *_WRITE])
    reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    health = ("/healthz", "/livez", "/readyz", "/version", "/version/")
    return [
        _role(
            "cluster-admin",
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ),
        _role(
            "system:basic-user",
            _resources("authorization.k8s.io", reviews, ["create"]),
            _resources("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
        ),
        _role(
            "system:discovery",
            _paths(*sorted(("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *health))),
        ),
        _role("system:public-info-viewer", _paths(*health)),
        _role("view", *reading),
        _role("edit", *reading, *writing, secrets),
        _role("admin", *reading, *writing, secrets, roles),
    ]


def _bindings() -> list[Body]:
    return [
        _binding("cluster-admin", "system:masters"),
        _binding("system:basic-user", "system:authenticated"),
        _binding("system:discovery", "system:authenticated"),
        _binding("system:public-info-viewer", "system:authenticated", "system:unauthenticated"),
    ]


def _binding(name: str, *groups: str) -> Body:
    api = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "Group", "apiGroup": api, "name": group} for group in groups],
    }
