"""The leader's lock as a `coordination.k8s.io` Lease: what every controller of Kubernetes uses.

Reading and writing only, each write bound to the version that was read; when to write is `election`'s question.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.model.keys import PUSHED
from gitfed.model.leader import Lead
from gitfed.text import moment

_ATTEMPTS = 3


class LeaseLock:
    """Implements `election.Lock`."""

    def __init__(self, session: Session, *, namespace: str, name: str) -> None:
        self._session = session
        self._folder = folder(namespace)
        self._namespace = namespace
        self._name = name
        self._read: dict[str, Any] | None = None
        self._told: str | None = None
        self.on_told: Callable[[], None] = lambda: None
        """Called in `read` when another candidate has called `tell` since the last one."""

    async def close(self) -> None:
        await self._session.close()

    def __str__(self) -> str:
        return f"Lease {self._namespace}/{self._name} of {self._session.connection.server}"

    async def read(self) -> Lead | None:
        """What it says now; None: it does not exist. Raises ClusterError."""
        try:
            lease = await self._session.json("GET", f"{self._folder}/{self._name}")
        except errors.ObjectNotFound:
            self._read = None
            return None
        self._read = lease
        told = str(((lease.get("metadata") or {}).get("annotations") or {}).get(PUSHED) or "")
        if self._told not in (None, told):
            self.on_told()
        self._told = told
        return lead_of(lease)

    async def write(self, lead: Lead) -> bool:
        """Store it if no other process wrote since `read`. Raises ClusterError."""
        before = self._read
        body = body_of(self._name, lead, before)
        try:
            if before is None:
                self._read = await create(self._session, self._namespace, body)
            else:
                self._read = await self._session.json("PUT", f"{self._folder}/{self._name}", body=body)
        except (errors.ObjectConflict, errors.ObjectExists, errors.ObjectNotFound):
            return False
        return True

    async def tell(self) -> None:
        """Have the leader look at the repository: it reads the lock every other second. The leader stays as it is; a
        renewal at the same moment is tried again by them. Raises ClusterError."""
        for _ in range(_ATTEMPTS):
            lease = await self._session.json("GET", f"{self._folder}/{self._name}")
            metadata = lease["metadata"]
            metadata["annotations"] = {**(metadata.get("annotations") or {}), PUSHED: _text(datetime.now(UTC))}
            with contextlib.suppress(errors.ObjectConflict):
                await self._session.json("PUT", f"{self._folder}/{self._name}", body=lease)
                return


def folder(namespace: str) -> str:
    """The path of a namespace's Leases."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def lead_of(lease: dict[str, Any]) -> Lead:
    spec = lease.get("spec") or {}
    return Lead(
        str(spec.get("holderIdentity") or ""),
        int(spec.get("leaseDurationSeconds") or 0),
        _time(spec.get("acquireTime")),
        _time(spec.get("renewTime")),
    )


def transitions_of(lease: dict[str, Any] | None) -> int:
    """How often it changed hands."""
    return int(((lease or {}).get("spec") or {}).get("leaseTransitions") or 0)


def body_of(name: str, lead: Lead, before: dict[str, Any] | None) -> dict[str, Any]:
    """To be stored in place of `before`, and of nothing newer."""
    changes = before is not None and (before.get("spec") or {}).get("holderIdentity") != lead.holder
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name} if before is None else before["metadata"],
        "spec": {
            "holderIdentity": lead.holder,
            "leaseDurationSeconds": lead.seconds,
            "acquireTime": _text(lead.acquired),
            "renewTime": _text(lead.renewed),
            "leaseTransitions": transitions_of(before) + changes,
        },
    }


async def create(session: Session, namespace: str, body: dict[str, Any], **options: Any) -> dict[str, Any]:
    """In a namespace that is made if need be. Raises ClusterError."""
    try:
        return await session.json("POST", folder(namespace), body=body, **options)
    except errors.ObjectNotFound:
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        with contextlib.suppress(errors.ObjectExists):
            await session.json("POST", "/api/v1/namespaces", body=made, **options)
        return await session.json("POST", folder(namespace), body=body, **options)


def _text(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(text: object) -> datetime:
    return moment.read(text) or datetime.fromtimestamp(0, UTC)
