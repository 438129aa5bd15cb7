"""Owners of replicas, seen through the scale subresource.

A Scale is a face of another object, and so are its managedFields: who owns ``spec.replicas`` there owns the object's
replicas field, wherever that is. Going there and back loses the time of an entry that the scale made, as it does in
Kubernetes (a recorded answer of a real server has none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubesim.managed import entries, fieldset
from kubesim.managed.entries import Entry, Identity, Managed

Body = dict[str, Any]

VERSION: Final = "autoscaling/v1"
REPLICAS: Final = ("spec", "replicas")


def scale_fields(parent: Sequence[Body] | None, api_version: str, path: Sequence[str]) -> list[Body]:
    """managedFields of the Scale of an object whose replicas are at ``path`` in ``api_version``."""
    managed: Managed = {}
    for who, entry in entries.read(parent).items():
        if entry.api_version == api_version and fieldset.has(entry.fields, path):
            manager, operation, _, subresource = who
            there = entries.identity(manager, operation, VERSION, subresource)
            managed[there] = Entry(fieldset.from_paths([REPLICAS]), VERSION, entry.time)
    return entries.encode(managed)


def parent_fields(
    parent: Sequence[Body] | None, scale: Sequence[Body] | None, api_version: str, path: Sequence[str]
) -> list[Body]:
    """managedFields of the object after a write to its Scale. Entries of versions other than ``api_version`` go.

    An updater of the object is not recognised in the Scale, whose entries are of another version: what it keeps there
    comes back as a second entry of the same name (Kubernetes does the same, and forgets one of them at the next write).
    """
    before, there = entries.read(parent), entries.read(scale)
    replicas = fieldset.from_paths([path])
    kept: list[tuple[Identity, Entry]] = []
    for who, entry in before.items():
        if entry.api_version != api_version:
            continue
        if not fieldset.has(entry.fields, path):
            kept.append((who, entry))
        elif who in there:
            kept.append((who, entry))
            del there[who]
        elif left := fieldset.difference(entry.fields, replicas):
            kept.append((who, Entry(left, entry.api_version, entry.time)))
    for who, entry in there.items():
        if fieldset.has(entry.fields, REPLICAS):
            manager, operation, _, subresource = who
            back = entries.identity(manager, operation, api_version, subresource)
            kept.append((back, Entry(replicas, api_version, before[who].time if who in before else "")))
    return entries.encode_all(kept)
