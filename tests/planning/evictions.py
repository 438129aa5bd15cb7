"""Failover in memory: what is evicted, at once or gracefully."""

from __future__ import annotations

from typing import Any

from tests.planning.stage import Stage

DIRECTLY = {"cluster": {"purgeMode": "Directly"}}


def evicted(**options: Any) -> Stage:
    """m1 died at 35 s and its work has just been evicted to m2."""
    stage = Stage(**options)
    stage.turn()
    assert stage.where == "m1=2"
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stage.at(635)
    return stage
