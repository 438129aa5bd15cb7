"""What a hub that begins anew tells agents that have everything already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.played_agent import Agent
from gitfed.agent_protocol import frames, values
from gitfed.agent_protocol.frames import Put
from gitfed.agent_protocol.replica import bucket
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.daemon.fleet.members import MemberOptions, RecordedFleet
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.interpret import native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from tests.daemon.one_member import NOW
from tests.e2e.world import config_map, policy
from tests.hub.stage import cluster
from tests.source.trees import tree

OBJECTS = 50
C7 = ObjectKey("", "ConfigMap", "shop", "c7")
INTERPRETER = Interpreter((native.Native(),))


class Hub:
    """One process of a hub: the fleet and the planner are the real ones, connections are not."""

    def __init__(self, repo: RepoSnapshot, known: Any = None) -> None:
        self.repo = repo
        self.woken = 0
        """How often something was told that a plan should know."""
        self.fleet = Fleet(
            lambda declared: pytest.fail("nobody reaches it"), MemberOptions(now=lambda: NOW), self._wake, _nobody
        )  # fmt: skip
        self.fleet.match(repo, RecordedFleet(repository_id=lambda: "r", facts=known or {}), claimed=True)
        member = self.fleet.members["m1"]
        assert isinstance(member, PulledMember)
        self.member = member
        self.sent = 0
        """Bytes to the agent."""
        self.keys: list[str] = []

    def _wake(self) -> None:
        self.woken += 1

    def turn(self) -> None:
        plan = build.build(self.repo, self.fleet.snapshot(self.repo), Decisions(repository_id="r"), INTERPRETER, NOW)
        self.fleet.follow(plan, INTERPRETER)
        self.fleet.hand_over(plan, ())

    def connect(self, agent: Agent) -> None:
        agent.connected = True
        self.member.connected()
        agent.reporter.told.connect(self.member.reports.heard.connect())
        self.member.told.connect(agent.heard.connect())

    def exchange(self, agent: Agent) -> None:
        """Both say what they have to say until neither has anything."""
        while self.tell(agent) or self.hear(agent):
            pass

    def tell(self, agent: Agent) -> bool:
        parts = [frames.encode(one) for one in self.member.told.next()]
        for data in parts:
            self.sent += len(data)
            put = frames.decode(data)
            assert isinstance(put, Put)
            self.keys += put.set
            if (change := agent.heard.take(put)) is not None:
                agent.taken(change)
                self.member.told.acknowledged(put.n)
        return bool(parts)

    def hear(self, agent: Agent) -> bool:
        told = agent.reporter.told
        parts = told.next()
        for one in parts:
            put = frames.decode(frames.encode(one))
            assert isinstance(put, Put)
            if (change := self.member.reports.heard.take(put)) is not None:
                self.member.taken(change)
                told.acknowledged(put.n)
        return bool(parts)

    def settle(self, agent: Agent) -> None:
        for _ in range(4):
            self.exchange(agent)
            self.turn()
        self.exchange(agent)


def _nobody(event: str, value: Any) -> None: ...


@pytest.fixture
def repo() -> RepoSnapshot:
    files = {"m1.yaml": cluster("m1").replace("Push", "Pull")}
    files["policy.json"] = policy("all", ["m1"], (("v1", "ConfigMap"),))
    files |= {f"{number}.json": config_map(f"c{number}", {"a": str(number)}) for number in range(OBJECTS)}
    read = source.read(tree(files))
    assert not read.problems
    return read


async def rolled_out(repo: RepoSnapshot) -> tuple[Hub, Agent]:
    hub, agent = Hub(repo), Agent("m1")
    hub.connect(agent)
    hub.settle(agent)
    assert (len(agent.objects), agent.is_at_rest) == (OBJECTS + 1, True)
    assert all(values.WANTED.read(one).repair for one in wanted_by(agent).values())
    return hub, agent


def wanted_by(agent: Agent) -> dict[str, Any]:
    return {name: one for name, one in agent.heard.values.items() if name.startswith(values.OBJECT)}


async def test_an_agent_that_comes_after_the_first_plan_is_sent_nothing_that_it_has(repo: RepoSnapshot) -> None:
    before, agent = await rolled_out(repo)
    wanted, written = wanted_by(agent), agent.carried_out
    hub = Hub(repo, {"m1": before.member.facts})
    hub.member._fail("its agent has not connected yet")
    hub.turn()
    hub.turn()
    hub.connect(agent)
    assert not hub.tell(agent), "what is planned before it is heard of is not for good"
    hub.settle(agent)
    assert wanted_by(agent) == wanted
    assert (agent.is_at_rest, agent.carried_out, agent.term) == (True, written, 2)
    # Only the setup is another one, and a bucket is sent whole.
    assert {bucket(key) for key in hub.keys} <= {bucket(values.SETUP), bucket(values.SHARING)}
    assert hub.sent < before.sent / 10


async def test_what_an_agent_should_not_have_goes_once_it_was_heard_of(repo: RepoSnapshot) -> None:
    before, agent = await rolled_out(repo)
    left = replace(repo, manifests={key: one for key, one in repo.manifests.items() if key.name != "c7"})
    hub = Hub(left, {"m1": before.member.facts})
    hub.member._fail("its agent has not connected yet")
    hub.turn()
    hub.connect(agent)
    assert values.of(values.OBJECT, C7) in wanted_by(agent)
    hub.settle(agent)
    assert values.of(values.OBJECT, C7) not in wanted_by(agent)
    assert len(wanted_by(agent)) == OBJECTS


async def test_an_agent_that_has_nothing_is_led_before_the_first_plan(repo: RepoSnapshot) -> None:
    hub, agent = Hub(repo), Agent("m1")
    hub.connect(agent)
    hub.exchange(agent)
    assert agent.term == 1


async def test_the_end_of_a_roll_out_wakes_the_engine_to_record_it(repo: RepoSnapshot) -> None:
    hub, agent = Hub(repo), Agent("m1")
    hub.connect(agent)
    for _ in range(2):
        hub.exchange(agent)
        hub.turn()  # the second plan finds everything as it should be, and empties the list
    assert not hub.fleet.quiet(), "the agent has not heard of that"
    hub.woken = 0
    hub.exchange(agent)
    assert (hub.fleet.quiet(), hub.woken) == (True, 1)
    hub.turn()
    hub.exchange(agent)
    assert hub.woken == 1, "nothing is new"
