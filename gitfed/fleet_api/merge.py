"""Objects of several clusters in one answer: each says where it is from, and has a version of the fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gitfed.fleet_api import versions
from gitfed.model.keys import CACHED_FROM_CLUSTER

Body = dict[str, Any]
Stamp = Callable[[str], str]
"""The version of the fleet for that of an object in its cluster."""

_CLUSTER_COLUMN = {
    "name": "Cluster",
    "type": "string",
    "format": "",
    "description": "The cluster that the object is in.",
    "priority": 0,
}


def marked(body: Mapping[str, Any], cluster: str, stamp: Stamp | None = None) -> Body:
    """An object of a cluster, for a client. `stamp`: None for a version that holds this cluster alone."""
    metadata = dict(body.get("metadata") or {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), CACHED_FROM_CLUSTER: cluster}
    version = metadata.get("resourceVersion")
    if version:
        metadata["resourceVersion"] = stamp(str(version)) if stamp else versions.encode({cluster: str(version)})
    return {**body, "metadata": metadata}


def unmarked(body: Mapping[str, Any], cluster: str) -> Body:
    """What a client sends back, for the cluster. A version that is none of ours is left to the cluster to judge."""
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(body)
    sent = dict(metadata)
    annotations = sent.get("annotations")
    if isinstance(annotations, Mapping) and CACHED_FROM_CLUSTER in annotations:
        sent["annotations"] = {name: text for name, text in annotations.items() if name != CACHED_FROM_CLUSTER}
    decoded = versions.decode(str(sent.get("resourceVersion") or ""))
    if cluster in decoded:
        sent["resourceVersion"] = decoded[cluster]
    return {**body, "metadata": sent}


def is_table(body: Mapping[str, Any]) -> bool:
    return body.get("kind") == "Table" and str(body.get("apiVersion", "")).startswith("meta.k8s.io/")


def lists(parts: Sequence[tuple[str, Mapping[str, Any]]]) -> Body:
    """Lists or Tables of clusters, in this order; duplicates stay. Its metadata is the caller's to fill.

    The first says what kind of list it is; where there is a Table, everything becomes one.
    """
    if any(is_table(part) for _, part in parts):
        return _tables([(cluster, part if is_table(part) else _as_table(part)) for cluster, part in parts])
    first = parts[0][1] if parts else {"kind": "List", "apiVersion": "v1"}
    items = [marked(item, cluster) for cluster, part in parts for item in part.get("items") or ()]
    return {"kind": first["kind"], "apiVersion": first["apiVersion"], "metadata": {}, "items": items}


def _tables(parts: Sequence[tuple[str, Mapping[str, Any]]]) -> Body:
    own = columns([part.get("columnDefinitions") or () for _, part in parts])
    rows = [row for cluster, part in parts for row in aligned(part, cluster, own)]
    first = parts[0][1]
    return {
        "kind": "Table",
        "apiVersion": first["apiVersion"],
        "metadata": {},
        "columnDefinitions": with_cluster(own, _CLUSTER_COLUMN),
        "rows": rows,
    }


def _as_table(part: Mapping[str, Any]) -> Body:
    """Of a list, where an API server knows no tables."""
    rows = [{"cells": [(item.get("metadata") or {}).get("name")], "object": item} for item in part.get("items") or ()]
    name = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [name], "rows": rows}


def columns(each: Iterable[Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    """Of all tables, by name: clusters of several versions show a kind in several ways."""
    by_name: dict[str, Mapping[str, Any]] = {}
    for definitions in each:
        for definition in definitions:
            by_name.setdefault(str(definition.get("name")), definition)
    return list(by_name.values())


def aligned(
    table: Mapping[str, Any],
    cluster: str,
    own: Sequence[Mapping[str, Any]],
    *,
    definitions: Sequence[Mapping[str, Any]] | None = None,
    stamp: Stamp | None = None,
) -> list[Body]:
    """The rows of a cluster's table with a cell for each of the columns `own`, and one for the cluster.

    `definitions`: the table's own, where it names none itself (a watch names them once).
    """
    listed = table.get("columnDefinitions") or definitions or ()
    names = [str(column.get("name")) for column in listed]
    rows: list[Body] = []
    for row in table.get("rows") or ():
        cells = dict(zip(names, row.get("cells") or (), strict=False))
        made = {**row, "cells": with_cluster([cells.get(str(column.get("name"))) for column in own], cluster)}
        inner = row.get("object")
        if isinstance(inner, Mapping) and inner.get("metadata"):
            made["object"] = marked(inner, cluster, stamp)
        rows.append(made)
    return rows


def with_cluster(cells: Sequence[Any], cell: Any) -> list[Any]:
    """Beside the name, which is the first."""
    return [*cells[:1], cell, *cells[1:]]


def table_event(
    table: Mapping[str, Any],
    cluster: str,
    shown: Sequence[Mapping[str, Any]],
    stamp: Stamp,
) -> Body:
    """A table in an event of a watch. `shown`: the columns of that cluster, as it last named them."""
    made = {**table, "rows": aligned(table, cluster, shown, definitions=shown, stamp=stamp)}
    made["columnDefinitions"] = with_cluster(list(shown), _CLUSTER_COLUMN)
    return made
