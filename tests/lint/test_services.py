"""Services across clusters that reach nobody."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.world import cluster, policy, settings
from tests.lint.ingresses import ingress
from tests.lint.repository import said
from tests.services.stage import EXPORTS, IMPORTS, multi_cluster_service, service, service_export, service_import

SERVICES = (("v1", "Service"),)


def fleet(**federation: Any) -> dict[str, str]:
    clusters = {f"clusters/{name}.json": cluster(name) for name in ("m1", "m2")}
    return {"gitfed.json": settings(**federation), **clusters}


def exported(**more: str) -> dict[str, str]:
    return {
        **fleet(), "web.json": service(), "export.json": service_export(), "import.json": service_import(),
        "p1.json": policy("export", ["m1"], (*SERVICES, EXPORTS)), "p2.json": policy("import", ["m2"], (IMPORTS,)),
        **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"mcs.json": multi_cluster_service(), "web.json": service()}, []),
        (
            {"mcs.json": multi_cluster_service()},
            ["mcs.json:1:1: warning: there is no Service shop/web, so nothing is shared "
             "(it has the same namespace and name)"],
        ),
        (
            {"mcs.json": multi_cluster_service(ports=[{"name": "https", "port": 443}]), "web.json": service()},
            ["mcs.json:1:1: warning: the Service shop/web has no port https (443) (it has http (80), admin (8080))"],
        ),
        (
            {"mcs.json": multi_cluster_service(providers=["m1", "m22"], consumers=["m2"]), "web.json": service()},
            ["mcs.json:1:1: warning: no cluster m22 is declared (did you mean m2?)"],
        ),
        (
            {"mcs.json": multi_cluster_service(), "web.json": service(type="ExternalName", externalName="x.y")},
            ["mcs.json:1:1: warning: the Service shop/web is of type ExternalName: it has no endpoints "
             "(share one that selects pods)"],
        ),
        (
            {"mcs.json": multi_cluster_service(), "web.json": service(),
             "gitfed.json": settings(featureGates={"MultiClusterService": False})},
            ["mcs.json:1:1: warning: nothing is done: the feature gate MultiClusterService is off "
             "(it is on unless spec.featureGates of the Federation says otherwise)"],
        ),
        (
            {"mcs.json": multi_cluster_service(), "web.json": service(),
             "clusters/m2.json": cluster("m2", syncMode="Pull")},
            [],
        ),
    ],
)  # fmt: skip
def test_a_multi_cluster_service_needs_a_service_its_ports_and_clusters(files: dict[str, str], told: list[str]) -> None:
    assert said({**fleet(), **files}) == told


@pytest.mark.parametrize(
    ("files", "without", "told"),
    [
        ({}, (), []),
        ({}, ("export.json",),
         ["import.json:1:1: warning: ServiceImport shop/web imports what no cluster exports "
          "(a ServiceExport of the same namespace and name, in the clusters that provide it)"]),
        ({"p1.json": policy("export", ["m1"], SERVICES)}, (),
         ["import.json:1:1: warning: ServiceImport shop/web imports what is exported nowhere (let a policy place it)"]),
        ({"p3.json": policy("more", ["m1"], SERVICES), "p1.json": policy("export", ["m1", "m2"], (EXPORTS,))}, (),
         ["export.json:1:1: warning: ServiceExport shop/web goes to m2, where the Service does not go "
          "(let the policy of the Service select it too)"]),
        ({"p1.json": policy("export", ["m1"], (EXPORTS,))}, ("web.json",),
         ["export.json:1:1: warning: there is no Service shop/web to be exported "
          "(it has the same namespace and name)"]),
        ({"import.json": service_import(type_="Other")}, (),
         ["import.json:1:1: warning: ServiceImport shop/web gets no Service: "
          "its type is neither ClusterSetIP nor Headless"]),
        ({"import.json": service_import(ports=[])}, (),
         ["import.json:1:1: warning: ServiceImport shop/web gets no Service: it has no ports"]),
        ({"mine.json": service("derived-web")}, (),
         ["import.json:1:1: warning: ServiceImport shop/web gets no Service of its own: mine.json:1:1 defines it "
          "(its endpoints are added to that one)"]),
    ],
)  # fmt: skip
def test_an_import_needs_an_export_and_an_export_a_service(
    files: dict[str, str], without: tuple[str, ...], told: list[str]
) -> None:
    assert said({name: text for name, text in exported(**files).items() if name not in without}) == told


def test_an_ingress_needs_the_services_that_it_names() -> None:
    files = {
        **fleet(), "web.json": service(), "p1.json": policy("web", None, SERVICES),
        "ingress.json": ingress(("web", {"name": "http"}), ("gone", {"number": 1})),
    }  # fmt: skip
    assert said(files) == ["ingress.json:1:1: warning: there is no Service shop/gone"]
    assert said({**files, "ingress.json": ingress(("web", {"number": 443}))}) == [
        "ingress.json:1:1: warning: the Service shop/web has no port 443 (it has http (80), admin (8080))"
    ]
