"""Where a binding goes: `spec.clusters` of Karmada's ResourceBinding.

Most bindings of a fleet go to the same clusters, so what was read once is the same value again: ten thousand bindings
with a hundred targets each are a few tuples, and nobody compares them target by target.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gitfed.errors import InputError
from gitfed.model.decisions import Share
from gitfed.text import canonical


class _Same:
    """A list that equals no other, even if it holds the same."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


def shares(clusters: object) -> tuple[Share, ...]:
    """Sorted by cluster. Documents that were remembered together share their lists: those are known without a look.

    Raises InputError that names the member which is not what it should be.
    """
    return _of_list(_Same(clusters))


@lru_cache(maxsize=4096)
def _of_list(same: _Same) -> tuple[Share, ...]:
    clusters = same.value
    try:
        return _in_text(canonical.dumps(clusters))
    except canonical.NotCanonical:
        return tuple(sorted(_read(clusters)))


@lru_cache(maxsize=4096)
def _in_text(text: bytes) -> tuple[Share, ...]:
    return tuple(sorted(_read(canonical.loads(text))))


def _read(clusters: object) -> list[Share]:
    if not isinstance(clusters, list):
        raise InputError("spec.clusters is not a list")
    by_cluster: dict[str, Share] = {}
    for index, item in enumerate(clusters):
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
            raise InputError(f"spec.clusters[{index}].name is missing")
        replicas = item.get("replicas")
        if replicas is not None and (not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0):
            raise InputError(f"spec.clusters[{index}].replicas is not a whole number of 0 or more")
        if item["name"] in by_cluster:
            raise InputError(f"spec.clusters names {item['name']} twice")
        by_cluster[item["name"]] = Share(item["name"], replicas)
    return list(by_cluster.values())


def each(clusters: object) -> tuple[tuple[str, int], ...]:
    """Every target of a set has the same components: those of the first are those of all."""
    first = clusters[0].get("components") if isinstance(clusters, list) and clusters else None
    return tuple(
        (str(item.get("name") or ""), item["replicas"])
        for item in (first if isinstance(first, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("replicas"), int)
    )
