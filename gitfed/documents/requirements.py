"""Who needs an object as a dependency: `spec.requiredBy` of a binding, as Karmada writes it, and what is ours in it.

Karmada names the owner's binding; which object that is cannot be told from such a name, so an entry says it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.documents import lenient
from gitfed.model.base import Body, key_from
from gitfed.model.decisions import Dependent


def entry(dependent: Dependent, name: str) -> Body:
    """`name`: of the owner's binding."""
    document: dict[str, Any] = {"name": name, "resource": str(dependent.owner)}
    if dependent.owner.namespace:
        document["namespace"] = dependent.owner.namespace
    if dependent.clusters:
        document["clusters"] = [{"name": cluster} for cluster in dependent.clusters]
    if dependent.still_in:
        document["stillIn"] = list(dependent.still_in)
    return document


def read(items: object) -> tuple[Dependent, ...]:
    """Sorted; what cannot be read is left out."""
    listed = lenient.items(items)
    return tuple(sorted(_read(item) for item in listed if isinstance(item, Mapping))) if listed else ()


def _read(item: Mapping[str, Any]) -> Dependent:
    clusters = (target.get("name") for target in lenient.items(item.get("clusters")) if isinstance(target, Mapping))
    owner = key_from(str(item.get("resource") or f"Binding/{item.get('name')}"))
    return Dependent(owner, _names(clusters), _names(iter(lenient.items(item.get("stillIn")))))


def _names(names: Iterator[object]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if isinstance(name, str)))
