"""Why a template goes where it goes, cluster by cluster, and what would change the answer.

`schedule` gives one reason for each cluster that it does not choose, because thousands of workloads must be placed in a
second. This module takes its time for one: every filter that rejects the cluster, its score, what each estimator says
and which resource limits it, its weight and how the replicas were rounded; `advise` adds what would change the answer.
Nothing is decided here; the shares are those of the plan. Room is what the plan found when the template's turn came
(`schedule.Turn`), and estimates are those of the facts, before anything else in the plan takes some of it. Weights and
amounts are told only if they give the shares of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decision
from gitfed.placement.capacity import estimate
from gitfed.placement.capacity.allowance import ANYWHERE, Space
from gitfed.placement.capacity.estimate import Estimate
from gitfed.placement.explain import advise
from gitfed.placement.scheduling import affinity, divide, dynamic, filter_cache, filters, schedule, strategy
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.request import NotAsked, PlacementRequest
from gitfed.placement.scheduling.strategy import Strategy
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement
    from gitfed.model.plan import Binding


@dataclass(frozen=True, slots=True)
class ClusterExplanation:
    """One cluster's part. Numbers are None where they do not matter for this placement, or are not known."""

    cluster: ClusterName
    rejected: tuple[str, ...]
    """What every filter that rejects it says; empty: it could be used."""
    filters: tuple[str, ...]
    """The names of these filters, in the same order (Karmada: scheduler plugins)."""
    score: int
    tier: int | None
    """0: in the affinity group itself, n: in its n-th overflow; None: in none."""
    before: int | None
    estimates: tuple[Estimate, ...]
    room: int | None
    weight: int | None
    exact: float | None
    """Its part before rounding to whole replicas."""
    share: int | None
    chosen: bool
    changes: tuple[str, ...]
    """What would let it be used, or give it more: `tolerate dedicated=gpu:NoSchedule`."""

    base: int | None = None
    """What it has before anything is divided: what stays where replicas are added."""

    @property
    def limited_by(self) -> str:
        """The estimator and resource that allow the fewest replicas: `nodes: cpu`."""
        if not self.estimates:
            return ""
        least = min(self.estimates, key=lambda item: item.replicas)
        if self.room is not None and self.room < least.replicas:
            return "other workloads of this plan"
        return f"{least.estimator}: {least.by}" if least.by else least.estimator


@dataclass(frozen=True, slots=True)
class PlacementExplanation:
    division: str
    """How replicas are divided, in the words of the policy."""
    group: str
    """The affinity group in use; "" for a plain affinity."""
    wanted: int
    room: int | None
    """Of all clusters that could be used; None where room does not matter or is not known."""
    clusters: tuple[ClusterExplanation, ...]
    changes: tuple[str, ...]
    """What would let the template be placed, if it could not be."""
    amounts: tuple[int, ...] = ()
    """What was divided by the weights, for each tier in use, which are the tiers of the clusters with a `base`, in
    order; () where nothing was divided in this plan."""
    last_name_first: bool = False
    """Who of equals gets an odd replica."""


def story(
    binding: Binding,
    placement: Placement,
    decision: Decision | None,
    candidates: Sequence[Candidate],
    space: Space = ANYWHERE,
    uid: str = "",
    turn: schedule.Turn | None = None,
) -> PlacementExplanation:
    """The whole story of one binding of a plan.

    `decision` is what was decided before the plan; `candidates` must carry their capacity; `space` is the template's,
    and `uid` what ties go by; `turn` is what was asked when it was decided. Without it others are taken to need no
    room, and where that does not give what was decided there are no weights.
    """
    request = replace(_request(binding, placement, decision), space=space, uid=uid)
    request = request if turn is None else turn.request
    terms = affinity.terms(placement)
    term = next((item for item in terms if item.name == binding.scheduled.affinity_name), terms[0])
    demand = filter_cache.demand(request, term)
    ordered = sorted(candidates, key=lambda candidate: candidate.name)
    rejections = {candidate.name: _rejections(demand, candidate) for candidate in ordered}
    for told in binding.reasons.rejections:
        if told.reason in _OF_GROUPS and told.cluster in rejections:
            # Where the others are is known to the plan only.
            rejections[told.cluster] += ((_OF_GROUPS[told.reason], told.reason),)
    fitting = [candidate for candidate in ordered if not rejections[candidate.name]]
    rooms = {candidate.name: estimates(request, candidate) for candidate in ordered}
    room_of = {name: _least(estimates) for name, estimates in rooms.items()}
    if turn is not None and turn.room is not None and request.needs_room:
        room_of = {name: turn.room.get(name) for name in rooms}
    divided = _divided(binding, request, ordered, room_of)
    weight = {name: number for division in divided for name, number in division.weights.items()}
    shares = {share.cluster: share for share in binding.scheduled.shares}
    before = {share.cluster: share.replicas or 0 for share in request.previous}
    # What a quota does not allow it allows in no other cluster either.
    refused = binding.scheduled.condition is not None and binding.scheduled.condition.reason == "QuotaExceeded"
    clusters = []
    for candidate in ordered:
        name, rejected = candidate.name, tuple(reason for _, reason in rejections[candidate.name])
        share = shares.get(name)
        base, exact = None, None
        for division in divided:
            if name in division.base or division.weights.get(name):
                base = division.base.get(name, 0)
                exact = base + division.amount * division.weights.get(name, 0) / (sum(division.weights.values()) or 1)
        clusters.append(
            ClusterExplanation(
                cluster=name,
                rejected=rejected,
                filters=tuple(filter_ for filter_, _ in rejections[name]),
                score=100 if name in demand.present else 0,
                tier=term.tier(candidate),
                before=before.get(name),
                estimates=rooms[name],
                room=room_of[name],
                weight=weight.get(name),
                exact=exact,
                share=share.replicas if share else None,
                chosen=share is not None,
                changes=()
                if refused
                else tuple(advise.to_pass(request, term, demand, candidate, rejected))
                + (() if rejected or share is not None else tuple(advise.to_be_chosen(request, name, rooms, weight))),
                base=base,
            )
        )
    capacities = [room_of[candidate.name] for candidate in fitting]
    room = None if not request.needs_room or None in capacities else sum(number or 0 for number in capacities)
    return PlacementExplanation(
        division=_division(request),
        group=term.name,
        wanted=request.replicas,
        room=room,
        clusters=tuple(clusters),
        changes=tuple(advise.to_be_placed(binding, request, room, rooms, fitting))
        + tuple(advise.anew(binding, request, ordered)),
        amounts=tuple(division.amount for division in divided),
        last_name_first=divide.names_descend(request.uid),
    )


