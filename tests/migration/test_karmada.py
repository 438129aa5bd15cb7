"""A control plane comes in as it is: the same templates and policies, and a first plan that moves nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitfed.documents import bindings
from gitfed.migration.karmada import Taken, convert
from gitfed.migration.report import Code
from gitfed.model.base import Body, Commit
from gitfed.model.decisions import Decisions
from gitfed.model.declared import registry
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import build
from gitfed.source import repo as source
from gitfed.text import emit, yaml
from tests.e2e.world import settings as federation
from tests.planning.tree import INTERPRETER, NOW, Tree, decided

RECORDED = Path(__file__).parent / "karmada-1.15.yaml"
"""Objects of ours, as a control plane of Karmada 1.15.9 shows them."""
EXAMPLES = Path(__file__).parents[2] / "examples" / "repo"


def as_stored(body: Body) -> Body:
    """What an API server with Karmada's controllers shows of it."""
    metadata = {**body["metadata"], "uid": "u", "resourceVersion": "7", "generation": 1, "managedFields": [{}],
                "creationTimestamp": "2026-01-01T00:00:00Z"}  # fmt: skip
    if body["kind"] == "Deployment":
        metadata["labels"] = {**metadata.get("labels", {}), "propagationpolicy.karmada.io/permanent-id": "x"}
        metadata["annotations"] = {**metadata.get("annotations", {}), "propagationpolicy.karmada.io/name": "web"}
    found: dict[str, Any] = {"status": {"observedGeneration": 1}, **body, "metadata": metadata}
    if body["kind"] == "Cluster":
        taint = {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
        found["spec"] = {**body["spec"], "taints": [*body["spec"].get("taints", []), taint]}
    return found


def examples() -> list[Body]:
    paths = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.name != "gitfed.yaml")
    return [body for path in paths for body in yaml.load_all(path.read_bytes())]


def snapshot(files: dict[str, str]) -> RepoSnapshot:
    repo = source.read(Tree({"gitfed.json": federation(), **files}, Commit("1" * 40)))
    assert [str(problem) for problem in repo.problems if problem.severity == "error"] == []
    return repo


def imported(taken: Taken) -> RepoSnapshot:
    return snapshot({path: emit.dump_many(bodies) for path, bodies in taken.imported.files.items()})


def plan_of(repo: RepoSnapshot, past: Decisions) -> Plan:
    facts = {name: ClusterFacts(name) for name in repo.clusters}
    return build.build(repo, FleetSnapshot(FactsRef("test"), facts), past, INTERPRETER, NOW)


def test_the_example_repository_comes_back_from_a_control_plane_as_it_was() -> None:
    before = snapshot({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": examples()})})
    taken = convert([as_stored(body) for body in examples()], with_secrets=True)
    after = imported(taken)
    assert {key: one.body for key, one in after.manifests.items()} == {
        key: one.body for key, one in before.manifests.items()
    }
    assert [one.model_dump() for one in sorted(after.propagation, key=str)] == [
        one.model_dump() for one in sorted(before.propagation, key=str)
    ]
    assert {name: one.model_dump() for name, one in after.clusters.items()} == {
        name: one.model_dump() for name, one in before.clusters.items()
    }
    assert {one.code for one in taken.imported.findings} == {Code.CREDENTIALS}


def test_the_first_plan_leaves_everything_where_its_binding_says() -> None:
    bodies = examples()
    repo = snapshot({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies})})
    nothing = Decisions(repository_id="r")
    free = decided(plan_of(repo, nothing), nothing)
    # Somebody had moved the workload by hand there, or the scheduler had chosen otherwise.
    documents: list[Body] = []
    for decision in free.bindings.values():
        body = yaml.load_all(emit.dump(bindings.to_document(decision)).encode())[0]
        clusters = body["spec"].get("clusters") or []
        if body["spec"]["resource"]["name"] == "web" and len(clusters) > 1 and "replicas" in clusters[0]:
            clusters[0]["replicas"] += 1
            clusters[1]["replicas"] -= 1
        documents.append(as_stored(body))
    taken = convert([*map(as_stored, bodies), *documents], with_secrets=True)
    assert len(taken.decisions) == len(documents)
    past = Decisions(
        repository_id="r",
        bindings={one.key: one for one in map(bindings.from_document, taken.decisions)},
    )
    after = plan_of(imported(taken), past)
    for key, binding in after.bindings.items():
        before = past.bindings.get(key)
        if before is not None and binding.scheduled.shares:
            assert binding.scheduled.shares == before.scheduled.shares, key


