"""When FederatedHPAs look, whom a round asks, and what becomes of what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from gitfed.daemon.autoscaling.rounds import Rounds
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.model.base import ClusterName, Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.load import ClusterLoad, LoadQuestion
from gitfed.model.scaling import AutoscalerRecord, Scale
from gitfed.planning import build
from gitfed.source import repo as source
from tests.autoscaling import test_federated as loads
from tests.autoscaling.recorded import NOW
from tests.e2e.world import cluster, deployment, policy, settings
from tests.planning.stage import DIVIDED, INTERPRETER
from tests.planning.tree import Tree

HPA = ObjectKey("autoscaling.karmada.io", "FederatedHPA", "shop", "web")
WEB = ObjectKey("apps", "Deployment", "shop", "web")


class Clusters:
    """A fleet that is asked; each of its clusters has one pod of the workload, which uses `used`."""

    def __init__(self, used: int = 90) -> None:
        self.used, self.silent, self.replicas = used, frozenset[str](), 1
        self.asked: list[Mapping[ClusterName, Sequence[LoadQuestion]]] = []

    async def load(
        self, questions: Mapping[ClusterName, Sequence[LoadQuestion]]
    ) -> Mapping[ClusterName, Mapping[ObjectKey, ClusterLoad]]:
        self.asked.append(questions)
        seen = loads.cluster(1, self.used, replicas=self.replicas)
        return {
            name: {one.target: seen for one in asked} for name, asked in questions.items() if name not in self.silent
        }


class Daemon:
    """What a daemon knows, and what its rounds say."""

    def __init__(self, clusters: Clusters, **records: AutoscalerRecord) -> None:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        cpu: dict[str, Any] = {"metadata": {"name": "web", "namespace": "shop"}, "kind": "FederatedHPA"}
        spec = {"scaleTargetRef": target, "maxReplicas": 10, "metrics": [loads.CPU]}
        files = {
            "gitfed.json": settings(), "web.json": deployment("web", replicas=2), "m1.json": cluster("m1"),
            "m2.json": cluster("m2"), "policy.json": policy("web", None, placement=DIVIDED),
            "load.json": json.dumps({"apiVersion": "autoscaling.karmada.io/v1alpha1", **cpu, "spec": spec}),
        }  # fmt: skip
        self.repo = source.read(Tree(files, Commit("1" * 40)))
        self.decisions = Decisions(autoscalers={one.key: one for one in records.values()})
        facts = FleetSnapshot(FactsRef("test"), {name: ClusterFacts(name) for name in self.repo.clusters})
        self.plan = build.build(self.repo, facts, self.decisions, INTERPRETER, NOW)
        self.now, self.woken = NOW, 0
        self.rounds = Rounds(cast(Fleet, clusters), lambda: None, self._time, self._wake)

    async def turn(self) -> Mapping[ObjectKey, AutoscalerRecord]:
        await self.rounds._round(self.repo, self.plan, self.decisions)
        return self.rounds.take_over(self.decisions)

    def _time(self) -> datetime:
        return self.now

    def _wake(self) -> None:
        self.woken += 1


def decided(replicas: int, at: datetime) -> AutoscalerRecord:
    return AutoscalerRecord(HPA, WEB, "apps/v1", decided=Scale(replicas, at=at))


async def test_a_round_asks_each_cluster_once_about_what_runs_there() -> None:
    clusters = Clusters()
    await Daemon(clusters).turn()
    [asked] = clusters.asked
    assert {name: [one.target for one in questions] for name, questions in asked.items()} == {"m1": [WEB], "m2": [WEB]}
    assert [one["type"] for one in asked[ClusterName("m1")][0].metrics] == ["Resource"]


async def test_what_a_look_decides_is_handed_over_once_and_wakes_the_daemon() -> None:
    daemon = Daemon(Clusters(used=90))
    looks = await daemon.turn()
    found = looks[HPA].decided
    assert found is not None
    assert (found.replicas, found.why, daemon.woken) == (4, "cpu is 90%, 50% is wanted", 1)
    assert daemon.rounds.take_over(daemon.decisions) == {}


async def test_a_look_counts_for_nothing_while_the_state_is_not_known() -> None:
    daemon = Daemon(Clusters())
    daemon.decisions = replace(daemon.decisions, known=False)
    assert await daemon.turn() == {}


async def test_pods_on_their_way_are_waited_for_a_minute_at_most() -> None:
    daemon = Daemon(Clusters(used=90), web=decided(4, NOW))
    assert await daemon.turn() == {}, "the clusters have one replica each, two were decided"
    daemon.now = NOW + timedelta(seconds=61)
    assert (await daemon.turn())[HPA].status is not None


async def test_a_cluster_that_does_not_answer_is_no_reason_to_scale_down() -> None:
    clusters = Clusters(used=10)
    daemon = Daemon(clusters)
    clusters.silent = frozenset({"m1", "m2"})
    status = (await daemon.turn())[HPA].status
    assert status is not None
    assert (status.desired, status.conditions[0].message) == (2, "no cluster has replicas of it; m1: it did not answer")
