"""A review that looks at little says what one that looks at everything says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitfed.cli import compare, diff_markdown, diff_show
from gitfed.daemon import glance, inputs, preview
from gitfed.edges import state as state_edge
from gitfed.model.decisions import Decisions
from gitfed.source import bindings
from tests.cli.world import commit, git, repository

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SPACES = ("shop", "bank", "")
KINDS = (("apps/v1", "Deployment"), ("v1", "ConfigMap"), ("v1", "Secret"), ("batch/v1", "Job"))


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(preview, "LARGE", 0)
    monkeypatch.setattr(glance, "_MOST_TEMPLATES", 1.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def metadata(name: str, space: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, **({"namespace": space} if space else {}), **more}


def template(chance: random.Random, name: str) -> dict[str, Any]:
    number = int(name[1:])
    version, kind = KINDS[number % 4] if chance.random() < 0.9 else chance.choice(KINDS)
    space = SPACES[number % 2] if chance.random() < 0.9 else chance.choice(SPACES[:2])
    labels = {"tier": chance.choice("ab")}
    body: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": metadata(name, space, labels=labels)}
    if chance.random() < 0.02:
        body["metadata"]["annotations"] = {"gitfed.io/depends-on": f"apps/Deployment/{space}/t{chance.randint(0, 9)}"}
    if kind in ("ConfigMap", "Secret"):
        body["stringData" if kind == "Secret" else "data"] = {"k": f"value-{chance.randint(0, 3)}"}
        return body
    container = {"name": "c", "image": f"app:{chance.randint(0, 3)}", "args": [f"value-{chance.randint(0, 3)}"],
                 "envFrom": [{"configMapRef": {"name": f"t{chance.randint(0, 9)}"}}]}  # fmt: skip
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], "restartPolicy": "Always"}}
    if kind == "Job":
        pod["spec"]["restartPolicy"] = "Never"
        body["spec"] = {"template": pod}
    else:
        body["spec"] = {"replicas": chance.randint(0, 9), "selector": {"matchLabels": {"app": name}}, "template": pod}
    return body


def selectors(chance: random.Random, most: int = 2) -> list[dict[str, Any]]:
    found = []
    for version, kind in chance.sample(KINDS, chance.randint(1, most)):
        one: dict[str, Any] = {"apiVersion": version, "kind": kind}
        match chance.randint(0, 3):
            case 0:
                one["name"] = f"t{chance.randint(0, 9)}"
            case 1:
                one["labelSelector"] = {"matchLabels": {"tier": chance.choice("ab")}}
        found.append(one)
    return found


def placement(chance: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if chance.random() < 0.6:
        found["clusterAffinity"] = {"clusterNames": chance.sample(["m1", "m2", "m3"], chance.randint(1, 3))}
    match chance.randint(0, 19):
        case 0 | 1 | 2:
            weights = [
                {"targetCluster": {"clusterNames": [name]}, "weight": chance.randint(1, 3)} for name in ("m1", "m2")
            ]
            found["replicaScheduling"] = {
                "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": weights},
            }  # fmt: skip
        case 3:
            found["replicaScheduling"] = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
        case 4:
            found["workloadAffinity"] = {"affinity": {"groupByLabelKey": "tier"}}
        case 5:
            found["spreadConstraints"] = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]
    return found


def propagation(chance: random.Random, name: str) -> dict[str, Any]:
    space = chance.choice(SPACES)
    spec: dict[str, Any] = {"resourceSelectors": selectors(chance), "placement": placement(chance)}
    if chance.random() < 0.03:
        spec["propagateDeps"] = True
    return {"apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy" if space else "ClusterPropagationPolicy",
            "metadata": metadata(name, space), "spec": spec}  # fmt: skip


def override(chance: random.Random, name: str) -> dict[str, Any]:
    space = chance.choice(SPACES)
    tag = {"component": "Tag", "operator": "replace", "value": str(chance.randint(0, 3))}
    rule = {
        "targetCluster": {"clusterNames": chance.sample(["m1", "m2", "m3"], 2)},
        "overriders": {"imageOverrider": [tag]},
    }
    spec = {"overrideRules": [rule]} | ({"resourceSelectors": selectors(chance)} if chance.random() < 0.7 else {})
    return {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy" if space else "ClusterOverridePolicy",
            "metadata": metadata(name, space), "spec": spec}  # fmt: skip


def rule(chance: random.Random) -> dict[str, Any]:
    script = f"function GetReplicas(desiredObj) return {chance.randint(1, 5)}, nil end"
    return {"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "jobs"}, "spec": {
                "target": {"apiVersion": "batch/v1", "kind": "Job"},
                "customizations": {"replicaResource": {"luaScript": script}}}}  # fmt: skip


def cluster(name: str, label: str) -> dict[str, Any]:
    return {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": metadata(name, labels={"l": label}), "spec": {"syncMode": "Push", "region": name}}  # fmt: skip


def edit(chance: random.Random) -> dict[str, str | None]:
    """One to three random edits of a fleet repository, of which few concern everything."""
    edits: dict[str, Any] = {}
    for _ in range(chance.randint(1, 3)):
        number = chance.randint(0, 9)
        match chance.choices(range(9), (70, 5, 8, 8, 3, 1, 1, 3, 1))[0]:
            case 0:
                edits[f"apps/t{number}.json"] = template(chance, f"t{number}")
            case 1:
                edits[f"apps/t{number}.json"] = None
            case 2:
                edits[f"policies/p{number % 5}.json"] = propagation(chance, f"p{number % 5}")
            case 3:
                edits[f"policies/o{number % 4}.json"] = override(chance, f"o{number % 4}")
            case 4:
                edits[f"policies/{'po'[number % 2]}{number % 4}.json"] = None
            case 5:
                edits["clusters/m1.json"] = cluster("m1", str(number))
            case 6:
                edits["policies/jobs.json"] = rule(chance)
            case 7:
                space = chance.choice(SPACES[:2])
                edits[f"{space}.json"] = chance.choice(
                    [None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]
                )
            case _:
                # The same object in another file, and something that is no object at all.
                edits[f"more/{number}.json"] = chance.choice(
                    [template(chance, f"t{number}"), {"kind": "Nothing"}, None]
                )
    return {path: None if body is None else json.dumps(body) for path, body in edits.items()}


def record(opened: inputs.Opened) -> None:
    """What a daemon would have recorded for HEAD."""
    repo = inputs.read(opened).repo
    plan = inputs.plan(opened, repo, inputs.assumed(repo), Decisions(), NOW)
    branch = state_edge.StateBranch(opened.repository, bindings)
    decided = {key: one.decision for key, one in plan.bindings.items() if one.decision is not None}
    branch.write(
        branch.read(), decided, repository_id="test", applied=repo.commit, results={}, approvals=(), held=(),
        subject="Decide", reasons=(), now=NOW, clusters={}, outage=None,
    )  # fmt: skip


def said(found: preview.Preview) -> list[Any]:
    shown = diff_show.Shown(found, ("base", "head"))
    differences = list(compare.manifests(found.review))
    return [diff_show.document(shown, differences), diff_markdown.comment(shown, differences)]


def history(path: Path, chance: random.Random, commits: int) -> Iterator[str]:
    files: dict[str, str] = {"gitfed.yaml": json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "t"}}
    )}  # fmt: skip
    files |= {f"clusters/m{n}.json": json.dumps(cluster(f"m{n}", "0")) for n in (1, 2, 3)}
    files["shop.json"] = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    files |= {f"apps/t{n}.json": json.dumps(template(chance, f"t{n}")) for n in range(10)}
    files |= {f"policies/p{n}.json": json.dumps(propagation(chance, f"p{n}")) for n in range(3)}
    repository(path, files)
    yield git(path, "rev-parse", "HEAD")
    for _ in range(commits):
        yield commit(
            path, {name: text for name, text in edit(chance).items() if text is not None or (path / name).exists()}
        )


@pytest.mark.parametrize("seed", range(4))
def test_a_glance_at_a_random_change_says_what_a_look_at_everything_says(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = tmp_path / "fleet"
    given = preview.Given(now=NOW)
    before, taken = "", 0
    for number, commit_id in enumerate(history(path, chance, 25)):
        opened = inputs.open_repository(str(path))
        try:
            if before:
                known = glance.recall(opened)
                few = glance.at_change(opened, known, before, commit_id) if known is not None else None
                found = preview._of(opened, few.base, few.head, given, few.templates) if few is not None else None
                if found is not None:
                    taken += 1
                    fresh = inputs.open_repository(str(path))
                    whole = preview.of(
                        fresh, inputs.read(fresh, before).repo, inputs.read(fresh, commit_id).repo, given
                    )
                    assert said(found) == said(whole)
                    fresh.repository.close()
            if chance.random() < 0.5:
                glance.remember(opened, inputs.read(opened, commit_id).repo)
            if number == 0 or chance.random() < 0.2:
                record(opened)
        finally:
            opened.repository.close()
        before = commit_id
    assert taken > 0
