"""Which clusters a workload may not use, each with a reason in the reference's words (Karmada: scheduling §2).

A filter answers None when it lets the cluster pass. Two of them let a cluster pass that already has the workload:
placement looks at new targets only there, and what runs is not moved because a taint appeared or an API vanished.

The reference tries its filters in random order; ours is fixed, from what the user wrote to what was observed, so that
a cluster with two defects always shows the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gitfed.placement.scheduling.affinity import Predicate
from gitfed.placement.scheduling.cluster import Candidate, Taint
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.decisions import TimedTaint
    from gitfed.model.declared.policy import SpreadConstraint, Toleration

AFFINITY = "cluster(s) did not match the placement cluster affinity constraint"
EVICTION = "cluster(s) is in the process of eviction"
OUTLIVED = "cluster(s) had a taint that was tolerated for a while, which is over"
API = "cluster(s) did not have the API resource"
APART = "ResourceBinding with the same affinity group does not target this cluster"
TOGETHER = "cluster already has workload with the same anti-affinity group"
_REPELLING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class FilterQuery:
    """What the filters are asked about: one template and one affinity group."""

    api_version: str
    kind: str
    affinity: Predicate
    tolerations: Sequence[Toleration] = ()
    spread: Sequence[SpreadConstraint] = ()
    present: frozenset[str] = frozenset()
    """Clusters that have the workload now."""
    evicting: frozenset[str] = frozenset()
    beside: frozenset[str] | None = None
    """Clusters that all workloads of the same affinity group use; None: there are none, or no group."""
    away_from: frozenset[str] = frozenset()
    """Clusters that a workload of the same anti-affinity group uses."""


Filter: TypeAlias = Callable[[FilterQuery, Candidate], str | None]


def cluster_affinity(demand: FilterQuery, candidate: Candidate) -> str | None:
    return None if demand.affinity(candidate) else AFFINITY


def cluster_eviction(demand: FilterQuery, candidate: Candidate) -> str | None:
    return EVICTION if candidate.name in demand.evicting else None


def taint_toleration(demand: FilterQuery, candidate: Candidate) -> str | None:
    if candidate.name in demand.present:
        return None
    taint = next(untolerated(demand, candidate), None)
    if taint is not None:
        return f"cluster(s) had untolerated taint {{{taint}}}"
    return OUTLIVED if outlives(demand, candidate) else None


def outlives(demand: FilterQuery, candidate: Candidate) -> bool:
    """Whether the workload tolerates the taints of the cluster, but would have to leave it at once: the time is over.

    The reference lets it come back after each eviction, and drives it out again.
    """
    return bool(candidate.outlived) and tuple(demand.tolerations) in candidate.outlived


def untolerated(demand: FilterQuery, candidate: Candidate) -> Iterator[Taint]:
    for taint in candidate.taints:
        if taint.effect in _REPELLING and not any(tolerates(item, taint) for item in demand.tolerations):
            yield taint


def api_enablement(demand: FilterQuery, candidate: Candidate) -> str | None:
    """An incomplete list of APIs counts as "not there" for a new target: the reference does the same."""
    if candidate.apis is None or candidate.name in demand.present:
        return None
    return None if (demand.api_version, demand.kind) in candidate.apis.kinds else API


def spread_property(demand: FilterQuery, candidate: Candidate) -> str | None:
    """A cluster that lacks the property to spread by can belong to no group."""
    lacks = lacking(demand, candidate)
    return f"cluster(s) did not have {lacks} property" if lacks else None


def lacking(demand: FilterQuery, candidate: Candidate) -> str:
    """The first property to spread by that a cluster lacks, as its declaration calls it; "" if it has all."""
    for constraint in demand.spread:
        match constraint.spread_by_field:
            case "provider" if not candidate.provider:
                return "provider"
            case "region" if not candidate.region:
                return "region"
            case "zone" if not candidate.zones:
                return "zones"
    return ""


def workload_affinity(demand: FilterQuery, candidate: Candidate) -> str | None:
    if demand.beside is None or candidate.name in demand.present:
        return None
    return None if candidate.name in demand.beside else APART


def workload_anti_affinity(demand: FilterQuery, candidate: Candidate) -> str | None:
    if candidate.name in demand.present:
        return None
    return TOGETHER if candidate.name in demand.away_from else None


FILTERS: tuple[Filter, ...] = (
    cluster_affinity,
    cluster_eviction,
    taint_toleration,
    api_enablement,
    spread_property,
    workload_affinity,
    workload_anti_affinity,
)


def split(demand: FilterQuery, candidates: Iterable[Candidate]) -> tuple[list[Candidate], dict[str, str]]:
    """(the clusters that pass, the reason of each that does not)"""
    fitting: list[Candidate] = []
    reasons: dict[str, str] = {}
    for candidate in candidates:
        reason = next((reason for test in FILTERS if (reason := test(demand, candidate))), None)
        if reason is None:
            fitting.append(candidate)
        else:
            reasons[candidate.name] = reason
    return fitting, reasons


def fit_message(reasons: Mapping[str, str], total: int) -> str:
    """`0/3 clusters are available: 1 reason, 2 other reason.`"""
    counts: dict[str, int] = {}
    for reason in reasons.values():
        counts[reason] = counts.get(reason, 0) + 1
    if not counts:
        return f"0/{total} clusters are available: no cluster exists."
    listed = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{total} clusters are available: {', '.join(listed)}."


def tolerates(toleration: Toleration, taint: Taint | TimedTaint) -> bool:
    """Kubernetes (ToleratesTaint): an empty key means every key, with Equal too; an empty effect every effect."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Exists":
            return True
        case "Equal":
            return (toleration.value or "") == taint.value
        case _:
            return False
