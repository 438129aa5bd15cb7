"""Pods that a registry selects."""

from __future__ import annotations

from typing import Any

from gitfed.hub.search.collection import Collection


def pod(name: str, version: str = "1", namespace: str = "shop", uid: str = "", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": version,
                     "managedFields": [{"manager": "kubelet"}], **metadata},
        "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "ü:\"1\""}]},
    }  # fmt: skip


def listed(made: Collection, *bodies: dict[str, Any], version: str = "10") -> None:
    made.listed([made.project(body) for body in bodies], version)
