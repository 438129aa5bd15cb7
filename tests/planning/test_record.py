"""What a binding says of replicas."""

from __future__ import annotations

from gitfed.model.base import ObjectKey
from tests.e2e.world import policy
from tests.planning.dependants import BASE, MAPS, Story
from tests.planning.stage import WEB


def test_what_has_no_replicas_is_bound_without_a_number() -> None:
    placed = policy("conf", ["a"], MAPS)
    found = Story({**BASE, "p-conf.json": placed}).plan().bindings
    conf = found[ObjectKey("", "ConfigMap", "shop", "conf")]
    assert (found[WEB].scheduled.replicas, conf.scheduled.replicas) == (1, None)
    assert conf.decision is not None
    assert conf.decision.scheduled.replicas is None
