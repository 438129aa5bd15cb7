"""Pods, and lists of them as members answer."""

from __future__ import annotations

from typing import Any


def pod(name: str, version: str = "5", **annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "resourceVersion": version}
    if annotations:
        metadata["annotations"] = annotations
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def table(columns: str, *rows: tuple[str, list[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "9"},
        "rows": [{"cells": cells, "object": pod(name)} for name, cells in rows],
    }  # fmt: skip
    if columns:
        found["columnDefinitions"] = [{"name": one, "type": "string", "priority": 0} for one in columns.split()]
    return found


def names(body: dict[str, Any]) -> list[str]:
    return [one["name"] for one in body["columnDefinitions"]]