def test_a_failover_that_is_under_way_goes_on() -> None:
    """The old copy stays until its task is over, and nothing goes back to where work is leaving."""
    bodies = examples()
    repo = snapshot({"all.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies})})
    nothing = Decisions(repository_id="r")
    plan = plan_of(repo, nothing)
    divided = {key for key, binding in plan.bindings.items() if binding.terms.divided}
    web = next(
        one for one in decided(plan, nothing).bindings.values() if one.key in divided and len(one.scheduled.shares) > 1
    )
    left = web.scheduled.shares[0]
    document = yaml.load_all(emit.dump(bindings.to_document(web)).encode())[0]
    document["spec"]["clusters"] = document["spec"]["clusters"][1:]
    document["spec"]["clusters"][0]["replicas"] += left.replicas
    document["spec"]["gracefulEvictionTasks"] = [
        {"fromCluster": left.cluster, "replicas": left.replicas, "purgeMode": "Gracefully",
         "reason": "TaintUntolerated", "producer": "TaintManager",
         "creationTimestamp": NOW.isoformat().replace("+00:00", "Z")}
    ]  # fmt: skip
    taken = convert([*map(as_stored, bodies), as_stored(document)], with_secrets=True)
    (decision,) = map(bindings.from_document, taken.decisions)
    assert [task.from_cluster for task in decision.failover.evictions] == [left.cluster]
    after = plan_of(imported(taken), Decisions(repository_id="r", bindings={decision.key: decision})).bindings[web.key]
    assert after.decision is not None
    assert after.decision.scheduled.shares == decision.scheduled.shares
    assert [task.from_cluster for task in after.decision.failover.evictions] == [left.cluster]


def test_an_object_of_a_group_that_nobody_knows_is_taken_as_it_is() -> None:
    widget = {"apiVersion": "acme.example/v3", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"},
              "spec": {"size": 3}}  # fmt: skip
    taken = convert([as_stored(widget)])
    (made,) = imported(taken).manifests.values()
    assert made.body == widget


def test_an_autoscaler_is_taken_without_what_it_did() -> None:
    rule = {"name": "up", "schedule": "0 8 * * *", "targetReplicas": 3}
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "rules": [rule]}
    metadata = {"name": "hours", "namespace": "shop", "uid": "1", "resourceVersion": "7"}
    taken = convert([
        {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "metadata": metadata,
         "spec": spec, "status": {"executionHistories": [{"ruleName": "up"}]}},
    ])  # fmt: skip
    [[body]] = taken.imported.files.values()
    assert (body["kind"], body["metadata"]) == ("CronFederatedHPA", {"name": "hours", "namespace": "shop"})
    assert (body["spec"], "status" in body) == (spec, False)
    assert taken.imported.findings == ()


def test_a_registry_is_taken_and_its_password_is_asked_for() -> None:
    store = {"openSearch": {"addresses": ["https://a:9200"], "secretRef": {"namespace": "a", "name": "b"}}}
    spec = {"targetCluster": {}, "resourceSelectors": [{"apiVersion": "v1", "kind": "Pod"}]}
    body = {"apiVersion": "search.karmada.io/v1alpha1", "kind": "ResourceRegistry", "metadata": {"name": "pods"}}
    with_store = {**body, "spec": {**spec, "backendStore": store}, "status": {}}
    taken = convert([with_store])
    [[made]] = taken.imported.files.values()
    assert (made["spec"], "status" in made) == (with_store["spec"], False)
    assert [(one.code, str(one.subject)) for one in taken.imported.findings] == [
        (Code.CREDENTIALS, "ResourceRegistry/pods")
    ]
    assert convert([{**body, "spec": spec}]).imported.findings == ()


@pytest.mark.parametrize("kind", [one for one in registry.MODELS if "karmada.io" in one[0]], ids=lambda one: one[1])
def test_every_kind_that_is_acted_on_is_taken_or_had_its_effect(kind: tuple[str, str]) -> None:
    taken = convert([{"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "a", "namespace": "shop"}}])
    assert Code.NO_EQUIVALENT not in {one.code for one in taken.imported.findings}


def test_what_karmada_keeps_for_itself_is_left_out_and_said() -> None:
    def of(group: str, kind: str, name: str, **members: Any) -> Body:
        metadata = {"name": name, "namespace": members.pop("namespace", "shop")}
        return {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": metadata, **members}

    taken = convert([
        of("work.karmada.io", "Work", "web-1", namespace="karmada-es-m1"),
        of("apps.karmada.io", "KindOfTomorrow", "web"),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"},
         "data": {"a": "aHVudGVyMg=="}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "karmada-system"}},
        of("work.karmada.io", "ResourceBinding", "web-deployment", spec={"clusters": [{"name": "m1"}]}),
    ])  # fmt: skip
    assert taken.imported.files == {}
    assert [(one.code, one.subject) for one in taken.imported.findings] == [
        (Code.SECRET, "Secret/shop/key"),
        (Code.GENERATED, "Work/karmada-es-m1/web-1"),
        (Code.SYSTEM, "ConfigMap/karmada-system/x"),
        (Code.NO_EQUIVALENT, "KindOfTomorrow/shop/web"),
    ]
    assert [body["metadata"]["name"] for body in taken.decisions] == ["web-deployment"]
    assert "aHVudGVyMg" not in str(taken)


def recorded() -> list[Body]:
    return list(yaml.load_all(RECORDED.read_bytes()))


def written(taken: Taken) -> dict[str, Body]:
    return {f"{body['kind']}/{body['metadata']['name']}": body for one in taken.imported.files.values() for body in one}


def test_what_a_control_plane_fills_in_is_taken_out_of_policies() -> None:
    made = written(convert(recorded()))
    policy = made["PropagationPolicy/p-web29"]
    assert policy["spec"] == {
        "resourceSelectors": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web29"},
            {"apiVersion": "v1", "kind": "Service", "name": "web29"},
        ],
        "placement": {
            "clusterAffinity": {"clusterNames": ["member1"]},
            "replicaScheduling": {"replicaDivisionPreference": "Aggregated", "replicaSchedulingType": "Divided"},
        },
    }
    assert policy["metadata"] == {"name": "p-web29", "namespace": "team7"}
    assert made["MultiClusterService/mcs"]["spec"] == {
        "consumerClusters": [{"name": "member2"}], "providerClusters": [{"name": "member1"}], "types": ["CrossCluster"],
    }  # fmt: skip


def test_a_job_of_a_control_plane_comes_without_the_labels_of_its_pods() -> None:
    job = written(convert(recorded()))["Job/job2"]
    assert job["metadata"] == {"name": "job2", "namespace": "team2"}
    pod = {"containers": [{"image": "busybox", "name": "c"}], "restartPolicy": "Never"}
    assert job["spec"] == {"completions": 4, "parallelism": 2, "template": {"spec": pod}}


def test_the_parts_of_karmada_are_no_templates() -> None:
    taken = convert(recorded())
    parts = {one.subject for one in taken.imported.findings if one.code is Code.SYSTEM}
    assert parts == {
        "CustomResourceDefinition/remedies.remedy.karmada.io",
        "MutatingWebhookConfiguration/mutating-config",
        "ValidatingWebhookConfiguration/validating-config",
    }
    assert "CustomResourceDefinition/widgets.example.com" in written(taken)


def test_to_adopt_everything_that_is_placed_gives_leave() -> None:
    before, after = written(convert(recorded())), written(convert(recorded(), adopt=True))
    changed = {name for name, body in after.items() if body != before[name]}
    policies = {name for name in before if name.split("/")[0] in ("PropagationPolicy", "ClusterPropagationPolicy")}
    by_annotation = {"FederatedResourceQuota/quota", "Service/mcs"}
    assert changed == policies | by_annotation
    assert {after[name]["spec"]["conflictResolution"] for name in policies} == {"Overwrite"}
    for name in by_annotation:
        assert after[name]["metadata"]["annotations"] == {"work.karmada.io/conflict-resolution": "overwrite"}
