"""How a ReplicaSchedulingPreference divides replicas (KubeFed: `pkg/controller/util/planner`, its documented rules).

Each cluster gets its least number first; what is left goes by weight, each share rounded up, clusters of more weight
first, among equals in an order given by a hash of name and object; none gets more than the most it allows, and what
that leaves goes round again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gitfed.text.values import dataclass

_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619


@dataclass(frozen=True, slots=True)
class Preference:
    weight: int = 0
    least: int = 0
    most: int | None = None


def read(spec: Mapping[str, Any]) -> dict[str, Preference]:
    """By cluster, `*` for those that are not named. Raises ValueError for numbers that KubeFed would refuse."""
    clusters = spec.get("clusters")
    if not clusters:
        return {"*": Preference(1)}
    if not isinstance(clusters, dict):
        raise ValueError("spec.clusters is not a mapping")
    return {str(name): _preference(str(name), declared or {}) for name, declared in clusters.items()}


def _preference(name: str, declared: object) -> Preference:
    if not isinstance(declared, dict):
        raise ValueError(f"spec.clusters.{name} is not a mapping")
    numbers = {key: declared.get(key) for key in ("weight", "minReplicas", "maxReplicas")}
    for key, number in numbers.items():
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
            raise ValueError(f"spec.clusters.{name}.{key} is no number of replicas")
    most = numbers["maxReplicas"]
    least = numbers["minReplicas"] or 0
    if most is not None and most < least:
        raise ValueError(f"spec.clusters.{name}: maxReplicas is less than minReplicas")
    return Preference(numbers["weight"] or 0, least, most)


def divide(total: int, preferences: Mapping[str, Preference], clusters: Collection[str], key: str) -> dict[str, int]:
    """Replicas of each cluster of a new object `namespace/name`, if every cluster has the capacity; 0 for those that no
    preference mentions."""
    counts = dict.fromkeys(clusters, 0)
    chosen = {name: preferences.get(name, preferences.get("*")) for name in clusters}
    open_ones = [(name, preference) for name, preference in chosen.items() if preference is not None]
    open_ones.sort(key=lambda pair: (-pair[1].weight, _hash(pair[0] + key)))
    left = total
    for name, preference in open_ones:
        counts[name] = min(preference.least, left)
        left -= counts[name]
    moved = True
    while moved and left > 0:
        moved, whole = False, sum(preference.weight for _, preference in open_ones)
        if not whole:
            break
        share, still_open = left, []
        for name, preference in open_ones:
            extra = min(-(-share * preference.weight // whole), left)
            wanted = counts[name] + extra
            if preference.most is not None and wanted > preference.most:
                wanted = preference.most
            else:
                still_open.append((name, preference))
            moved = moved or wanted > counts[name]
            left -= wanted - counts[name]
            counts[name] = wanted
        open_ones = still_open
    return counts


def weights(counts: Mapping[str, int], preferences: Mapping[str, Preference] | None) -> dict[str, int]:
    """Static weights that give exactly these counts: the preference's own where they divide without remainder."""
    total = sum(counts.values())
    if preferences is not None and total:
        own = {name: preferences.get(name, preferences.get("*", Preference())).weight for name in counts}
        whole = sum(own.values())
        if whole and all(total * weight == counts[name] * whole for name, weight in own.items()):
            return {name: weight for name, weight in own.items() if weight}
    return {name: count for name, count in counts.items() if count}


def _hash(text: str) -> int:
    """FNV-1, 32 bits, as Go's `fnv.New32`."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = value * _FNV_PRIME % 2**32 ^ byte
    return value
