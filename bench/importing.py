"""`gitfed import karmada` of 5,000 objects, each time a process of its own: from its start to its last line.

1,500 Deployments, as many policies for them, 1,500 ConfigMaps and 500 Services in 50 namespaces; with each Deployment
its binding, which becomes a decision. Once from the files of an export, once from a control plane that answers: an
embedded cluster that only has an API.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from gitfed.text import emit
from tests.clusters.rest import Endpoint
from tests.e2e.world import deployment, policy

TARGET = 60.0
WORKLOADS, SERVICES, NAMESPACES = 1500, 500, 50
_KINDS = {
    "PropagationPolicy": ("policy.karmada.io", "v1alpha1", "propagationpolicies"),
    "ResourceBinding": ("work.karmada.io", "v1alpha2", "resourcebindings"),
}
_PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    **{kind: f"/apis/{group}/{version}/namespaces/{{}}/{plural}" for kind, (group, version, plural) in _KINDS.items()},
}
_GITFED = (sys.executable, "-m", "gitfed")


def run() -> list[tuple[str, str]]:
    found = list(objects())
    count = len(found) - WORKLOADS
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        export = folder / "export"
        export.mkdir()
        for start in range(0, len(found), 500):
            items = {"apiVersion": "v1", "kind": "List", "items": found[start : start + 500]}
            (export / f"{start:05}.yaml").write_text(emit.dump(items))
        from_files, told = _import(folder, "files", str(export))
        kubeconfig = folder / "kubeconfig"
        server = _control_plane(kubeconfig)
        try:
            _fill(Endpoint.of(yaml.safe_load(kubeconfig.read_text()), "karmada"), found)
            source = ("--karmada-kubeconfig", str(kubeconfig), "--karmada-context", "karmada")
            from_server, told_by_server = _import(folder, "server", *source)
        finally:
            server.terminate()
            server.wait()
    assert told == told_by_server, f"the same objects: {told} | {told_by_server}"
    return [
        (f"{count:,} objects and {WORKLOADS:,} bindings from files (target ≤ {TARGET:g} s)", f"{from_files:.1f} s"),
        (f"the same from a control plane (target ≤ {TARGET:g} s)", f"{from_server:.1f} s"),
        ("what it says", told),
    ]


def objects() -> Iterator[dict[str, Any]]:
    for n in range(NAMESPACES):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{n}"}}
    for n in range(WORKLOADS):
        namespace, name = f"team-{n % NAMESPACES}", f"web-{n}"
        metadata = {"name": name, "namespace": namespace}
        yield json.loads(deployment(name, namespace=namespace))
        yield json.loads(policy(name, ["m1", "m2"], namespace=namespace))
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": "value\n" * 20}}
        if n < SERVICES:
            ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
            yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata,
                   "spec": {"selector": {"app": name}, "ports": ports}}  # fmt: skip
        yield {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
               "metadata": {"name": f"{name}-deployment", "namespace": namespace},
               "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", **metadata}, "replicas": 2,
                        "clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}]}}  # fmt: skip


def _import(folder: Path, name: str, *arguments: str) -> tuple[float, str]:
    """Seconds, and how much was imported."""
    repository = folder / name
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GITFED_")}
    environment |= {"HOME": str(folder)}
    subprocess.run([*_GITFED, "init", "--bare-bones", str(repository)], check=True, capture_output=True,
                   env=environment)  # fmt: skip
    decisions = ("--decisions-out", str(folder / f"{name}.yaml"))
    began = time.perf_counter()
    done = subprocess.run([*_GITFED, "import", "karmada", *arguments, *decisions, "--repo", str(repository)],
                          check=True, capture_output=True, text=True, env=environment)  # fmt: skip
    return time.perf_counter() - began, done.stdout.splitlines()[0]


def _control_plane(kubeconfig: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*_GITFED, "sim", "up", "--name", "karmada", "--no-controllers", "--nodes", "0", "--kubeconfig",
         str(kubeconfig), "--quiet"],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while not kubeconfig.exists():
        assert process.poll() is None, "the embedded cluster did not start"
        time.sleep(0.1)
    return process


def _fill(plane: Endpoint, found: list[dict[str, Any]]) -> None:
    for kind, (group, version, plural) in _KINDS.items():
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        served = {"name": version, "served": True, "storage": True, "schema": schema}
        plane.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
        })  # fmt: skip
    for group, version, plural in _KINDS.values():
        while not plane.answers(f"/apis/{group}/{version}/{plural}"):
            time.sleep(0.1)

    def post(body: dict[str, Any]) -> None:
        plane.request("POST", _PATHS[body["kind"]].format(body["metadata"].get("namespace")), body)

    with ThreadPoolExecutor(8) as threads:
        spaces = [body for body in found if body["kind"] == "Namespace"]
        list(threads.map(post, spaces))
        list(threads.map(post, [body for body in found if body["kind"] != "Namespace"]))
