"""A fleet on a virtual clock: builds, records and carries out, as the daemon does, and nothing happens by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gitfed.documents import autoscalers, bindings
from gitfed.errors import SourceError
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, Commit, ObjectKey
from gitfed.model.decisions import Decision, Decisions, EvictionTask
from gitfed.model.fleet import (
    ClusterCondition,
    ClusterFacts,
    ClusterLive,
    FactsRef,
    FleetSnapshot,
    Health,
    InventoryEntry,
    LiveObject,
    LiveState,
    Reach,
)
from gitfed.model.plan import Action, Binding, Plan
from gitfed.planning import build
from gitfed.planning.ordering import gate
from gitfed.source import repo as source
from gitfed.source.last_good import Earlier
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, deployment, policy, settings
from tests.planning.tree import Tree

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")
DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}
ONE = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
"""One cluster of several: a failover has somewhere to go."""
INTERPRETER = Interpreter((Native(),))


class Stage:
    """`at(seconds)` sets the clock; `turn()` is one cycle: build, record, carry out where clusters answer.

    New copies are healthy at once unless `slow` names their cluster.
    """

    def __init__(
        self,
        clusters: int = 4,
        files: Mapping[str, str] | None = None,
        *,
        placement: Mapping[str, Any] | None = None,
        replicas: int = 2,
        failover: Mapping[str, Any] | None = None,
        spec: Mapping[str, Any] | None = None,
        **federation: Any,
    ) -> None:
        self.names = [f"m{number}" for number in range(1, clusters + 1)]
        extra = {"failover": failover, "propagateDeps": True} if failover is not None else {}
        self.files = {
            "gitfed.json": settings(**federation),
            **{f"clusters/{name}.json": cluster(name, region=f"r-{name}") for name in self.names},
            "web.json": deployment("web", replicas=replicas),
            "policy.json": policy("web", None, placement=dict(ONE if placement is None else placement), **extra,
                                  **(spec or {})),
            **(files or {}),
        }  # fmt: skip
        self.now = START
        self.reach = dict.fromkeys(self.names, Reach.READY)
        self.since = dict.fromkeys(self.names, START)
        self.more: dict[str, dict[str, str]] = {}
        """Other conditions by cluster."""
        self.summaries: dict[str, Any] = {}
        """What clusters say of their room."""
        self.refusing: set[str] = set()
        """Clusters that are well and refuse every write."""
        self.objects: dict[ObjectKey, dict[str, LiveObject]] = {}
        self.bodies: dict[tuple[ObjectKey, str], Body] = {}
        self.slow: set[str] = set()
        self.status: dict[str, Any] = {}
        """What copies in a cluster report; `healthy` likewise."""
        self.healthy: dict[str, bool | None] = {}
        self.decisions = Decisions(repository_id="r")
        self.memo: build.Memo | None = build.Memo()
        self.memory = ReadCache()
        self.plan: Plan | None = None
        self.may_be_broken = False
        """Whether files may have errors."""
        self.good: dict[str, str] = {}
        """Path → the text of the commit that was applied, for files that have errors now."""
        self.forgotten = False
        """Whether nobody can tell what stood in the commit that was applied."""
        self.log: list[str] = []

    # -- what happens -------------------------------------------------------------------------------------------

    def at(self, seconds: float) -> Stage:
        self.now = START + timedelta(seconds=seconds)
        return self

    def fail(self, *names: str, how: Reach = Reach.UNKNOWN) -> Stage:
        for name in names:
            self.reach[name], self.since[name] = how, self.now
        return self

    def recover(self, *names: str) -> Stage:
        return self.fail(*names, how=Reach.READY)

    def restart(self) -> Stage:
        """Another process: nothing is known but what was written down, in the form in which it was written."""
        self.memo = build.Memo()
        documents = [bindings.to_document(one) for one in self.decisions.bindings.values()]
        found = [bindings.from_document(json.loads(json.dumps(one))) for one in documents]
        records = [bindings.record_document(one) for one in self.decisions.clusters.values()]
        clusters = {one.name: one for one in map(bindings.record_of, json.loads(json.dumps(records)))}
        scalers = [autoscalers.document(one) for one in self.decisions.autoscalers.values()]
        scaled = {one.key: one for one in map(autoscalers.record_of, json.loads(json.dumps(scalers)))}
        self.decisions = replace(
            self.decisions, bindings={one.key: one for one in found}, clusters=clusters, autoscalers=scaled
        )
        return self

    # -- one cycle ----------------------------------------------------------------------------------------------

    def snapshot(self) -> FleetSnapshot:
        facts = {}
        for name in self.names:
            ready = self.reach[name] is Reach.READY
            status, reason = ("True", "ClusterReady") if ready else ("False", "ClusterNotReachable")
            said = ClusterCondition("Ready", status, reason, "", self.since[name])
            others = [ClusterCondition(kind, status) for kind, status in self.more.get(name, {}).items()]
            facts[name] = ClusterFacts(name, reach=self.reach[name], conditions=(said, *others),
                                       resource_summary=self.summaries.get(name))  # fmt: skip
        live = {name: ClusterLive(name, inventory_read=self.reach[name] is Reach.READY) for name in self.names}
        for copies in self.objects.values():
            for name, copy in copies.items():
                health = Health.IN_PROGRESS if name in self.slow else Health.CURRENT
                well = self.healthy.get(name, True)
                seen = replace(copy, health=health, healthy=well, status=self.status.get(name))
                copies[name] = copy if copy == seen else seen
        return FleetSnapshot(
            FactsRef("test"), facts, LiveState(live, {key: dict(c) for key, c in self.objects.items()})
        )

    def build(self) -> Plan:
        tree = Tree(self.files, Commit("1" * 40))
        repo = source.read(tree, memory=self.memory, earlier=Earlier(last_good=self.last_good, applied=self.applied))
        wrong = [problem for problem in repo.problems if problem.severity == "error"]
        assert self.may_be_broken or not wrong, wrong
        fleet = self.snapshot()
        plan = build.build(repo, fleet, self.decisions, INTERPRETER, self.now, memo=self.memo)
        assert plan == build.build(repo, fleet, self.decisions, INTERPRETER, self.now), "incremental differs from full"
        return plan

    def last_good(self, path: str) -> tuple[Commit, str] | None:
        if self.forgotten:
            raise SourceError("the commit that was applied is gone")
        return (Commit("0" * 40), self.applied(path)) if path in self.good else None

    def applied(self, path: str) -> str:
        return f"{path}\n{self.good[path]}" if path in self.good and not self.forgotten else ""

    def turn(self, times: int = 1) -> Plan:
        for _ in range(times):
            plan = self.plan = self.build()
            self.log += [
                f"{round((self.now - START).total_seconds())} {line}" for line in (*plan.said, *plan.scaling.said)
            ]
            self.record(plan)
            self.carry_out(plan)
        return plan

    def record(self, plan: Plan) -> None:
        found = gate.decisions_to_record(plan, self.decisions, None)
        self.decisions = replace(
            self.decisions,
            bindings=found,
            applied_commit=plan.commit,
            clusters=plan.records,
            outage=plan.outage,
            doubtful=plan.doubtful,
            autoscalers=plan.scaling.records,
        )

    def carry_out(self, plan: Plan) -> None:
        for change in plan.changes or ():
            if self.reach[change.cluster] is not Reach.READY or change.cluster in self.refusing:
                continue
            copies = self.objects.setdefault(change.key, {})
            if change.action is Action.DELETE:
                copies.pop(change.cluster, None)
            elif change.action in (Action.CREATE, Action.UPDATE):
                assert change.write.rendered is not None
                entry = InventoryEntry(change.key, "u", change.write.rendered.binding, change.write.rendered.replicas)
                self.bodies[change.key, change.cluster] = change.write.rendered.body
                copies[change.cluster] = LiveObject(
                    change.key, change.cluster, "u", "7", ours=True, body=None,
                    matches=change.write.rendered.digest, healthy=True, health=Health.CURRENT, entry=entry,
                )  # fmt: skip

    # -- questions ----------------------------------------------------------------------------------------------

    @property
    def decision(self) -> Decision:
        return self.decisions.bindings[WEB]

    @property
    def binding(self) -> Binding:
        assert self.plan is not None
        return self.plan.bindings[WEB]

    @property
    def where(self) -> str:
        return " ".join(f"{share.cluster}={share.replicas}" for share in self.decision.scheduled.shares)

    @property
    def copies(self) -> list[str]:
        return sorted(self.objects.get(WEB, {}))

    @property
    def tasks(self) -> list[str]:
        return [task.from_cluster for task in self.decision.failover.evictions]

    def task(self, cluster: str) -> EvictionTask:
        return next(task for task in self.decision.failover.evictions if task.from_cluster == cluster)

    def taints(self, cluster: str) -> list[str]:
        record = self.decisions.clusters.get(cluster)
        return [str(taint) for taint in record.taints] if record is not None else []

    def problems(self) -> list[str]:
        assert self.plan is not None
        return [problem.message for problem in self.plan.problems]

    def due(self) -> float | None:
        """Seconds from the start until a cycle is due although nothing happens."""
        assert self.plan is not None
        return (self.plan.look_again - START).total_seconds() if self.plan.look_again is not None else None

    def labels(self, cluster: str) -> dict[str, str]:
        body = self.bodies[WEB, cluster]
        return {key: value for key, value in (body["metadata"].get("labels") or {}).items() if "gitfed.io" not in key}
