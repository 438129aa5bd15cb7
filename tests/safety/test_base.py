"""Which commit may become the base, the one that decides about the next: never one that the gate `history` holds."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.shop import BASE, image
from tests.e2e.world import World, deployment

pytestmark = pytest.mark.e2e


def test_a_commit_is_no_base_while_the_gate_history_holds(world: World) -> None:
    first = world.push(BASE)
    base = world.push({"apps/web.json": deployment("web", image="nginx:1.28")})
    world.apply()
    world.git("reset", "-q", "--hard", first)
    other = world.push({"apps/web.json": deployment("web", image="evil:1")}, force=True)
    held = world.apply(check=False)
    assert held.returncode == 5
    assert json.loads((world.data / "accepted.json").read_text())["commit"] == base
    found = re.search(r"^To let it through: gitfed apply --confirm (\w{64})$", held.stderr, re.MULTILINE)
    assert found
    world.apply("--confirm", found[1])
    assert image(world, "web", "m1") == "evil:1"
    assert json.loads((world.data / "accepted.json").read_text())["commit"] == other
