"""The real API server comes up, is one for kubectl and for server-side apply, and comes back after a crash."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clusters import apiserver, rest
from tests.support import needs

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
        },
    },
}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apiserver.RealApiServer]:
    needs.path_of("kube-apiserver")
    server = apiserver.RealApiServer(tmp_path_factory.mktemp("cluster"), "alpha")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def kubeconfig(server: apiserver.RealApiServer) -> Path:
    path = server.directory / "kubeconfig"
    path.write_text(yaml.safe_dump(server.kubeconfig()))
    return path


def kubectl(kubeconfig: Path, *arguments: str, manifest: dict[str, Any] | None = None) -> str:
    command = [str(needs.path_of("kubectl")), f"--kubeconfig={kubeconfig}", *arguments]
    given = json.dumps(manifest) if manifest else None
    run = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_it_says_its_version_over_tls_to_the_holder_of_the_token(server: apiserver.RealApiServer) -> None:
    config = server.kubeconfig()
    assert rest.Endpoint.of(config, "alpha").request("GET", "/version")["major"] == "1"
    config["users"][0]["user"]["token"] = "another"
    with pytest.raises(rest.RefusedError, match="401 "):
        rest.Endpoint.of(config, "alpha").request("GET", "/version")


def test_kubectl_creates_a_config_map_and_reads_it_back(kubeconfig: Path) -> None:
    assert kubectl(kubeconfig, "create", "configmap", "greeting", "--from-literal=word=hello") == (
        "configmap/greeting created\n"
    )
    assert kubectl(kubeconfig, "get", "configmap", "greeting", "-o", "jsonpath={.data.word}") == "hello"


def test_server_side_apply_says_who_owns_what_and_defaults_the_rest(kubeconfig: Path) -> None:
    apply = ("apply", "--server-side", "--field-manager=first", "-o", "json", "--show-managed-fields", "-f", "-")
    live = json.loads(kubectl(kubeconfig, *apply, manifest=DEPLOYMENT))
    assert live["spec"]["strategy"]["type"] == "RollingUpdate"
    [entry] = live["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("first", "Apply")
    assert "f:replicas" in entry["fieldsV1"]["f:spec"]
    assert "f:strategy" not in entry["fieldsV1"]["f:spec"]


async def test_a_deployment_marked_available_is_rolled_out_for_kubectl(
    server: apiserver.RealApiServer, kubeconfig: Path
) -> None:
    manifest = {**DEPLOYMENT, "metadata": {"name": "ready", "namespace": "default"}}
    rest.Endpoint.of(server.kubeconfig(), "alpha").request("POST", DEPLOYMENTS, manifest)
    marked = await apiserver.mark_available(kubeconfig, "alpha", "default", "ready")
    assert marked["status"]["availableReplicas"] == 3
    rolled_out = kubectl(kubeconfig, "rollout", "status", "deployment/ready", "--timeout=180s")
    assert rolled_out == 'deployment "ready" successfully rolled out\n'


async def test_marking_a_deployment_that_is_not_there_repeats_what_the_server_says(
    server: apiserver.RealApiServer, kubeconfig: Path
) -> None:
    with pytest.raises(rest.RefusedError, match=r'deployments.apps \\"absent\\" not found'):
        await apiserver.mark_available(kubeconfig, "alpha", "default", "absent")


async def test_a_frozen_server_leaves_a_request_waiting_and_answers_it_once_thawed(
    server: apiserver.RealApiServer,
) -> None:
    cluster = rest.Endpoint.of(server.kubeconfig(), "alpha")
    server.freeze()
    try:
        request = asyncio.create_task(asyncio.to_thread(cluster.request, "GET", "/version"))
        answered, _ = await asyncio.wait({request}, timeout=0.5)
        assert not answered
    finally:
        server.thaw()
    assert (await request)["major"] == "1"


@needs.program("kube-apiserver")
async def test_clusters_are_apart_and_the_first_is_current(tmp_path: Path) -> None:
    async with apiserver.real_clusters(["east", "west"], tmp_path) as kubeconfig:
        config = yaml.safe_load(kubeconfig.read_text())
        assert config["current-context"] == "east"
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        east, west = (rest.Endpoint.of(config, name) for name in ("east", "west"))
        east.request("POST", DEPLOYMENTS, DEPLOYMENT)
        assert [item["metadata"]["name"] for item in east.request("GET", DEPLOYMENTS)["items"]] == ["web"]
        assert west.request("GET", DEPLOYMENTS)["items"] == []
    assert not east.answers("/readyz")
    assert not west.answers("/readyz")


@needs.program("kube-apiserver")
async def test_a_killed_cluster_comes_back_at_its_address_with_what_it_held(tmp_path: Path) -> None:
    async with apiserver.real_fleet(1, tmp_path) as fleet:
        server = fleet.servers["member1"]
        cluster = rest.Endpoint.of(server.kubeconfig(), "member1")
        uid = cluster.request("POST", DEPLOYMENTS, DEPLOYMENT)["metadata"]["uid"]
        server.kill()
        assert not cluster.answers("/readyz")
        server.start()
        assert cluster.request("GET", f"{DEPLOYMENTS}/web")["metadata"]["uid"] == uid


def test_assets_without_the_binaries_fail_and_name_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(needs.ASSETS, str(tmp_path))
    with pytest.raises(AssertionError) as caught:
        apiserver.RealApiServer(tmp_path / "cluster").start()
    assert str(caught.value) == f"KUBEBUILDER_ASSETS is set, but {tmp_path}/etcd is not there or cannot be run"
