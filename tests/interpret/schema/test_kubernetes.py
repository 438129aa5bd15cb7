"""What is wrong with an object of Kubernetes' own kinds, in which words, and for which version."""

from __future__ import annotations

import copy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitfed.edges import catalogue
from gitfed.interpret.schema import notation
from gitfed.interpret.schema.check import Schemas
from gitfed.interpret.schema.kubernetes import Basis, Kubernetes, minor_of
from tests.interpret.schema import mistakes

KUBERNETES = Kubernetes(catalogue.kubernetes)
SCHEMAS = Schemas(KUBERNETES)
NEWEST = KUBERNETES.minors[-1]
BODIES = {body["kind"]: body for body in mistakes.valid()}
POD: mistakes.Way = ("spec", "template", "spec")
CONTAINER: mistakes.Way = (*POD, "containers", 0)


def with_(kind: str, way: mistakes.Way, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(BODIES[kind])
    mistakes.at(body, way[:-1])[way[-1]] = value
    return body


def said(body: dict[str, Any], minor: int = NEWEST) -> list[str]:
    return [f"{fault} ({fault.hint})" if fault.hint else str(fault) for fault in SCHEMAS.faults(body, minor)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (with_("Deployment", ("spec", "replica"), 2),
         "spec.replica: unknown field of DeploymentSpec (did you mean replicas?)"),
        (with_("Deployment", (*CONTAINER, "imagee"), None),
         "spec.template.spec.containers[0].imagee: unknown field of Container (did you mean image?)"),
        (with_("Deployment", ("Spec",), {}), "Spec: unknown field of Deployment (did you mean spec?)"),
        (with_("Deployment", ("spec", "replicas"), "2"),
         "spec.replicas: must be a whole number of 32 bits, not text"),
        (with_("Deployment", ("spec", "replicas"), 2.5),
         "spec.replicas: must be a whole number of 32 bits, not a number"),
        (with_("Deployment", ("spec", "replicas"), 2**31),
         "spec.replicas: must be a whole number of 32 bits, not a number"),
        (with_("Deployment", ("spec", "paused"), "yes"), "spec.paused: must be true or false, not text"),
        (with_("Deployment", (*CONTAINER, "command"), "run"),
         "spec.template.spec.containers[0].command: must be a list, not text (begin each item with -)"),
        (with_("Deployment", (*CONTAINER, "env", 0, "value"), 80),
         "spec.template.spec.containers[0].env[0].value: must be text, not a number (write it in quotes)"),
        (with_("Deployment", (*CONTAINER, "env", 1), {"name": "COLOUR"}),
         "spec.template.spec.containers[0].env[1]: name COLOUR is there already, as item 0 "
         "(an API server takes it once)"),
        (with_("Deployment", (*CONTAINER, "env", 1), None),
         "spec.template.spec.containers[0].env[1]: must not be null in this list"),
        (with_("Deployment", (*CONTAINER, "resources", "limits", "cpu"), "1x"),
         "spec.template.spec.containers[0].resources.limits.cpu: must be a quantity like 500m, 2 or 1.5Gi, not text"),
        (with_("Deployment", (*CONTAINER, "livenessProbe", "httpGet", "port"), 80.5),
         "spec.template.spec.containers[0].livenessProbe.httpGet.port: must be a whole number of 32 bits or text, "
         "not a number"),
        (with_("Deployment", (*CONTAINER, "name"), None),
         "spec.template.spec.containers[0].name: is missing, and Container needs it"),
        (with_("Deployment", (*POD,), []), "spec.template.spec: must be a mapping (PodSpec), not a list"),
        (with_("Deployment", ("metadata", "creationTimestamp"), "today"),
         "metadata.creationTimestamp: must be a time like 2026-01-31T12:00:00Z, not text"),
        (with_("Service", ("spec", "ports", 0, "port"), "http"),
         "spec.ports[0].port: must be a whole number of 32 bits, not text"),
        (with_("ConfigMap", ("data", "size"), 24), "data.size: must be text, not a number (write it in quotes)"),
        (with_("ConfigMap", ("data", "nested"), {"a": "b"}), "data.nested: must be text, not a mapping"),
        (with_("Secret", ("data", "password"), "plain text"),
         "data.password: must be base64, not text"),
        (with_("Lease", ("spec", "renewTime"), "2026-01-01T00:00:00Z"),
         "spec.renewTime: must be a time like 2026-01-31T12:00:00.000000Z, not text"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_field_with_what_may_be_meant(body: dict[str, Any], message: str) -> None:
    assert said(body) == [message]


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("spec", "replicas"), 2.0),
        (("spec", "replicas"), None),
        (("spec", "strategy"), None),
        (("status",), {"replicas": 1}),
        (("metadata", "managedFields"), []),
        (("metadata", "ownerReferences"), [{"apiVersion": "v1", "kind": "A", "name": "b", "uid": "c"}]),
        ((*CONTAINER, "command"), ["a", None]),
        ((*CONTAINER, "resources"), {"limits": {"cpu": 1.5, "memory": " 1Gi"}}),
        ((*CONTAINER, "ports"), [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]),
        ((*POD, "nodeSelector"), {"a": None}),
    ],
)
def test_what_an_api_server_takes_is_no_mistake(way: mistakes.Way, value: Any) -> None:
    assert said(with_("Deployment", way, value)) == []


