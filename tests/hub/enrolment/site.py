"""A cluster that wants to register: its key, what it asks, and what it has in the end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitfed.edges import signing_request
from gitfed.hub.enrolment import bootstrap_tokens
from gitfed.hub.enrolment.bootstrap_tokens import Token
from gitfed.model import agent_identity
from tests.hub.stage import Staged, ask


def token(hub: Staged, *, cluster: str = "", ttl: timedelta = timedelta(hours=1)) -> str:
    """A new token of this hub."""
    name, secret = bootstrap_tokens.new()
    salt, digest = bootstrap_tokens.hashed(secret)
    now = datetime.now(UTC)
    made = Token(name, salt, digest, now, now + ttl, "", cluster)
    ledger(hub).change(lambda found: (found.with_token(made), None))
    return f"{name}.{secret}"


def ledger(hub: Staged) -> Any:
    agents = hub.hub.authentication.agents
    assert agents is not None
    return agents.ledger


@dataclass
class Site:
    name: str
    folder: Path
    key: bytes = field(default_factory=signing_request.new_key)
    certificate: bytes = b""

    def request(self, *, cluster: str = "", group: str = "") -> bytes:
        name = cluster or self.name
        return signing_request.make(self.key, agent_identity.common_name(name), group or agent_identity.group(name))

    async def register(self, hub: Staged, bearer: str, *, request: bytes = b"") -> tuple[int, str]:
        pool = agent_identity.pool_in(self.name)
        whose = {"pool": pool} if pool else {"cluster": self.name}
        body = {**whose, "request": (request or self.request()).decode()}
        status, text, _ = await ask(hub, "POST", "/agents/v1/registration", token=bearer, data=json.dumps(body))
        if status == 201:
            self.certificate = text.encode()
        return status, text

    async def renew(self, hub: Staged, *, certificate: bytes = b"") -> tuple[int, str]:
        status, text, _ = await ask(
            hub, "POST", "/agents/v1/certificate", certificate=self.file(certificate), data=self.request()
        )
        return status, text

    def file(self, certificate: bytes = b"") -> Path:
        path = self.folder / f"{self.name.replace('/', '-')}-{len(list(self.folder.iterdir()))}.pem"
        path.write_bytes((certificate or self.certificate) + self.key)
        return path


async def registered(hub: Staged, name: str, folder: Path) -> Site:
    site = Site(name, folder)
    assert (await site.register(hub, token(hub)))[0] == 201
    return site
