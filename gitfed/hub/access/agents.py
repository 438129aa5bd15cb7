"""Who is an agent: whoever shows a certificate of ours for one cluster that the ledger still lists.

TLS has checked before that our authority signed it and that its time is now. An agent is a caller of its own kind: it
may do what routes for agents offer, for its cluster, and nothing that AccessPolicies give.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from ssl import cert_time_to_seconds
from typing import Any

from aiohttp import web

from gitfed.errors import GitfedError, IdentityError, IdentityUnreachable
from gitfed.hub.access.caller import Caller, Way
from gitfed.hub.enrolment.shared_ledger import LedgerStore
from gitfed.model import agent_identity
from gitfed.model.base import ClusterName

log = logging.getLogger("gitfed.hub")

_LOOK = 1.0
"""Seconds until a certificate that another process revoked ends the connections that were made with it."""


class Agents:
    def __init__(self, ledger: LedgerStore) -> None:
        self.ledger = ledger
        self._open: dict[int, tuple[web.Request, Caller]] = {}

    async def caller(self, certificate: Mapping[str, Any], name: str, groups: tuple[str, ...]) -> Caller:
        """Raises IdentityError, IdentityUnreachable."""
        cluster = agent_identity.cluster_of(name, groups)
        if cluster is None:
            raise IdentityError("the subject of the client certificate is reserved")
        serial = serial_of(certificate)
        if not self._counts(cluster, serial):
            await self.ledger.look()  # another replica may have signed it a moment ago
        if not self._counts(cluster, serial):
            raise IdentityError(f"the certificate of the agent of {cluster} is revoked, or was replaced")
        enrolled = self.ledger.read().clusters.get(cluster)
        if enrolled is not None and len(enrolled.certificates) > 1 and enrolled.certificates[-1].serial == serial:
            await self.ledger.changed(lambda found: (found.shown(cluster, serial), None))
            self.drop_revoked()
        return Caller(name, groups, Way.AGENT)

    def certificate_ends(self) -> dict[ClusterName, datetime]:
        """Until when the certificates count that are in use; none while the ledger cannot be read."""
        try:
            return {name: one.certificates[0].ends for name, one in self.ledger.read().clusters.items()}
        except GitfedError:
            return {}

    def holds(self, request: web.Request) -> bool:
        """Whether the certificate of an agent that was let in counts still."""
        certificate = request.get_extra_info("peercert") or {}
        cluster = agent_identity.cluster_of(*subject_of(certificate))
        try:
            return (
                cluster is not None
                and time.time() < cert_time_to_seconds(certificate["notAfter"])
                and self._counts(cluster, serial_of(certificate))
            )
        except IdentityUnreachable:
            return True  # who would know gives no answer: what was said last counts

    @contextlib.contextmanager
    def connected(self, request: web.Request, caller: Caller) -> Iterator[None]:
        """While an agent is answered: its connection ends when its certificate stops to count."""
        self._open[id(request)] = (request, caller)
        try:
            yield
        finally:
            del self._open[id(request)]

    def drop_revoked(self) -> None:
        for request, caller in list(self._open.values()):
            if not self.holds(request) and request.transport is not None:
                log.warning("an agent's certificate counts no more", extra={"agent": caller.name})
                request.transport.abort()

    async def keep_watch(self) -> None:
        """A service: other replicas and `gitfed token delete` write the ledger, and time passes."""
        while True:
            await asyncio.sleep(_LOOK)
            await self.ledger.look()
            self.drop_revoked()

    def _counts(self, cluster: ClusterName, serial: str) -> bool:
        try:
            return self.ledger.read().certificate(cluster, serial) is not None
        except GitfedError as error:
            raise IdentityUnreachable(error.message) from error


def subject_of(certificate: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Common name and organizations; "" without exactly one name."""
    parts = [part for group in certificate.get("subject", ()) for part in group]
    names = [value for kind, value in parts if kind == "commonName"]
    groups = tuple(value for kind, value in parts if kind == "organizationName")
    return names[0] if len(names) == 1 else "", groups


def serial_of(certificate: Mapping[str, Any]) -> str:
    return str(certificate.get("serialNumber") or "")
