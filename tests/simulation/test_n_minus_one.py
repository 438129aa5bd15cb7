"""What each cluster would cost if it alone were gone: planning few workloads says what planning all of them would."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.base import Commit
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.repo import RepoSnapshot
from gitfed.simulation import n_minus_one
from gitfed.simulation.capacity_loss import Loss
from gitfed.simulation.simulation import FailoverSimulation
from gitfed.source import repo as source
from tests.e2e.world import cluster, deployment, policy, settings
from tests.planning.stage import DIVIDED, INTERPRETER, ONE, START
from tests.planning.tree import Tree

TWO = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]}
PINNED = {"clusterAffinity": {"clusterNames": ["m1", "m2"]}}
BY_ROOM = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}
PINNED_TO_ONE = {"clusterAffinity": {"clusterNames": ["m3"]}}
PLACEMENTS: dict[str, Any] = {
    "one": ONE, "divided": DIVIDED, "two": TWO, "pinned": PINNED, "room": BY_ROOM, "alone": PINNED_TO_ONE,
    "everywhere": {},
}  # fmt: skip


def mixed(**federation: Any) -> RepoSnapshot:
    """A namespace for each way to be placed, with three workloads in it."""
    files: dict[str, str] = {"gitfed.json": settings(**federation)}
    for name, placement in PLACEMENTS.items():
        for replicas in (1, 4, 9):
            files[f"{name}/{replicas}.json"] = deployment(f"web-{replicas}", replicas=replicas, namespace=name)
        failover = {"failover": {"cluster": {"purgeMode": "Directly"}}} if name == "two" else {}
        files[f"policies/{name}.json"] = policy(name, None, namespace=name, placement=placement, **failover)
    for number in range(1, 6):
        files[f"clusters/m{number}.json"] = cluster(f"m{number}", region="r1" if number < 3 else f"r{number}")
    return source.read(Tree(files, Commit("1" * 40)))


def costs(repo: RepoSnapshot, pods: int) -> dict[str, list[Loss]]:
    summary = {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": str(pods)}, "allocated": {}}
    facts = {name: ClusterFacts(name, resource_summary=summary) for name in repo.clusters}
    stage = FailoverSimulation(repo, FleetSnapshot(FactsRef("test"), facts), Decisions(), INTERPRETER, START)
    return dict(stage.each_alone())


@pytest.mark.parametrize("pods", [5, 20, 200])
def test_planning_those_at_risk_says_what_planning_all_would(monkeypatch: pytest.MonkeyPatch, pods: int) -> None:
    few = costs(mixed(), pods)
    assert {loss.key.namespace for loss in few["cluster/m3"]} >= {"alone"}
    monkeypatch.setattr(n_minus_one._Risks, "planned_with", lambda self, at_risk: None)
    monkeypatch.setattr(n_minus_one._Risks, "_is_safe", lambda self, binding, names: False)
    assert costs(mixed(), pods) == few


def test_how_many_may_leave_in_a_minute_does_not_matter() -> None:
    paced = mixed(failover={"maxEvictionsPerMinute": 1})
    assert costs(paced, 200) == costs(mixed(), 200)


def test_where_workloads_are_tied_together_all_are_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    always = n_minus_one.build.build
    monkeypatch.setattr(
        n_minus_one.build,
        "build",
        lambda repo, *rest, **given: seen.append(len(repo.manifests)) or always(repo, *rest, **given),
    )
    costs(mixed(), 200)
    few, seen[:] = list(seen), []
    own = policy("tied", None, namespace="tied", propagateDeps=True)
    files = {"gitfed.json": settings(), "web.json": deployment("web", namespace="tied"), "other.json": deployment("b"),
             "policy.json": own, "pinned.json": policy("pinned", ["m1"])}  # fmt: skip
    files |= {f"clusters/m{number}.json": cluster(f"m{number}") for number in range(1, 4)}
    costs(source.read(Tree(files, Commit("1" * 40))), 200)
    assert few[0] == 21
    assert max(few[1:]) < 21
    assert set(seen) == {2}
