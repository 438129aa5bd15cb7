"""Scheduling alone: 5,000 bindings on 100 clusters of 50 nodes, counted node by node, one core, from memory.

No file is read and nothing is rendered here: that is `scale`. Half of the policies divide by room (dynamic weights and
Aggregated), the others by static weights or not at all, and one in ten chooses clusters by region. Every node has
another amount free, and every workload that is placed takes room from the next.
"""

from __future__ import annotations

import gc
import random
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gitfed.interpret import native
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, Digest, ObjectKey, Origin, key_of
from gitfed.model.decisions import Decision
from gitfed.model.declared.federation import Federation
from gitfed.model.declared.policy import Propagation
from gitfed.model.fleet import NodeFacts
from gitfed.model.repo import Manifest
from gitfed.placement.capacity import quota
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling import match
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.planning import bind, contention
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult
from gitfed.planning.schedule_cache import Schedules

CLUSTERS, NODES, BINDINGS, SHAPES, REGIONS = 100, 50, 5_000, 50, 10
NOW = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "duplicated": {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
    "static": {"replicaScheduling": {"replicaSchedulingType": "Divided", "weightPreference": {}}},
    "dynamic": {
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        }
    },
    "aggregated": {
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    },
    "regions": {
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
        "spreadConstraints": [
            {"spreadByField": "region", "minGroups": 2, "maxGroups": 2},
            {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 10},
        ],
    },
}
MIX = ("dynamic", "aggregated", "duplicated", "static", "dynamic",
       "aggregated", "duplicated", "static", "regions", "aggregated")  # fmt: skip


class Fleet(NamedTuple):
    binder: Binder
    capacities: dict[ClusterName, Capacity | None]


def fleet() -> Fleet:
    chance = random.Random(7)
    candidates: list[Candidate] = []
    capacities: dict[ClusterName, Capacity | None] = {}
    for number in range(CLUSTERS):
        name = f"c{number:03}"
        candidates.append(Candidate(name, region=f"r{number % REGIONS}", provider="example"))
        capacities[name] = capacity(chance)
    policies = [
        Propagation.read(
            {
                "apiVersion": "policy.karmada.io/v1alpha1",
                "kind": "PropagationPolicy",
                "metadata": {"name": strategy, "namespace": strategy},
                "spec": {
                    "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
                    "placement": {"clusterAffinity": {}, **placement},
                },
            }
        )
        for strategy, placement in STRATEGIES.items()
    ]
    settings = Federation.read({"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "b"}})
    interpreter = Interpreter((native.Native(),))
    binder = Binder(match.Index(policies), tuple(candidates), interpreter, Schedules(), settings, NOW)
    return Fleet(binder, capacities)


def regional_policies() -> list[Propagation]:
    """Every Deployment by room, in one of the regions."""
    return [
        Propagation.read(
            {
                "apiVersion": "policy.karmada.io/v1alpha1",
                "kind": "PropagationPolicy",
                "metadata": {"name": f"{strategy}-{number:05}", "namespace": strategy},
                "spec": {
                    "resourceSelectors": [
                        {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"app-{name:05}"}
                        for name in range(number, BINDINGS, REGIONS)
                    ],
                    "placement": {
                        "clusterAffinity": {
                            "fieldSelector": {
                                "matchExpressions": [{"key": "region", "operator": "In", "values": [f"r{number}"]}]
                            }
                        },
                        **STRATEGIES["dynamic"],
                    },
                },
            }
        )
        for strategy in STRATEGIES
        for number in range(REGIONS)
    ]


def capacity(chance: random.Random) -> Capacity:
    nodes = tuple(
        NodeFacts(
            f"n{number}",
            {"cpu": "64", "memory": "256Gi", "pods": "500"},
            {"cpu": f"{chance.randrange(32_000)}m", "memory": f"{chance.randrange(128_000)}Mi", "pods": "20"},
            {"kubernetes.io/hostname": f"n{number}", "disk": chance.choice(["ssd", "hdd"])},
        )
        for number in range(NODES)
    )
    whole = {"cpu": str(64 * NODES), "memory": f"{256 * NODES}Gi", "pods": str(500 * NODES)}
    return Capacity({"allocatable": whole, "allocated": {"cpu": str(16 * NODES), "pods": str(20 * NODES)}}, {}, nodes)


def manifests(count: int, shapes: int) -> list[Manifest]:
    found = []
    for number in range(count):
        strategy, shape = MIX[number % len(MIX)], number % shapes
        requests = {"cpu": f"{20 + shape % 50}m", "memory": f"{32_768 + shape}Ki"}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"app-{number:05}", "namespace": strategy},
            "spec": {
                "replicas": number % 3 + 1 if strategy == "duplicated" else number % 40 + 1,
                "template": {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}},
            },
        }
        found.append(Manifest(key_of(body), "apps/v1", body, Origin(f"{number}.yaml"), Digest(str(number))))
    return found