def test_no_value_is_shown_since_it_may_be_secret() -> None:
    for body in (with_("Secret", ("stringData",), {"p": 271828}), with_("Deployment", (*CONTAINER, "env"), "271828")):
        assert said(body)
        assert "271828" not in "".join(said(body))


def test_a_field_of_another_version_says_when_it_came_or_went() -> None:
    newer = with_("Deployment", (*POD, "hostnameOverride"), "web")
    assert said(newer) == []
    assert said(newer, 30) == [
        "spec.template.spec.hostnameOverride: unknown field of PodSpec in Kubernetes 1.30 (it came with 1.34)"
    ]
    gone = with_("Deployment", (*POD, "workloadRef"), {"name": "a", "podGroup": "b"})
    assert said(gone, 35) == []
    assert said(gone, 36) == [
        "spec.template.spec.workloadRef: unknown field of PodSpec in Kubernetes 1.36 (it went with 1.36)"
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "minor", "message"),
    [
        ("extensions/v1beta1", "Ingress", 30, "has no Ingress in extensions/v1beta1: it went with 1.22 "
         "(use networking.k8s.io/v1)"),
        ("policy/v1beta1", "PodSecurityPolicy", 30, "has no PodSecurityPolicy in policy/v1beta1: it went with 1.25 "
         "(Pod Security Admission took its place)"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 26, "has no HorizontalPodAutoscaler in "
         "autoscaling/v2beta2: it went with 1.26 (use autoscaling/v2)"),
        ("resource.k8s.io/v1", "ResourceClaim", 33, "has no ResourceClaim in resource.k8s.io/v1: it came with 1.34 "
         "(use resource.k8s.io/v1beta2)"),
        ("apps/v3", "Deployment", 36, "has no Deployment in apps/v3 (use apps/v1)"),
    ],
)  # fmt: skip
def test_a_version_that_went_says_what_took_its_place(api_version: str, kind: str, minor: int, message: str) -> None:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}}
    assert said(body, minor) == [f"apiVersion: Kubernetes 1.{minor} {message}"]


