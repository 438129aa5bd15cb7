"""A cluster of 100 dies: what deciding costs for 5,000 bindings, and what rehearsing it costs for 10,000.

Seconds are those of the processor: all of it is one thread that waits for nothing.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bench.scale import MemoryTree, deployment
from gitfed.interpret import native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import (
    ClusterCondition,
    ClusterFacts,
    ClusterLive,
    FactsRef,
    FleetSnapshot,
    LiveObject,
    LiveState,
    Reach,
)
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.planning.ordering import gate
from gitfed.simulation.scenario import ScenarioEvent
from gitfed.simulation.simulation import FailoverSimulation
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache

CLUSTERS, REGIONS, TEAMS = 100, 20, 50
NOW = datetime(2026, 1, 1, tzinfo=UTC)
INTERPRETER = Interpreter((native.Native(),))
PLACEMENTS = (
    "spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]",
    "spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 3}]",
    "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}, "
    "clusterAffinity: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [r%d]}]}}",
)


def files(templates: int) -> dict[str, bytes]:
    """A third in one cluster, a third in three, a third divided over the five of a region."""
    found = {"gitfed.yaml": b"apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: bench}\n"}
    for number in range(CLUSTERS):
        found[f"clusters/{number}.yaml"] = (
            f"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: c{number:03}}}\n"
            f"spec: {{syncMode: Push, region: r{number % REGIONS}}}\n"
        ).encode()
    for team in range(TEAMS):
        placement = PLACEMENTS[team % 3]
        placement = placement % (team % REGIONS) if "%d" in placement else placement
        found[f"policies/{team}.yaml"] = (
            "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\n"
            f"metadata: {{name: all, namespace: team-{team}}}\n"
            f"spec:\n  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment}}]\n  placement: {{{placement}}}\n"
        ).encode()
    for number in range(templates):
        found[f"apps/{number % 100}/{number}.yaml"] = deployment(number)
    return found


def repository(templates: int) -> RepoSnapshot:
    texts = files(templates)
    tree = MemoryTree(Commit("a" * 40), {f"b-{p}": text for p, text in texts.items()}, {p: f"b-{p}" for p in texts})
    return source.read(tree, memory=ReadCache())


def facts(away: Mapping[str, datetime]) -> dict[str, ClusterFacts]:
    found = {}
    for number in range(CLUSTERS):
        name = f"c{number:03}"
        since = away.get(name)
        status = ClusterCondition("Ready", "True" if since is None else "False", "", "", since or NOW)
        found[name] = ClusterFacts(name, Reach.READY if since is None else Reach.UNKNOWN, (status,))
    return found


def observed(plan: Plan) -> LiveState:
    objects: dict[ObjectKey, dict[ClusterName, LiveObject]] = {}
    for key, classes in plan.rendered.items():
        objects[key] = {
            cluster: LiveObject(key, cluster, "u", "1", True, matches=one.digest)
            for one in classes
            for cluster in one.clusters
        }
    return LiveState({name: ClusterLive(name, True) for name in plan.clusters}, objects)


def run() -> list[tuple[str, str]]:
    rows = decisions()
    gc.collect()
    repo = repository(10_000)
    fleet = FleetSnapshot(FactsRef("bench"), facts({}))
    decided = build.build(repo, fleet, Decisions(repository_id="bench"), INTERPRETER, NOW)
    bindings = gate.decisions_to_record(decided, Decisions(), None)
    past = Decisions(bindings=bindings, applied_commit=repo.commit, repository_id="bench", clusters=decided.records)
    stage = FailoverSimulation(repo, fleet, past, INTERPRETER, NOW)
    began = time.process_time()
    story = stage.run([ScenarioEvent(0, "fail", "cluster/c007"), ScenarioEvent(1200, "recover", "cluster/c007")])
    took = time.process_time() - began
    moved = sum(
        1
        for key, one in story.plan.bindings.items()
        if key in story.before and story.before[key].scheduled.shares != one.scheduled.shares
    )
    rows.append(("rehearsal of 10,000 bindings (target ≤ 5 s)", f"{took:.1f} s, {moved} moved"))
    began = time.process_time()
    again = stage.run([ScenarioEvent(0, "fail", "region/r3")])
    rows.append(
        ("a second one of the same repository", f"{time.process_time() - began:.1f} s, {len(again.timeline)} lines")
    )
    return rows


def decisions() -> list[tuple[str, str]]:
    repo, memo = repository(5_000), build.Memo()
    known = Decisions(repository_id="bench")

    def turn(at: datetime, away: Mapping[str, datetime]) -> tuple[Plan, float]:
        nonlocal known
        fleet = FleetSnapshot(FactsRef("bench"), facts(away), live)
        gc.disable()  # as the daemon's planner does
        began = time.process_time()
        plan = build.build(repo, fleet, known, INTERPRETER, at, memo=memo)
        took = time.process_time() - began
        gc.freeze()
        gc.enable()
        found = gate.decisions_to_record(plan, known, live)
        known = replace(known, bindings=found, clusters=plan.records, outage=plan.outage, applied_commit=repo.commit)
        return plan, took

    live: LiveState | None = LiveState({}, {})
    plan, _ = turn(NOW, {})
    live = observed(plan)
    turn(NOW, {})
    _, quiet = turn(NOW + timedelta(minutes=1), {})
    dead = {"c007": NOW + timedelta(minutes=2)}
    _, closed = turn(NOW + timedelta(minutes=2), dead)
    _, tainted = turn(NOW + timedelta(minutes=7), dead)
    before = {key: one.scheduled.shares for key, one in known.bindings.items()}
    _, left = turn(NOW + timedelta(minutes=12), dead)
    moved = sum(1 for key, one in known.bindings.items() if before[key] != one.scheduled.shares)
    return [
        ("5,000 bindings: a cycle without news", f"{1000 * quiet:.0f} ms"),
        ("5,000 bindings: a cluster is closed for new work", f"{1000 * closed:.0f} ms"),
        ("5,000 bindings: the taint is decided (target ≤ 1 s)", f"{1000 * tainted:.0f} ms"),
        ("5,000 bindings: work leaves the cluster (target ≤ 1 s)", f"{1000 * left:.0f} ms, {moved} moved"),
    ]
