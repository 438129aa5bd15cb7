"""★ Where one template goes: groups → filter → select → assign (Karmada: scheduling §1.3).

`schedule` reads top to bottom. It reads only its arguments, decides for one template, and gives a reason for every
cluster that it does not choose. `reschedule` tells whether a template is due for scheduling at all; what happens to
objects in clusters that are no longer chosen is decided after this package.

A decision that fails leaves the previous shares where they are, with the reason in the condition. Unknown capacity is
not zero: a division by available capacity waits until that of every cluster in question is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from gitfed.model.decisions import Rejection, ScheduledCondition, Share
from gitfed.placement.capacity import capacity as rooms
from gitfed.placement.capacity import estimate
from gitfed.placement.scheduling import affinity, divide, dynamic, filters, spread, weights
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.filter_cache import NO_WEIGHT, Fits, Split
from gitfed.placement.scheduling.request import NotAsked, PlacementRequest
from gitfed.placement.scheduling.scored_cluster import Option, Unplaceable
from gitfed.placement.scheduling.strategy import Strategy
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    pass

SUCCESS = ScheduledCondition(True, "Success", "Binding has been scheduled successfully.")
NOT_SELECTED = "not selected by spreadConstraints"
NO_REPLICA = "no replica fell to it"
NOT_NEEDED = "not needed: fewer clusters hold all replicas"
_option = partial(tuple.__new__, Option)
"""`Option(*fields)` without the call in between: a hundred are made for each workload."""


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """`shares` None: no cluster fits (the reference clears the targets; the caller decides whether objects stay).

    With a false condition and shares, these are the previous ones: the decision failed and nothing moves.
    """

    shares: tuple[Share, ...] | None
    condition: ScheduledCondition
    rejections: tuple[Rejection, ...]
    """Sorted by cluster; one for every candidate that is not in `shares`."""
    affinity_name: str = ""


AvailableCapacity: TypeAlias = Mapping[str, int | None]
"""Replicas (or sets of components) that each cluster can take in addition; None: not known."""


class Turn(NamedTuple):
    """The request for a workload when its turn came, and the capacity that earlier turns of the plan had left."""

    request: PlacementRequest
    room: AvailableCapacity | None


def schedule(
    request: PlacementRequest,
    candidates: Sequence[Candidate],
    room: AvailableCapacity | None = None,
    fits: Fits | None = None,
) -> ScheduleResult:
    """Decides. The order of `candidates` does not matter.

    `room` None: it is estimated from what the candidates report, as if nothing else were placed at the same time.
    `fits` remembers between calls with the same candidates.
    """
    fits = Fits() if fits is None else fits
    if room is None:
        room = _estimated(request, candidates)
    named = bool(request.placement.cluster_affinities)
    first_failure: ScheduleResult | None = None
    passed_over: Mapping[str, str] = {}
    for term in fits.terms(request):
        split = fits.of_group(request, term, candidates)
        if passed_over:
            split = split.after(passed_over)
        passed_over = split.reasons
        if not split.fitting:
            condition = ScheduledCondition(False, "NoClusterFit", filters.fit_message(split.reasons, len(candidates)))
            failure = ScheduleResult(
                None, condition, split.rejections((), ""), request.observed_affinity if named else ""
            )
            first_failure = first_failure or failure
            continue
        try:
            shares, rejections = _place(request, term, split, room)
        except Unplaceable as error:
            first_failure = first_failure or _kept(request, split, error)
            passed_over = {**split.reasons, **dict.fromkeys(split.names, error.message)}
            continue
        return ScheduleResult(shares, SUCCESS, rejections, term.name if named else "")
    assert first_failure is not None, "there is always a group to try"
    return first_failure


def divisions(
    request: PlacementRequest, candidates: Sequence[Candidate], room: AvailableCapacity | None = None
) -> list[dynamic.Division]:
    """By what numbers `schedule` divides: static weights, or available capacity by cluster, tier by tier. Empty where
    nothing is divided, or nothing fits."""
    fits = Fits()
    room = _estimated(request, candidates) if room is None else room
    strategy = request.how.strategy
    if not request.is_workload or request.components or strategy is Strategy.DUPLICATED:
        return []
    for term in fits.terms(request):
        split = fits.split(request, term, candidates)
        try:
            _place(request, term, split, room)
            options = _options(request, term, split, room, tiered=bool(term.overflow))
            selected = _select(request, options)
        except Unplaceable:
            continue
        if not selected:
            continue
        if strategy is Strategy.STATIC:
            weight = weights.static(request.placement, [option.candidate for option in selected])
            return [dynamic.Division(request.replicas, weight, {})]
        aggregated = strategy is Strategy.AGGREGATED
        if term.overflow:
            return dynamic.tiers(selected, request.replicas, aggregated=aggregated, fresh=request.fresh)
        return [dynamic.division(selected, request.replicas, aggregated=aggregated, fresh=request.fresh)]
    return []


def _estimated(request: PlacementRequest, candidates: Sequence[Candidate]) -> AvailableCapacity:
    if not request.needs_room or request.requirements is NotAsked.NOT_ASKED:
        return {}
    if request.counts_sets:
        return {
            candidate.name: estimate.sets(candidate.capacity, request.components, request.space)
            for candidate in candidates
        }
    return {
        candidate.name: estimate.room(candidate.capacity, request.requirements, request.space)
        for candidate in candidates
    }


def _place(
    request: PlacementRequest, term: affinity.Term, split: Split, room: AvailableCapacity
) -> tuple[tuple[Share, ...], tuple[Rejection, ...]]:
    """Shares by cluster, and why there are no others, for one group. Raises Unplaceable."""
    how = request.how
    tiered = request.is_workload and bool(term.overflow)
    is_first = not request.previous and not request.fresh
    if is_first and how.by_room and not how.spreads and request.needs_room and not tiered:
        # By far the most frequent case, and only the available capacity of each cluster matters.
        aggregated = how.strategy is Strategy.AGGREGATED
        free = _known_room(request, split.names, room)
        try:
            given = dynamic.at_first(split.names, free, request.replicas, aggregated=aggregated, uid=request.uid)
        except Unplaceable as error:
            raise _unassigned(error) from error
        if request.empty_propagation:
            given = dict.fromkeys(split.names, 0) | given
        return _shares(given), split.rejections(given, NOT_NEEDED if aggregated else NO_REPLICA)
    options = _options(request, term, split, room, tiered=tiered)
    selected = _select(request, options)
    shares, unchosen = _assign(request, selected, overflows=bool(term.overflow))
    return shares, split.rejections([share.cluster for share in shares], NOT_SELECTED, unchosen)


def _options(
    request: PlacementRequest, term: affinity.Term, split: Split, room: AvailableCapacity, *, tiered: bool
) -> list[Option]:
    """Score and estimate (§3, §5). Raises Unplaceable when capacity decides and is not known."""
    fitting = split.fitting
    present = {share.cluster: share.replicas or 0 for share in request.previous}
    free: Sequence[int]
    if not request.needs_room:
        free = [0] * len(fitting)
    elif request.how.by_room and (not request.components or request.counts_sets):
        free = _known_room(request, split.names, room)
    else:
        enough = 1 if request.counts_sets else request.replicas  # where capacity does not decide, there is enough
        free = [enough if count is None else count for count in rooms.of(room, split.names)]
    if not present and not tiered:
        none = [0] * len(fitting)
        return list(map(_option, zip(fitting, none, none, free, none, strict=True)))
    return [
        Option(
            candidate,
            (term.tier(candidate) or 0) if tiered else 0,
            100 if candidate.name in present else 0,
            here,
            present.get(candidate.name, 0),
        )
        for candidate, here in zip(fitting, free, strict=True)
    ]


def _known_room(request: PlacementRequest, names: tuple[str, ...], room: AvailableCapacity) -> Sequence[int]:
    """Unknown is not zero: a guess would move replicas out of a cluster that merely was not observed."""
    if request.requirements is NotAsked.NOT_ASKED:
        raise Unplaceable("SchedulerError", "what one replica needs is not known")
    free = rooms.of(room, names)
    if None in free:
        unknown = [name for name, count in zip(names, free, strict=True) if count is None]
        raise Unplaceable("SchedulerError", f"the room in {', '.join(unknown)} is not known", tuple(unknown))
    return cast("Sequence[int]", free)


def _best_first(option: Option) -> tuple[int, int, int]:
    """The order of clusters (§3); among equals the names decide, in whose order options are made."""
    return option[1], -option[2], -option[3] - option[4]


def _select(request: PlacementRequest, options: Sequence[Option]) -> Sequence[Option]:
    how = request.how
    if not how.spreads:
        # Without previous shares and tiers, clusters are ordered by available capacity, as the division does itself.
        return sorted(options, key=_best_first) if any(option[1] or option[2] for option in options) else options
    wanted = spread.demand(
        request.placement.spread_constraints,
        1 if request.counts_sets else request.replicas,
        duplicated=how.strategy is Strategy.DUPLICATED,
        by_room=how.by_room and request.is_workload,
    )
    return spread.select(options, wanted)


def _assign(
    request: PlacementRequest, selected: Sequence[Option], *, overflows: bool
) -> tuple[tuple[Share, ...], Mapping[str, str]]:
    """(shares by cluster, why the selected clusters without a share have none). §4"""
    if not request.is_workload or request.components:
        return tuple(Share(name) for name in sorted(option.candidate.name for option in selected)), {}
    given, why_not = _divide(request, selected, overflows=overflows)
    if request.empty_propagation:
        return _shares({option.name: given.get(option.name, 0) for option in selected}), {}
    without = [option.candidate.name for option in selected if not given.get(option.candidate.name)]
    reasons = dict.fromkeys(without, why_not) if isinstance(why_not, str) else {name: why_not(name) for name in without}
    return _shares({name: replicas for name, replicas in given.items() if replicas > 0}), reasons


def _shares(given: Mapping[str, int]) -> tuple[Share, ...]:
    return tuple([_share(name, given[name]) for name in sorted(given)])


def _divide(
    request: PlacementRequest, selected: Sequence[Option], *, overflows: bool
) -> tuple[Mapping[str, int], str | Callable[[str], str]]:
    """(replicas by cluster, why one gets none: all for the same reason, or each for its own)"""
    match request.how.strategy:
        case Strategy.DUPLICATED:
            given = dict.fromkeys((option.candidate.name for option in selected), request.replicas)
            return given, "the workload has no replicas"
        case Strategy.STATIC:
            weight = weights.static(request.placement, [option.candidate for option in selected])
            return (
                divide.by_weight(request.replicas, weight, request.uid),
                lambda name: f"no replica fell to it (weight {weight[name]})" if name in weight else NO_WEIGHT,
            )
        case strategy:
            divided = dynamic.by_tier if overflows else dynamic.by_room
            aggregated = strategy is Strategy.AGGREGATED
            try:
                given = divided(selected, request.replicas, aggregated=aggregated, fresh=request.fresh, uid=request.uid)
            except Unplaceable as error:
                raise _unassigned(error) from error
            return given, NOT_NEEDED if aggregated else NO_REPLICA


def _unassigned(error: Unplaceable) -> Unplaceable:
    return Unplaceable(error.reason, f"failed to assign replicas: {error.message}", error.capacity_unknown_in)


def _kept(request: PlacementRequest, split: Split, error: Unplaceable) -> ScheduleResult:
    """The decision failed: the previous shares stay."""
    previous = tuple(sorted(request.previous))
    rejections = split.rejections([share.cluster for share in previous], error.message)
    observed = request.observed_affinity if request.placement.cluster_affinities else ""
    condition = ScheduledCondition(False, error.reason, error.message, error.capacity_unknown_in)
    return ScheduleResult(previous, condition, rejections, observed)


@lru_cache(maxsize=1 << 16)
def _share(name: str, replicas: int) -> Share:
    """Equal values are one object: thousands of workloads have the same share of the same cluster."""
    return Share(name, replicas)
