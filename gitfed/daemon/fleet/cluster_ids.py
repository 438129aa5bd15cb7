"""Which clusters of the fleet say that they are the same one: that is asked for each report of each agent."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gitfed.model.base import ClusterName


class ClusterIds:
    """`id_of`: what a cluster says it is, by the uid of its kube-system; "" of one that is not of the fleet now."""

    def __init__(self, id_of: Callable[[ClusterName], str]) -> None:
        self._id_of = id_of
        self._said: dict[str, set[ClusterName]] = {}
        """By id, the clusters that said so at any time. Whether they still do is looked at when it is asked for."""

    def says(self, cluster: ClusterName, uid: str) -> None:
        """To be called whenever a cluster says which one it is."""
        self._said.setdefault(uid, set()).add(cluster)

    def others(self, but: ClusterName, uid: str, recorded: Collection[ClusterName]) -> set[ClusterName]:
        """The other clusters that have this id, or had it when they were `recorded`."""
        claimants = {name for name in self._said.get(uid, ()) if self._id_of(name) == uid}
        if claimants:
            self._said[uid] = claimants
        else:
            self._said.pop(uid, None)
        return (claimants | set(recorded)) - {but}
