"""The WHY column: in a few words, why one row of the placement table is as it is.

What a row shows first is where something went away: `✓ → –`. Why these clusters were chosen says nothing about that, so
the reason why the others were not stands there instead, in the words of placement.
"""

from __future__ import annotations

from gitfed.cli.output import formatting, matrix
from gitfed.model.base import ClusterName
from gitfed.model.plan import Binding
from gitfed.planning import bind


def gone(was: Binding | None) -> str:
    """Why an object is not placed at all any more."""
    if was is not None and was.scheduled.policy == bind.IMPLIED:
        return "nothing goes there any more"
    return "removed from the repository"


def chosen(binding: Binding, before: matrix.Shares | None) -> str:
    """Why it goes where it goes; where it goes away, why. `before`: its shares until now, None if there were none."""
    gone = _departures(binding, before or {})
    if not gone or binding.reasons.leaves:
        return binding.reasons.why
    return gone


def _departures(binding: Binding, before: matrix.Shares) -> str:
    """`leaves eu-2 us-1: had untolerated taint {drain:NoExecute}`; "" when no cluster is left, or none has a reason."""
    clusters = binding.scheduled.clusters
    rejected = {rejection.cluster: rejection.reason for rejection in binding.reasons.rejections}
    by_reason: dict[str, list[ClusterName]] = {}
    for name in sorted(before.keys() - clusters):
        if name in rejected:
            by_reason.setdefault(rejected[name].removeprefix("cluster(s) "), []).append(name)
    return "; ".join(f"leaves {formatting.some(names)}: {reason}" for reason, names in by_reason.items())
