"""A cluster registers at a daemon's hub, and leaves again, by the commands as a person types them."""

from __future__ import annotations

import shlex

import pytest
import yaml

from tests.clusters.rest import RefusedError
from tests.e2e.world import World, config_map, policy, settings
from tests.support import needs

pytestmark = [pytest.mark.e2e, needs.pushed("it brings its agent along")]

BASE = {
    "gitfed.json": settings(),
    "policies/all.json": policy("all", None, (("v1", "ConfigMap"),)),
    "apps/conf.json": config_map("conf", {"a": "1"}),
}
_AGENT = {
    "Secret": "/api/v1/namespaces/gitfed-system/secrets/gitfed-agent",
    "ServiceAccount": "/api/v1/namespaces/gitfed-system/serviceaccounts/gitfed-agent",
    "Deployment": "/apis/apps/v1/namespaces/gitfed-system/deployments/gitfed-agent",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/gitfed-agent:gitfed-system",
}


def there(world: World) -> set[str]:
    """Which of the agent's objects are in the cluster."""
    return {kind for kind, path in _AGENT.items() if _exists(world, path)}


def _exists(world: World, path: str) -> bool:
    try:
        return bool(world.ask("m1", "GET", path))
    except RefusedError as error:
        if ": 404 " in str(error):
            return False
        raise


def test_a_cluster_registers_and_leaves(world: World) -> None:
    world.push(BASE)
    world.git("config", "user.name", "Test")
    world.git("config", "user.email", "test@example.com")
    daemon = world.daemon("--hub-address", "0.0.0.0:0")
    world.until(lambda: daemon.said("the hub listens"), "the hub")
    port = daemon.said("the hub listens")[0]["url"].rpartition(":")[2]
    hub = ("--hub-url", f"https://localhost:{port}")
    made = world.gitfed("token", "create", "--print-register-command", *hub, *where(world))
    words = shlex.split(made.stdout)
    assert words[:2] == ["gitfed", "register"]
    by = ("--cluster-kubeconfig", str(world.kubeconfig))
    said = world.gitfed(*words[1:], "--cluster-name", "m1", *by, "--commit")
    assert said.stdout == "cluster(m1) is joined successfully\n"
    declared = yaml.safe_load((world.work / "clusters/m1.yaml").read_text())
    uid = world.ask("m1", "GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
    assert declared["spec"] == {"syncMode": "Pull", "id": uid}
    assert there(world) == _AGENT.keys()
    listed = world.gitfed("token", "list", *where(world)).stdout
    assert "m1 (registered)" in listed

    left = world.gitfed("unregister", "m1", *by, "--delete-objects", "--commit")
    assert left.stdout == "cluster(m1) is unregistered\n"
    assert not there(world)
    assert not (world.work / "clusters/m1.yaml").exists()
    again = world.gitfed(*words[1:], "--cluster-name", "m1", *by, check=False)
    assert again.returncode == 4
    assert "the token was used already" in again.stderr


def where(world: World) -> tuple[str, ...]:
    return ("--data-dir", str(world.data))
