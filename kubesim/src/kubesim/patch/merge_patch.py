"""JSON merge patch (RFC 7386): objects merge, null removes, everything else replaces."""

from __future__ import annotations

from typing import Any


def merge_patch(body: Any, patch: Any) -> Any:
    """``body`` with ``patch`` merged in. Neither is changed; what the patch does not touch is shared with the result.

    Nulls inside values that are new are dropped as well (RFC 7386 §2: merging into nothing). Kubernetes: so are those
    in objects inside lists; an item that is null itself stays.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(body) if isinstance(body, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = _without_nulls(value) if isinstance(value, list) else value
    return merged


def _without_nulls(items: list[Any]) -> list[Any]:
    return [
        merge_patch(None, item) if isinstance(item, dict) else _without_nulls(item) if isinstance(item, list) else item
        for item in items
    ]
