"""The in-process door: the same rules as over HTTP, without bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubesim import status
from kubesim.client import Client
from kubesim.cluster import Cluster
from tests.conformance.apiserver import ManualClock


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("member1", clock=ManualClock(), seed=1)


@pytest.fixture
def client(cluster: Cluster) -> Client:
    return cluster.client("test")


def config_map(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, **more}


def test_what_is_created_is_read_back_with_the_servers_fields(client: Client) -> None:
    made = client.create("configmaps", config_map("a", data={"k": "1"}))
    assert client.get("configmaps", "default", "a") is made
    meta = made["metadata"]
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")
    assert meta["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert meta["managedFields"][0]["manager"] == "test"


def test_refusals_are_raised_with_the_servers_text(client: Client) -> None:
    client.create("configmaps", config_map("a"))
    with pytest.raises(status.ApiError) as exists:
        client.create("configmaps", config_map("a"))
    assert (exists.value.code, str(exists.value)) == (409, 'configmaps "a" already exists')
    with pytest.raises(status.ApiError) as unknown:
        client.get("nopes.example.com", "", "a")
    assert unknown.value.code == 404
    assert client.find("configmaps", "default", "b") is None


def test_an_old_version_loses_against_a_newer_one(client: Client) -> None:
    old = client.create("configmaps", config_map("a", data={"k": "1"}))
    client.patch("configmaps", "default", "a", {"data": {"k": "2"}})
    with pytest.raises(status.ApiError) as stale:
        client.update("configmaps", {**old, "data": {"k": "3"}})
    assert (stale.value.code, stale.value.reason) == (409, "Conflict")
    assert client.get("configmaps", "default", "a")["data"] == {"k": "2"}


def test_lists_are_selected_by_labels_and_fields(client: Client) -> None:
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        body = config_map(name)
        body["metadata"]["labels"] = {"app": app}
        client.create("configmaps", body)
    chosen = client.list("configmaps", "default", labels="app=web")
    assert [body["metadata"]["name"] for body in chosen] == ["a", "c"]
    assert len(client.list("configmaps", fields="metadata.name=b")) == 1


def test_applying_owns_what_it_says_and_conflicts_with_others(client: Client, cluster: Cluster) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}
    client.patch("configmaps", "default", "a", body, type="apply")
    other = cluster.client("other")
    with pytest.raises(status.ApiError) as conflict:
        other.patch("configmaps", "default", "a", {**body, "data": {"k": "2"}}, type="apply")
    assert str(conflict.value) == 'Apply failed with 1 conflict: conflict with "test": .data.k'
    taken = other.patch("configmaps", "default", "a", {**body, "data": {"k": "2"}}, type="apply", force=True)
    assert taken["data"] == {"k": "2"}


def test_scale_and_status_are_written_apart_from_the_rest(client: Client) -> None:
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": {"app": "w"}}, "template": template}
    client.create("deployments.apps", {"metadata": {"name": "d", "namespace": "default"}, "spec": spec})
    scaled = client.patch("deployments.apps", "default", "d", {"spec": {"replicas": 3}}, subresource="scale")
    assert scaled["kind"] == "Scale"
    change = {"spec": {"replicas": 9}, "status": {"replicas": 3}}
    after = client.patch("deployments.apps", "default", "d", change, subresource="status")
    assert (after["spec"]["replicas"], after["status"], after["metadata"]["generation"]) == (3, {"replicas": 3}, 2)


def test_a_deletion_with_another_uid_does_nothing(client: Client) -> None:
    client.create("configmaps", config_map("a"))
    with pytest.raises(status.ApiError) as conflict:
        client.delete("configmaps", "default", "a", uid="00000000-0000-4000-8000-000000000001")
    assert conflict.value.code == 409
    client.delete("configmaps", "default", "a")
    assert client.find("configmaps", "default", "a") is None


def test_a_dry_run_leaves_nothing_behind(client: Client) -> None:
    client.create("configmaps", config_map("a"), dry_run=True)
    assert client.find("configmaps", "default", "a") is None


def test_the_same_seed_gives_the_same_uids() -> None:
    def uid() -> str:
        made = Cluster("x", clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)), seed=7)
        return str(made.api.create("configmaps", config_map("a"))["metadata"]["uid"])

    assert uid() == uid()


async def test_a_stopped_cluster_remembers_everything(cluster: Cluster, client: Client) -> None:
    first = await cluster.start()
    assert cluster.kubeconfig()["clusters"] == [{"name": "member1", "cluster": {"server": first}}]
    client.create("configmaps", config_map("a"))
    await cluster.stop()
    assert cluster.url == ""
    await cluster.start(int(first.rpartition(":")[2]))
    assert cluster.url == first
    assert client.find("configmaps", "default", "a")
    await cluster.stop()
