"""An agent's certificate is renewed before it ends: with the same key, which stays where it is.

In a pod the folder of credentials is a mounted Secret, so the next certificate is put into the Secret and comes back
through the mount; elsewhere it is put into the folder. The one before it counts until the new one is first shown.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from gitfed.edges import files
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube.connection.session import MERGE_PATCH, Session
from gitfed.errors import GitfedError, HubError
from gitfed.model.agent_identity import AgentName
from gitfed.registration import renewal
from gitfed.registration.agent_manifests import AgentCredentials

log = logging.getLogger("gitfed.agent")

Keep = Callable[[bytes], Awaitable[None]]
"""Puts a certificate where the next connection finds it."""
LOOK = 300.0
"""Seconds between two looks (Karmada: certRotation)."""
AGAIN = Backoff((5.0, 15.0, 60.0, LOOK))
"""After a renewal that failed; short at first, since the certificate may end soon."""
_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class Rotation:
    """`run` it beside the agent until it is cancelled. `hub` is HOST:PORT."""

    def __init__(self, hub: str, cluster: AgentName, folder: Path, keep: Keep) -> None:
        self._hub = hub
        self._cluster = cluster
        self._folder = folder
        self._keep = keep
        self._kept = b""

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                if await self.once(datetime.now(UTC)):
                    log.info("the agent's certificate is renewed", extra={"cluster": self._cluster})
                failures = 0
            except (GitfedError, OSError) as error:
                failures += 1
                log.warning("the agent's certificate cannot be renewed", extra={"error": str(error)})
            await asyncio.sleep(AGAIN.after(failures) if failures else LOOK)

    async def once(self, now: datetime) -> bool:
        """Whether a new one was kept. Raises HubError, HubUnreachable, ClusterError, InputError, OSError."""
        identity = await asyncio.to_thread(self._identity)
        # A mounted Secret changes a minute or so after it was written: no reason to ask twice.
        newest = self._kept or identity.certificate
        if not renewal.due(newest, now):
            return False
        certificate = await renewal.renewed(self._hub, self._cluster, identity)
        if certificate is None:
            raise HubError("the hub renews no certificate for this agent")
        await self._keep(certificate)
        self._kept = certificate
        return True

    def _identity(self) -> AgentCredentials:
        parts = {name: (self._folder / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key")}
        return AgentCredentials(parts["ca.crt"], parts["tls.crt"], parts["tls.key"])


def in_folder(folder: Path) -> Keep:
    async def keep(certificate: bytes) -> None:
        await asyncio.to_thread(files.write_atomically, folder / "tls.crt", certificate, durable=True)

    return keep


def in_secret(session: Session, namespace: str, name: str) -> Keep:
    """The right to patch this one Secret is enough."""

    async def keep(certificate: bytes) -> None:
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        body = {"data": {"tls.crt": base64.b64encode(certificate).decode()}}
        await session.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    return keep


def own_namespace() -> str:
    """Of this pod; "": this is none."""
    try:
        return _NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
