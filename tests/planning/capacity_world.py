"""Workloads that contend for the capacity of a few clusters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.plan import Binding, Plan
from gitfed.planning import build
from gitfed.planning.ordering import gate
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.planning.tree import Tree

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


INTERPRETER = Interpreter((Native(),))


ZERO = Decisions(repository_id="r")


def workload(name: str, replicas: int, cpu: str = "1", *, namespace: str = "shop", **labels: str) -> Body:
    container = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name, **labels}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def policy(name: str, targets: Sequence[str], division: Mapping[str, Any] | None = None, **spec: Any) -> Body:
    placement = {"spreadConstraints": spec.pop("spread", []), **spec.pop("placement", {})}
    if division is not None:
        placement["replicaScheduling"] = division
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": target} for target in targets]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"resourceSelectors": spec.pop("selectors", selectors), "placement": placement, **spec},
    }


def quota(cpu: str, **assigned: str) -> Body:
    listed = [{"clusterName": name, "hard": {"cpu": amount}} for name, amount in assigned.items()]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "FederatedResourceQuota",
        "metadata": {"name": "all", "namespace": "shop"},
        "spec": {"overall": {"cpu": cpu}, "staticAssignments": listed},
    }


@dataclass
class World:
    """A repository and the facts of its clusters, and the plan that follows."""

    objects: Sequence[Body]
    rooms: Mapping[str, str | ClusterFacts | None]
    decisions: Decisions = ZERO
    now: datetime = NOW
    taken_at: datetime | None = None
    interpreter: Interpreter = INTERPRETER
    commit: str = "1"
    faulty: bool = False
    """Errors of the repository are what the test is about."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    memory: ReadCache = field(default_factory=ReadCache)
    """Unchanged files give the same objects again, as they do in a daemon."""

    def plan(self, memo: build.Memo | None = None) -> Plan:
        files = {"gitfed.json": json.dumps({"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation",
                                            "metadata": {"name": "acme"},
                                            "spec": {"featureGates": dict(self.gates)}})}  # fmt: skip
        for name in self.rooms:
            spec = {"syncMode": "Push", "region": name}
            body = {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": name},
                "spec": spec,
            }
            files[f"clusters/{name}.json"] = json.dumps(body)
        for index, body in enumerate(self.objects):
            files[f"objects/{index:03}.json"] = json.dumps(body)
        repo = source.read(Tree(files, Commit(self.commit * 40)), memory=self.memory)
        assert self.faulty or not [problem for problem in repo.problems if problem.severity == "error"]
        facts = {
            name: room if isinstance(room, ClusterFacts) else facts_of(name, room) for name, room in self.rooms.items()
        }
        fleet = FleetSnapshot(FactsRef("test", taken_at=self.taken_at), facts)
        return build.build(repo, fleet, self.decisions, self.interpreter, self.now, memo=memo)

    def after(self, plan: Plan) -> World:
        """Everything was decided and recorded; the facts are as they were."""
        bindings = gate.decisions_to_record(plan, self.decisions, None)
        return replace(self, decisions=replace(self.decisions, bindings=bindings, applied_commit=plan.commit))


def facts_of(name: str, cpu: str | None) -> ClusterFacts:
    if cpu is None:
        return ClusterFacts(name)
    return ClusterFacts(name, resource_summary={"allocatable": {"cpu": cpu, "pods": "1000"}})


def key(name: str) -> ObjectKey:
    return ObjectKey("apps", "Deployment", "shop", name)


def of(plan: Plan, name: str) -> Binding:
    return plan.bindings[key(name)]


def where(plan: Plan, name: str) -> str:
    return " ".join(f"{share.cluster}={share.replicas}" for share in of(plan, name).scheduled.shares)


def said(plan: Plan) -> list[str]:
    return [problem.message for problem in plan.problems]


CLUSTERS = ["a", "b", "c"]


rooms = st.fixed_dictionaries({name: st.sampled_from(["0", "3", "10", "40", None]) for name in CLUSTERS})
