"""What became of changes: the last result of each object that did not go well, and the line that the log gets."""

from __future__ import annotations

import logging
from collections import Counter

from gitfed.edges.kube.apply import NOT_EMPTY
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Change

log = logging.getLogger("gitfed.fleet")

_SAID = {
    "created": "object created",
    "configured": "object configured",
    "deleted": "object deleted",
}
_OVER = ("failed", "skipped")
"""Outcomes of changes that stay in a list and have nothing to wait for but another look."""


class Outcomes:
    """The last result of each object where that did not go well: of all others nothing is asked, and there are many."""

    def __init__(self) -> None:
        self._results: dict[ClusterName, dict[ObjectKey, ApplyResult]] = {}
        self.carried_out: Counter[ClusterName] = Counter()
        """How many changes went well."""

    def take(self, change: Change, result: ApplyResult) -> None:
        before = self._get(result.cluster, result.key)
        self.forget(result.cluster, result.key)
        if result.outcome in _OVER or _is_kept(result):
            self._results.setdefault(result.cluster, {})[result.key] = result
        else:
            self.carried_out[result.cluster] += 1
        keys = {"cluster": result.cluster, "object": str(result.key), "took": round(result.took, 3)}
        news = before is None or before.message != result.message
        if result.outcome == "failed" and news:
            log.warning("change failed", extra={**keys, "error": result.message})
        elif result.outcome == "skipped" and news:
            log.info("object skipped", extra={**keys, "reason": result.message})
        elif result.outcome in _SAID:
            why = {"reason": str(change.reason), "code": str(change.reason.code)} if change.reason else {}
            log.info(_SAID[result.outcome], extra={**keys, **why})

    def forget(self, cluster: ClusterName, key: ObjectKey) -> None:
        self._results.get(cluster, {}).pop(key, None)

    def has_any(self, cluster: ClusterName) -> bool:
        """Whether anything did not go well there."""
        return bool(self._results.get(cluster))

    def _get(self, cluster: ClusterName, key: ObjectKey) -> ApplyResult | None:
        return self._results.get(cluster, {}).get(key)

    def failed(self, cluster: ClusterName, key: ObjectKey) -> ApplyResult | None:
        """The result of the last attempt, if it failed."""
        result = self._get(cluster, key)
        return result if result is not None and result.outcome == "failed" else None

    def kept(self, cluster: ClusterName, key: ObjectKey) -> ApplyResult | None:
        """The result of the last attempt to delete it, if what others have in it, or of its kind, would have gone."""
        result = self._get(cluster, key)
        return result if result is not None and _is_kept(result) else None

    def is_over(self, cluster: ClusterName, key: ObjectKey) -> bool:
        """Whether a change that stays in its list has nothing to wait for but another look."""
        result = self._get(cluster, key)
        return result is not None and result.outcome in _OVER


def _is_kept(result: ApplyResult) -> bool:
    return result.details.get("reason") == NOT_EMPTY
