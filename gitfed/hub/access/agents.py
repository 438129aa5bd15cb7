"""Who is an agent: a caller with a certificate of ours for one cluster, or one pool, that the ledger still lists.

TLS has checked before that our authority signed it and that its time is now. An agent is a caller of its own kind: it
may do what routes for agents offer, for its cluster or those of its pool, and nothing that AccessPolicies give.
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
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.enrolment.ledger import Ledger
from gitfed.hub.enrolment.shared_ledger import LedgerStore
from gitfed.model import agent_identity
from gitfed.model.agent_identity import AgentName
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.hub")

_LOOK = 1.0
"""Seconds until a certificate that another process revoked ends the connections that were made with it."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What counts of the certificate that a connection was made with: a thousand are looked at every second."""

    agent: AgentName | None
    serial: str
    ends: float

    @classmethod
    def by(cls, request: web.Request) -> _Shown:
        certificate = request.get_extra_info("peercert") or {}
        ends = certificate.get("notAfter")
        return cls(
            agent_identity.agent_of(*subject_of(certificate)),
            serial_of(certificate),
            cert_time_to_seconds(ends) if ends else 0.0,
        )

    def holds(self, ledger: Ledger | None, now: float) -> bool:
        if self.agent is None or now >= self.ends:
            return False
        return ledger is None or ledger.certificate(self.agent, self.serial) is not None


class Agents:
    def __init__(self, ledger: LedgerStore) -> None:
        self.ledger = ledger
        self._open: dict[int, tuple[web.Request, Caller, _Shown]] = {}

    async def caller(self, certificate: Mapping[str, Any], name: str, groups: tuple[str, ...]) -> Caller:
        """Raises IdentityError, IdentityUnreachable."""
        agent = agent_identity.agent_of(name, groups)
        if agent is None:
            raise IdentityError("the subject of the client certificate is reserved")
        serial = serial_of(certificate)
        if not self._counts(agent, serial):
            await self.ledger.look()  # another replica may have signed it a moment ago
        if not self._counts(agent, serial):
            raise IdentityError(f"the certificate of the agent of {agent} is revoked, or was replaced")
        before = self.ledger.read()
        if before.shown(agent, serial) is not before:
            await self.ledger.changed(lambda ledger: (ledger.shown(agent, serial), None))
            self.drop_revoked()
        return Caller(name, groups, AuthenticationMethod.AGENT)

    def certificate_ends(self) -> dict[AgentName, datetime]:
        """Until when the certificates count that are in use; none while the ledger cannot be read."""
        try:
            return {name: enrolled.certificates[0].ends for name, enrolled in self.ledger.read().clusters.items()}
        except GitfedError:
            return {}

    def holds(self, request: web.Request) -> bool:
        """Whether the certificate of an agent that was let in counts still."""
        return _Shown.by(request).holds(self._ledger(), time.time())

    @contextlib.contextmanager
    def connected(self, request: web.Request, caller: Caller) -> Iterator[None]:
        """While an agent is answered: its connection ends when its certificate stops to count."""
        self._open[id(request)] = (request, caller, _Shown.by(request))
        try:
            yield
        finally:
            del self._open[id(request)]

    def drop_revoked(self) -> None:
        ledger, now = self._ledger(), time.time()
        for request, caller, shown in list(self._open.values()):
            if not shown.holds(ledger, now) and request.transport is not None:
                log.warning("an agent's certificate counts no more", extra={"agent": caller.name})
                request.transport.abort()

    async def keep_watch(self) -> None:
        """A service: other replicas and `gitfed token delete` write the ledger, and time passes."""
        while True:
            await asyncio.sleep(_LOOK)
            await self.ledger.look()
            self.drop_revoked()

    def _ledger(self) -> Ledger | None:
        """None: the ledger cannot be read, and the last answer about a certificate counts."""
        try:
            return self.ledger.read()
        except GitfedError:
            return None

    def _counts(self, agent: AgentName, serial: str) -> bool:
        try:
            return self.ledger.read().certificate(agent, serial) is not None
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
