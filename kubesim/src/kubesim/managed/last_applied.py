"""kubectl's annotation of the last applied configuration: what client-side apply kept before servers knew owners.

When ``kubectl apply --server-side`` meets an object that was applied by the client, the fields of that annotation are
kubectl's own, so a conflict about them is none; and the annotation is kept up to date so that a person can go back.
Both hold for the manager ``kubectl`` only (Kubernetes: field managers, last-applied).
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubesim.managed import checking, compare, fieldset, typed
from kubesim.managed.fieldset import EMPTY, FieldSet
from kubesim.schema_nodes import Node

Body = dict[str, Any]

MANAGER: Final = "kubectl"
ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
LIMIT: Final = 262144
"""Bytes that all annotations of an object may have."""


def owned(node: Node, live: Body, api_version: str) -> FieldSet | None:
    """Fields that the annotation names and that still have those values; ``None`` without a readable annotation of
    this version."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return None
    try:
        config = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(config, dict) or config.get("apiVersion") != api_version or checking.complaints(node, config):
        return None
    comparison = compare.compare(node, config, live)
    fields = typed.fields_of(node, config)
    for changed in (comparison.modified, comparison.added, comparison.removed):
        fields = fieldset.difference(fields, changed)
    return fields or EMPTY


def kept_up(body: Body, config: Body) -> Body:
    """``body`` with the annotation telling ``config``, if it has the annotation at all."""
    annotations = _annotations(body)
    if not annotations.get(ANNOTATION):
        return body
    metadata = dict(config.get("metadata") or {})
    if isinstance(metadata.get("annotations"), dict) and ANNOTATION in metadata["annotations"]:
        metadata["annotations"] = {key: v for key, v in metadata["annotations"].items() if key != ANNOTATION}
    text = orjson.dumps({**config, "metadata": metadata}, option=orjson.OPT_SORT_KEYS).decode() + "\n"
    changed = {**annotations, ANNOTATION: text}
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in changed.items()) > LIMIT:
        changed = {**annotations, ANNOTATION: ""}
    return {**body, "metadata": {**body["metadata"], "annotations": changed}}


def _annotations(body: Body) -> dict[str, Any]:
    metadata = body.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
