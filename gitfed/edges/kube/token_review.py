"""Whose bearer token is it? The API server of the host cluster knows (Kubernetes: TokenReview)."""

from __future__ import annotations

from typing import Any

from gitfed import errors
from gitfed.edges.kube.connection.session import Session

_PATH = "/apis/authentication.k8s.io/v1/tokenreviews"
_TIMEOUT = 5.0


async def review(session: Session, token: str) -> tuple[str, tuple[str, ...]]:
    """User name and groups. Raises IdentityError, IdentityUnreachable."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    try:
        document: Any = await session.json("POST", _PATH, body=body, timeout=_TIMEOUT)
    except errors.ClusterError as error:
        raise errors.IdentityUnreachable(f"the host cluster reviews no token: {error.message}") from error
    status = document.get("status") if isinstance(document, dict) else None
    if not isinstance(status, dict) or status.get("authenticated") is not True:
        raise errors.IdentityError("the host cluster does not know the token")
    user = status.get("user")
    if not isinstance(user, dict) or not isinstance(name := user.get("username"), str) or not name:
        raise errors.IdentityError("the host cluster names no user for the token")
    groups = user.get("groups") or []
    return name, tuple(group for group in groups if isinstance(group, str))
