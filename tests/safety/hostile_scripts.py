"""Interpreter scripts that mean harm, and a repository with one."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime

from gitfed.interpret.registry import Interpreter
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.reading import interpreters
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, policy
from tests.source.trees import tree

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


GOOD = "function GetReplicas(obj)\n  return obj.spec.size\nend\n"


def rules(kind: str, script: str, rule: str = "replicaResource", name: str = "") -> str:
    head = f"""\
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {{name: {name or kind.lower()}}}
spec:
  target: {{apiVersion: e.com/v1, kind: {kind}}}
  customizations:
    {rule}:
      luaScript: |
"""
    return head + textwrap.indent(textwrap.dedent(script).strip("\n") + "\n", " " * 8)


def widget(kind: str) -> str:
    return f"apiVersion: e.com/v1\nkind: {kind}\nmetadata: {{name: x, namespace: shop}}\nspec: {{size: 3}}\n"


def repository(script: str, rule: str = "replicaResource", **more: str) -> RepoSnapshot:
    kinds = (("e.com/v1", "Widget"), ("e.com/v1", "Gadget"))
    snapshot = source.read(
        tree({
            "clusters/a.json": cluster("a"), "policy.json": policy("p", None, kinds),
            "bad.yaml": rules("Widget", script, rule), "good.yaml": rules("Gadget", GOOD),
            "widget.yaml": widget("Widget"), "gadget.yaml": widget("Gadget"), **more,
        }),
        memory=ReadCache(),
    )  # fmt: skip
    assert not [one for one in snapshot.problems if one.severity == "error"]
    return snapshot


def planned(repo: RepoSnapshot, interpreter: Interpreter | None = None) -> Plan:
    fleet = FleetSnapshot(FactsRef("test"), {"a": ClusterFacts("a")})
    return build.build(repo, fleet, Decisions(repository_id="r"), interpreter or interpreters.of(repo), NOW)


LOOP = "function GetReplicas(obj)\n  {}\nend"
