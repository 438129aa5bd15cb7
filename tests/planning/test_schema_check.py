"""What no API server takes is not planned anew, from build to build as from nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gitfed.edges import catalogue
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter
from gitfed.interpret.schema.kubernetes import Kubernetes
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ApiEnablements, ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, deployment, policy, settings
from tests.planning.tree import NOW, Tree

INTERPRETER = Interpreter((Native(),), kubernetes=Kubernetes(catalogue.kubernetes))
WEB = ObjectKey("apps", "Deployment", "shop", "web")
FILES = {
    "gitfed.json": settings(),
    "clusters/a.json": cluster("a"),
    "clusters/b.json": cluster("b"),
    "policies/all.json": policy("all", None),
    "apps/web.json": deployment("web", replicas=2),
}
OVERRIDE = """
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: mends, namespace: shop}
spec:
  overrideRules:
  - overriders: {plaintext: [{path: /spec/replica, operator: remove}]}
"""


def web(**spec: Any) -> str:
    body = json.loads(deployment("web", replicas=2))
    body["spec"] |= spec
    return json.dumps(body)


def read(memory: ReadCache, files: dict[str, str]) -> RepoSnapshot:
    return source.read(Tree(files, Commit("c" * 40), 0), memory=memory)


def fleet(**versions: str) -> FleetSnapshot:
    clusters = {name: ClusterFacts(name, kubernetes_version=version) for name, version in versions.items()}
    return FleetSnapshot(FactsRef("test"), clusters)


def planned(
    repo: RepoSnapshot, seen: FleetSnapshot, past: Decisions | None = None, memo: build.Memo | None = None
) -> Plan:
    return build.build(repo, seen, past or Decisions(), INTERPRETER, NOW, memo=memo)


def after(plan: Plan) -> Decisions:
    return Decisions(bindings={key: one.decision for key, one in plan.bindings.items() if one.decision is not None})


def placed(plan: Plan) -> dict[str, int | None]:
    return {share.cluster: share.replicas for share in plan.bindings[WEB].scheduled.shares}


def sent(plan: Plan) -> list[str]:
    return sorted(name for one in plan.rendered[WEB] for name in one.clusters)


def test_builds_with_a_memo_tell_mistakes_as_builds_without() -> None:
    memory, memo = ReadCache(None), build.Memo()
    past = Decisions()
    good, bad = FILES, {**FILES, "apps/web.json": web(replica=9)}
    newer = {**FILES, "apps/web.json": web(template={"spec": {"hostnameOverride": "x", "containers": [{"name": "a"}]}})}
    now, old = fleet(a="v1.36.1", b="v1.36.1"), fleet(a="v1.36.1", b="v1.30.0")
    for files, seen in [
        (good, now), (bad, now), ({**bad, "policies/o.yaml": OVERRIDE}, now), (bad, now), (good, now), (newer, now),
        (newer, old), (newer, now), (bad, old), (good, old),
    ]:  # fmt: skip
        repo = read(memory, files)
        remembered, fresh = planned(repo, seen, past, memo), planned(repo, seen, past)
        assert remembered.problems == fresh.problems
        assert remembered.bindings == fresh.bindings
        assert remembered.rendered == fresh.rendered
        past = after(fresh)


def test_a_template_that_no_cluster_takes_is_not_placed_anew() -> None:
    """`replica: 9` would count as one replica, and the copies that run would be taken away."""
    memory, seen = ReadCache(None), fleet(a="v1.36.1", b="v1.36.1")
    before = planned(read(memory, FILES), seen)
    bad = planned(read(memory, {**FILES, "apps/web.json": web(replica=9, replicas=None)}), seen, after(before))
    assert placed(bad) == placed(before)
    assert bad.bindings[WEB].held == (
        "it does not fit its schema: spec.replica: unknown field of DeploymentSpec"
    )  # fmt: skip
    assert sent(bad) == []


def test_one_wrong_object_holds_no_other() -> None:
    files = {**FILES, "apps/web.json": web(replica=9), "apps/api.json": deployment("api", replicas=1)}
    plan = planned(read(ReadCache(None), files), fleet(a="v1.36.1", b="v1.36.1"))
    assert [one.clusters for one in plan.rendered[WEB._replace(name="api")]] == [("a", "b")]
    assert len([one for one in plan.problems if one.severity == "error"]) == 1


def test_a_cluster_that_serves_what_its_version_should_not_have_gets_it() -> None:
    """A group that somebody brought back, or that an API server of somebody else's serves."""
    ingress = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: web, namespace: shop}\nspec: {a: 1}\n"
    files = {**FILES, "apps/in.yaml": ingress, "policies/all.json": policy("all", None, (("extensions/v1beta1",
             "Ingress"),))}  # fmt: skip
    repo, seen = read(ReadCache(None), files), fleet(a="v1.36.1", b="v1.36.1")
    key = ObjectKey("extensions", "Ingress", "shop", "web")
    assert planned(repo, seen).rendered[key] == ()
    served = ApiEnablements(frozenset({("extensions/v1beta1", "Ingress")}))
    clusters = {**seen.clusters, "a": replace(seen.clusters["a"], apis=served)}
    plan = planned(repo, replace(seen, clusters=clusters))
    assert [one.clusters for one in plan.rendered[key]] == [("a",)]


def test_without_types_nothing_is_checked() -> None:
    repo = read(ReadCache(None), {**FILES, "apps/web.json": web(replica=9)})
    plan = build.build(repo, fleet(a="v1.36.1", b="v1.36.1"), Decisions(), Interpreter((Native(),)), NOW)
    assert sent(plan) == ["a", "b"]
