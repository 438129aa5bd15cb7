"""A repository in memory, and what lint says of it."""

from __future__ import annotations

from collections.abc import Mapping

from gitfed import lint
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Commit
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from tests.planning.stage import START
from tests.planning.tree import Tree


def snapshot(files: Mapping[str, str]) -> RepoSnapshot:
    found = source.read(Tree(dict(files), Commit("1" * 40)))
    assert found.problems == ()
    return found


def planned(repo: RepoSnapshot) -> Plan:
    facts = {name: ClusterFacts(name) for name in repo.clusters}
    fleet = FleetSnapshot(FactsRef("test"), facts, None)
    return build.build(repo, fleet, Decisions(repository_id="r"), Interpreter((Native(),)), START)


def said(files: Mapping[str, str]) -> list[str]:
    repo = snapshot(files)
    return sorted(map(str, lint.check(repo, planned(repo))))
