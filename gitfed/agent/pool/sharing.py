"""★ Which member of a pool keeps which cluster: a rule that every member applies to the same Leases.

Shares differ by one at most. What a member holds stays there as long as its share allows it, so nothing moves but
where a member came or went; and all compute the same, so that no two reach for one cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitfed.model.base import ClusterName


def shares(
    members: Collection[str], clusters: Collection[ClusterName], held: Mapping[ClusterName, str]
) -> dict[ClusterName, str]:
    """The member that should keep each cluster. `held`: its holder, which may be no member any more."""
    if not members:
        return {}
    least, more = divmod(len(clusters), len(members))
    mine: dict[str, list[ClusterName]] = {member: [] for member in members}
    for cluster in sorted(clusters):
        if (holder := held.get(cluster, "")) in mine:
            mine[holder].append(cluster)
    # The larger shares are for those that have more already: otherwise it would move.
    ranked = sorted(mine, key=lambda member: (-len(mine[member]), member))
    share = {member: least + (place < more) for place, member in enumerate(ranked)}
    kept = {cluster: member for member, some in mine.items() for cluster in some[: share[member]]}
    open_places = [member for member in ranked for _ in range(share[member] - len(mine[member]))]
    left = [cluster for cluster in sorted(clusters) if cluster not in kept]
    return kept | dict(zip(left, open_places, strict=True))
