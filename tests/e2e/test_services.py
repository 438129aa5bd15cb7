"""Endpoints that travel from cluster to cluster; the test plays the controllers that make EndpointSlices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitfed.model.keys import (
    DISPATCH_MANAGER,
    DISPATCHED_BY,
    IMPORT_MANAGER,
    PROVISION_CLUSTER,
    SERVICE_NAME,
    SLICE_MANAGED_BY,
)
from tests.clusters.rest import RefusedError
from tests.e2e.failing import FAST, SOON
from tests.e2e.world import World, cluster, policy, settings
from tests.services.stage import EXPORTS, IMPORTS, multi_cluster_service, service, service_export, service_import

pytestmark = pytest.mark.e2e

SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
MERGE = "application/merge-patch+json"


def crd(kind: str, plural: str) -> str:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.multicluster.x-k8s.io",
                         "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": "multicluster.x-k8s.io", "scope": "Namespaced", "versions": [version],
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}},
        }
    )  # fmt: skip


def everywhere(kind: str) -> str:
    return json.dumps(
        {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
            "metadata": {"name": "definitions"},
            "spec": {"resourceSelectors": [{"apiVersion": "apiextensions.k8s.io/v1", "kind": kind}]},
        }
    )  # fmt: skip


def fleet() -> dict[str, str]:
    guards = {"maxDeletionPercent": 100}
    return {
        "gitfed.json": settings(guards=guards, **SOON),
        "clusters/m1.json": cluster("m1"),
        "clusters/m2.json": cluster("m2"),
        "web.json": service(),
    }


def make(world: World, where: str, name: str, *addresses: str, service: str = "web", **labels: str) -> None:
    world.ask(
        where, "POST", SLICES,
        {"metadata": {"name": name, "labels": {SERVICE_NAME: service, **labels}}, "addressType": "IPv4",
         "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "endpoints": ends(*addresses)},
    )  # fmt: skip


def ends(*addresses: str) -> list[dict[str, Any]]:
    return [{"addresses": [one], "conditions": {"ready": True}, "nodeName": "n1"} for one in addresses]


def change(world: World, where: str, name: str, *addresses: str) -> None:
    world.ask(where, "PATCH", f"{SLICES}/{name}", {"endpoints": ends(*addresses)}, MERGE)


def slices(world: World, where: str) -> dict[str, list[str]]:
    """Addresses by the name of the slice."""
    found = world.ask(where, "GET", SLICES)["items"]
    return {
        one["metadata"]["name"]: [end["addresses"][0] for end in one.get("endpoints") or ()]
        for one in found
        if one["metadata"]["labels"][SERVICE_NAME] != "kubernetes"
    }


def has_service(world: World, where: str, name: str) -> bool:
    try:
        world.ask(where, "GET", f"/api/v1/namespaces/shop/services/{name}")
    except RefusedError:
        return False
    return True


def test_endpoints_of_a_multi_cluster_service_travel_and_go_with_it(world: World) -> None:
    exposed = multi_cluster_service(providers=["m1"], consumers=["m2"])
    world.push({**fleet(), "mcs.json": exposed})
    daemon = world.daemon(*FAST)
    world.until(lambda: all(has_service(world, name, "web") for name in world.names), "the Service in both")
    make(world, "m1", "web-1", "10.1.0.1")
    make(world, "m2", "mine", "10.2.0.1", **{SLICE_MANAGED_BY: "somebody"})
    world.until(lambda: slices(world, "m2").get("m1-web-1") == ["10.1.0.1"], "the endpoint in m2")
    metadata = world.ask("m2", "GET", f"{SLICES}/m1-web-1")["metadata"]
    assert metadata["labels"] == {
        SERVICE_NAME: "web", SLICE_MANAGED_BY: DISPATCH_MANAGER, DISPATCHED_BY: "acme"
    }  # fmt: skip
    assert metadata["annotations"] == {PROVISION_CLUSTER: "m1"}
    change(world, "m1", "web-1", "10.1.0.2", "10.1.0.3")
    world.until(lambda: slices(world, "m2").get("m1-web-1") == ["10.1.0.2", "10.1.0.3"], "the change in m2")
    change(world, "m2", "m1-web-1", "6.6.6.6")
    world.until(lambda: slices(world, "m2").get("m1-web-1") == ["10.1.0.2", "10.1.0.3"], "an edit is put right")
    assert slices(world, "m1") == {"web-1": ["10.1.0.2", "10.1.0.3"]}, "m1 does not consume"

    daemon.kill()
    change(world, "m1", "web-1", "10.1.0.4")
    again = world.daemon(*FAST)
    world.until(lambda: slices(world, "m2").get("m1-web-1") == ["10.1.0.4"], "what changed meanwhile")

    again.kill()
    world.push({"mcs.json": None, "policies/web.json": policy("web", ["m1", "m2"], (("v1", "Service"),))})
    last = world.daemon(*FAST)
    world.until(lambda: slices(world, "m2") == {"mine": ["10.2.0.1"]}, "only a user's own slice is left")
    assert has_service(world, "m2", "web")
    assert last.stop() == 0


def test_endpoints_of_a_cluster_that_fails_leave_the_others(world: World) -> None:
    world.push({**fleet(), "mcs.json": multi_cluster_service()})
    daemon = world.daemon(*FAST)
    world.until(lambda: all(has_service(world, name, "web") for name in world.names), "the Service in both")
    make(world, "m1", "web-1", "10.1.0.1")
    make(world, "m2", "web-2", "10.2.0.1")
    both = {"m1-web-1": ["10.1.0.1"], "web-2": ["10.2.0.1"]}
    world.until(lambda: slices(world, "m2") == both, "both in m2")
    world.until(lambda: slices(world, "m1") == {"web-1": ["10.1.0.1"], "m2-web-2": ["10.2.0.1"]}, "both in m1")
    world.servers["m1"].kill()
    world.until(lambda: slices(world, "m2") == {"web-2": ["10.2.0.1"]}, "those of m1 are gone")
    world.servers["m1"].start()
    world.until(lambda: slices(world, "m2") == both, "and back")
    assert daemon.stop() == 0


def test_an_import_gets_the_endpoints_of_every_export_and_leaves_nothing(world: World) -> None:
    files = {
        **fleet(),
        "crds/exports.json": crd("ServiceExport", "serviceexports"),
        "crds/imports.json": crd("ServiceImport", "serviceimports"),
        "policies/crds.json": everywhere("CustomResourceDefinition"),
        "export.json": service_export(), "import.json": service_import(),
        "policies/export.json": policy("export", ["m1"], (("v1", "Service"), EXPORTS)),
        "policies/import.json": policy("import", ["m1", "m2"], (IMPORTS,)),
    }  # fmt: skip
    world.push(files)
    daemon = world.daemon(*FAST)
    world.until(lambda: all(has_service(world, name, "derived-web") for name in world.names), "derived in both")
    make(world, "m1", "web-1", "10.1.0.1")
    imported = {"imported-m1-web-1": ["10.1.0.1"]}
    world.until(lambda: slices(world, "m2") == imported, "imported in m2")
    world.until(lambda: slices(world, "m1") == {"web-1": ["10.1.0.1"], **imported}, "and beside its own in m1")
    found = world.ask("m2", "GET", f"{SLICES}/imported-m1-web-1")["metadata"]["labels"]
    assert (found[SERVICE_NAME], found[SLICE_MANAGED_BY]) == ("derived-web", IMPORT_MANAGER)
    world.push({"export.json": None})
    world.until(lambda: slices(world, "m2") == {}, "no longer exported")
    world.push({"export.json": files["export.json"]})
    world.until(lambda: slices(world, "m2") == imported, "exported again")
    world.push({"import.json": None})
    world.until(lambda: not any(has_service(world, name, "derived-web") for name in world.names), "not imported")
    world.until(lambda: slices(world, "m1") == {"web-1": ["10.1.0.1"]} and slices(world, "m2") == {}, "nothing left")
    assert daemon.stop() == 0


def test_beside_a_service_of_somebody_else_nothing_is_written(world: World) -> None:
    world.push(fleet())
    daemon = world.daemon(*FAST)
    theirs = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 1}]}}
    world.ask("m2", "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    world.ask("m2", "POST", "/api/v1/namespaces/shop/services", theirs)
    world.push({"mcs.json": multi_cluster_service(providers=["m1"], consumers=["m2"])})
    world.until(lambda: has_service(world, "m1", "web"), "the Service in m1")
    make(world, "m1", "web-1", "10.1.0.1")
    world.push({"more.json": service("more"), "mcs2.json": multi_cluster_service("more")})
    world.until(lambda: has_service(world, "m2", "more"), "the other Service in m2")
    make(world, "m1", "more-1", "10.1.0.9", service="more")
    world.until(lambda: slices(world, "m2") == {"m1-more-1": ["10.1.0.9"]}, "the endpoints of the other Service only")
    assert world.ask("m2", "GET", "/api/v1/namespaces/shop/services/web")["spec"]["ports"][0]["port"] == 1
    assert daemon.stop() == 0
