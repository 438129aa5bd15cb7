"""A hub without a daemon: it listens for real, and what it shows is a commit made of texts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from gitfed.hub import capabilities
from gitfed.hub.access.agents import Agents
from gitfed.hub.access.authentication import Authentication, Tokens
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.access.sessions import Sessions
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.hub.enrolment.shared_ledger import LedgerStore
from gitfed.hub.listener import ConnectionLimits
from gitfed.hub.options import HubOptions
from gitfed.hub.routes import Capability
from gitfed.hub.running import Running
from gitfed.hub.server import Hub, Server
from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.source import repo
from tests.source.trees import tree
from tests.support import patience

LOOPBACK = HubOptions("127.0.0.1", 0)
EVERYWHERE = HubOptions("0.0.0.0", 0)
"""Not a loopback address, so it has TLS."""


def cluster(name: str, **labels: str) -> str:
    return (
        "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
        f"metadata: {json.dumps({'name': name, 'labels': labels})}\nspec: {{syncMode: Push}}\n"
    )


def policy(name: str, **spec: object) -> str:
    return f"apiVersion: gitfed.io/v1alpha1\nkind: AccessPolicy\nmetadata: {{name: {name}}}\nspec: {json.dumps(spec)}\n"


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name}


def snapshot(*documents: str) -> RepoSnapshot:
    """A commit with these documents, none of which may have a mistake."""
    read = repo.read(tree({f"{number}.yaml": text for number, text in enumerate(documents)}))
    assert not read.problems, [str(problem) for problem in read.problems]
    return read


@dataclass
class Recorded:
    """What stands in Git, as a hub without an engine has it."""

    repo: RepoSnapshot | None = None
    plan: Plan | None = None
    decisions: Decisions = field(default_factory=lambda: Decisions(known=False))
    facts: Mapping[ClusterName, ClusterFacts] = field(default_factory=dict)
    clone: Path | None = None


@dataclass
class Passwords(Tokens):
    """Bearer tokens by what they say."""

    callers: Mapping[str, Caller]

    def may_be_ours(self, token: str) -> bool:
        return token in self.callers

    async def caller(self, token: str) -> Caller:
        return self.callers[token]

    async def close(self) -> None:
        pass


@dataclass
class Staged:
    hub: Hub
    port: int
    authority: str

    @property
    def url(self) -> str:
        return f"{'https' if self.hub.options.secure else 'http'}://127.0.0.1:{self.port}"

    def context(self, certificate: Path | None = None) -> ssl.SSLContext:
        """As a client that trusts the hub's authority, with a certificate of its own or without."""
        made = ssl.create_default_context(cadata=self.authority)
        if certificate is not None:
            made.load_cert_chain(certificate)
        return made


@contextlib.asynccontextmanager
async def staged(
    folder: Path,
    *documents: str,
    options: HubOptions = LOOPBACK,
    tokens: Sequence[Tokens] = (),
    names: Iterable[str] = ("ann", "bob"),
    more: Sequence[Capability] = (),
    limits: ConnectionLimits | None = None,
    running: Running | None = None,
    ledger: LedgerStore | None = None,
) -> AsyncIterator[Staged]:
    """A hub for this commit. Each of `names` has a bearer token that is their name."""
    known = Passwords({name: Caller(name, way=AuthenticationMethod.OIDC) for name in names})
    agents = Agents(ledger or LedgerFile(folder / "hub")) if options.secure else None
    running = running or Running(Recorded(snapshot(*documents)))
    hub = Hub(options, running, folder / "hub", Authentication(Sessions(), (known, *tokens), agents))
    server = Server(hub, [*capabilities.all_of(hub), *more], limits)
    await server.start()
    try:
        authority = hub.folder / "ca.crt"
        yield Staged(hub, server.port, authority.read_text() if authority.exists() else "")
    finally:
        await server.stop()


async def get(stage: Staged, path: str, *, token: str = "", **options: Any) -> tuple[int, str]:
    """Status and text."""
    status, text, _ = await ask(stage, "GET", path, token=token, **options)
    return status, text


async def ask(
    stage: Staged, method: str, path: str, *, token: str = "", certificate: Path | None = None, **options: Any
) -> tuple[int, str, Mapping[str, str]]:
    headers = {**options.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
    if stage.authority:
        options["ssl"] = stage.context(certificate)
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, stage.url + path, headers=headers, allow_redirects=False, **options) as answer,
    ):
        return answer.status, await answer.text(), answer.headers


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(patience.SECONDS):
        while not condition():  # noqa: ASYNC110  what becomes true tells nobody
            await asyncio.sleep(0.01)


async def raw(stage: Staged, *parts: bytes, pause: float = 0.0) -> bytes:
    """Everything that the hub answers to these bytes, until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
    try:
        for part in parts:
            writer.write(part)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            await asyncio.sleep(pause)
        with contextlib.suppress(ConnectionError):
            return await reader.read()
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
