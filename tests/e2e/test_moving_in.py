"""What runs in a cluster becomes a repository, and gitfed takes it over: nothing is made anew, nothing is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.world import World, cluster, config_map, deployment, policy, settings
from tests.planning.dependants import workload

pytestmark = pytest.mark.e2e

BASE = {"gitfed.json": settings(), "clusters/m1.json": cluster("m1"), "clusters/m2.json": cluster("m2")}
KINDS = ("Deployment", "ConfigMap", "Service")
OURS = ("gitfed.io/", "karmada.io/")


@pytest.fixture
def inhabited(world: World) -> World:
    """m1 holds what people made there; the repository only says that the clusters exist."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "shop"}}}
    world.ask("m1", "POST", "/api/v1/namespaces", space)
    by_hand(world, "Deployment", json.loads(workload("web", "conf", replicas=3)))
    by_hand(world, "ConfigMap", json.loads(config_map("conf", {"a": "b"})))
    by_hand(world, "ConfigMap", json.loads(config_map("other", {"c": "d"})))
    by_hand(world, "Service", {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})  # fmt: skip
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"a": "hunter2"}}
    world.ask("m1", "POST", "/api/v1/namespaces/shop/secrets", secret)
    world.push(BASE)
    world.git("config", "user.name", "Test")
    world.git("config", "user.email", "test@example.com")
    return world


def by_hand(world: World, kind: str, body: Any) -> None:
    world.ask("m1", "POST", world.path(kind, "shop"), body)


def bodies(world: World, where: str = "m1") -> dict[tuple[str, str], Any]:
    """Everything of the namespace as it is, but for what says whose it is and how often it was written."""
    found = {}
    for kind in KINDS:
        for body in world.ask(where, "GET", world.path(kind, "shop"))["items"]:
            metadata = body["metadata"]
            for field in ("labels", "annotations"):
                kept = {key: value for key, value in metadata.get(field, {}).items()
                        if not any(ours in key for ours in OURS)}  # fmt: skip
                metadata[field] = kept
            for field in ("managedFields", "resourceVersion", "generation"):
                metadata.pop(field, None)
            if metadata["name"] != "kube-root-ca.crt":
                found[kind, metadata["name"]] = {**body, "status": None}
    return found


def owned(world: World) -> set[str]:
    return {
        body["metadata"]["name"]
        for kind in KINDS
        for body in world.ask("m1", "GET", world.path(kind, "shop"))["items"]
        if (body["metadata"].get("labels") or {}).get("gitfed.io/federation") == "acme"
    }


def test_a_whole_cluster_is_taken_over_as_it_is(inhabited: World) -> None:
    world, before = inhabited, bodies(inhabited)
    world.git("pull", "-q", "origin", "main")
    done = world.gitfed("import", "cluster", "m1", "-n", "shop", "--kubeconfig", str(world.kubeconfig), "--commit")
    assert "SecretLeftOut (1)\n  Secret/shop/key: the values of a Secret do not belong into Git\n" in done.stdout
    assert "hunter2" not in world.git("show", "HEAD")
    text = (world.work / "shop/deployment-web.yaml").read_text()
    assert not {"uid", "status", "managedFields", "dnsPolicy", "terminationMessagePath"} & set(text.split(":\n")), text
    world.git("push", "-q", "origin", "main")
    world.daemon()
    world.until(lambda: owned(world) == {"web", "conf", "other"}, "all of it is ours")
    world.until(lambda: "outcome: applied" in world.state().get("state.yaml", ""), "recorded")
    assert bodies(world) == before
    assert world.objects("m2", "Namespace", "").count("shop") == 0, "nothing goes to other clusters"
    assert not quarrels(world)


def test_one_object_is_promoted_with_what_it_refers_to(inhabited: World) -> None:
    world, before = inhabited, bodies(inhabited)
    credentials = ("--kubeconfig", str(world.kubeconfig))
    shown = world.gitfed("promote", "deplyo", "web", "-n", "shop", "-C", "m1", *credentials, check=False)
    assert (shown.returncode, "cluster m1 serves no kind 'deplyo'" in shown.stderr) == (2, True)
    for words in (("deployment", "web", "-n", "shop"), ("shop/Deploy/web",), ("Deployment.apps/shop/web",)):
        shown = world.gitfed("promote", *words, "-C", "cluster/m1", "-o", "yaml", *credentials)
        assert "conflictResolution: Overwrite" in shown.stdout
    assert world.git("status", "--porcelain") == ""
    done = world.gitfed("promote", "deployments.apps", "web", "-n", "shop", "-C", "m1", "-d", "--commit", *credentials)
    assert done.stdout == 'Resource "deployments.v1.apps"(shop/web) is promoted successfully\n'
    assert sorted(world.git("show", "--name-only", "--format=", "HEAD").split()) == [
        "policies/shop/in-m1-web.yaml",
        "shop/configmap-conf.yaml",
        "shop/deployment-web.yaml",
    ]
    again = world.gitfed("promote", "deployment", "web", "-n", "shop", "-C", "m1", *credentials)
    assert 'Resource "deployments.v1.apps"(shop/web) is in the repository already' in again.stderr
    gone = world.gitfed("promote", "deployment", "nothing", "-n", "shop", "-C", "m1", *credentials, check=False)
    assert (gone.returncode, "cluster m1 has no Deployment nothing" in gone.stderr) == (2, True)
    world.git("push", "-q", "origin", "main")
    world.daemon()
    world.until(lambda: {"conf"} <= owned(world) and "other" not in owned(world), "what was promoted is ours")
    world.until(lambda: "outcome: applied" in world.state().get("state.yaml", ""), "recorded")
    assert bodies(world) == before
    assert not quarrels(world), "the namespace that somebody made is used as it is"


def quarrels(world: World) -> list[str]:
    done = world.gitfed(
        "plan", "--repo", str(world.bare), "--kubeconfig", str(world.kubeconfig), "--live", "-o", "json"
    )
    return [str(one) for one in json.loads(done.stdout)["changes"] if one["action"] in ("create", "update", "delete")]


def test_what_karmada_decided_is_where_the_daemon_begins(world: World, tmp_path: Path) -> None:
    """Nobody would divide seven replicas like that anew."""
    divided = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}
    world.push(
        BASE | {"web.json": deployment("web", replicas=7), "policy.json": policy("web", None, placement=divided)}
    )
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "shop",
                     "annotations": {"policy.karmada.io/applied-placement": json.dumps(divided)}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "shop"},
                 "replicas": 7, "clusters": [{"name": "m1", "replicas": 6}, {"name": "m2", "replicas": 1}]},
        "status": {"conditions": [{"type": "Scheduled", "status": "True", "reason": "Success", "message": "done"}]},
    }  # fmt: skip
    file = tmp_path / "decisions.yaml"
    file.write_text(json.dumps(binding))
    done = world.gitfed("state", "begin", str(file), "--repo", str(world.bare))
    assert done.stdout.startswith("gitfed/state begins with 1 decision, in ")
    world.daemon()
    world.until(lambda: "outcome: applied" in world.state().get("state.yaml", ""), "recorded")
    replicas = {where: world.get(where, "Deployment", "shop", "web")["spec"]["replicas"] for where in ("m1", "m2")}
    assert replicas == {"m1": 6, "m2": 1}
