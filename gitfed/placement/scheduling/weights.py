"""Static weights of the clusters that passed the filters (Karmada: scheduling §4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitfed.placement.scheduling import affinity
from gitfed.placement.scheduling.cluster import Candidate

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement


def static(placement: Placement, candidates: Sequence[Candidate]) -> dict[str, int]:
    """The largest weight of all entries that name a cluster; who is in no entry is left out.

    If no entry names any candidate, or there are none, all count the same.
    """
    scheduling = placement.replica_scheduling
    preference = scheduling.weight_preference if scheduling is not None else None
    weights: dict[str, int] = {}
    for entry in (preference.static_weight_list or ()) if preference is not None else ():
        matches = affinity.compile(entry.target_cluster)
        for candidate in candidates:
            if matches(candidate):
                weights[candidate.name] = max(entry.weight, weights.get(candidate.name, 0))
    return weights or {candidate.name: 1 for candidate in candidates}
