"""A fleet whose hub and agents are of two versions, as while it is upgraded; the older one is real code of gitfed.

The commit is the last one of version 2 of the protocol, out of the history of this repository.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitfed.agent_protocol import frames
from tests.e2e import worlds
from tests.e2e.pulled import Pulled
from tests.e2e.pulled_shop import ACCESS, FEDERATION, POLICY, config, edit, holds, listed
from tests.e2e.world import World
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs.pushed("it brings its agents along")]

WORLDS = worlds.BOTH[:1]
"""What servers the clusters are makes no difference here."""
_COMMIT, _PROTOCOL = "a9a84ab734404d931df52d1a31882de39d210e49", 2


class Older:
    """gitfed as it was."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def begins(self, world: World) -> Iterator[None]:
        """What begins meanwhile is of the older version."""
        ours = world.environment
        # Safe: else the folder in which the tests run, with the present code, would come first.
        world.environment = {**ours, "PYTHONPATH": str(self._folder), "PYTHONSAFEPATH": "1"}
        try:
            yield
        finally:
            world.environment = ours


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Older:
    repository = Path(__file__).parents[2]
    command = ["git", "-C", str(repository), "archive", "--format=zip", _COMMIT, "gitfed", "interpreters", "schemas"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"needs commit {_COMMIT[:8]}: a clone with its history")
    folder = tmp_path_factory.mktemp("older")
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    return Older(folder)


@pytest.fixture
def pulled(world: World) -> Iterator[Pulled]:
    with contextlib.closing(Pulled(world)) as made:
        yield made


def _files(pulled: Pulled) -> dict[str, str | None]:
    return {
        "federation.yaml": FEDERATION, "policy.yaml": POLICY, "ann.yaml": ACCESS, **pulled.clusters(),
        "a.json": config("a", x="1"),
    }  # fmt: skip


def _all_hold(world: World, name: str, **data: str) -> None:
    for cluster in world.names:
        world.until(lambda cluster=cluster: holds(world, cluster, name, **data), f"{name} in {cluster}")


def _recorded(world: World) -> None:
    world.until(lambda: world.state()["state.yaml"].count("outcome: applied") == 2, "the roll-out recorded")


def _protocols(agents: list[dict[str, Any]]) -> dict[str, int]:
    return {one["cluster"]: one["protocol"] for one in agents if one["state"] == "Connected"}


def _listed_as_then(pulled: Pulled, older: Older) -> list[dict[str, Any]]:
    """By the older hub to its own program: the present one wants to know more of each agent."""
    config, world = pulled.world.directory / "older.conf", pulled.world
    with older.begins(world):
        made = world.gitfed(
            "kubeconfig", "--admin", "--user", "ann", "--data-dir", str(world.data), "--hub-url", pulled.url
        )
        config.write_text(made.stdout)
        told = world.gitfed("get", "agents", "-o", "json", "--server", pulled.url, "--kubeconfig", str(config))
    agents: list[dict[str, Any]] = json.loads(told.stdout)["items"]
    return agents


def test_agents_of_an_earlier_version_are_led_and_replaced_one_by_one(pulled: Pulled, older: Older) -> None:
    assert frames.OLDEST == _PROTOCOL, "the version before is another one now: name its last commit"
    world = pulled.world
    world.push(_files(pulled))
    with older.begins(world):
        before = pulled.agent("m1")
    pulled.agent("m2")
    daemon = pulled.daemon()
    _all_hold(world, "a", x="1")
    _recorded(world)
    assert _protocols(listed(pulled)) == {"m1": _PROTOCOL, "m2": frames.NEWEST}
    edit(world, "m1", "a", x="2")
    world.until(lambda: holds(world, "m1", "a", x="1"), "the older one repairs, too")
    written = world.versions("ConfigMap", "shop", "a")

    assert before.stop() == 0
    pulled.agent("m1")
    world.push({"b.json": config("b", y="1")})
    _all_hold(world, "b", y="1")
    world.until(
        lambda: _protocols(listed(pulled)) == dict.fromkeys(world.names, frames.NEWEST), "both are of this version"
    )
    world.push({"b.json": None})
    world.until(lambda: not any(world.get(one, "ConfigMap", "shop", "b") for one in world.names), "b is gone")
    assert world.versions("ConfigMap", "shop", "a") == written, "nothing was written twice"
    assert daemon.stop() == 0


def test_a_hub_of_an_earlier_version_leads_agents_of_this_one_until_it_is_replaced(
    pulled: Pulled, older: Older
) -> None:
    world = pulled.world
    world.push(_files(pulled))
    for name in world.names:
        pulled.agent(name)
    with older.begins(world):
        before = pulled.daemon()
    _all_hold(world, "a", x="1")
    _recorded(world)
    assert _protocols(_listed_as_then(pulled, older)) == dict.fromkeys(world.names, _PROTOCOL)
    written = world.versions("ConfigMap", "shop", "a")

    assert before.stop() == 0
    daemon = pulled.daemon()
    world.push({"b.json": config("b", y="1")})
    _all_hold(world, "b", y="1")
    world.until(
        lambda: _protocols(listed(pulled)) == dict.fromkeys(world.names, frames.NEWEST), "both speak the newer one"
    )
    assert world.versions("ConfigMap", "shop", "a") == written, "nothing was written twice"
    assert daemon.stop() == 0
