"""What was decided, as far as the inventories of the clusters tell: for a state branch that is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Scheduled, Share
from gitfed.model.fleet import InventoryEntry


def decisions(
    entries: Iterable[tuple[ClusterName, Iterable[InventoryEntry]]], api_versions: Mapping[ObjectKey, str]
) -> dict[ObjectKey, Decision]:
    """`api_versions`: of the templates that are there.

    Of a template that is gone no inventory says in which version it was written, and a binding cannot be without: its
    copies are known from the inventories still.
    """
    shares: dict[ObjectKey, list[Share]] = {}
    for name, part in entries:
        for entry in part:
            if entry.key in api_versions:
                shares.setdefault(entry.key, []).append(Share(name, entry.replicas))
    return {key: Decision(key, api_versions[key], Scheduled(tuple(sorted(parts)))) for key, parts in shares.items()}
