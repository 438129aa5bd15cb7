"""Which lists are really maps: Kubernetes merges the items of some lists by a key, and the order of items is nobody's.

The server's own record of field ownership is the best witness (`k:{"name":"app"}`) and is asked first; this table
serves for lists that we have not written yet. Everything that is not in it is atomic: one value, order included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Owned = Mapping[str, Any]
"""A level of Kubernetes' FieldsV1."""


class Shape(NamedTuple):
    """`keys` of the items; () and not `is_set`: an atomic list."""

    keys: tuple[str, ...] = ()
    is_set: bool = False


ATOMIC = Shape()


_BY_NAME = ("name",)
_CONTAINER_PORTS = ("containerPort", "protocol")
_SERVICE_PORTS = ("port", "protocol")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": _BY_NAME,
    "initContainers": _BY_NAME,
    "ephemeralContainers": _BY_NAME,
    "env": _BY_NAME,
    "volumes": _BY_NAME,
    "imagePullSecrets": _BY_NAME,
    "resourceClaims": _BY_NAME,
    "schedulingGates": _BY_NAME,
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
}
_KEYS_BY_KIND: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("Service", "ports"): _SERVICE_PORTS,
    ("ServiceAccount", "secrets"): _BY_NAME,
    ("MutatingWebhookConfiguration", "webhooks"): _BY_NAME,
    ("ValidatingWebhookConfiguration", "webhooks"): _BY_NAME,
}
_ALWAYS = {("ServiceAccount", "imagePullSecrets"): Shape(_BY_NAME)}
"""Atomic for the server, but united with those of others before it is sent (`retain`)."""
_SETS = frozenset({"finalizers"})
_DEFAULTS = {"protocol": "TCP"}
ORDERED = frozenset({"initContainers"})
"""Maps by key whose order means something all the same."""


def shape(kind: str, place: Sequence[str], owned: Owned | None) -> Shape:
    """How the items of the list at `place` are told apart. `owned` is what we own inside it, None if not recorded."""
    forced = _ALWAYS.get((kind, place[-1]))
    if forced is not None and len(place) == 1:
        return forced
    for witness in owned or ():
        if witness.startswith("k:"):
            return Shape(tuple(_key(witness)))
        if witness.startswith("v:"):
            return Shape(is_set=True)
    if owned is not None and not owned:
        return ATOMIC
    name = place[-1]
    if name in _SETS:
        return Shape(is_set=True)
    keys = _KEYS_BY_KIND.get((kind, name)) or _KEYS.get(name)
    if keys is None and name == "ports" and "containers" in (place[-3:-2] or ("",))[0].lower():
        keys = _CONTAINER_PORTS
    return Shape(keys) if keys else ATOMIC


def by_key(items: Sequence[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...], tuple[int, Any]] | None:
    """(position, item) by key; None if an item is no map, its key is a map or list (a custom object's may be), or two
    have the same key, so that only position tells."""
    items_by_key: dict[tuple[Any, ...], tuple[int, Any]] = {}
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            return None
        values = tuple([item.get(key, _DEFAULTS.get(key)) for key in keys])
        if any(isinstance(value, dict | list) for value in values):
            return None
        items_by_key[values] = (index, item)
    return items_by_key if len(items_by_key) == len(items) else None


def owned_items(owned: Owned | None, keys: tuple[str, ...]) -> dict[tuple[Any, ...], Owned]:
    """What we own of each item, by the item's key."""
    owned_by_key: dict[tuple[Any, ...], Owned] = {}
    for witness, inside in (owned or {}).items():
        if witness.startswith("k:"):
            key = _key(witness)
            owned_by_key[tuple([key.get(name, _DEFAULTS.get(name)) for name in keys])] = inside
    return owned_by_key


@lru_cache(maxsize=16384)
def _key(witness: str) -> Mapping[str, Any]:
    """`k:{"name":"app"}` → {"name": "app"}, members sorted. The same few hundred texts come again for every object."""
    return dict(sorted(json.loads(witness[2:]).items()))
