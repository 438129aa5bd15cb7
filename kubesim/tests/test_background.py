"""What the cluster does by itself: garbage, namespaces, definitions."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim import status
from kubesim.client import Client
from kubesim.cluster import Cluster
from tests.conformance.apiserver import ManualClock


@pytest.fixture
def client() -> Client:
    return Cluster("member1", clock=ManualClock(), controllers=True).client("test")


def make(client: Client, name: str, owner: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    if owner is not None:
        ref = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        meta["ownerReferences"] = [{**ref, "blockOwnerDeletion": True}]
    return client.create("configmaps", {"metadata": {"name": name, "namespace": "default", **meta}})


def names(client: Client) -> list[str]:
    return [body["metadata"]["name"] for body in client.list("configmaps", "default")]


def test_dependents_go_with_their_owner_to_the_last_generation(client: Client) -> None:
    owner = make(client, "owner")
    child = make(client, "child", owner)
    make(client, "grandchild", child)
    client.delete("configmaps", "default", "owner")
    assert names(client) == []


def test_a_family_of_hundreds_goes_as_well_as_a_small_one(client: Client) -> None:
    last = make(client, "owner")
    for generation in range(300):
        last = make(client, f"heir-{generation}", last)
        make(client, f"sibling-{generation}", last)
    client.delete("configmaps", "default", "owner")
    assert names(client) == []


def test_an_orphaned_dependent_stays_without_the_reference(client: Client) -> None:
    make(client, "child", make(client, "owner"))
    client.delete("configmaps", "default", "owner", policy="Orphan")
    assert names(client) == ["child"]
    assert "ownerReferences" not in client.get("configmaps", "default", "child")["metadata"]


def test_a_foreground_owner_waits_for_a_dependent_that_is_held(client: Client) -> None:
    owner = make(client, "owner")
    make(client, "held", owner, finalizers=["example.com/hold"])
    make(client, "quick", owner)
    client.delete("configmaps", "default", "owner", policy="Foreground")
    assert names(client) == ["held", "owner"]
    client.patch("configmaps", "default", "held", {"metadata": {"finalizers": None}})
    assert names(client) == []


def test_a_dependent_of_an_owner_that_never_was_is_collected(client: Client) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000001"}}
    make(client, "child", ghost)
    assert names(client) == []


def test_an_owner_of_an_unknown_kind_is_not_taken_for_absent(client: Client) -> None:
    ref = {
        "apiVersion": "example.com/v1",
        "kind": "Unknown",
        "name": "x",
        "uid": "00000000-0000-4000-8000-000000000001",
    }
    make(client, "child", ownerReferences=[ref])
    assert names(client) == ["child"]


def test_a_deleted_namespace_takes_its_contents_with_it(client: Client) -> None:
    client.create("namespaces", {"metadata": {"name": "team"}})
    client.create("secrets", {"metadata": {"name": "s", "namespace": "team"}})
    client.delete("namespaces", "", "team")
    assert client.find("namespaces", "", "team") is None
    assert client.list("secrets", "team") == []


def test_a_held_object_holds_its_namespace_which_says_why(client: Client) -> None:
    client.create("namespaces", {"metadata": {"name": "team"}})
    client.create("secrets", {"metadata": {"name": "s", "namespace": "team", "finalizers": ["example.com/hold"]}})
    client.delete("namespaces", "", "team")
    conditions = {entry["type"]: entry for entry in client.get("namespaces", "", "team")["status"]["conditions"]}
    said = conditions["NamespaceContentRemaining"]["message"]
    assert said == "Some resources are remaining: secrets. has 1 resource instances"
    with pytest.raises(status.ApiError) as refused:
        client.create("secrets", {"metadata": {"name": "t", "namespace": "team"}})
    assert refused.value.code == 403
    client.patch("secrets", "team", "s", {"metadata": {"finalizers": None}})
    assert client.find("namespaces", "", "team") is None


DEFINITION = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def widget(name: str, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default", **meta},
    }


def test_a_defined_kind_is_served_at_once_and_gone_with_its_definition(client: Client) -> None:
    client.create(DEFINITIONS, DEFINITION)
    client.create("widgets.example.com", widget("w"))
    client.delete(DEFINITIONS, "", "widgets.example.com")
    assert client.find(DEFINITIONS, "", "widgets.example.com") is None
    with pytest.raises(status.ApiError) as unknown:
        client.list("widgets.example.com")
    assert unknown.value.code == 404
    client.create(DEFINITIONS, DEFINITION)
    assert client.list("widgets.example.com") == []


def test_a_held_instance_holds_its_definition_and_no_new_ones_are_taken(client: Client) -> None:
    client.create(DEFINITIONS, DEFINITION)
    client.create("widgets.example.com", widget("w", finalizers=["example.com/hold"]))
    client.delete(DEFINITIONS, "", "widgets.example.com")
    with pytest.raises(status.ApiError, match="create not allowed while custom resource definition is terminating"):
        client.create("widgets.example.com", widget("x"))
    client.patch("widgets.example.com", "default", "w", {"metadata": {"finalizers": None}})
    assert client.find(DEFINITIONS, "", "widgets.example.com") is None


def test_a_namespace_with_custom_resources_is_emptied_of_them_too(client: Client) -> None:
    client.create(DEFINITIONS, DEFINITION)
    client.create("namespaces", {"metadata": {"name": "team"}})
    body = widget("w")
    body["metadata"]["namespace"] = "team"
    client.create("widgets.example.com", body)
    client.delete("namespaces", "", "team")
    assert client.list("widgets.example.com") == []
    assert client.find("namespaces", "", "team") is None