def placed(
    some: list[Manifest], decisions: Mapping[ObjectKey, Decision], here: Fleet, room: contention.CapacityLedger
) -> dict[ObjectKey, PlacementResult]:
    """What a build does to place templates."""
    room.use(here.capacities, here.binder.schedules)
    entries, bounds = [], {}
    for manifest in sorted(some, key=lambda manifest: manifest.key):
        asked = bind.ask(manifest, decisions.get(manifest.key), here.binder)
        assert isinstance(asked, PlacementQuery)
        bound = None if asked.waits else bind.answer(asked, here.binder)
        if bound is not None:
            bounds[manifest.key] = bound
        entries.append(contention.Contender(asked, bound))
    quotas = quota.Ledger.of(())
    return bounds | contention.place(entries, here.binder, room, quotas, None, None)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """CPU time, with the collector paused as the daemon does while it plans."""
    gc.collect()
    gc.disable()
    before = time.process_time()
    result = work()
    took = time.process_time() - before
    gc.enable()
    return result, took


def cold(count: int, shapes: int) -> tuple[dict[ObjectKey, PlacementResult], float]:
    some, here = manifests(count, shapes), fleet()
    return timed(lambda: placed(some, {}, here, contention.CapacityLedger()))


def is_placed(bound: PlacementResult) -> bool:
    condition = bound.binding.scheduled.condition
    return condition is not None and condition.status


def run() -> list[tuple[str, str]]:
    import gitfed.placement.capacity.fleet_capacity  # noqa: F401  numpy is loaded once in a process

    bounds, few = cold(BINDINGS, SHAPES)
    failed = sum(1 for bound in bounds.values() if not is_placed(bound))
    _, all_differ = cold(BINDINGS, BINDINGS)

    some, here, room = manifests(BINDINGS, SHAPES), fleet(), contention.CapacityLedger()
    bounds = placed(some, {}, here, room)
    decisions = {key: bound.binding.decision for key, bound in bounds.items() if bound.binding.decision is not None}
    key = some[4].key
    changed = replace(some[4], body={**some[4].body, "spec": {**some[4].body["spec"], "replicas": 33}})
    placed([some[4]], decisions, here, room)
    _, one = timed(lambda: placed([changed], {key: decisions[key]}, here, room))
    others = dict(here.capacities)
    others["c000"] = capacity(random.Random(8))
    before = len(here.binder.schedules.answers)
    _, moved = timed(lambda: placed(some, decisions, Fleet(here.binder, others), room))
    again = len(here.binder.schedules.by_room)

    regional = Fleet(replace(here.binder, policies=match.Index(regional_policies()), schedules=Schedules()), others)
    room = contention.CapacityLedger()
    placed(some, {}, regional, room)
    known = len(regional.binder.schedules.by_room)
    placed(some[:1], {}, Fleet(regional.binder, {**others, "c001": capacity(random.Random(9))}), room)
    kept = len(regional.binder.schedules.by_room)

    figures = [
        (f"{BINDINGS} bindings, {SHAPES} requirement shapes (target ≥ 5,000/s)", f"{BINDINGS / few:,.0f}/s"),
        (f"{BINDINGS} bindings, all shapes differ (target ≥ 1,000/s)", f"{BINDINGS / all_differ:,.0f}/s"),
        ("of them not placed", str(failed)),
        ("one changed binding (target ≤ 2 ms)", f"{1000 * one:.2f} ms"),
        ("room of one cluster changed: all bindings asked again", f"{moved:.2f} s"),
        ("… of which placed anew", f"{again} (by themselves: {len(here.binder.schedules.answers) - before})"),
    ]
    figures.append(("policies of one region each: answers by room kept when a cluster changed", f"{kept} of {known}"))
    base = 0.0
    for count in (1_000, 5_000, 10_000, 30_000):
        _, took = cold(count, SHAPES)
        base = base or took / count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures.append((f"{count:,} bindings", f"{took:.2f} s, {took / count / base:.2f} × linear, {peak:.0f} MB"))
    return figures
