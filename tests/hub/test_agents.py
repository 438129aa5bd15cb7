"""Who an agent that connects is handed to, and what one is told that has to wait."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.errors import LinkError
from gitfed.hub import agents
from gitfed.hub.metrics import clusters
from gitfed.hub.running import Running
from tests.agent.site import DECLARED, site
from tests.daemon.one_member import NOW, until
from tests.hub.stage import cluster, snapshot
from tests.support import patience

PULLED = cluster("m1").replace("Push", "Pull")


def engine(*documents: str, abandoned: bool = False, **members: Any) -> Any:
    repo = snapshot(*documents) if documents else None
    return SimpleNamespace(repo=repo, abandoned=abandoned, fleet=SimpleNamespace(members=members))


def a_member() -> PulledMember:
    upward: Any = SimpleNamespace(now=lambda: NOW)
    return PulledMember(DECLARED, upward, MemberContext(federation="f"))


@pytest.mark.parametrize(
    ("running", "message"),
    [
        pytest.param(None, "this hub does not lead, or reads the repository only now: connect again", id="no engine"),
        pytest.param(
            engine(), "this hub does not lead, or reads the repository only now: connect again", id="nothing read"
        ),
        pytest.param(
            engine(PULLED, abandoned=True), "this hub does not lead, or reads the repository only now: connect again",
            id="another one leads",
        ),
        pytest.param(engine(PULLED), "this hub reads the repository only now: connect again", id="no member yet"),
        pytest.param(
            engine(PULLED, m1="a push cluster's"), "this hub reads the repository only now: connect again",
            id="a push cluster until now",
        ),
        pytest.param(engine(cluster("m2")), "no cluster m1 is declared in the repository", id="not declared yet"),
    ],
)  # fmt: skip
def test_an_agent_is_told_to_come_back_soon_where_waiting_helps(running: Any, message: str) -> None:
    with pytest.raises(LinkError) as caught:
        agents.member_of(running, "m1")
    assert (caught.value.message, caught.value.final) == (message, False)


@pytest.mark.parametrize(
    ("leading", "standing_by", "waits"),
    [
        pytest.param(None, False, True, id="no engine yet"),
        pytest.param(None, True, False, id="another one leads"),
        pytest.param(engine(), False, True, id="nothing read yet"),
        pytest.param(engine(PULLED), False, True, id="no member yet"),
        pytest.param(engine(PULLED, abandoned=True), False, False, id="it led"),
        pytest.param(engine(cluster("m2")), False, False, id="not declared"),
    ],
)
def test_an_agent_waits_at_the_door_of_a_hub_that_begins(leading: Any, standing_by: bool, waits: bool) -> None:
    running = Running()
    running.engine, running.standing_by = leading, standing_by
    assert agents.is_beginning(running, "m1") is waits


async def test_who_waited_at_the_door_is_let_in_as_soon_as_it_is_known() -> None:
    running = Running()
    hub: Any = SimpleNamespace(running=running)
    member = a_member()
    waiting = asyncio.create_task(agents._Door(hub)._member("m1"))
    await asyncio.sleep(0)
    assert not waiting.done()
    running.engine = engine(PULLED, m1=member)
    assert await asyncio.wait_for(waiting, patience.SECONDS) is member


def test_an_agent_of_a_push_cluster_is_told_to_stay_away() -> None:
    with pytest.raises(LinkError) as caught:
        agents.member_of(engine(cluster("m1"), m1="a push cluster's"), "m1")
    assert caught.value.final
    assert caught.value.message == "cluster m1 is a push cluster: the daemon connects to it"


async def test_a_members_presence_follows_its_connection() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        assert hub.agent.presence.connected is None
        cut = await place.connect(hub, keeper, "one")
        assert (hub.agent.presence.connected, hub.agent.presence.heard, hub.agent.presence.instance) == (
            NOW,
            NOW,
            "one",
        )
        await until(lambda: hub.agent.presence.held == hub.agent.presence.wanted > 0)
        await cut()
        await until(lambda: hub.agent.presence.connected is None)
        assert (hub.agent.presence.heard, hub.agent.presence.connections) == (NOW, 1)
        await place.connect(hub, keeper, "two")
        assert (hub.agent.presence.connections, hub.agent.presence.instance) == (2, "two")


async def test_metrics_tell_of_each_agent() -> None:
    member = a_member()
    await member.agent.attach(SimpleNamespace(poke=lambda: None), "one", program="gitfed 9", protocol=1)  # type: ignore[arg-type]
    running = Running()
    running.engine = engine(PULLED, m1=member, m2="a push cluster's")
    running.certificates = lambda: {"m1": NOW}
    found = {one.name: list(one.read()) for one in clusters.metrics(running) if "_agent_" in one.name}
    assert found == {
        "gitfed_cluster_agent_connected": [(("m1",), 1)],
        "gitfed_cluster_agent_connections_total": [(("m1",), 1)],
        "gitfed_cluster_agent_pending_changes": [(("m1",), 1)],
        "gitfed_cluster_agent_certificate_expiry_timestamp_seconds": [(("m1",), NOW.timestamp())],
    }


def test_an_agent_gets_its_clusters_member() -> None:
    member = a_member()
    assert agents.member_of(engine(PULLED, m1=member), "m1") is member
