"""What a person sees in a cluster after the next cycle."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.world import World


def looked(world: World) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The totals and the changes of `plan --live`."""
    options = ("--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "--live", "-o", "json")
    shown = json.loads(world.gitfed("plan", *options).stdout)
    return shown["totals"], shown["changes"]
