"""What ends or changes an agent's certificate while a roll-out runs: the cluster leaves, or the next one is due."""

from __future__ import annotations

import base64
import contextlib
import json
import shlex
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests.clusters.faulty import Faulty
from tests.e2e.pulled import Agent, Pulled
from tests.e2e.world import World, config_map, policy, settings
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along")]

MANY = [f"conf-{number}" for number in range(40)]
FILES = {"gitfed.json": settings(), "policy.json": policy("all", None, (("v1", "ConfigMap"),))}
_AGENT = "/api/v1/namespaces/gitfed-system/secrets/gitfed-agent"


def many() -> dict[str, str | None]:
    return {f"apps/{name}.json": config_map(name, {"a": "1"}) for name in MANY}


@pytest.fixture
def pulled(world: World) -> Iterator[Pulled]:
    with contextlib.closing(Pulled(world)) as made:
        yield made


def ours(world: World, cluster: str) -> list[str]:
    return [name for name in world.objects(cluster, "ConfigMap", "shop") if name in MANY]


def half_way(world: World, faulty: Faulty) -> str:
    """One half of it is in m1, the other half is tried again and again. The commit."""
    done, refused = MANY[:20], MANY[20:]
    for name in refused:
        faulty.tell("m1", lambda f, name=name: f.fail(500, verb="patch", resource="configmaps", name=name))
    head = world.push(many())
    world.until(lambda: ours(world, "m1") == sorted(done), "the roll-out is under way")
    return head


def result(world: World, cluster: str) -> tuple[str, str]:
    """What the state branch says of the cluster: for which commit, and how that ended."""
    clusters = yaml.safe_load(world.state().get("state.yaml", "")) or {}
    recorded = clusters.get("clusters", {}).get(cluster, {})
    return recorded.get("commit", ""), recorded.get("outcome", "")


def registered(pulled: Pulled) -> Agent:
    """An agent with what `gitfed register` put into the cluster, as its pod would have it."""
    world = pulled.world
    made = world.gitfed("token", "create", "--print-register-command", "--hub-url", pulled.url,
                        "--data-dir", str(world.data))  # fmt: skip
    words = shlex.split(made.stdout)[1:]
    by = ("--cluster-name", "m1", "--cluster-kubeconfig", str(world.kubeconfig))
    world.gitfed(*words, *by, "--commit")
    world.git("push", "-q", "origin", "main")
    folder = world.directory / "credentials-m1"
    folder.mkdir()
    for file, content in world.ask("m1", "GET", _AGENT)["data"].items():
        (folder / file).write_bytes(base64.b64decode(content))
    return begun(pulled, folder)


def begun(pulled: Pulled, folder: Path) -> Agent:
    agent = Agent(pulled.world, pulled.url, folder, "m1", len(pulled.agents))
    pulled.agents.append(agent)
    return agent


def test_a_cluster_that_unregisters_in_the_middle_of_a_roll_out_keeps_nothing(
    world: World, faulty: Faulty, pulled: Pulled
) -> None:
    world.git("config", "user.name", "Test")
    world.git("config", "user.email", "test@example.com")
    world.push({**FILES, **pulled.clusters(["m2"])})
    pulled.agent("m2")
    daemon = pulled.daemon()
    world.until(lambda: daemon.said("the hub listens"), "the hub")
    agent = registered(pulled)
    world.until(lambda: "connected to the hub" in agent.text(), "the agent of m1")
    half_way(world, faulty)
    # Its pod takes its time to go: the process is there until after everything was taken away.
    left = world.gitfed(
        "unregister", "m1", "--cluster-kubeconfig", str(world.kubeconfig), "--delete-objects", "--commit"
    )
    assert left.stdout == "cluster(m1) is unregistered\n"
    assert ours(world, "m1") == []
    faulty.tell("m1", lambda f: f.clear())
    world.until(lambda: "the hub does not accept this certificate" in agent.text(), "its certificate is over")
    over = datetime.now(UTC)
    world.until(lambda: datetime.now(UTC) - over > timedelta(seconds=4), "time enough to repair what is not ours")
    assert ours(world, "m1") == []
    assert not inventories(world, "m1")
    assert agent.stop() == 0
    world.git("push", "-q", "origin", "main")
    world.until(lambda: ours(world, "m2") == sorted(MANY), "the other cluster has it all")
    world.until(lambda: "clusters/m1.yaml" not in world.state(), "the daemon forgets it")
    assert ours(world, "m1") == []
    assert daemon.stop() == 0


def inventories(world: World, cluster: str) -> list[str]:
    return [name for name in world.objects(cluster, "ConfigMap", "gitfed-system") if "inventory" in name]


def test_a_certificate_renewed_during_a_roll_out_loses_and_doubles_nothing(
    world: World, faulty: Faulty, pulled: Pulled
) -> None:
    world.push({**FILES, **pulled.clusters(["m1"])})
    daemon = pulled.daemon()
    world.until(lambda: daemon.said("the hub listens"), "the hub")
    folder = pulled.credentials("m1", timedelta(seconds=100))  # so little that the next one is due at once
    old = shutil.copytree(folder, world.directory / "old")
    agent = begun(pulled, folder)
    world.until(lambda: "the agent's certificate is renewed" in agent.text(), "the next certificate is there")
    head = half_way(world, faulty)
    before = agent.text().count("connected to the hub")
    daemon.kill()
    again = pulled.daemon()
    world.until(lambda: agent.text().count("connected to the hub") > before, "the new one is shown")
    faulty.tell("m1", lambda f: f.clear())
    # Before it there was a commit without objects, which may be recorded as applied, too.
    world.until(lambda: result(world, "m1") == (head, "applied"), "the roll-out is over")
    assert ours(world, "m1") == sorted(MANY)
    lines = [json.loads(line) for line in agent.text().splitlines() if '"object written"' in line]
    written = [line["object"] for line in lines if line["object"].startswith("ConfigMap/shop/")]
    assert sorted(written) == sorted(f"ConfigMap/shop/{name}" for name in MANY)
    late = begun(pulled, old)
    world.until(lambda: "the hub does not accept this certificate" in late.text(), "the old one is over")
    assert agent.stop() == 0
    assert again.stop() == 0
