"""What registering and leaving do in the cluster, step by step; each step done again changes nothing.

The key is put into its Secret before anything is asked of the hub, and the certificate beside it once there is one. So
a registration that was cut short goes on with the same key, for which the hub signs again.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from typing import Any

from gitfed import errors
from gitfed.edges.kube.connection.session import APPLY, Session
from gitfed.model.base import Body
from gitfed.model.keys import CLUSTER_ANNOTATION, HUB_ANNOTATION, NAME_LABEL
from gitfed.registration import agent_manifests
from gitfed.registration.agent_manifests import NAME, Agent, AgentCredentials
from gitfed.text.values import dataclass

_MANAGER = "gitfed-register"
_LOOK_AGAIN = 0.5
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PLURALS = {
    "Secret": ("/api/v1", "secrets"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Role": (_RBAC, "roles"),
    "RoleBinding": (_RBAC, "rolebindings"),
    "ClusterRoleBinding": (_RBAC, "clusterrolebindings"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "Namespace": ("/api/v1", "namespaces"),
}


@dataclass(frozen=True, slots=True)
class Present:
    """What is in the cluster of an agent already."""

    kinds: tuple[str, ...] = ()
    identity: AgentCredentials | None = None
    cluster: str = ""
    hub: str = ""


async def look(session: Session, namespace: str) -> Present:
    """Raises ClusterError."""
    kinds = ("Secret", "ServiceAccount", "Deployment")
    present = {kind: body for kind in kinds if (body := await _get(session, kind, namespace)) is not None}
    secret = present.get("Secret")
    if secret is None:
        return Present(tuple(present))
    annotations = secret["metadata"].get("annotations") or {}
    data = secret.get("data") or {}
    identity = AgentCredentials(_decoded(data, "ca.crt"), _decoded(data, "tls.crt"), _decoded(data, "tls.key"))
    return Present(
        tuple(present), identity, str(annotations.get(CLUSTER_ANNOTATION, "")), str(annotations.get(HUB_ANNOTATION, ""))
    )


def preflight(agent: Agent, present: Present) -> bool:
    """Whether an earlier registration of this cluster at this hub is continued; False: nothing is there.

    Raises UsageError when another agent is there.
    """
    if not present.kinds:
        return False
    if (present.cluster, present.hub) == (agent.cluster, agent.hub) and present.identity and present.identity.key:
        return True
    listed = ", ".join(f"{kind} {NAME}" for kind in present.kinds)
    whose = f", of cluster {present.cluster} at {present.hub}" if present.cluster else ""
    raise errors.UsageError(
        f"[preflight] in namespace {agent.namespace} there is an agent already: {listed}{whose}",
        hint="gitfed unregister removes it; --namespace names another namespace",
    )


async def put_identity(session: Session, agent: Agent, identity: AgentCredentials) -> None:
    """The Secret, in a namespace that is made if need be."""
    if await _get(session, "Namespace", "", agent.namespace) is None:
        await _apply(session, agent_manifests.namespace(agent))
    await _apply(session, agent_manifests.secret(agent, identity))


async def put_workload(session: Session, agent: Agent) -> None:
    for body in agent_manifests.workload(agent):
        await _apply(session, body)


async def stop(session: Session, namespace: str, wait: float) -> None:
    """Ends the agent; its credentials and rights stay. `wait`: seconds that its pods get to end in.

    An agent that ends finishes its writes first: objects cleaned up beside it could come back. Raises ClusterError.
    """
    await _delete(session, "Deployment", namespace)
    end = asyncio.get_running_loop().time() + wait
    while pods := await _pods(session, namespace):
        if asyncio.get_running_loop().time() > end:
            raise errors.ClusterError(
                f"cluster {session.cluster}: the agent's pod {pods[0]} has not ended yet",
                cluster=session.cluster,
                hint="do it again; a pod whose node is gone goes with kubectl delete pod --force",
            )
        await asyncio.sleep(_LOOK_AGAIN)


async def _pods(session: Session, namespace: str) -> list[str]:
    """Those that run the agent, by name."""
    query = {"labelSelector": f"{NAME_LABEL}={NAME}"}
    listed = await session.json("GET", f"/api/v1/namespaces/{namespace}/pods", query=query)
    over = ("Succeeded", "Failed")
    return sorted(
        pod["metadata"]["name"] for pod in listed["items"] if (pod.get("status") or {}).get("phase") not in over
    )


async def remove(session: Session, namespace: str) -> None:
    """Everything of it but the namespace, which others may live in. The Secret last: another try needs it."""
    await _delete(session, "Deployment", namespace)
    await _delete(session, "ClusterRoleBinding", "", agent_manifests.binding_name(namespace))
    for kind in ("RoleBinding", "Role", "ServiceAccount", "Secret"):
        await _delete(session, kind, namespace)


async def _apply(session: Session, body: Body) -> None:
    metadata = body["metadata"]
    path = _path(body["kind"], metadata.get("namespace", ""), metadata["name"])
    query = {"fieldManager": _MANAGER, "force": "true"}
    await session.request("PATCH", path, query=query, body=body, content_type=APPLY)


async def _get(session: Session, kind: str, namespace: str, name: str = NAME) -> dict[str, Any] | None:
    try:
        return await session.json("GET", _path(kind, namespace, name))
    except errors.ObjectNotFound:
        return None


async def _delete(session: Session, kind: str, namespace: str, name: str = NAME) -> None:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    with contextlib.suppress(errors.ObjectNotFound):
        await session.request("DELETE", _path(kind, namespace, name), body=body)


def _path(kind: str, namespace: str, name: str) -> str:
    root, plural = _PLURALS[kind]
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{inside}/{plural}/{name}"


def _decoded(data: dict[str, str], name: str) -> bytes:
    try:
        return base64.b64decode(data.get(name) or "")
    except (binascii.Error, ValueError):
        return b""
