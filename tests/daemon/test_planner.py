"""Planning beside the loop leaves the interpreter as it was."""

from __future__ import annotations

import gc
import sys
from datetime import UTC, datetime

import pytest

from gitfed.daemon import planner
from gitfed.interpret import native
from gitfed.interpret.registry import Interpreter
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import FactsRef, FleetSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from tests.source.trees import tree

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def test_the_planning_thread_gives_way_and_the_interval_is_put_back() -> None:
    before = sys.getswitchinterval()
    assert await planner.aside(sys.getswitchinterval) < before
    assert sys.getswitchinterval() == before


async def test_what_fails_aside_is_raised_and_the_interval_is_put_back() -> None:
    before = sys.getswitchinterval()
    with pytest.raises(ValueError, match="invalid literal"):
        await planner.aside(int, "x")
    assert sys.getswitchinterval() == before


async def test_a_plan_is_the_one_that_build_makes_and_the_collector_works_afterwards() -> None:
    repo = source.read(tree({"gitfed.yaml": "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: f}\n"}))
    fleet, interpreter = FleetSnapshot(FactsRef("test"), {}), Interpreter((native.Native(),))
    made = await planner.plan(repo, fleet, Decisions(), interpreter, NOW, build.Memo())
    assert made == build.build(repo, fleet, Decisions(), interpreter, NOW)
    assert gc.isenabled()
