"""A CustomResourceDefinition, its objects, and a policy for everything."""

from __future__ import annotations

import json
from typing import Any


def definition(plural: str, kind: str) -> str:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
                 "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}]},
    })  # fmt: skip


def custom(kind: str, name: str, version: str = "1") -> str:
    return json.dumps({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"},
                       "spec": {"version": version}})  # fmt: skip


def everything(plural: str, kind: str, clusters: list[str], **spec: Any) -> str:
    """One policy for a definition and its objects."""
    return json.dumps({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": plural},
        "spec": {"resourceSelectors": [
                    {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                     "name": f"{plural}.example.com"},
                    {"apiVersion": "example.com/v1", "kind": kind}],
                 "placement": {"clusterAffinity": {"clusterNames": clusters}}, **spec},
    })  # fmt: skip
