"""A review that looks at little says what one that looks at everything says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitfed.cli.output.diff import comment, compare, document, view
from gitfed.documents import bindings, facts
from gitfed.documents.state_commits import Message
from gitfed.edges.git import WorkTree
from gitfed.edges.state import facts_branch
from gitfed.edges.state import state as state_edge
from gitfed.model.base import Commit
from gitfed.model.fleet import ClusterFacts, Reach
from gitfed.offline import fleet_inputs, inputs, partial_plan, preview
from tests.cli.world import commit, git, repository, write
from tests.support import needs

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SPACES = ("shop", "bank", "")
MANY = 16
KINDS = (("apps/v1", "Deployment"), ("v1", "ConfigMap"), ("v1", "Secret"), ("batch/v1", "Job"))


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(preview, "LARGE", 0)
    monkeypatch.setattr(partial_plan, "_MOST_TEMPLATES", 1.0)
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
                 "envFrom": [{"configMapRef": {"name": f"t{chance.randint(0, 9)}"}}],
                 "resources": {"requests": {"cpu": chance.choice(["500m", "1", "3"])}}}  # fmt: skip
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
                one["name"] = f"t{chance.randint(0, MANY - 1)}"
            case 1:
                one["labelSelector"] = {"matchLabels": {"tier": chance.choice("ab")}}
        found.append(one)
    return found


def placement(chance: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if chance.random() < 0.6:
        found["clusterAffinity"] = {"clusterNames": chance.sample(["m1", "m2", "m3"], chance.randint(1, 3))}
    elif chance.random() < 0.3:
        found["clusterAffinity"] = {"labelSelector": {"matchLabels": {"l": chance.choice("ab")}}}
    if chance.random() < 0.2:
        found["clusterTolerations"] = [{"key": "k", "operator": "Exists"}]
    match chance.randint(0, 19):
        case 0 | 1 | 2:
            weights = [
                {"targetCluster": {"clusterNames": [name]}, "weight": chance.randint(1, 3)} for name in ("m1", "m2")
            ]
            found["replicaScheduling"] = {
                "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": weights},
            }  # fmt: skip
        case 3 | 6 | 7:
            found["replicaScheduling"] = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
        case 4:
            found["workloadAffinity"] = {"affinity": {"groupByLabelKey": "tier"}}
        case 5:
            found["spreadConstraints"] = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]
    return found


def propagation(chance: random.Random, name: str) -> dict[str, Any]:
    space = chance.choice(SPACES)
    spec: dict[str, Any] = {"resourceSelectors": selectors(chance), "placement": placement(chance)}
    if chance.random() < 0.1:
        spec["propagateDeps"] = True
    if chance.random() < 0.1:
        spec["dependentOverrides"] = [f"o{chance.randint(0, 3)}"]
    return {"apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy" if space else "ClusterPropagationPolicy",
            "metadata": metadata(name, space), "spec": spec}  # fmt: skip


def override(chance: random.Random, name: str) -> dict[str, Any]:
    space = chance.choice(SPACES)
    tag = {"component": "Tag", "operator": "replace", "value": str(chance.randint(0, 3))}
    by_label = {"labelSelector": {"matchLabels": {"l": chance.choice("ab")}}}
    rule = {
        "targetCluster": chance.choice([by_label, {"clusterNames": chance.sample(["m1", "m2", "m3"], 2)}]),
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


def cluster(name: str, label: str, *taints: str) -> dict[str, Any]:
    spec = {"syncMode": "Push", "region": name, "taints": [{"key": "k", "effect": effect} for effect in taints]}
    return {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": metadata(name, labels={"l": label}), "spec": spec}  # fmt: skip


def quota(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"overall": {"cpu": str(chance.choice([2, 20, 200]))}}
    if chance.random() < 0.3:
        spec["staticAssignments"] = [{"clusterName": "m1", "hard": {"cpu": "5"}}]
    return {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
            "metadata": metadata("q", "shop"), "spec": spec}  # fmt: skip


def settings(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "sync": {"interval": f"{chance.randint(30, 90)}s", "prune": chance.random() < 0.9},
        "guards": {
            "maxDeletionPercent": chance.choice([5, 25, 100]),
            "maxMovedReplicasPercent": chance.choice([5, 50]),
        },
    }
    if chance.random() < 0.2:
        spec["namespaces"] = {"autoPropagate": chance.random() < 0.5}
    if chance.random() < 0.2:
        spec["sources"] = {"exclude": [f"apps/t{chance.randint(0, 9)}.json"]}
    return {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "t"}, "spec": spec}


def edit(chance: random.Random) -> dict[str, str | None]:
    """One to three random edits of a fleet repository, of which few concern everything."""
    edits: dict[str, Any] = {}
    for _ in range(chance.randint(1, 3)):
        number = chance.randint(0, MANY - 1)
        match chance.choices(range(11), (60, 12, 8, 8, 3, 7, 1, 4, 1, 3, 8))[0]:
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
                taints = chance.choices(("NoSchedule", "NoExecute"), (8, 1), k=chance.randint(0, 1))
                edits[f"clusters/m{number % 3 + 1}.json"] = cluster(f"m{number % 3 + 1}", chance.choice("ab"), *taints)
            case 6:
                edits["policies/jobs.json"] = rule(chance)
            case 7:
                space = chance.choice(SPACES[:2])
                edits[f"{space}.json"] = chance.choice(
                    [None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]
                )
            case 8:
                edits["gitfed.json"] = settings(chance)
            case 9:
                edits["policies/quota.json"] = chance.choice([quota(chance), None])
            case _:
                # The same object in another file, and something that is no object at all.
                edits[f"more/{number}.json"] = chance.choice(
                    [template(chance, f"t{number}"), {"kind": "Nothing"}, None]
                )
    return {path: None if body is None else json.dumps(body) for path, body in edits.items()}


def observe(chance: random.Random, opened: inputs.Opened, when: datetime) -> None:
    """What a daemon would have seen of the clusters and written to the facts branch."""
    branch = facts_branch.FactsBranch(opened.repository, facts)
    known = branch.read()
    ready = [name for name in ("m1", "m2", "m3") if chance.random() < 0.97]
    seen = {
        name: ClusterFacts(
            name, Reach.READY if name in ready else Reach.NOT_READY,
            resource_summary={"allocatable": {"cpu": str(chance.randint(4, 40)), "pods": "100"},
                              "allocated": {"cpu": str(chance.randint(0, 4))}},
        )
        for name in ("m1", "m2", "m3")
    }  # fmt: skip
    branch.write(known, seen, now=when)


def record(opened: inputs.Opened, now: datetime) -> None:
    """What a daemon would have decided for HEAD, from what was decided before."""
    repo = inputs.read(opened).repo
    branch = state_edge.StateBranch(opened.repository, bindings)
    state = branch.read()
    past = replace(state.decisions, known=True)
    plan = inputs.plan(opened, repo, fleet_inputs.fleet(opened, repo), past, now)
    decided = {key: one.decision for key, one in plan.bindings.items() if one.decision is not None}
    decisions = replace(
        past, bindings=decided, repository_id="test", applied_commit=repo.commit, clusters=plan.records,
        outage=plan.outage,
    )  # fmt: skip
    branch.write(state, replace(state, decisions=decisions), message=Message("Decide"), now=now)


def said(found: preview.Preview) -> list[Any]:
    shown = view.DiffView(found, ("base", "head"))
    differences = list(compare.manifests(found.review))
    return [document.document(shown, differences), comment.comment(shown, differences)]


def history(path: Path, chance: random.Random, commits: int) -> Iterator[str]:
    files: dict[str, str] = {"gitfed.json": json.dumps(
        {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "t"}}
    )}  # fmt: skip
    files |= {f"clusters/m{n}.json": json.dumps(cluster(f"m{n}", "a")) for n in (1, 2, 3)}
    files["shop.json"] = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    files |= {f"apps/t{n}.json": json.dumps(template(chance, f"t{n}")) for n in range(MANY)}
    files |= {f"policies/p{n}.json": json.dumps(propagation(chance, f"p{n}")) for n in range(3)}
    repository(path, files)
    yield git(path, "rev-parse", "HEAD")
    for _ in range(commits):
        yield commit(
            path, {name: text for name, text in edit(chance).items() if text is not None or (path / name).exists()}
        )


@pytest.mark.parametrize("observed", [False, True], ids=["nobody looked at the clusters", "facts change"])
@pytest.mark.parametrize("decided", [False, True], ids=["decided once", "decided again and again"])
def test_a_glance_at_a_random_change_says_what_a_look_at_everything_says(
    observed: bool, decided: bool, tmp_path: Path
) -> None:
    few = 0
    for seed in (10 * observed + 20 * decided, 10 * observed + 20 * decided + 1):
        chance = random.Random(seed)
        path = tmp_path / f"fleet-{seed}"
        before, now = "", NOW
        for number, commit_id in enumerate(history(path, chance, 25)):
            now += timedelta(minutes=chance.randint(0, 3))
            opened = inputs.open_repository(str(path))
            if observed and chance.random() < 0.4:
                observe(chance, opened, now)
            if number == 0 or (decided and chance.random() < 0.4):
                record(opened, now)
            if before:
                after = inputs.files_on_disk(opened) if chance.random() < 0.2 else Commit(commit_id)
                few += agree(opened, Commit(before), after, now, remember=chance.random() < 0.5)
            opened.repository.close()
            before = commit_id
    assert few > 0


def agree(opened: inputs.Opened, before: Commit, after: Commit | WorkTree, now: datetime, *, remember: bool) -> bool:
    """Whether a glance told of a difference from a part of the templates; a failure if it told anything untrue."""
    given = preview.GivenInputs(now=now)
    found = preview._glance(opened, before, after, given)
    base = inputs.read(opened, before).repo
    head = inputs.read(opened, after).repo if isinstance(after, str) else inputs.read(opened, worktree=True).repo
    whole = preview._whole(opened, base, head, given)
    if remember:
        partial_plan.remember(opened, base, whole.others)
    if found is None:
        return False
    assert said(found) == said(whole.preview)
    return len(found.base_repo.manifests) < len(base.manifests) and not found.review.empty


Files = Mapping[str, dict[str, Any] | None]


def fleet_of_many() -> dict[str, str]:
    """Sixteen Deployments and eight ConfigMaps in two namespaces of which one is declared; a policy for each space."""
    spaces = ("bank", "shop")
    files: dict[str, Any] = {
        "gitfed.json": {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "t"}},
        "shop.json": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        **{f"clusters/m{n}.json": cluster(f"m{n}", "a") for n in (1, 2, 3)},
        **{f"policies/{space}.json": chosen(space, ["m1", "m2"]) for space in spaces},
        "policies/room.json": by_room("bank", "t0"),
    }
    for number in range(24):
        space = spaces[number % 2]
        files[f"apps/t{number}.json"] = deployment(number, space) if number < 16 else config(number, space)
    return {path: json.dumps(body) for path, body in files.items()}


def deployment(number: int, space: str, replicas: int = 4, **labels: str) -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "envFrom": [{"configMapRef": {"name": f"t{number + 16}"}}],
                 "resources": {"requests": {"cpu": "1"}}}  # fmt: skip
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "x"}}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(f"t{number}", space, labels=labels),
            "spec": spec}  # fmt: skip


def config(number: int, space: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(f"t{number}", space), "data": {"k": "v"}}


def policy(space: str, name: str, spec: dict[str, Any], wanted: str = "") -> dict[str, Any]:
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", **({"name": wanted} if wanted else {})}]
    selectors += [] if wanted else [{"apiVersion": "v1", "kind": "ConfigMap"}]
    return {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": metadata(name, space),
            "spec": {"resourceSelectors": selectors, **spec}}  # fmt: skip


def chosen(space: str, clusters: list[str], **spec: Any) -> dict[str, Any]:
    return policy(space, "all", {"placement": {"clusterAffinity": {"clusterNames": clusters}}, **spec})


def by_room(space: str, wanted: str) -> dict[str, Any]:
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    return policy(space, f"room-{wanted}", {"placement": {"replicaScheduling": divided}}, wanted)


DEPENDING = {"policies/shop.json": chosen("shop", ["m1", "m2"], propagateDeps=True)}
KEEPING = policy("shop", "all", {"placement": {"workloadAffinity": {"affinity": {"groupByLabelKey": "tier"}}}})
QUOTA = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
         "metadata": metadata("q", "shop"), "spec": {"overall": {"cpu": "500"}}}  # fmt: skip
BY_LABEL = {"clusterAffinity": {"labelSelector": {"matchLabels": {"l": "gold"}}}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "name": "t17"}
GOLD = policy("shop", "t17", {"placement": BY_LABEL, "resourceSelectors": [CONFIG]})
TAG: dict[str, Any] = {
    "targetCluster": {"labelSelector": {"matchLabels": {"l": "gold"}}},
    "overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "2"}]},
}
TAGGED = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": metadata("tag", "shop"),
          "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "t7"}],
                   "overrideRules": [TAG]}}  # fmt: skip


def federation(**spec: Any) -> Files:
    return {"gitfed.json": {"apiVersion": "gitfed.io/v1alpha1", "kind": "Federation", "metadata": {"name": "t"},
                            "spec": spec}}  # fmt: skip


SHOP = {f"t{number}" for number in range(1, 24, 2)}


@pytest.mark.parametrize(
    ("before", "change", "looked_at"),
    [
        pytest.param({}, {"apps/t1.json": None}, {"t1"}, id="a deletion"),
        pytest.param({}, {"apps/t2.json": None}, {"t2"}, id="a deletion where no file declares the namespace"),
        pytest.param({}, {"policies/t5.json": policy("shop", "t5", {"placement": {
            "clusterAffinity": {"clusterNames": ["m3"]}}}, "t5")}, {"t5"}, id="a move of one workload"),
        pytest.param({}, {"policies/t6.json": by_room("bank", "t6")}, {"t6"}, id="a workload that goes by room now"),
        pytest.param({}, {"apps/t0.json": deployment(0, "bank", 9)}, {"t0"}, id="more replicas that go by room"),
        pytest.param({"policies/t4.json": by_room("bank", "t4")}, {"apps/t0.json": deployment(0, "bank", 9)},
                     {"t0", "t4"}, id="more replicas while another takes room that is not decided yet"),
        pytest.param({}, federation(sync={"prune": False}), set(), id="a setting that no plan reads"),
        pytest.param({"policies/t17.json": GOLD, "policies/tag.json": TAGGED},
                     {"clusters/m1.json": cluster("m1", "gold")}, {"t17", "t7"},
                     id="a label by which a policy and an override choose"),
        pytest.param({}, {"clusters/m1.json": cluster("m1", "b")}, set(), id="a label of a cluster"),
        pytest.param({}, {"clusters/m3.json": cluster("m3", "a", "NoSchedule")},
                     {"t0"}, id="a taint of a cluster"),
        pytest.param({}, {"bank.json": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bank"}}},
                     set(), id="a namespace that is declared"),
        pytest.param({}, {"shop.json": None}, set(), id="a namespace that is declared no more"),
        pytest.param(DEPENDING, {"apps/t17.json": None}, SHOP, id="something that workloads take along"),
        pytest.param({"policies/shop.json": KEEPING}, {"apps/t3.json": deployment(3, "shop", 4, tier="a")},
                     SHOP, id="a workload that keeps to others"),
        pytest.param({"policies/quota.json": QUOTA}, {"apps/t3.json": deployment(3, "shop", 40)},
                     SHOP, id="more of a quota"),
    ],
)  # fmt: skip
def test_a_change_of_one_file_is_a_glance_at_what_it_reaches(
    before: Files, change: Files, looked_at: set[str], tmp_path: Path
) -> None:
    path = repository(tmp_path / "fleet", fleet_of_many())
    first = git(path, "rev-parse", "HEAD")
    opened = inputs.open_repository(str(path))
    room = {"allocatable": {"cpu": "30", "pods": "100"}}
    seen = {name: ClusterFacts(name, resource_summary=room) for name in ("m1", "m2", "m3")}
    facts_branch.FactsBranch(opened.repository, facts).write(facts_branch.FactsSnapshot(), seen, now=NOW)
    record(opened, NOW - timedelta(hours=1))
    base = Commit(commit(path, texts(before))) if before else Commit(first)
    agree(opened, base, base, NOW, remember=True)
    head = Commit(commit(path, texts(change)))
    found = preview._glance(opened, base, head, preview.GivenInputs(now=NOW))
    assert found is not None
    names = {key.name for repo in (found.base_repo, found.head_repo) for key in repo.manifests}
    assert names - {"shop", "bank"} == looked_at
    assert not found.review.empty
    agree(opened, base, head, NOW, remember=False)
    opened.repository.close()


def texts(files: Files) -> dict[str, str | None]:
    return {path: None if body is None else json.dumps(body) for path, body in files.items()}


def remembered(path: Path, files: Mapping[str, Any]) -> tuple[Path, inputs.Opened, Commit]:
    """A repository that was decided for an hour ago and looked at in whole, so that its rows are remembered."""
    repository(path, files)
    opened = inputs.open_repository(str(path))
    record(opened, NOW - timedelta(hours=1))
    base = Commit(git(path, "rev-parse", "HEAD"))
    agree(opened, base, base, NOW, remember=True)
    return path, opened, base


def test_what_was_decided_since_is_looked_at_with_the_change(tmp_path: Path) -> None:
    files = {path: text for path, text in fleet_of_many().items() if path != "policies/room.json"}
    path, opened, _ = remembered(tmp_path / "fleet", files)
    base = Commit(commit(path, texts({"apps/t4.json": deployment(4, "bank", 7), "apps/t6.json": None})))
    opened = inputs.open_repository(str(path))
    record(opened, NOW)
    head = Commit(commit(path, texts({"apps/t1.json": None})))
    found = preview._glance(opened, base, head, preview.GivenInputs(now=NOW))
    assert found is not None
    assert {key.name for key in found.base_repo.manifests} == {"shop", "t1", "t4"}
    agree(opened, base, head, NOW, remember=False)
    opened.repository.close()


def test_what_was_decided_otherwise_since_is_looked_at_though_no_file_changed(tmp_path: Path) -> None:
    files = {path: text for path, text in fleet_of_many().items() if path != "policies/room.json"}
    path, opened, base = remembered(tmp_path / "fleet", files)
    branch = state_edge.StateBranch(opened.repository, bindings)
    state = branch.read()
    key = next(key for key in state.decisions.bindings if key.name == "t6")
    old = state.decisions.bindings[key]
    decided = {
        **state.decisions.bindings,
        key: replace(old, scheduled=replace(old.scheduled, shares=old.scheduled.shares[:1])),
    }
    decisions = replace(state.decisions, bindings=decided, applied_commit=base, clusters={}, outage=None)
    branch.write(state, replace(state, decisions=decisions), message=Message("Decide"), now=NOW)
    head = Commit(commit(path, texts({"apps/t1.json": None})))
    found = preview._glance(opened, base, head, preview.GivenInputs(now=NOW))
    assert found is not None
    assert {key.name for key in found.base_repo.manifests} == {"shop", "t1", "t6"}
    agree(opened, base, head, NOW, remember=False)
    opened.repository.close()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(federation(namespaces={"autoPropagate": False}), id="a setting that plans read"),
        pytest.param({"clusters/m1.json": cluster("m1", "a", "NoExecute")}, id="a taint that drives work out"),
        pytest.param({"clusters/m4.json": cluster("m4", "a")}, id="a cluster more"),
        pytest.param({"clusters/m3.json": None}, id="a cluster less"),
    ],
)  # fmt: skip
def test_what_concerns_everything_is_a_look_at_everything(change: Files, tmp_path: Path) -> None:
    path = repository(tmp_path / "fleet", fleet_of_many())
    opened = inputs.open_repository(str(path))
    record(opened, NOW - timedelta(hours=1))
    base = Commit(git(path, "rev-parse", "HEAD"))
    agree(opened, base, base, NOW, remember=True)
    head = Commit(commit(path, texts(change)))
    assert preview._glance(opened, base, head, preview.GivenInputs(now=NOW)) is None
    opened.repository.close()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"apps/t1.json": None}, id="the orphan goes"),
        pytest.param({"apps/t17.json": None}, id="what it needs goes"),
    ],
)
def test_what_stayed_with_an_orphan_is_a_look_at_everything(change: Files, tmp_path: Path) -> None:
    taking = policy("shop", "one", {"placement": {}, "propagateDeps": True}, "t1")
    path = repository(tmp_path / "fleet", {**fleet_of_many(), "policies/shop.json": json.dumps(taking)})
    opened = inputs.open_repository(str(path))
    record(opened, NOW - timedelta(hours=2))
    base = Commit(commit(path, texts({"policies/shop.json": None})))
    record(inputs.open_repository(str(path)), NOW - timedelta(hours=1))
    agree(opened, base, base, NOW, remember=True)
    head = Commit(commit(path, texts(change)))
    assert preview._glance(opened, base, head, preview.GivenInputs(now=NOW)) is None
    opened.repository.close()


def test_what_is_not_committed_is_a_glance_too(tmp_path: Path) -> None:
    files = {path: text for path, text in fleet_of_many().items() if path != "policies/room.json"}
    path, opened, base = remembered(tmp_path / "fleet", files)
    write(path, texts({"apps/t1.json": None, "apps/t3.json": deployment(3, "shop", 7)}))
    write(path, texts({"apps/new.json": config(99, "shop"), "notes.txt": {}}))
    tree = inputs.files_on_disk(opened)
    found = preview._glance(opened, base, tree, preview.GivenInputs(now=NOW))
    assert found is not None
    assert {key.name for key in found.head_repo.manifests} == {"shop", "t3", "t99"}
    assert {key.name for key in found.base_repo.manifests} == {"shop", "t1", "t3"}
    agree(opened, base, tree, NOW, remember=False)
    opened.repository.close()


def test_what_kustomize_builds_is_looked_at_with_every_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{needs.path_of('kubectl').parent}:/usr/bin:/bin")
    files = {path: text for path, text in fleet_of_many().items() if path != "policies/room.json"}
    files |= {
        "built/base/kustomization.yaml": "resources: [t30.json, deep/t31.json]\n",
        "built/base/t30.json": json.dumps(deployment(30, "shop")),
        "built/base/deep/t31.json": json.dumps(config(31, "shop")),
        "built/over/kustomization.yaml": "resources: [../base]\n",
    }
    path, opened, base = remembered(tmp_path / "fleet", files)
    assert partial_plan.recall(opened) is not None
    for change, looked_at in (
        ({"apps/t1.json": None}, {"t1", "t30", "t31"}),
        ({"built/base/t30.json": deployment(30, "shop", 9)}, {"t30", "t31"}),
    ):
        head = Commit(commit(path, texts(change)))
        found = preview._glance(opened, base, head, preview.GivenInputs(now=NOW))
        assert found is not None
        assert {key.name for key in found.base_repo.manifests} == {"shop", *looked_at}
        agree(opened, base, head, NOW, remember=False)
        git(path, "reset", "-q", "--hard", base)
    head = Commit(commit(path, {"built/base/kustomization.yaml": "resources: [t30.json]\n"}))
    assert preview._glance(opened, base, head, preview.GivenInputs(now=NOW)) is None
    opened.repository.close()
