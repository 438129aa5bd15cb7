"""Taking an object over: the managed fields of earlier writers become ours.

Server-side apply removes a field that we no longer render only if no other manager owns it. An object that kubectl or
Karmada once wrote by create or replace has an entry of operation *Update* for every field, so nothing would ever go.
Their entries are merged into ours, once, by a JSON patch bound to the version that was read; the next apply then drops
what we do not render.

Entries of controllers that keep writing (autoscalers, kube-controller-manager, operators) are left alone: their fields
are live, not history. So are subresources and, as the field sets are not comparable, other API versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.model.base import Body

_WRITERS = frozenset({"kubectl", "before-first-apply", "execution-controller", "gitfed"})
_WRITER_FAMILIES = ("kubectl-", "karmada")


def patch(live: Body, *, manager: str) -> list[dict[str, Any]] | None:
    """The JSON patch that makes the earlier writers' fields those of `manager`; None when there are none.

    The patch is refused (409) if the object changed since `live` was read.
    """
    metadata = live["metadata"]
    entries = list(metadata.get("managedFields") or ())
    api_version = live["apiVersion"]
    merged = [entry for entry in entries if _is_history(entry) and entry.get("apiVersion") == api_version]
    if not merged:
        return None
    ours = [entry for entry in entries if entry.get("manager") == manager and _is_ours(entry)]
    fields: dict[str, Any] = {}
    for entry in (*ours, *merged):
        fields = union(fields, _as_applied(entry.get("fieldsV1") or {}))
    entry = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": max(str(entry.get("time") or "") for entry in (*ours, *merged)) or None,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    entry = {name: value for name, value in entry.items() if value is not None}
    rest = [other for other in entries if all(other is not taken for taken in (*ours, *merged))]
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": [entry, *rest]},
        # Replacing the version by itself is the server's form of "only if it is still this one".
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
    ]


def migrated(live: Body, migration: list[dict[str, Any]] | None) -> Body:
    """`live` with its managed fields as `patch` leaves them."""
    if migration is None:
        return live
    return {**live, "metadata": {**live["metadata"], "managedFields": migration[0]["value"]}}


def union(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Both field sets together (Kubernetes: FieldsV1 is a tree whose leaves are empty objects)."""
    both = dict(left)
    for name, inner in right.items():
        both[name] = union(both[name], inner) if name in both else inner
    return both


def _as_applied(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of updates hold "." for the maps and lists they made, those of applies only for items of keyed lists."""
    applied = {}
    for name, inner in fields.items():
        below = _as_applied(inner)
        if name.startswith("f:"):
            below.pop(".", None)
        applied[name] = below
    return applied


def _is_history(entry: Mapping[str, Any]) -> bool:
    name = str(entry.get("manager") or "")
    return (
        entry.get("operation") == "Update"
        and not entry.get("subresource")
        and (name in _WRITERS or name.startswith(_WRITER_FAMILIES))
    )


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("operation") == "Apply" and not entry.get("subresource")