def test_a_version_that_is_still_there_is_taken_as_it_is() -> None:
    body = {"apiVersion": "autoscaling/v2beta2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    assert said(body, 25) == []


def test_a_kind_that_nobody_knows_is_not_judged() -> None:
    assert said({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "anything": 1}) == []


@pytest.mark.parametrize(
    ("annotation", "left"),
    [
        ("*", []),
        ("/spec/replica", ["data"]),
        ("/spec/replica, /spec/paused", []),
        ("/spec", []),
        ("", ["data", "data"]),
        ("no pointer", ["data", "data"]),
    ],
)
def test_an_annotation_takes_fields_out_of_the_check(annotation: str, left: list[str]) -> None:
    body = with_("Deployment", ("metadata", "annotations"), {"gitfed.io/ignore-schema": annotation})
    body["spec"] |= {"replica": 2, "paused": "no"}
    assert len(said(body)) == len(left)


@pytest.mark.parametrize(
    ("version", "minor"),
    [("v1.31.4", 31), ("v1.30.1-gke.1183000", 30), ("v1.29.3+k3s1", 29), ("1.28", 28), ("", None), ("v2.0.0", None),
     ("unknown", None)],
)  # fmt: skip
def test_the_minor_version_is_read_from_what_a_cluster_says(version: str, minor: int | None) -> None:
    assert minor_of(version) == minor


def test_a_cluster_outside_the_known_versions_is_judged_by_the_nearest_unsurely() -> None:
    oldest = KUBERNETES.minors[0]
    assert KUBERNETES.basis("v1.99.0") == Basis(NEWEST, False)
    assert KUBERNETES.basis("v1.12.0") == Basis(oldest, False)
    assert KUBERNETES.basis("v1.30.2") == Basis(30, True)
    assert KUBERNETES.basis() == Basis(NEWEST, True)
    assert KUBERNETES.always(29).basis("v1.36.0") == Basis(29, True)


def test_every_type_of_every_version_can_be_made() -> None:
    """No word names a type that is missing, in whatever version it is looked at."""
    for minor in KUBERNETES.minors:
        todo = [KUBERNETES.node(api, kind, minor) for api, kinds in KUBERNETES._kinds.items() for kind in kinds]
        seen = set()
        while todo:
            node = todo.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            todo += getattr(node, "fields", {}).values()
            todo.append(getattr(node, "item", None))
        assert len(seen) > 500


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({25: "string", 26: "string"}, "string"),
        ({25: None, 26: "string"}, "string@26-"),
        ({25: "string", 26: None}, "string@-25"),
        ({25: "int32", 26: "intstr", 27: "intstr"}, "int32@-25|intstr@26-"),
        ({25: "string", 26: None, 27: "string"}, "string@-25|string@27-"),
    ],
)
def test_words_of_several_versions_are_written_as_one_and_read_back(words: dict[int, str | None], text: str) -> None:
    assert notation.join(words, max(words)) == text
    assert {minor: notation.at(text, minor) for minor in words} == words


def test_the_tool_reads_what_it_wrote(tmp_path: Path) -> None:
    """A new version is added to what is there; without one the files come out as they went in."""
    root = Path(__file__).parents[3]
    for name in ("tools", "schemas", "gitfed"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "tools/kubernetes_schemas.py"], cwd=tmp_path, check=True)
    for path in (root / "schemas" / "kubernetes").glob("*.json"):
        assert (tmp_path / "schemas" / "kubernetes" / path.name).read_text() == path.read_text()


def test_the_tool_adds_a_version_from_an_openapi_document(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    for name in ("tools", "schemas", "gitfed"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "swagger.json").write_text(
        """{"definitions": {
             "io.k8s.api.core.v1.ConfigMap": {"type": "object",
               "x-kubernetes-group-version-kind": [{"group": "", "kind": "ConfigMap", "version": "v1"}],
               "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
                              "metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
                              "data": {"type": "object", "additionalProperties": {"type": "string"}},
                              "sealed": {"type": "boolean"}}},
             "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object",
               "properties": {"name": {"type": "string"}}}}}"""
    )
    command = [sys.executable, "tools/kubernetes_schemas.py", f"1.{NEWEST + 1}=swagger.json"]
    subprocess.run(command, cwd=tmp_path, check=True)
    made = Kubernetes(lambda name: (tmp_path / "schemas" / "kubernetes" / f"{name}.json").read_bytes())
    assert made.minors == range(KUBERNETES.minors[0], NEWEST + 2)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "sealed": True}
    assert Schemas(made).faults(body, NEWEST + 1) == ()
    (fault,) = Schemas(made).faults(body, NEWEST)
    assert (str(fault), fault.hint) == (
        f"sealed: unknown field of ConfigMap in Kubernetes 1.{NEWEST}", f"it came with 1.{NEWEST + 1}"
    )  # fmt: skip
