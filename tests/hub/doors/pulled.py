"""An agent behind the doors of a staged hub: its connection, certificate and streams are real, the engine is not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gitfed.agent import serve
from gitfed.agent.cancellation import ended
from gitfed.agent.dial import Dial
from gitfed.agent.hub_endpoint import HubEndpoint
from gitfed.agent.streams import Streams
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.edges import certificate_pins
from gitfed.edges.certificates import Authority
from gitfed.hub.enrolment.ledger import Enrolled, Issued
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.model import agent_identity
from kubesim.fleet import Fleet
from tests.agent.site import Site
from tests.hub import stage
from tests.hub.stage import Recorded, Staged


def cluster(name: str) -> str:
    return stage.cluster(name).replace("Push", "Pull")


@dataclass
class Agent:
    member: PulledMember
    dial: Dial
    streams: Streams
    hub: HubEndpoint
    task: asyncio.Task[None]

    async def die(self) -> None:
        """Everything of it is gone at once."""
        await ended(self.task)
        await self.streams.close()


def credentials(folder: Path, name: str) -> Path:
    """What an agent of that cluster is given by the hub of this folder."""
    place = folder / "hub"
    authority = Authority.open(place)
    pair = authority.client(agent_identity.common_name(name), [agent_identity.GROUP], timedelta(hours=1))
    read = certificate_pins.read(pair.certificate)
    enrolled = Enrolled(name, datetime.now(UTC), "", (Issued(read.serial, read.key, read.begins, read.ends),))
    LedgerFile(place).change(lambda found: (found._with(enrolled), None))
    made = folder / f"agent-{name}"
    made.mkdir()
    for file, content in (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (made / file).write_bytes(content)
    return made


@contextlib.asynccontextmanager
async def agent(
    staged: Staged, folder: Path, fleet: Fleet, name: str, *, lease: float = 30.0, kubeconfig: Path | None = None,
    streams: bool = True,
) -> AsyncIterator[Agent]:  # fmt: skip
    """The agent of a cluster, connected."""
    site = Site(fleet, name)
    member, keeper = site.hub(lease=lease), site.keeper()
    lead(staged, member)
    hub = HubEndpoint(staged.url, await asyncio.to_thread(credentials, folder, name))
    config = kubeconfig or folder / "kubeconfig"
    ways = Streams(hub, serve._into_cluster(serve.AgentOptions(hub, kubeconfig=(config,)), name))
    dial = Dial(hub, keeper, ways if streams else None)
    made = Agent(member, dial, ways, hub, asyncio.create_task(dial.run()))
    try:
        await stage.until(lambda: member.agent.connected)
        yield made
    finally:
        await made.die()
        await site.close()


def lead(staged: Staged, *members: PulledMember, abandoned: bool = False) -> None:
    """From now on the hub's process leads, and these are its members."""
    recorded = staged.hub.running.recorded
    assert isinstance(recorded, Recorded)
    fleet = SimpleNamespace(
        members={one.name: one for one in members}, facts=lambda: recorded.facts, starting=lambda: True
    )  # fmt: skip
    engine: Any = SimpleNamespace(
        repo=recorded.repo, abandoned=abandoned, fleet=fleet, plan=None, decisions=recorded.decisions, at_work=False,
        memory=SimpleNamespace(results={}, clone=None),
    )  # fmt: skip
    staged.hub.running.engine = engine
