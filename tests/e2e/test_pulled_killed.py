"""A pulled cluster whose agent or hub dies at each step of a roll-out: all converges, nothing is doubled or lost.

Every round pushes one commit that makes an object, changes one and takes one away. It is held at a step, somebody is
killed as in a power cut, and whoever comes back goes on. What was there keeps its uid; what is not ours stays.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubesim.faults import Faults
from tests.clusters.faulty import Faulty
from tests.e2e.pulled import Agent, Pulled
from tests.e2e.shop import inventory
from tests.e2e.world import Daemon, World, config_map, deployment, policy, settings
from tests.support import needs

pytestmark = [
    pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along"),
]  # fmt: skip

NEW = ("configmaps", "shop")


class Story:
    """One pulled cluster and the commits of its rounds."""

    def __init__(self, world: World, faulty: Faulty) -> None:
        self.world, self.faulty = world, faulty
        self.pulled = Pulled(world)
        self.number = 0
        self.head = ""
        self.daemon: Daemon
        self.agent: Agent
        self.uids: dict[str, str] = {}

    def begin(self) -> None:
        files = {
            "gitfed.json": settings(),
            "policy.json": policy("all", ["m1"], (("v1", "ConfigMap"), ("apps/v1", "Deployment"))),
            "web.json": deployment("web", replicas=1),
            "new-0.json": config_map("new-0", {"n": "0"}),
        }
        self.agent, self.daemon = self.pulled.agent("m1"), self.pulled.daemon()
        self.head = self.world.push({**files, **self.pulled.clusters(["m1"])})
        self.converge()
        foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"a": "1"}}
        self.world.ask("m1", "POST", self.world.path("ConfigMap", "shop"), foreign)

    def push(self) -> None:
        self.number += 1
        new, old = f"new-{self.number}", f"new-{self.number - 1}"
        changed = deployment("web", replicas=1 + self.number)
        self.head = self.world.push(
            {f"{new}.json": config_map(new, {"n": str(self.number)}), f"{old}.json": None, "web.json": changed}
        )

    def fault(self, change: Callable[[Faults], Any]) -> None:
        self.faulty.tell("m1", change)

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        return self.world.get("m1", kind, "shop", name)

    def listed(self, name: str) -> bool:
        return name in inventory(self.world, "m1")

    def planned(self) -> bool:
        """The daemon handed the list of this commit over."""
        return any(
            line["commit"] == self.head[:12] and line["create"] for line in self.daemon.said("cycle finished")
        )  # fmt: skip

    def restart(self, victim: str) -> None:
        """Kill -9, and begin anew."""
        for name in ("web", "theirs", f"new-{self.number}"):
            found = self.get("Deployment" if name == "web" else "ConfigMap", name)
            if found is not None:
                self.uids[name] = found["metadata"]["uid"]
        if victim in ("agent", "both"):
            self.agent.kill()
        if victim in ("hub", "both"):
            self.daemon.kill()
        self.fault(lambda f: f.clear())
        if victim in ("hub", "both"):
            self.daemon = self.pulled.daemon()
        if victim in ("agent", "both"):
            self.agent = self.pulled.agent("m1")

    def converge(self) -> None:
        new, old = f"new-{self.number}", f"new-{self.number - 1}"
        until = self.world.until
        until(lambda: (self.get("ConfigMap", new) or {}).get("data") == {"n": str(self.number)}, f"{new} is there")
        until(lambda: self.get("ConfigMap", old) is None, f"{old} is gone")
        until(lambda: self.listed(new) and not self.listed(old), "the inventory is true")
        until(lambda: self.head in self.world.state().get("state.yaml", ""), "the record is true")
        until(lambda: "outcome: applied" in self.world.state()["state.yaml"], "the roll-out is over")
        web = self.get("Deployment", "web")
        assert web is not None
        assert (web["spec"]["replicas"], web["metadata"]["generation"]) == (1 + self.number, 1 + self.number)
        for name, uid in self.uids.items():
            found = self.get("Deployment" if name == "web" else "ConfigMap", name)
            if not name.startswith("new-") or name == new:
                assert found is not None, name
                assert found["metadata"]["uid"] == uid, f"{name} was made anew"


@pytest.fixture
def story(world: World, faulty: Faulty) -> Iterator[Story]:
    made = Story(world, faulty)
    with contextlib.closing(made.pulled):
        made.begin()
        yield made


def before_the_intention(story: Story) -> None:
    story.fault(lambda f: f.fail(500, verb="patch", resource="configmaps", namespace="gitfed-system"))
    story.push()
    story.world.until(story.planned, "the list is handed over")


def between_intention_and_write(story: Story) -> None:
    for resource in ("configmaps", "deployments"):
        story.fault(lambda f, resource=resource: f.fail(500, verb="patch", resource=resource, namespace="shop"))  # type: ignore[misc]
    story.push()
    story.world.until(lambda: story.listed(f"new-{story.number}"), "the intention")


def between_write_and_answer(story: Story) -> None:
    for resource in ("configmaps", "deployments"):
        story.fault(lambda f, resource=resource: f.cut(verb="patch", resource=resource, namespace="shop"))  # type: ignore[misc]
    story.push()
    story.world.until(lambda: story.get("ConfigMap", f"new-{story.number}"), "the write")


def between_deletion_and_answer(story: Story) -> None:
    story.fault(lambda f: f.cut(verb="delete", resource="configmaps", namespace="shop"))
    story.push()
    story.world.until(lambda: story.get("ConfigMap", f"new-{story.number - 1}") is None, "the deletion")


@pytest.mark.parametrize(
    "step", [before_the_intention, between_intention_and_write, between_write_and_answer, between_deletion_and_answer]
)
def test_kill_9_of_agent_or_hub_at_a_step_of_a_roll_out(story: Story, step: Callable[[Story], None]) -> None:
    for victim in ("hub", "agent", "both"):
        step(story)
        story.restart(victim)
        story.converge()


def test_a_slice_that_was_sent_and_not_acknowledged_counts_once(story: Story) -> None:
    for victim in ("hub", "agent"):
        story.agent.process.send_signal(signal.SIGSTOP)
        story.push()
        story.world.until(story.planned, "the slice is on its way")
        if victim == "hub":
            story.daemon.kill()
            story.agent.process.send_signal(signal.SIGCONT)
            story.daemon = story.pulled.daemon()
        else:
            story.restart("agent")
        story.converge()


def test_what_was_carried_out_and_not_told_is_not_done_again(story: Story) -> None:
    story.fault(lambda f: f.slow(2.0, verb="patch", resource="configmaps", namespace="shop"))
    story.push()
    story.world.until(lambda: story.listed(f"new-{story.number}"), "the intention")
    story.daemon.process.send_signal(signal.SIGSTOP)
    story.world.until(lambda: story.get("ConfigMap", f"new-{story.number}"), "the write")
    story.restart("hub")
    story.converge()


def test_a_hub_with_an_older_state_branch_deletes_and_doubles_nothing(story: Story) -> None:
    before = _state(story.world)
    story.push()
    story.converge()
    story.push()
    story.converge()
    story.daemon.kill()
    subprocess.run(["git", "-C", str(story.world.bare), "update-ref", "refs/heads/gitfed/state", before], check=True)
    story.restart("agent")
    story.daemon = story.pulled.daemon()
    story.converge()
    story.push()
    story.converge()


def _state(world: World) -> str:
    command = ["git", "-C", str(world.bare), "rev-parse", "gitfed/state"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
