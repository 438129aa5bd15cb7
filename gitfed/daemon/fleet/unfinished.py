"""What is left of the present plan in the clusters, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gitfed.daemon.fleet.member_protocol import ClusterMember
from gitfed.daemon.fleet.outcomes import Outcomes
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult


class Unfinished:
    def __init__(self, members: Mapping[ClusterName, ClusterMember], outcomes: Outcomes) -> None:
        """`members`: those of now, whenever it is asked."""
        self._members = members
        self._outcomes = outcomes

    def failures(self, cluster: ClusterName) -> list[ApplyResult]:
        """Changes that did not work out there."""
        return self._waiting_with(cluster, self._outcomes.failed)

    def kept(self, cluster: ClusterName) -> list[ApplyResult]:
        """Deletions that are not asked for: what others have would go with the object."""
        return self._waiting_with(cluster, self._outcomes.kept)

    def _waiting_with(
        self, cluster: ClusterName, result_of: Callable[[ClusterName, ObjectKey], ApplyResult | None]
    ) -> list[ApplyResult]:
        if not self._outcomes.has_any(cluster):
            return []
        results = (result_of(cluster, key) for key in self._waiting(cluster))
        return [result for result in results if result is not None]

    def _waiting(self, cluster: ClusterName) -> Iterable[ObjectKey]:
        member = self._members.get(cluster)
        return member.worker.waiting() if member is not None and member.worker is not None else ()

    def in_use(self) -> dict[tuple[ClusterName, ObjectKey], str]:
        """`kept` of all clusters: what of others is in each of these objects, or of its kind."""
        return {
            (name, result.key): str(result.details.get("left", ""))
            for name in self._members
            for result in self.kept(name)
        }

    def why_failed(self, cluster: ClusterName, key: ObjectKey) -> str:
        """What the cluster said to the last attempt at this object; "" unless it failed."""
        result = self._outcomes.failed(cluster, key)
        return result.message if result is not None else ""

    def only_fails(self) -> bool:
        """Whether every cluster that can be reached has nothing left to do but what keeps failing."""
        for member in self._members.values():
            worker = member.worker
            if member.view.behind:
                return False
            if worker is None or not member.ready.is_set() or worker.idle:
                continue
            waiting = set(worker.waiting())
            if worker.flying or not all(self._outcomes.is_over(member.name, key) for key in waiting):
                return False
        return True
