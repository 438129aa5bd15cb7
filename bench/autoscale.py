"""One round of FederatedHPAs: what follows from what 20 clusters told of 1,000 workloads, two pods of each in each."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from gitfed.autoscaling import federated
from gitfed.model.base import ClusterName
from gitfed.model.declared.federated_hpa import FederatedHPA
from gitfed.model.load import ClusterLoad, Load, PodLoad, Reading, Sample

WORKLOADS, CLUSTERS, PODS = 1000, 20, 2
TARGET = 0.5
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def run() -> list[tuple[str, str]]:
    declared = [_declared(number) for number in range(WORKLOADS)]
    loads = [_load(number) for number in range(WORKLOADS)]
    best = min(_round(declared, loads) for _ in range(3))
    return [(f"{WORKLOADS:,} workloads in {CLUSTERS} clusters (target ≤ {TARGET:g} s)", f"{best:.2f} s")]


def _round(declared: list[FederatedHPA], loads: list[Load]) -> float:
    began = time.process_time()
    for one, load in zip(declared, loads, strict=True):
        found = federated.look(one, federated.bounds(one, None), CLUSTERS * PODS, load, None, ())
        federated.record(one, None, found, NOW)
    return time.process_time() - began


def _declared(number: int) -> FederatedHPA:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"web-{number}"}
    return FederatedHPA.read({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": f"web-{number}", "namespace": "shop"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 100},
    })  # fmt: skip


def _load(number: int) -> Load:
    started = NOW - timedelta(hours=1)
    clusters = {}
    for place in range(CLUSTERS):
        names = [f"web-{number}-{place}-{pod}" for pod in range(PODS)]
        samples = {name: Sample(10 + (number * 7 + place) % 150, NOW, 15.0) for name in names}
        pods = tuple(PodLoad(name, "Running", False, "True", started, started) for name in names)
        reading = Reading(samples, dict.fromkeys(names, 100))
        clusters[ClusterName(f"c{place:03}")] = ClusterLoad(PODS, PODS, pods, (reading,))
    return Load(clusters, NOW)
