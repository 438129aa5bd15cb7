"""What happens in a cluster when it joins the fleet: who it is, and an account for gitfed.

The declaration and where the credential is kept are the caller's business; a token never comes near the repository.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.model.keys import MANAGED_BY_LABEL, MANAGER, TOKEN_TYPE
from gitfed.text.values import dataclass

ACCOUNT = "gitfed"
_LABELS = {MANAGED_BY_LABEL: MANAGER}
_FILLED = 15.0
"""Seconds that the cluster's token controller gets."""
_YEAR = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Credential:
    token: str
    authority: str
    """PEM; "": the cluster tells none."""
    expires: str
    """RFC 3339; "" for a token that does not expire."""


async def identity(session: Session) -> str:
    """What tells one cluster from another, whatever its name (Karmada: `spec.id`): the uid of namespace kube-system."""
    body = await session.json("GET", "/api/v1/namespaces/kube-system")
    return str(body["metadata"].get("uid") or "")


async def authority(session: Session) -> str:
    """PEM of the authority that the kubeconfig trusts for this address; "": it names none."""
    settings = await session.connection.configure()
    return await asyncio.to_thread(settings.authority)


async def make_account(session: Session, *, namespace: str, role: str) -> Credential:
    """A service account with the rights of the ClusterRole `role`, and a token of it. Raises ClusterError.

    An empty `role` gives no rights: those that a person gave at the first join, perhaps fewer, stay as they are. Made
    again it changes nothing, and the token is the same where the cluster's controllers make tokens.
    """
    await _ensure(session, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace"}, namespace)
    inside = f"/api/v1/namespaces/{namespace}"
    await _ensure(session, f"{inside}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount"}, ACCOUNT)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    }
    if role:
        bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        await _ensure(session, bindings, binding, f"gitfed:{role}")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": TOKEN_TYPE,
        "annotations": {"kubernetes.io/service-account.name": ACCOUNT},
    }
    annotations = secret.pop("annotations")
    await _ensure(session, f"{inside}/secrets", secret, f"{ACCOUNT}-token", annotations=annotations)
    end = asyncio.get_running_loop().time() + _FILLED
    while asyncio.get_running_loop().time() < end:
        data = (await session.json("GET", f"{inside}/secrets/{ACCOUNT}-token")).get("data") or {}
        if data.get("token"):
            return Credential(_decoded(data["token"]), _decoded(data.get("ca.crt", "")), "")
        await asyncio.sleep(0.2)
    # No controller fills it: then the API server itself makes a token, which has an end.
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [], "expirationSeconds": _YEAR},
    }
    answer = await session.json("POST", f"{inside}/serviceaccounts/{ACCOUNT}/token", body=request)
    status = answer.get("status") or {}
    return Credential(str(status.get("token") or ""), "", str(status.get("expirationTimestamp") or ""))


async def _ensure(
    session: Session, folder: str, body: dict[str, Any], name: str, *, annotations: object = None
) -> None:
    metadata: dict[str, Any] = {"name": name, "labels": _LABELS}
    if annotations:
        metadata["annotations"] = annotations
    try:
        await session.json("POST", folder, body={**body, "metadata": metadata})
    except errors.ObjectExists:
        if "roleRef" not in body:
            return
        present = await session.json("GET", f"{folder}/{name}")
        if present.get("subjects") != body["subjects"]:
            raise errors.ClusterError(
                f"cluster {session.cluster}: ClusterRoleBinding {name} exists and binds another account",
                cluster=session.cluster,
                hint="delete it, or name another role with --cluster-role",
            ) from None


def _decoded(value: str) -> str:
    return base64.b64decode(value).decode()
