"""What would change the answer for one workload: for `explain`, in words that say what to do.

Only what follows from the numbers of a story is said; whether it is wanted is for a person to judge. Nothing of it is
done, and nothing here is part of a decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitfed.model.base import ClusterName
from gitfed.model.keys import NOT_READY, UNREACHABLE
from gitfed.placement.capacity import estimate, quota
from gitfed.placement.capacity.estimate import Estimate
from gitfed.placement.scheduling import affinity, divide, filters, schedule, strategy
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.request import NotAsked, PlacementRequest
from gitfed.placement.scheduling.strategy import Strategy
from gitfed.text import quantity
from gitfed.text.quantity import Quantity

if TYPE_CHECKING:
    from gitfed.model.declared.policy import ClusterAffinity, Placement
    from gitfed.model.plan import Binding

_MOST_WEIGHT = 1_000_000


def to_pass(
    request: PlacementRequest,
    term: affinity.Term,
    demand: filters.FilterQuery,
    candidate: Candidate,
    rejected: Sequence[str],
) -> Iterator[str]:
    """What would make the filters let a cluster pass."""
    if candidate.name in demand.evicting:
        yield f"wait until the eviction from {candidate.name} is done"
    if filters.cluster_affinity(demand, candidate):
        yield from _to_match(request.placement, term.name, candidate)
    if filters.taint_toleration(demand, candidate):
        for taint in filters.untolerated(demand, candidate):
            away = taint.key in (NOT_READY, UNREACHABLE)
            yield f"wait until {candidate.name} is ready" if away else f"tolerate {taint}"
        if filters.outlives(demand, candidate):
            yield f"take the taint off {candidate.name}, or tolerate it without tolerationSeconds"
    if filters.api_enablement(demand, candidate):
        yield f"let {candidate.name} serve {request.api_version} {request.kind}"
    if missing := filters.lacking(demand, candidate):
        yield f"set spec.{missing} of {candidate.name}"
    if filters.APART in rejected or filters.TOGETHER in rejected:
        yield "change the label that puts it into a group with the others, or move them"


def to_be_chosen(
    request: PlacementRequest,
    name: ClusterName,
    rooms: Mapping[ClusterName, Sequence[Estimate]],
    weight: Mapping[ClusterName, int],
) -> Iterator[str]:
    """What would give a cluster something that could be used but is not."""
    limits = {item.spread_by_field: item.max_groups for item in request.placement.spread_constraints}
    for field in ("cluster", "region"):
        if strategy.spreads(request.placement) and limits.get(field):
            yield f"raise maxGroups {limits[field]} of the constraint by {field}"
    here = rooms[name]
    if here and min(item.replicas for item in here) == 0:
        yield from _more(request, name, min(here, key=lambda item: item.replicas), 1)
    elif strategy.of(request.placement) is Strategy.AGGREGATED and request.is_workload:
        yield "ask for more replicas than fit in fewer clusters"
    elif strategy.of(request.placement) is Strategy.STATIC and request.is_workload and not request.components:
        if name not in weight:
            yield f"give {name} a weight in staticWeightList"
        elif (enough := _weight_for_one(request, name, weight)) is not None:
            yield f"raise the weight of {name} from {weight[name]} to {enough}"


def _weight_for_one(request: PlacementRequest, name: ClusterName, weight: Mapping[ClusterName, int]) -> int | None:
    """The least weight that gives the cluster a replica; more never gives less."""

    def enough(number: int) -> bool:
        return divide.by_weight(request.replicas, {**weight, name: number}, request.uid).get(name, 0) > 0

    high = max(1, weight[name])
    while not enough(high):
        high *= 2
        if high > _MOST_WEIGHT:
            return None
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


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


def to_be_placed(
    binding: Binding,
    request: PlacementRequest,
    room: int | None,
    rooms: Mapping[ClusterName, Sequence[Estimate]],
    fitting: Sequence[Candidate],
) -> Iterator[str]:
    """What a template that could not be placed would need."""
    condition = binding.scheduled.condition
    if condition is None or condition.status:
        return
    if refused := quota.Refusal.read(condition.message):
        for refusal in refused:
            yield f"raise {refusal.resource} of FederatedResourceQuota {refusal.quota} to {refusal.requested}"
        return
    for name in condition.capacity_unknown_in if condition is not None else ():
        yield f"let the nodes and pods of {name} be read: its room is not known"
    yield from _to_spread(request, fitting)
    if room is None or request.components:
        return
    short = request.replicas - sum(share.replicas or 0 for share in request.previous) - room
    if short <= 0 or not fitting:
        return
    yield f"room for {short} more replicas"
    for candidate in fitting:
        if estimates := rooms[candidate.name]:
            yield from _more(request, candidate.name, min(estimates, key=lambda item: item.replicas), short)


def _to_spread(request: PlacementRequest, fitting: Sequence[Candidate]) -> Iterator[str]:
    if not strategy.spreads(request.placement):
        return
    there = {"cluster": len(fitting), "region": len({candidate.region for candidate in fitting if candidate.region})}
    for item in request.placement.spread_constraints:
        field = item.spread_by_field or ""
        if item.min_groups > there.get(field, item.min_groups):
            yield (
                f"lower minGroups {item.min_groups} of the constraint by {field}, or let more {field}s be used: "
                f"{there[field]} can"
            )


def anew(binding: Binding, request: PlacementRequest, candidates: Sequence[Candidate]) -> Iterator[str]:
    """Where a workload that stays where it is would go if it were placed anew with the room there is now."""
    stands = (
        binding.scheduled.condition is not None
        and binding.scheduled.condition.status
        and binding.scheduled.shares == request.previous
    )
    if not stands or not binding.scheduled.shares or not strategy.by_room(request.placement) or not request.needs_room:
        return
    again = schedule.schedule(replace(request, fresh=True), candidates)
    if again.shares is not None and again.condition.status and again.shares != binding.scheduled.shares:
        where = " ".join(f"{share.cluster}={share.replicas}" for share in again.shares)
        yield f"a WorkloadRebalancer would place it anew: {where}"


def _more(request: PlacementRequest, name: str, limit: Estimate, replicas: int) -> Iterator[str]:
    """`3 more cpu in eu-2`"""
    if limit.by == estimate.PODS:
        yield f"{replicas} more pod slots in {name}"
        return
    requirements = None if isinstance(request.requirements, NotAsked) else request.requirements
    asked = ((requirements or {}).get("resourceRequest") or {}).get(limit.by)
    if asked is None:
        yield f"nodes in {name} that match its node selector, affinity and tolerations"
        return
    try:
        amount = quantity.parse(asked)
    except quantity.QuantityError:
        return
    of = f" of {limit.estimator}" if limit.estimator.startswith("quota ") else ""
    yield f"{Quantity(amount.nano * replicas, amount.format)} more {limit.by}{of} in {name}"
