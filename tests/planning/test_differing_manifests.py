"""A review that renders only where manifests can differ says what one that renders everything says."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitfed.cli.output.diff import compare
from gitfed.model.decisions import Decisions
from gitfed.model.plan import Change
from gitfed.offline import inputs
from gitfed.planning import build
from gitfed.planning.lazy_manifests import AT_ONCE, LAZILY, Rendering
from gitfed.planning.review import review as reviewing
from gitfed.planning.template_pipeline import OnDemand
from gitfed.source.read_cache import ReadCache
from tests.e2e.world import cluster, config_map, deployment, policy
from tests.planning.tree import INTERPRETER, NOW, fleet, read

CLUSTERS = ("a", "b", "c", "d")
REGIONS = {"a": "north", "b": "north", "c": "south", "d": "south"}


def override(name: str, rules: list[dict[str, Any]], *, space: str = "", selects: dict[str, Any] | None = None) -> str:
    body: dict[str, Any] = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy" if space else "ClusterOverridePolicy",
        "metadata": {"name": name, **({"namespace": space} if space else {})},
        "spec": {"overrideRules": rules},
    }
    if selects is not None:
        body["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment", **selects}]
    return json.dumps(body)


def target(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.5:
        return {"clusterNames": chance.sample(CLUSTERS, chance.randint(1, 2))}
    wanted = {"key": "region", "operator": "In", "values": [chance.choice(["north", "south"])]}
    return {"fieldSelector": {"matchExpressions": [wanted]}}


def overriders(chance: random.Random) -> dict[str, Any]:
    value = f"v{chance.randint(0, 2)}"
    label = {"operator": "add", "value": {"tier": value}}
    image = {"component": "Registry", "operator": "replace", "value": f"{value}.example"}
    patch = {"path": "/spec/missing/field" if chance.random() < 0.15 else "/metadata/annotations",
             "operator": "replace" if chance.random() < 0.15 else "add", "value": {"x": value}}  # fmt: skip
    return chance.choice([{"labelsOverrider": [label]}, {"imageOverrider": [image]}, {"plaintext": [patch]}])


def rules(chance: random.Random) -> list[dict[str, Any]]:
    return [{"targetCluster": target(chance), "overriders": overriders(chance)} for _ in range(chance.randint(1, 3))]


def files(chance: random.Random) -> dict[str, str]:
    made = {f"clusters/{name}.json": located(name, REGIONS[name]) for name in CLUSTERS}
    made |= {f"{name}.json": deployment(name, replicas=chance.randint(1, 3)) for name in ("web", "api", "db")}
    made |= {"conf.json": config_map("conf", {"k": "v"}), "p.json": policy("p", list(CLUSTERS))}
    return made | {f"o{number}.json": some_override(chance, number) for number in range(4)}


def some_override(chance: random.Random, number: int) -> str:
    selects: dict[str, Any] | None = {"labelSelector": {"matchLabels": {"tier": f"v{chance.randint(0, 2)}"}}}
    selects = chance.choice([None, {"name": "web"}, {}, selects])
    return override(f"o{number}", rules(chance), space="shop" if number % 2 else "", selects=selects)


def located(name: str, region: str) -> str:
    body = json.loads(cluster(name))
    body["spec"] |= {"region": region, "provider": "example"}
    return json.dumps(body)


def changed(before: Mapping[str, str], chance: random.Random) -> dict[str, str]:
    after = dict(before)
    for _ in range(chance.randint(1, 2)):
        number = chance.randint(0, 3)
        match chance.choice(["rule", "policy", "gone", "template", "cluster"]):
            case "rule":
                if path := next((path for path in (f"o{number}.json",) if path in after), ""):
                    body = json.loads(after[path])
                    written = body["spec"]["overrideRules"]
                    written[chance.randrange(len(written))]["overriders"] = overriders(chance)
                    after[path] = json.dumps(body)
            case "policy":
                after[f"o{number}.json"] = some_override(chance, number)
            case "gone":
                after.pop(f"o{number}.json", None)
            case "template":
                after["web.json"] = deployment("web", replicas=chance.randint(1, 3))
            case _:
                name = chance.choice(CLUSTERS)
                after[f"clusters/{name}.json"] = located(name, chance.choice(["north", "south"]))
    return after


def reviewed(before: Mapping[str, str], after: Mapping[str, str], rendering: Rendering) -> reviewing.Review:
    memo, past = build.Memo(rendering=rendering), Decisions(repository_id="r")
    # As two commits are read: what no file changes is the same object in both.
    memory = ReadCache()
    base_repo, head_repo = read(before, memory=memory), read(after, "2", memory=memory)
    base = build.build(base_repo, fleet(), past, INTERPRETER, NOW, memo)
    between = inputs.after(base, past)
    head = replace(build.build(head_repo, fleet(), between, INTERPRETER, NOW, memo), base=base_repo.commit)
    return reviewing.review(base_repo, head_repo, base, head, between, INTERPRETER)


def said(change: Change) -> tuple[object, ...]:
    rendered = change.write.rendered
    return change.cluster, change.key, change.action, change.reason, rendered.body if rendered is not None else None


@pytest.mark.parametrize("seed", range(150))
def test_what_is_left_unrendered_differs_nowhere(seed: int) -> None:
    chance = random.Random(seed)
    before = files(chance)
    after = changed(before, chance)
    whole, narrow = (reviewed(before, after, rendering) for rendering in (AT_ONCE, LAZILY))
    assert isinstance(narrow.base.rendered, OnDemand)
    assert [said(change) for change in narrow.changes] == [said(change) for change in whole.changes]
    assert list(compare.manifests(narrow)) == list(compare.manifests(whole))
    assert narrow.declared == whole.declared


def test_a_rule_of_one_cluster_renders_no_other() -> None:
    before = files(random.Random(1)) | {"o0.json": override("o0", [rule("a", "old")]), "o1.json": "", "o2.json": "",
                                        "o3.json": ""}  # fmt: skip
    narrow = reviewed(before, before | {"o0.json": override("o0", [rule("a", "new")])}, LAZILY)
    looked = [narrow.manifests.of(key) for key in narrow.touched if key.kind == "Deployment"]
    assert len(looked) == 3
    assert {name for pair in looked for side in pair for one in side for name in one.clusters} == {"a"}
    assert {change.cluster for change in narrow.changes} == {"a"}


def test_each_cluster_is_told_of_the_rule_that_reached_it_where_two_come_to_the_same() -> None:
    before = files(random.Random(1)) | dict.fromkeys(["o1.json", "o2.json", "o3.json"], "")
    policies = {f"o{index}.json": override(f"o{index}", [rule(name, "same")]) for index, name in enumerate("ab")}
    reviews = reviewed(before, before | policies, AT_ONCE)
    edits = {
        (name, edit.by)
        for key, classes in reviews.head.rendered.items()
        if key.kind == "Deployment"
        for rendered in classes
        for name in rendered.clusters
        for edit in rendered.edits
        if edit.by.startswith("ClusterOverridePolicy/")
    }
    assert edits == {("a", "ClusterOverridePolicy/o0"), ("b", "ClusterOverridePolicy/o1")}


def rule(name: str, registry: str) -> dict[str, Any]:
    image = {"component": "Registry", "operator": "replace", "value": f"{registry}.example"}
    return {"targetCluster": {"clusterNames": [name]}, "overriders": {"imageOverrider": [image]}}


@pytest.mark.parametrize(
    ("operation", "looked_at"), [("healthInterpretation", 0), ("replicaRevision", 3), ("retention", 3)]
)
def test_only_scripts_that_make_manifests_have_them_looked_at(operation: str, looked_at: int) -> None:
    script = json.dumps({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "x"},
        "spec": {"target": {"apiVersion": "apps/v1", "kind": "Deployment"},
                 "customizations": {operation: {"luaScript": "return nil"}}},
    })  # fmt: skip
    before = files(random.Random(1))
    narrow = reviewed(before, {**before, "x.json": script}, LAZILY)
    assert sum(key.kind == "Deployment" for key in narrow.touched) == looked_at
    assert [declaration.key.name for declaration in narrow.declared] == ["x"]
