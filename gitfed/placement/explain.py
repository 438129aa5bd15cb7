"""Why a template goes where it goes, cluster by cluster, and what would change the answer.

`schedule` gives one reason for each cluster that it does not choose, because thousands of workloads must be placed in a
second. This module takes its time for one: every filter that rejects the cluster, its score, what each estimator says
and which resource limits it, its weight and how the replicas were rounded. Nothing is decided here; the shares are
those of the plan. Room is that of the facts, before anything else in the plan takes some of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.decisions import Decision
from gitfed.placement import affinity, estimate, filters, schedule, strategy, weights
from gitfed.placement.allowance import ANYWHERE, Space
from gitfed.placement.cluster import NOT_READY, UNREACHABLE, Candidate
from gitfed.placement.estimate import Estimate
from gitfed.placement.strategy import Strategy
from gitfed.text import quantity
from gitfed.text.quantity import Quantity

if TYPE_CHECKING:
    from gitfed.model.declared.policy import ClusterAffinity, Placement
    from gitfed.model.plan import Binding


@dataclass(frozen=True, slots=True)
class ClusterStory:
    """One cluster's part. Numbers are None where they do not matter for this placement, or are not known."""

    cluster: ClusterName
    rejected: tuple[str, ...]
    """What every filter that rejects it says; empty: it could be used."""
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

    @property
    def limited_by(self) -> str:
        """The estimator and resource that allow the fewest replicas: `nodes: cpu`."""
        if not self.estimates:
            return ""
        least = min(self.estimates, key=lambda item: item.replicas)
        return f"{least.estimator}: {least.by}" if least.by else least.estimator


@dataclass(frozen=True, slots=True)
class Story:
    division: str
    """How replicas are divided, in the words of the policy."""
    group: str
    """The affinity group in use; "" for a plain affinity."""
    wanted: int
    room: int | None
    """Of all clusters that could be used; None where room does not matter or is not known."""
    clusters: tuple[ClusterStory, ...]
    changes: tuple[str, ...]
    """What would let the template be placed, if it could not be."""


def story(
    binding: Binding,
    placement: Placement,
    decision: Decision | None,
    candidates: Sequence[Candidate],
    space: Space = ANYWHERE,
) -> Story:
    """The whole story of one binding of a plan.

    `decision` is what was decided before the plan; `candidates` must carry their capacity; `space` is the template's.
    """
    request = replace(_request(binding, placement, decision), space=space)
    terms = affinity.terms(placement)
    term = next((item for item in terms if item.name == binding.affinity_name), terms[0])
    demand = schedule.demand(request, term)
    ordered = sorted(candidates, key=lambda candidate: candidate.name)
    rejections = {candidate.name: _rejections(demand, candidate) for candidate in ordered}
    for told in binding.rejections:
        if told.reason in (filters.APART, filters.TOGETHER) and told.cluster in rejections:
            rejections[told.cluster] += (told.reason,)  # where the others are is known to the plan only
    fitting = [candidate for candidate in ordered if not rejections[candidate.name]]
    rooms = {candidate.name: _estimates(request, candidate) for candidate in ordered}
    weight = _weights(request, fitting, rooms)
    total = sum(weight.values())
    shares = {share.cluster: share for share in binding.shares}
    before = {share.cluster: share.replicas or 0 for share in request.previous}
    to_divide = request.replicas - (sum(before.values()) if strategy.by_room(placement) else 0)
    placed = binding.condition is not None and binding.condition.status
    clusters = []
    for candidate in ordered:
        name, rejected = candidate.name, rejections[candidate.name]
        share = shares.get(name)
        exact = None
        if weight.get(name) and total and to_divide > 0 and placed:
            had = before.get(name, 0) if strategy.by_room(placement) else 0
            exact = had + to_divide * weight[name] / total
        clusters.append(
            ClusterStory(
                cluster=name,
                rejected=rejected,
                score=100 if name in demand.present else 0,
                tier=term.tier(candidate),
                before=before.get(name),
                estimates=rooms[name],
                room=_least(rooms[name]),
                weight=weight.get(name),
                exact=exact,
                share=share.replicas if share else None,
                chosen=share is not None,
                changes=tuple(_changes(request, term, demand, candidate, rejected))
                + (() if rejected or share is not None else tuple(_to_be_chosen(request, name, rooms[name]))),
            )
        )
    known = [_least(rooms[candidate.name]) for candidate in fitting]
    room = None if not request.needs_room or None in known else sum(number or 0 for number in known)
    return Story(
        division=_division(request),
        group=term.name,
        wanted=request.replicas,
        room=room,
        clusters=tuple(clusters),
        changes=tuple(_missing(binding, request, room, fitting)),
    )


