"""Failovers on a virtual clock, as `gitfed simulate` plays them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitfed.cli.output import plain
from gitfed.cli.output import simulation as output
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.plan import Action
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.recorded_facts import Thresholds
from gitfed.planning.lazy_manifests import Rendering
from gitfed.simulation import simulation
from gitfed.simulation.scenario import ScenarioEvent
from gitfed.simulation.simulation import FailoverSimulation, SimulationResult
from gitfed.source import repo as source
from tests.e2e.world import cluster, deployment, policy, settings
from tests.planning.hours import hours
from tests.planning.stage import DIVIDED, INTERPRETER, ONE, START
from tests.planning.tree import Tree


def repo(clusters: int = 4, placement: Any = ONE, replicas: int = 4, **spec: Any) -> RepoSnapshot:
    files = {"gitfed.json": settings(**spec.pop("federation", {})), "web.json": deployment("web", replicas=replicas),
             **spec.pop("files", {}),
             "policy.json": policy("web", None, placement=dict(placement), **spec)}  # fmt: skip
    for number in range(1, clusters + 1):
        files[f"clusters/m{number}.json"] = cluster(f"m{number}", region="r1" if number < 3 else f"r{number}")
    return source.read(Tree(files, Commit("1" * 40)))


def rehearse(repository: RepoSnapshot, **options: Any) -> FailoverSimulation:
    facts = {name: ClusterFacts(name) for name in repository.clusters}
    return FailoverSimulation(repository, FleetSnapshot(FactsRef("test"), facts), Decisions(), INTERPRETER, START,
                     simulation.SimulationOptions(**options))  # fmt: skip


def lines(story: SimulationResult, kind: str = "") -> list[str]:
    return [f"{one.after:g} {one.text}" for one in story.timeline if not kind or one.kind == kind]


def test_a_cluster_fails_and_comes_back() -> None:
    story = rehearse(repo()).run([ScenarioEvent(0, "fail", "cluster/m1"), ScenarioEvent(1200, "recover", "cluster/m1")])
    taint = "cluster.karmada.io/unreachable:NoExecute"
    assert lines(story) == [
        "0 cluster/m1: fails",
        "30 cluster m1 does not answer since 2026-03-01T12:00:30Z (ClusterNotReachable: it was told to fail)",
        f"330 cluster m1 gets the taint {taint} (failover)",
        f"630 Deployment.apps/shop/web leaves m1 (Gracefully, TaintUntolerated: taint {taint} since "
        "2026-03-01T12:05:30Z)",
        f"630 Deployment.apps/shop/web → m2:4 (leaves m1: taint {taint} since 2026-03-01T12:05:30Z by "
        "PropagationPolicy/shop/web)",
        "630 Namespace/shop created in m2",
        "630 Deployment.apps/shop/web created in m2",
        "660 Deployment.apps/shop/web has left m1: its copy there may go",
        "1200 cluster/m1: comes back",
        "1200 Deployment.apps/shop/web deleted in m1",
        "1200 Deployment.apps/shop/web is gone from m1",
        "1200 Namespace/shop deleted in m1",
        "1230 cluster m1 is ready again since 2026-03-01T12:20:30Z",
        f"1230 cluster m1 loses the taint {taint} (failover)",
    ]
    assert (story.pending, story.on_recovery, story.losses) == ((), (), ())


def test_a_failure_shorter_than_the_threshold_is_not_noticed() -> None:
    story = rehearse(repo()).run([ScenarioEvent(1, "fail", "cluster/m1"), ScenarioEvent(35, "recover", "cluster/m1")])
    assert lines(story, "decision") == []


@pytest.mark.parametrize(("failure", "success"), [(25.0, 13.0), (0.7, 0.1), (10.0, 10.0)])
def test_a_change_is_believed_when_its_threshold_is_over_and_not_at_the_next_look(
    failure: float, success: float
) -> None:
    """The look at ten seconds shows it, and the one at 1200 that it is over."""
    rehearsed = rehearse(repo(), thresholds=Thresholds(failure, success))
    story = rehearsed.run([ScenarioEvent(1, "fail", "cluster/m1"), ScenarioEvent(1195, "recover", "cluster/m1")])
    said = {line.split(" ", 1)[1].split(" since")[0]: float(line.split()[0]) for line in lines(story, "decision")}
    assert said["cluster m1 does not answer"] == pytest.approx(10 + failure)
    assert said["cluster m1 is ready again"] == pytest.approx(1200 + success)


def test_what_stays_behind_in_a_cluster_that_does_not_come_back_is_told() -> None:
    story = rehearse(repo()).run([ScenarioEvent(0, "fail", "cluster/m1")])
    assert [(name, key.name) for name, key in story.on_recovery] == [("m1", "web")]


def test_where_nothing_can_take_the_work_it_is_pending_and_short() -> None:
    story = rehearse(repo(clusters=2, placement={"clusterAffinity": {"clusterNames": ["m1"]}})).run(
        [ScenarioEvent(0, "fail", "cluster/m1")]
    )
    assert [(loss.running, loss.wanted) for loss in story.losses] == [(0, 4)]
    assert any("should leave m1, and nothing can take it" in text for _, text in story.pending)


def test_a_region_that_is_most_of_the_fleet_moves_nothing() -> None:
    story = rehearse(repo(clusters=3)).run([ScenarioEvent(0, "fail", "region/r1")])
    assert "we are probably cut off" in lines(story, "decision")[0]
    assert [text for _, text in story.pending] == [
        "so many clusters at once are not ready that nothing is evicted from them"
    ]


def test_a_taint_drains_and_two_things_may_happen_at_once() -> None:
    story = rehearse(repo()).run(
        [ScenarioEvent(0, "taint", "cluster/m1", ("drain", "", "NoExecute")), ScenarioEvent(0, "fail", "cluster/m2")]
    )
    assert lines(story)[:2] == ["0 cluster/m1: gets the taint drain:NoExecute", "0 cluster/m2: fails"]
    assert [share.cluster for share in next(iter(story.plan.bindings.values())).scheduled.shares] != ["m1"]
    assert [change for change in story.plan.changes or () if change.action is Action.CREATE] == []


def test_a_target_that_is_nowhere_is_refused() -> None:
    with pytest.raises(KeyError, match="cluster/nowhere"):
        rehearse(repo()).run([ScenarioEvent(0, "fail", "cluster/nowhere")])


def test_every_cluster_and_every_region_alone() -> None:
    found = list(rehearse(repo(clusters=5, placement=DIVIDED)).each_alone())
    assert [target for target, _ in found] == [*(f"cluster/m{number}" for number in range(1, 6)), "region/r1"]
    assert all(losses == [] for _, losses in found)
    pinned = rehearse(repo(placement={"clusterAffinity": {"clusterNames": ["m1"]}})).each_alone()
    assert {target for target, losses in pinned if losses} == {"cluster/m1", "region/r1"}


def test_a_purge_that_waits_for_a_dead_cluster_costs_the_workload() -> None:
    failover = {"cluster": {"purgeMode": "Directly"}}
    found = dict(rehearse(repo(failover=failover, propagateDeps=True)).each_alone())
    [loss] = found["cluster/m1"]
    assert (loss.running, loss.why) == (0, "waits for the confirmed deletion in m1")


def test_the_same_rehearsal_twice_is_the_same_story() -> None:
    stage = rehearse(repo())
    events = [
        ScenarioEvent(0, "fail", "cluster/m1"),
        ScenarioEvent(700, "fail", "cluster/m2"),
        ScenarioEvent(900, "recover", "cluster/m1"),
    ]
    assert stage.run(events) == stage.run(events)


def override(rules: list[Any]) -> dict[str, Any]:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": {"name": "rules"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "overrideRules": rules},
    }  # fmt: skip


DRAIN = ("drain", "", "NoExecute")
FAILING = {"plaintext": [{"path": "/spec/nowhere/inside", "operator": "replace", "value": 1}]}
FIXED = {"plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 7}]}


@pytest.mark.parametrize(
    ("placement", "overriders", "clusters"),
    [
        (ONE, FIXED, ["m1", "m2", "m3"]), (ONE, FIXED, ["m4"]), (ONE, FAILING, ["m2", "m3"]),
        (DIVIDED, FIXED, ["m1", "m2", "m3"]), (DIVIDED, FIXED, ["m4"]), ({}, FIXED, ["m2"]), ({}, {}, []),
    ],
    ids=[
        "one cluster, replicas fixed in most", "one cluster, replicas fixed in another", "fails where work goes",
        "divided, replicas fixed in most", "divided, replicas fixed in one", "everywhere, fixed in one", "everywhere",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "events",
    [
        [ScenarioEvent(0, "fail", "cluster/m1"), ScenarioEvent(1200, "recover", "cluster/m1")],
        [
            ScenarioEvent(0, "fail", "cluster/m1"), ScenarioEvent(700, "fail", "cluster/m2"),
            ScenarioEvent(1300, "recover", "cluster/m1"),
        ],
        [ScenarioEvent(0, "taint", "cluster/m1", DRAIN), ScenarioEvent(60, "taint", "cluster/m2", DRAIN)],
    ],
    ids=["fails and comes back", "one after the other", "tainted"],
)  # fmt: skip
def test_manifests_that_are_made_when_they_matter_tell_the_same_story(
    monkeypatch: pytest.MonkeyPatch, placement: Any, overriders: Any, clusters: list[str], events: list[ScenarioEvent]
) -> None:
    rules = [{"targetCluster": {"clusterNames": clusters}, "overriders": overriders}]
    repository = repo(placement=placement, files={"override.json": json.dumps(override(rules))})
    assert not repository.problems
    seldom = rehearse(repository).run(events)
    monkeypatch.setattr(simulation, "_rendering", Rendering)
    told = rehearse(repository).run(events)
    assert seldom.timeline == told.timeline
    assert (seldom.losses, seldom.on_recovery) == (told.losses, told.on_recovery)
    assert seldom.plan.bindings == told.plan.bindings


def test_a_decided_object_counts_although_its_override_fails_now_and_else_is_pending() -> None:
    def under(cluster: str) -> SimulationResult:
        rules = [{"targetCluster": {"clusterNames": [cluster]}, "overriders": FAILING}]
        return rehearse(repo(files={"override.json": json.dumps(override(rules))})).run(
            [ScenarioEvent(0, "fail", "cluster/m1")]
        )

    assert [(name, key.name) for name, key in under("m1").on_recovery] == [("m1", "web")]
    [(key, text)] = under("m2").pending
    assert (key.name, text) == (
        "web",
        "m2: override failed: ClusterOverridePolicy/rules: cannot replace /spec/nowhere/inside: /spec/nowhere does not "
        "exist",
    )


def test_the_runs_of_cron_rules_are_foretold_with_what_they_do() -> None:
    files = {"hours.json": hours(("up", "0 13 * * *", 8), ("down", "0 20 * * *", 2))}
    story = rehearse(repo(clusters=2, placement=DIVIDED, files=files), until=24 * 3600.0).run([])
    key = "CronFederatedHPA.autoscaling.karmada.io/shop/hours"
    web = "Deployment.apps/shop/web"
    assert [line for line in lines(story, "decision") if key in line] == [
        f"3600 {key} ran up: {web} gets replicas 8",
        f"28800 {key} ran down: {web} gets replicas 2",
    ]
    placed = [line.partition(" (")[0] for line in lines(story, "decision") if "→" in line]
    assert placed == [f"3600 {web} → m1:4 m2:4", f"28800 {web} → m1:1 m2:1"]
    assert story.falls_due == 25 * 3600.0


def test_an_autoscaler_that_follows_the_load_is_said_to_stand_still() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    declared = {
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "load", "namespace": "shop"}, "spec": {"scaleTargetRef": target, "maxReplicas": 9},
    }  # fmt: skip
    events = [ScenarioEvent(0, "fail", "cluster/m1")]
    story = rehearse(repo(files={"load.json": json.dumps(declared)})).run(events)
    key = ObjectKey("autoscaling.karmada.io", "FederatedHPA", "shop", "load")
    assert story.load_not_played == (key,)
    said = [*output.text(story, plain.Paint(False), quiet=False)]
    assert [line for line in said if line.startswith("Load:")] == [
        "Load:   not played. Replicas stay as decided for shop/FederatedHPA.autoscaling.karmada.io/load."
    ]
    assert not any(line.startswith("Load:") for line in output.text(story, plain.Paint(False), quiet=True))
    assert rehearse(repo()).run(events).load_not_played == ()
