"""API groups as a server lists them."""

from __future__ import annotations

from typing import Any


def described(plural: str, kind: str, namespaced: bool = True) -> dict[str, Any]:
    return {
        "resource": plural,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced" if namespaced else "Cluster",
        "verbs": ["get", "list"],
    }


def aggregated(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": list(groups)}


def group(name: str, *versions: tuple[str, str, list[dict[str, Any]]]) -> dict[str, Any]:
    listed = [{"version": version, "freshness": fresh, "resources": found} for version, fresh, found in versions]
    return {"metadata": {"name": name} if name else {}, "versions": listed}


CORE = aggregated(group("", ("v1", "Current", [described("configmaps", "ConfigMap")])))


APPS = group("apps", ("v1", "Current", [described("deployments", "Deployment")]))