def _request(binding: Binding, placement: Placement, decision: Decision | None) -> schedule.Request:
    return schedule.Request(
        placement=placement,
        api_version=binding.api_version,
        kind=binding.key.kind,
        replicas=binding.replicas or 0,
        is_workload=binding.replicas is not None or bool(binding.components),
        requirements=binding.requirements,
        components=binding.components,
        previous=decision.shares if decision else (),
        evicting=frozenset(task.from_cluster for task in decision.evictions) if decision else frozenset(),
        observed_affinity=binding.affinity_name,
    )


def _rejections(demand: filters.Demand, candidate: Candidate) -> tuple[str, ...]:
    return tuple(reason for test in filters.FILTERS if (reason := test(demand, candidate)))


def _estimates(request: schedule.Request, candidate: Candidate) -> tuple[Estimate, ...]:
    if not request.needs_room:
        return ()
    if request.counts_sets:
        found = estimate.sets(candidate.capacity, request.components, request.space)
        return () if found is None else (Estimate("complete sets", found, ""),)
    if isinstance(request.requirements, schedule.NotAsked):
        return ()
    return estimate.estimates(candidate.capacity, request.requirements, request.space)


def _least(found: Sequence[Estimate]) -> int | None:
    return min((item.replicas for item in found), default=None)


def _weights(
    request: schedule.Request, fitting: Sequence[Candidate], rooms: Mapping[str, Sequence[Estimate]]
) -> dict[str, int]:
    """By which replicas are divided among the clusters that could be used."""
    if not request.is_workload or request.components:
        return {}
    if strategy.by_room(request.placement):
        return {candidate.name: _least(rooms[candidate.name]) or 0 for candidate in fitting}
    if strategy.of(request.placement) is Strategy.STATIC:
        return weights.static(request.placement, fitting)
    return {}


def _division(request: schedule.Request) -> str:
    if not request.is_workload:
        return "no replicas: every chosen cluster gets the object"
    if request.components:
        return "several pod templates: every chosen cluster gets all of them"
    how = strategy.of(request.placement)
    return "every chosen cluster gets all replicas" if how is Strategy.DUPLICATED else f"divided by {how.value}"


# -- what would change the answer ----------------------------------------------------------------------------------


def _changes(
    request: schedule.Request,
    term: affinity.Term,
    demand: filters.Demand,
    candidate: Candidate,
    rejected: Sequence[str],
) -> Iterator[str]:
    """What would make the filters let it pass."""
    if candidate.name in demand.evicting:
        yield f"wait until the eviction from {candidate.name} is done"
    if filters.cluster_affinity(demand, candidate):
        yield from _to_match(request.placement, term.name, candidate)
    if filters.taint_toleration(demand, candidate):
        for taint in filters.untolerated(demand, candidate):
            away = taint.key in (NOT_READY, UNREACHABLE)
            yield f"wait until {candidate.name} is ready" if away else f"tolerate {taint}"
    if filters.api_enablement(demand, candidate):
        yield f"let {candidate.name} serve {request.api_version} {request.kind}"
    if missing := filters.spread_property(demand, candidate):
        yield f"set spec.{missing.removeprefix('cluster(s) did not have ').split()[0]} of {candidate.name}"
    if filters.APART in rejected or filters.TOGETHER in rejected:
        yield "change the label that puts it into a group with the others, or move them"


