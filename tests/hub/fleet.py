"""A planned fleet made of texts, for what the hub answers."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from gitfed.model.decisions import Decisions
from gitfed.model.fleet import FactsRef, FleetSnapshot
from gitfed.offline import input_files, inputs
from gitfed.planning import build
from tests.hub.stage import Recorded, cluster, policy, snapshot, user

NOW = datetime(2026, 8, 22, 10, 4, tzinfo=UTC)
CLUSTERS = (
    cluster("eu-1", region="eu"),
    cluster("eu-2", region="eu"),
    cluster("us-1", region="us"),
)
ADMIN = policy("admin", subjects=[user("ann")], allow=["view", "operate"])
EUROPE = policy(
    "europe", subjects=[user("bob")], clusters={"labelSelector": {"matchLabels": {"region": "eu"}}},
    namespaces=["shop"], allow=["view"],
)  # fmt: skip
SHOP = policy("shop", subjects=[user("eve")], namespaces=["shop"], allow=["view", "operate"])


def workload(namespace: str, name: str, replicas: int = 6) -> str:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "web", "image": f"{name}:1"}]},
        },
    }
    return json.dumps(
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
    )  # fmt: skip


def everywhere(kind: str = "Deployment", api_version: str = "apps/v1") -> str:
    return json.dumps(
        {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
            "metadata": {"name": f"all-{kind.lower()}"},
            "spec": {
                "resourceSelectors": [{"apiVersion": api_version, "kind": kind}],
                "placement": {"replicaScheduling": {
                    "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                }},
            },
        }
    )  # fmt: skip


def secret(namespace: str, name: str, value: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
            "stringData": {"password": value},
        }
    )  # fmt: skip


def planned(*documents: str) -> Recorded:
    """What stands in Git of a fleet that was planned once."""
    repo = snapshot(ADMIN, EUROPE, SHOP, *CLUSTERS, everywhere(), *documents)
    fleet = FleetSnapshot(FactsRef("assumed"), input_files.completed({}, repo))
    decisions = Decisions(known=True)
    made = build.build(repo, fleet, decisions, inputs.interpreter_of(repo, decisions), NOW)
    return Recorded(repo, made, decisions, fleet.clusters)
