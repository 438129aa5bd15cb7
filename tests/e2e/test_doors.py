"""The real kubectl through the hub's doors: on the embedded fleet, and on real API servers when they are at hand."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitfed.model.agent_identity import SEARCH
from gitfed.model.keys import CACHED_FROM_CLUSTER
from tests.e2e.through_door import Kubectl
from tests.e2e.world import World, cluster, config_map, policy, settings
from tests.support import needs, patience

pytestmark = [pytest.mark.e2e, needs.program("kubectl")]

_ACCESS = json.dumps(
    {
        "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "team"},
        "spec": {"subjects": [{"kind": "User", "name": "ann"}], "allow": ["proxy"]},
    }
)  # fmt: skip


def _files() -> dict[str, str | None]:
    return {
        "gitfed.json": settings(),
        "access.json": _ACCESS,
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "policy.json": policy("maps", ["m1", "m2"], (("v1", "ConfigMap"),)),
        "maps/c.json": config_map("c", {"a": "b"}),
    }


def _as_admin(world: World, name: str, *arguments: str) -> None:
    subprocess.run(["kubectl", "--kubeconfig", str(world.kubeconfig), "--context", name, *arguments],
                   check=True, capture_output=True, timeout=patience.SECONDS)  # fmt: skip


def test_kubectl_works_through_the_door_of_a_cluster(world: World, tmp_path: Path) -> None:
    world.push(_files())
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    kubectl = Kubectl(world, daemon, "--cluster", "m1")
    world.until(lambda: world.objects("m1", "ConfigMap", "shop") == ["c"], "the fleet is as it should be")
    refused = kubectl("get", "configmaps", "-n", "shop", code=1)
    assert 'Error from server (Forbidden): configmaps is forbidden: User "ann" cannot list' in refused
    _as_admin(world, "m1", "create", "clusterrolebinding", "ann", "--clusterrole=cluster-admin", "--user=ann")
    world.until(lambda: kubectl("auth", "can-i", "get", "configmaps", "-n", "shop") == "yes\n", "the right is there")

    assert kubectl("get", "configmap", "c", "-n", "shop").splitlines()[0].split() == ["NAME", "DATA", "AGE"]
    assert "c" in kubectl("get", "configmaps", "-A", "-o", "wide", "--chunk-size=1")
    assert "a: b" in kubectl("get", "configmap", "c", "-n", "shop", "-o", "yaml")
    assert "Name:         c" in kubectl("describe", "configmap", "c", "-n", "shop")
    assert "deployments" in kubectl("api-resources", "--api-group=apps")
    assert "replicas" in kubectl("explain", "deployment.spec")
    assert "serverVersion" in json.loads(kubectl("version", "-o", "json"))
    assert "NotFound" in kubectl("get", "configmap", "none", "-n", "shop", code=1)

    watch = kubectl.start("get", "configmaps", "-n", "shop", "-w", "-o", "name")
    try:
        assert watch.stdout is not None
        assert "configmap/" in watch.stdout.readline()
        mine = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "shop"},
                           "data": {"x": "1"}})  # fmt: skip
        assert kubectl("apply", "-f", "-", given=mine) == "configmap/mine created\n"
        seen = ""
        while "configmap/mine" not in seen:
            seen = watch.stdout.readline()
            assert seen, "the watch ended"
    finally:
        watch.kill()
        watch.communicate()
    changed = mine.replace('"1"', '"2"')
    assert '+  x: "2"' in kubectl("diff", "-f", "-", given=changed, code=1)
    assert kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=changed) == (
        "configmap/mine serverside-applied\n"
    )
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/x: "2"/x: "3"/\' "$1"\n')
    editor.chmod(0o755)
    assert kubectl("edit", "configmap", "mine", "-n", "shop", env={"KUBE_EDITOR": str(editor)}) == (
        "configmap/mine edited\n"
    )
    assert kubectl("get", "configmap", "mine", "-n", "shop", "-o", "jsonpath={.data.x}") == "3"
    waiting = kubectl.start("wait", "--for=delete", "configmap/mine", "-n", "shop", "--timeout=60s")
    assert 'configmap "mine" deleted' in kubectl("delete", "configmap", "mine", "-n", "shop")
    assert waiting.wait(patience.SECONDS) == 0
    waiting.communicate()
    audited = [line for line in daemon.said("request") if line.get("who") == "ann"]
    assert {"POST", "PATCH", "DELETE"} <= {line["what"].split()[0] for line in audited}
    assert all(line["where"].startswith("cluster=m1 path=/") for line in audited)
    assert daemon.stop() == 0


def test_kubectl_searches_what_registries_select(world: World) -> None:
    both = _ACCESS.replace('["proxy"]', '["view", "proxy"]')
    registry = {
        "apiVersion": "search.karmada.io/v1alpha1", "kind": "ResourceRegistry", "metadata": {"name": "maps"},
        "spec": {"targetCluster": {}, "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]},
    }  # fmt: skip
    world.push({**_files(), "access.json": both, "registry.json": json.dumps(registry)})
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    kubectl = Kubectl(world, daemon, "--fleet")
    for name in world.names:
        world.until(lambda name=name: world.objects(name, "ConfigMap", "shop") == ["c"], "the fleet is as it should be")
    for name in world.names:  # no controller fills the usual roles of an API server that stands alone
        _as_admin(world, name, "create", "clusterrole", "reads", "--verb=get,list,watch", "--resource=configmaps")
        # Through an agent the hub itself asks as this user (`gitfed rbac`); in others as the daemon's account.
        _as_admin(world, name, "create", "clusterrolebinding", "search", "--clusterrole=reads", f"--user={SEARCH}")
    _as_admin(world, "m2", "create", "clusterrolebinding", "ann", "--clusterrole=reads", "--user=ann")
    hub = daemon.said("the hub listens")[0]["url"].rpartition(":")[2]
    path = "/apis/search.karmada.io/v1alpha1/search/cache/api/v1/namespaces/shop/configmaps"

    def search(more: str = "") -> list[list[str]]:
        process = kubectl.start("--server", f"https://127.0.0.1:{hub}", "get", "--raw", path + more)
        out, _ = process.communicate(timeout=patience.SECONDS)
        items = json.loads(out)["items"] if process.returncode == 0 else []
        return [[one["metadata"]["annotations"][CACHED_FROM_CLUSTER], one["metadata"]["name"]] for one in items]

    world.until(lambda: ["m2", "c"] in search(), "what is in m2 is found")
    assert {cluster for cluster, _ in search()} == {"m2"}  # in m1 ann may read nothing
    assert search("/none") == []
    _as_admin(world, "m1", "create", "clusterrolebinding", "ann", "--clusterrole=reads", "--user=ann")
    world.until(lambda: search("/c") == [["m1", "c"], ["m2", "c"]], "a new right is seen")
    _as_admin(world, "m2", "create", "configmap", "only", "--namespace", "shop", "--from-literal=x=1")
    world.until(lambda: search("?fieldSelector=metadata.name%3Donly") == [["m2", "only"]], "the watch tells of it")
    assert daemon.stop() == 0


def test_kubectl_sees_the_fleet_as_one_cluster(world: World) -> None:
    world.push(_files())
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    kubectl = Kubectl(world, daemon, "--fleet")
    for name in world.names:
        world.until(lambda name=name: world.objects(name, "ConfigMap", "shop") == ["c"], "the fleet is as it should be")
        _as_admin(world, name, "create", "clusterrolebinding", "ann", "--clusterrole=cluster-admin", "--user=ann")
    _as_admin(world, "m2", "create", "configmap", "only", "--namespace", "shop", "--from-literal=x=1")

    def rows(text: str) -> list[list[str]]:
        return [line.split()[:2] for line in text.splitlines() if "kube-root-ca.crt" not in line]

    expected = [["NAME", "CLUSTER"], ["c", "m1"], ["c", "m2"], ["only", "m2"]]
    world.until(lambda: rows(kubectl("get", "configmaps", "-n", "shop")) == expected, "everybody sees the rights")
    assert rows(kubectl("get", "configmaps", "-n", "shop", "--chunk-size=1")) == expected
    assert "NAMESPACE" in kubectl("get", "configmaps", "-A", "-o", "wide")
    assert "deployments" in kubectl("api-resources", "--api-group=apps")
    assert "replicas" in kubectl("explain", "deployment.spec")
    assert "ambiguous objects in clusters [m1, m2]" in kubectl("get", "configmap", "c", "-n", "shop", code=1)
    assert "cached-from-cluster: m2" in kubectl("get", "configmap", "only", "-n", "shop", "-o", "yaml")
    assert "Name:         only" in kubectl("describe", "configmap", "only", "-n", "shop")
    watch = kubectl.start("get", "configmaps", "-n", "shop", "-w", "--no-headers")
    try:
        assert watch.stdout is not None
        assert "labeled" in kubectl("label", "configmap", "only", "-n", "shop", "a=b")
        _as_admin(world, "m1", "create", "configmap", "late", "--namespace", "shop")
        seen: list[str] = []
        while seen[:2] != ["late", "m1"]:
            seen = watch.stdout.readline().split()
            assert seen, "the watch ended"
    finally:
        watch.kill()
        watch.communicate()
    assert "deleted" in kubectl("delete", "configmap", "only", "-n", "shop")
    assert world.objects("m2", "ConfigMap", "shop") == ["c"]
    assert daemon.stop() == 0


def test_gitfed_lists_and_follows_what_is_in_several_clusters(world: World) -> None:
    world.push(_files())
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    hub = Kubectl(world, daemon)
    url = daemon.said("the hub listens")[0]["url"].rpartition(":")[2]
    there = ("--server", f"https://127.0.0.1:{url}", "--kubeconfig", str(hub.config))
    for name in world.names:
        world.until(lambda name=name: world.objects(name, "ConfigMap", "shop") == ["c"], "the fleet is as it should be")
        _as_admin(world, name, "create", "clusterrolebinding", "ann", "--clusterrole=cluster-admin", "--user=ann")
    _as_admin(world, "m2", "create", "configmap", "only", "--namespace", "shop", "--from-literal=x=1")

    def rows() -> list[list[str]]:
        done = world.gitfed("get", "configmaps", "-C", "m1,m2", "-n", "shop", *there, check=False)
        assert done.returncode in (0, 4), done.stderr  # 4: a cluster says no, still
        found = [line.split() for line in done.stdout.splitlines() if "kube-root-ca.crt" not in line]
        return [[*row[:2], row[-1]] for row in found]

    expected = [["NAME", "CLUSTER", "ADOPTION"], ["c", "m1", "Y"], ["c", "m2", "Y"], ["only", "m2", "N"]]
    world.until(lambda: rows() == expected, "the rights are seen")
    names = world.gitfed("get", "configmaps", "-C", "m2", "-n", "shop", "-o", "name", *there).stdout.split()
    assert {"configmap/c", "configmap/only"} <= set(names)
    command = [sys.executable, "-m", "gitfed", "get", "configmaps", "-C", "m1,m2", "-n", "shop", "-w", *there]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=world.environment) as watch:
        try:
            seen: list[str] = []
            assert watch.stdout is not None
            while seen[:2] != ["late", "m1"]:
                seen = watch.stdout.readline().split()
                assert seen, "the watch ended"
                if seen[:2] == ["only", "m2"]:  # both are at work
                    _as_admin(world, "m1", "create", "configmap", "late", "--namespace", "shop")
        finally:
            watch.send_signal(signal.SIGINT)
        assert watch.wait(patience.SECONDS) == 130
    assert daemon.stop() == 0