def _divided(
    binding: Binding,
    request: PlacementRequest,
    candidates: Sequence[Candidate],
    room: Mapping[str, int | None],
) -> Sequence[dynamic.Division]:
    """What was divided by what, if that is what the plan decided; else nobody is told numbers that lead elsewhere."""
    if binding.scheduled.condition is None or not binding.scheduled.condition.status:
        return ()
    divisions = schedule.divisions(request, candidates, room)
    given = {name: count for name, count in dynamic.given(divisions, request.uid).items() if count}
    decided = {share.cluster: share.replicas for share in binding.scheduled.shares if share.replicas}
    before = {share.cluster: share.replicas for share in request.previous if share.replicas}
    return (
        divisions if given == decided and (decided != before or any(division.amount for division in divisions)) else ()
    )


def _request(binding: Binding, placement: Placement, decision: Decision | None) -> PlacementRequest:
    return PlacementRequest(
        placement=placement,
        api_version=binding.api_version,
        kind=binding.key.kind,
        replicas=binding.scheduled.replicas or 0,
        is_workload=binding.scheduled.replicas is not None or bool(binding.scheduled.components),
        requirements=binding.requirements,
        components=binding.scheduled.components,
        previous=decision.scheduled.shares if decision else (),
        evicting=frozenset(task.from_cluster for task in decision.failover.evictions) if decision else frozenset(),
        observed_affinity=binding.scheduled.affinity_name,
    )


_NAMES: Mapping[filters.Filter, str] = {
    filters.cluster_affinity: "ClusterAffinity",
    filters.cluster_eviction: "ClusterEviction",
    filters.taint_toleration: "TaintToleration",
    filters.api_enablement: "APIEnablement",
    filters.spread_property: "SpreadConstraint",
    filters.workload_affinity: "WorkloadAffinity",
    filters.workload_anti_affinity: "WorkloadAntiAffinity",
}
_OF_GROUPS = {filters.APART: "WorkloadAffinity", filters.TOGETHER: "WorkloadAntiAffinity"}


def _rejections(demand: filters.FilterQuery, candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """(name, what it says) of each filter that rejects it."""
    return tuple((_NAMES[test], reason) for test in filters.FILTERS if (reason := test(demand, candidate)))


def estimates(request: PlacementRequest, candidate: Candidate) -> tuple[Estimate, ...]:
    if not request.needs_room:
        return ()
    if request.counts_sets:
        sets = estimate.sets(candidate.capacity, request.components, request.space)
        return () if sets is None else (Estimate("complete sets", sets, ""),)
    if isinstance(request.requirements, NotAsked):
        return ()
    return estimate.estimates(candidate.capacity, request.requirements, request.space)


def _least(estimates: Sequence[Estimate]) -> int | None:
    return min((item.replicas for item in estimates), default=None)


def _division(request: PlacementRequest) -> str:
    if not request.is_workload:
        return "no replicas: every chosen cluster gets the object"
    if request.components:
        return "several pod templates: every chosen cluster gets all of them"
    how = strategy.of(request.placement)
    return "every chosen cluster gets all replicas" if how is Strategy.DUPLICATED else f"divided by {how.value}"
