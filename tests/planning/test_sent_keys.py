"""What is looked up before a plan is what the plan may write."""

from __future__ import annotations

import json

from gitfed.model.base import Commit
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.planning import build, sent_keys
from gitfed.source import repo as source
from tests.e2e.world import cluster, config_map, policy, settings
from tests.planning.stage import INTERPRETER, START
from tests.planning.tree import Tree
from tests.services.stage import IMPORTS, service_import

QUOTA = {
    "apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
    "metadata": {"name": "cap", "namespace": "team"},
    "spec": {"overall": {"cpu": "9"}, "staticAssignments": [{"clusterName": "m1", "hard": {"cpu": "5"}}]},
}  # fmt: skip


def test_everything_that_a_plan_sends_was_looked_up() -> None:
    files = {
        "gitfed.json": settings(), "m1.json": cluster("m1"), "quota.json": json.dumps(QUOTA),
        "import.json": service_import(), "conf.json": config_map("conf", {"a": "b"}),
        "policy.json": policy("all", ["m1"], (IMPORTS, ("v1", "ConfigMap"))),
    }  # fmt: skip
    repo = source.read(Tree(files, Commit("1" * 40)))
    facts = FleetSnapshot(FactsRef("test"), {name: ClusterFacts(name) for name in repo.clusters})
    plan = build.build(repo, facts, Decisions(), INTERPRETER, START)
    sent = {key for key, classes in plan.rendered.items() if classes}
    assert {f"{key.kind} {key.name}" for key in sent} == {
        "ConfigMap conf", "ServiceImport web", "Service derived-web", "ResourceQuota cap", "Namespace shop",
        "Namespace team",
    }  # fmt: skip
    keys = sent_keys.of(repo)
    assert sent <= set(keys)
    assert len(keys) == len(set(keys))