def _to_be_chosen(request: schedule.Request, name: ClusterName, rooms: Sequence[Estimate]) -> Iterator[str]:
    """What would give a cluster something that could be used but is not."""
    limits = {item.spread_by_field: item.max_groups for item in request.placement.spread_constraints}
    for field in ("cluster", "region"):
        if strategy.spreads(request.placement) and limits.get(field):
            yield f"raise maxGroups {limits[field]} of the constraint by {field}"
    if rooms and _least(rooms) == 0:
        yield from _more(request, name, min(rooms, key=lambda item: item.replicas), 1)


def _to_match(placement: Placement, group: str, candidate: Candidate) -> Iterator[str]:
    wanted: ClusterAffinity | None = placement.cluster_affinity
    for term in placement.cluster_affinities:
        if term.affinity_name == group:
            wanted = term
    if wanted is None:
        return
    where = f"of affinity {group}" if group else "of clusterAffinity"
    if candidate.name in wanted.exclude:
        yield f"take {candidate.name} out of exclude {where}"
    if wanted.cluster_names and candidate.name not in wanted.cluster_names:
        yield f"add {candidate.name} to clusterNames {where}"
    if wanted.label_selector is not None:
        for key, value in wanted.label_selector.match_labels.items():
            if candidate.labels.get(key) != value:
                yield f"label {candidate.name} {key}={value}"
        for item in wanted.label_selector.match_expressions:
            alone = wanted.label_selector.model_copy(update={"match_labels": {}, "match_expressions": (item,)})
            if not affinity.compile(wanted.model_copy(update=_ONLY | {"label_selector": alone}))(candidate):
                values = f" {', '.join(item.values)}" if item.values else ""
                yield f"let the labels of {candidate.name} meet {item.key} {item.operator}{values}"
    if wanted.field_selector is not None:
        for item in wanted.field_selector.match_expressions:
            alone_field = wanted.field_selector.model_copy(update={"match_expressions": (item,)})
            if not affinity.compile(wanted.model_copy(update=_ONLY | {"field_selector": alone_field}))(candidate):
                yield f"let the {item.key} of {candidate.name} be {item.operator} {', '.join(item.values)}"


_ONLY = {"label_selector": None, "field_selector": None, "cluster_names": (), "exclude": ()}


def _missing(
    binding: Binding, request: schedule.Request, room: int | None, fitting: Sequence[Candidate]
) -> Iterator[str]:
    """What a template that could not be placed for lack of room would need."""
    if binding.condition is None or binding.condition.status or room is None or request.components:
        return
    short = request.replicas - sum(share.replicas or 0 for share in request.previous) - room
    if short <= 0 or not fitting:
        return
    yield f"room for {short} more replicas"
    for candidate in fitting:
        if found := _estimates(request, candidate):
            yield from _more(request, candidate.name, min(found, key=lambda item: item.replicas), short)


def _more(request: schedule.Request, name: str, limit: Estimate, replicas: int) -> Iterator[str]:
    """`3 more cpu in eu-2`"""
    if limit.by == estimate.PODS:
        yield f"{replicas} more pod slots in {name}"
        return
    requirements = None if isinstance(request.requirements, schedule.NotAsked) else request.requirements
    one = ((requirements or {}).get("resourceRequest") or {}).get(limit.by)
    if one is None:
        yield f"nodes in {name} that match its node selector, affinity and tolerations"
        return
    try:
        amount = quantity.parse(one)
    except quantity.QuantityError:
        return
    of = f" of {limit.estimator}" if limit.estimator.startswith("quota ") else ""
    yield f"{Quantity(amount.nano * replicas, amount.format)} more {limit.by}{of} in {name}"
