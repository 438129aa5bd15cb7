"""The Leases of one group, found by their label: read all at a time, each written over the version that was read.

Who takes which, and when one counts as given up, is `agent.pool`'s question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.leases import lease
from gitfed.model.leader import Lead
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """One Lease as it was read, or written."""

    name: str
    lead: Lead
    version: str
    transitions: int
    """How often it changed hands."""
    annotations: Mapping[str, str]
    body: dict[str, Any] = field(repr=False, compare=False)


class SharedLeases:
    """`seconds`: how long a request may take. All raise ClusterError."""

    def __init__(self, session: Session, *, namespace: str, label: tuple[str, str], seconds: float) -> None:
        self._session = session
        self._namespace = namespace
        self._folder = lease.folder(namespace)
        self._label = label
        self._seconds = seconds

    def __str__(self) -> str:
        return f"Leases in {self._namespace} of {self._session.connection.server}"

    async def close(self) -> None:
        await self._session.close()

    async def list(self) -> dict[str, LeaseRecord]:
        query = {"labelSelector": "=".join(self._label)}
        listing = await self._session.json("GET", self._folder, query=query, timeout=self._seconds)
        return {record.name: record for record in map(_record, listing.get("items") or ())}

    async def write(
        self, name: str, lead: Lead, before: LeaseRecord | None, annotations: Mapping[str, str] | None = None
    ) -> LeaseRecord | None:
        """None: another member wrote or deleted it since it was read."""
        body = lease.body_of(name, lead, before.body if before is not None else None)
        key, value = self._label
        metadata = dict(body["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), key: value}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **(annotations or {})}
        body["metadata"] = metadata
        try:
            if before is None:
                return _record(await lease.create(self._session, self._namespace, body, timeout=self._seconds))
            path = f"{self._folder}/{quote(name)}"
            return _record(await self._session.json("PUT", path, body=body, timeout=self._seconds))
        except (errors.ObjectConflict, errors.ObjectExists, errors.ObjectNotFound):
            return None

    async def delete(self, record: LeaseRecord) -> None:
        """Unless another member wrote it since."""
        condition = {"uid": record.body["metadata"].get("uid"), "resourceVersion": record.version}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": condition}
        try:
            path = f"{self._folder}/{quote(record.name)}"
            await self._session.request("DELETE", path, body=options, timeout=self._seconds)
        except (errors.ObjectConflict, errors.ObjectNotFound):
            return


def _record(body: dict[str, Any]) -> LeaseRecord:
    metadata = body["metadata"]
    return LeaseRecord(
        metadata["name"],
        lease.lead_of(body),
        str(metadata.get("resourceVersion") or ""),
        lease.transitions_of(body),
        metadata.get("annotations") or {},
        body,
    )
