"""The documents that clients read: fields, how lists merge, and what the addresses accept."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim import crd, kinds, openapi
from kubesim.registry import Registry
from tests.crd import made

Body = dict[str, Any]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry([*kinds.builtin(), crd.definition_kind()])


def schemas(registry: Registry, group: str, version: str) -> Body:
    found: Body = openapi.document(registry, group, version)["components"]["schemas"]
    return found


def test_types_are_named_by_the_group_they_belong_to(registry: Registry) -> None:
    names = set(schemas(registry, "apps", "v1"))
    assert {
        "io.k8s.api.apps.v1.Deployment",
        "io.k8s.api.apps.v1.DeploymentSpec",
        "io.k8s.api.core.v1.PodSpec",
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    } <= names


def test_lists_say_how_they_merge(registry: Registry) -> None:
    containers = schemas(registry, "apps", "v1")["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert (containers["x-kubernetes-patch-merge-key"], containers["x-kubernetes-patch-strategy"]) == ("name", "merge")


@pytest.mark.parametrize(
    ("group", "version"), [("", "v1"), ("apps", "v1"), ("batch", "v1"), ("apiextensions.k8s.io", "v1")]
)
def test_every_reference_leads_somewhere(registry: Registry, group: str, version: str) -> None:
    document = openapi.document(registry, group, version)
    known = set(document["components"]["schemas"])
    assert set(_references(document["components"])) <= known


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"].rpartition("/")[2]] if isinstance(value.get("$ref"), str) else []
        return own + [name for inner in value.values() for name in _references(inner)]
    return [name for inner in value for name in _references(inner)] if isinstance(value, list) else []


def test_a_patch_accepts_the_parameters_that_clients_look_for(registry: Registry) -> None:
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    patch = openapi.document(registry, "apps", "v1")["paths"][path]["patch"]
    assert {"dryRun", "fieldValidation", "force"} <= {one["name"] for one in patch["parameters"]}
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}


def test_a_custom_kind_is_described_by_its_definition(registry: Registry) -> None:
    schema = made.with_spec(size={"type": "integer", "description": "how large"})
    registry = Registry(kinds.builtin())
    registry.set_custom(
        "widgets.example.com", crd.custom_kinds(made.established(made.definition(made.version(schema=schema))))
    )
    found = schemas(registry, "example.com", "v1")["com.example.v1.Widget"]
    assert found["properties"]["spec"]["properties"]["size"]["description"] == "how large"
    assert set(found["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert found["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Widget"}]
