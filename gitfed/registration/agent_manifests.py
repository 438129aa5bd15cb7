"""The objects that an agent runs by in its cluster, as values.

The Secret holds what the agent is known by. Its key is made and stays here; the annotations say whose it is, so that a
registration that was cut short is told from another agent.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import field

from gitfed.model.base import Body, ClusterName
from gitfed.model.keys import CLUSTER_ANNOTATION, HUB_ANNOTATION, MANAGED_BY_LABEL, MANAGER, NAME_LABEL
from gitfed.text.values import dataclass

NAME = "gitfed-agent"
_LABELS = {NAME_LABEL: NAME, MANAGED_BY_LABEL: MANAGER}
_FOLDER = "/etc/gitfed/hub"
_USER = 65532
HIDDEN = "REDACTED"


@dataclass(frozen=True, slots=True)
class Agent:
    """What the command line says of it."""

    cluster: ClusterName
    hub: str
    """HOST:PORT"""
    namespace: str
    image: str
    replicas: int = 1
    role: str = ""
    """The ClusterRole that it gets; "": none, another tool grants its rights."""


@dataclass(frozen=True, slots=True)
class AgentCredentials:
    """PEM texts; the certificate is b"" as long as there is none."""

    authorities: bytes
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)


def namespace(agent: Agent) -> Body:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": agent.namespace}}


def secret(agent: Agent, identity: AgentCredentials, *, shown: bool = False) -> Body:
    """`shown`: for eyes, with the key left out."""
    data: Mapping[str, bytes] = {"ca.crt": identity.authorities, "tls.crt": identity.certificate}
    encoded = {name: base64.b64encode(content).decode() for name, content in data.items() if content}
    key = HIDDEN if shown else base64.b64encode(identity.key).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**_metadata(agent), "annotations": {CLUSTER_ANNOTATION: agent.cluster, HUB_ANNOTATION: agent.hub}},
        "type": "Opaque",
        "data": {**encoded, "tls.key": key},
    }


def workload(agent: Agent) -> list[Body]:
    """The objects beside Secret and Namespace: account, rights, Deployment."""
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": agent.namespace}
    group = "rbac.authorization.k8s.io"
    objects: list[Body] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(agent)},
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": _metadata(agent),
            "rules": [
                # The next certificate is put where the first one was.
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [NAME], "verbs": ["get", "patch"]},
                {
                    "apiGroups": ["coordination.k8s.io"],
                    "resources": ["leases"],
                    "verbs": ["get", "create", "patch", "update"],
                },
            ],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": _metadata(agent),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": NAME},
            "subjects": [subject],
        },
    ]
    if agent.role:
        objects.append(
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": binding_name(agent.namespace), "labels": _LABELS},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": agent.role},
                "subjects": [subject],
            }
        )
    return [*objects, _deployment(agent)]


def binding_name(namespace: str) -> str:
    """Of the ClusterRoleBinding; two agents of two fleets live in two namespaces."""
    return f"{NAME}:{namespace}"


def _deployment(agent: Agent) -> Body:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(agent),
        "spec": {
            "replicas": agent.replicas,
            "selector": {"matchLabels": {NAME_LABEL: NAME}},
            # Two agents with one certificate would disconnect each other in turn.
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": _LABELS},
                "spec": {
                    "serviceAccountName": NAME,
                    "terminationGracePeriodSeconds": 30,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": _USER,
                        "runAsGroup": _USER,
                        "fsGroup": _USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(agent)],
                    "volumes": [
                        {"name": "hub", "secret": {"secretName": NAME, "defaultMode": 0o440}},
                        {"name": "scratch", "emptyDir": {}},
                    ],
                },
            },
        },
    }


def _container(agent: Agent) -> Body:
    return {
        "name": "agent",
        "image": agent.image,
        "args": [
            "agent",
            f"--hub-url=https://{agent.hub}",
            f"--hub-credentials={_FOLDER}",
            "--health-address=0.0.0.0:8484",
            "--logging-format=json",
        ],
        "ports": [{"name": "health", "containerPort": 8484, "protocol": "TCP"}],
        "livenessProbe": {
            "httpGet": {"path": "/livez", "port": "health"},
            "initialDelaySeconds": 10,
            "periodSeconds": 20,
        },
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "hub", "mountPath": _FOLDER, "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108
        ],
    }


def _metadata(agent: Agent) -> Body:
    return {"name": NAME, "namespace": agent.namespace, "labels": _LABELS}
