"""★ Where one template goes: groups → filter → select → assign (Karmada: scheduling §1.3).

`schedule` reads top to bottom. It looks at nothing but its arguments, decides for one template, and gives a reason
for every cluster that it does not choose. Whether a template is due for scheduling at all is `due`'s question; what
is done about copies in clusters that are no longer chosen is decided after this package.

A decision that fails leaves the previous shares where they are, with the reason in the condition. What is not known is
no number: a division by room waits until the room of every cluster in question is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from gitfed.model.base import Body
from gitfed.model.decisions import Rejection, ScheduledCondition, Share
from gitfed.placement import affinity, divide, dynamic, estimate, filters, spread, weights
from gitfed.placement.allowance import ANYWHERE, Space
from gitfed.placement.cluster import Candidate
from gitfed.placement.option import Option, Unplaceable
from gitfed.placement.strategy import Strategy, by_room, of, places_sets, spreads

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement

SUCCESS = ScheduledCondition(True, "Success", "Binding has been scheduled successfully.")
NOT_SELECTED = "not selected by spreadConstraints"
NO_REPLICA = "no replica fell to it"
NOT_NEEDED = "not needed: fewer clusters hold all replicas"
_ROOM_OF, _UNKNOWN = "the room in ", " is not known"
_name = attrgetter("name")
_option = partial(tuple.__new__, Option)
"""`Option(*fields)` without the call in between: a hundred are made for each workload."""


class NotAsked(Enum):
    """In the place of requirements that nobody asked for: then replicas cannot be divided by room."""

    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One template to place.

    `uid` breaks ties: the template's `metadata.uid` if its file has one, else the binding id. `fresh` is an explicit
    reschedule: the ordered affinity groups are tried from the first again.
    """

    placement: Placement
    api_version: str
    kind: str
    replicas: int = 0
    is_workload: bool = False
    """replicas > 0, or the pod template asks for resources or nodes, or there are components."""
    requirements: Body | NotAsked | None = NotAsked.NOT_ASKED
    """What one replica needs (Karmada's ReplicaRequirements); None: nothing but a pod slot."""
    space: Space = ANYWHERE
    """Namespace and priority class: what ResourceQuotas inside a cluster go by."""
    components: tuple[Body, ...] = ()
    """Several pod templates: then there are no replicas, and every chosen cluster gets all of it."""
    previous: tuple[Share, ...] = ()
    evicting: frozenset[str] = frozenset()
    beside: frozenset[str] | None = None
    """Clusters that all others of its workload affinity group use; None: no others, or no group."""
    away_from: frozenset[str] = frozenset()
    """Clusters that another of its anti-affinity group uses."""
    observed_affinity: str = ""
    uid: str = ""
    fresh: bool = False
    empty_propagation: bool = False
    """Setting `scheduling.emptyWorkloadPropagation`: chosen clusters without replicas get the object too."""

    @property
    def counts_sets(self) -> bool:
        """Room is a number of complete sets of components, and one set is wanted."""
        return bool(self.components) and places_sets(self.placement)

    @property
    def needs_room(self) -> bool:
        """Whether the outcome depends on how much room the clusters have."""
        if not self.is_workload:
            return False
        return spreads(self.placement) or (by_room(self.placement) and not self.components)


@dataclass(frozen=True, slots=True)
class Result:
    """`shares` None: no cluster fits (the reference clears the targets; whether copies stay is the caller's rule).

    With a false condition and shares, these are the previous ones: the decision failed and nothing moves.
    """

    shares: tuple[Share, ...] | None
    condition: ScheduledCondition
    rejections: tuple[Rejection, ...]
    """Sorted by cluster; one for every candidate that is not in `shares`."""
    affinity_name: str = ""


Room: TypeAlias = Mapping[str, int | None]
"""Replicas (or sets of components) that fit into each cluster beside what is there; None: not known."""


class Fits:
    """What the filters said of the present candidates: asked again and again for templates of one policy."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[list[Candidate], dict[str, str]]] = {}
        self._placements: dict[int, Placement] = {}
        """Keeps them alive: they are known by their identity."""
        self._names: dict[tuple[object, ...], tuple[str, ...]] = {}

    def names(self, request: Request, candidates: Sequence[Candidate]) -> tuple[str, ...]:
        """Every cluster that fits in one of the groups that may be tried: no other's room matters. The same object
        for the same question."""
        terms = _terms_to_try(request)
        found = tuple(self._key(request, term) for term in terms)
        known = self._names.get(found)
        if known is None:
            fitting = {one.name for term in terms for one in self.split(request, term, candidates)[0]}
            known = self._names[found] = tuple(sorted(fitting))
        return known

    @staticmethod
    def _key(request: Request, term: affinity.Term) -> tuple[object, ...]:
        return (
            id(request.placement), term.name, request.api_version, request.kind, request.is_workload,
            tuple(share.cluster for share in request.previous), request.evicting, request.beside, request.away_from,
        )  # fmt: skip

    def split(
        self, request: Request, term: affinity.Term, candidates: Sequence[Candidate]
    ) -> tuple[list[Candidate], dict[str, str]]:
        key = self._key(request, term)
        known = self._known.get(key)
        if known is None:
            self._placements[id(request.placement)] = request.placement
            ordered = sorted(candidates, key=_name)
            known = self._known[key] = filters.split(demand(request, term), ordered)
        return known


def schedule(
    request: Request, candidates: Sequence[Candidate], room: Room | None = None, fits: Fits | None = None
) -> Result:
    """Decides. The order of `candidates` does not matter.

    `room` None: it is estimated from what the candidates report, as if nothing else were placed at the same time.
    `fits` remembers between calls with the same candidates.
    """
    fits = Fits() if fits is None else fits
    if room is None:
        room = _estimated(request, candidates)
    named = bool(request.placement.cluster_affinities)
    first_failure: Result | None = None
    passed_over: dict[str, str] = {}
    for term in _terms_to_try(request):
        fitting, reasons = fits.split(request, term, candidates)
        if passed_over:
            reasons = _best_reasons(reasons, passed_over)
        passed_over = reasons
        if not fitting:
            condition = ScheduledCondition(False, "NoClusterFit", filters.fit_message(reasons, len(candidates)))
            failure = Result(None, condition, _rejections(reasons), request.observed_affinity if named else "")
            first_failure = first_failure or failure
            continue
        try:
            options = _options(request, term, fitting, room)
            selected = _select(request, options)
            shares, unchosen = _assign(request, selected, overflows=bool(term.overflow))
        except Unplaceable as error:
            first_failure = first_failure or _kept(request, candidates, error.reason, error.message, reasons)
            passed_over = {**reasons, **dict.fromkeys((candidate.name for candidate in fitting), error.message)}
            continue
        left_out: dict[str, str] = {}
        if len(selected) < len(options):
            names = {option.name for option in selected}
            left_out = {option.name: NOT_SELECTED for option in options if option.name not in names}
        rejections = _rejections({**reasons, **left_out, **unchosen})
        return Result(shares, SUCCESS, rejections, term.name if named else "")
    assert first_failure is not None, "there is always a group to try"
    return first_failure


def waits_for_room(condition: ScheduledCondition | None) -> tuple[str, ...]:
    """The clusters whose room must be known before this can be decided; () if that is not what it waits for."""
    message = condition.message if condition is not None else ""
    if not message.startswith(_ROOM_OF) or not message.endswith(_UNKNOWN):
        return ()
    return tuple(message.removeprefix(_ROOM_OF).removesuffix(_UNKNOWN).split(", "))


def reasons(request: Request, candidates: Sequence[Candidate]) -> dict[str, str]:
    """Why clusters could not be used by the group in use, by name: for a decision that stands and is not made again."""
    return filters.split(demand(request, _terms_to_try(request)[0]), candidates)[1]


def _terms_to_try(request: Request) -> list[affinity.Term]:
    """From the group in use onwards: earlier groups return only by an explicit reschedule (§1.4)."""
    terms = affinity.terms(request.placement)
    if request.fresh:
        return terms
    start = next((index for index, term in enumerate(terms) if term.name == request.observed_affinity), 0)
    return terms[start:]


def demand(request: Request, term: affinity.Term) -> filters.Demand:
    """What the filters are asked about one group."""
    overflows = request.is_workload and term.overflow
    return filters.Demand(
        api_version=request.api_version,
        kind=request.kind,
        affinity=(lambda candidate: term.tier(candidate) is not None) if overflows else term.matches,
        tolerations=request.placement.cluster_tolerations or (),
        spread=request.placement.spread_constraints or (),
        present=frozenset(share.cluster for share in request.previous),
        evicting=request.evicting,
        beside=request.beside,
        away_from=request.away_from,
    )


def _estimated(request: Request, candidates: Sequence[Candidate]) -> Room:
    if not request.needs_room or request.requirements is NotAsked.NOT_ASKED:
        return {}
    if request.counts_sets:
        return {one.name: estimate.sets(one.capacity, request.components, request.space) for one in candidates}
    return {one.name: estimate.room(one.capacity, request.requirements, request.space) for one in candidates}


def _options(request: Request, term: affinity.Term, fitting: Sequence[Candidate], room: Room) -> list[Option]:
    """Score and estimate (§3, §5). Raises Unplaceable when room decides and is not known."""
    present = {share.cluster: share.replicas or 0 for share in request.previous}
    counts = request.needs_room
    if counts and by_room(request.placement) and (not request.components or request.counts_sets):
        _require_known(request, fitting, room)
    enough = 1 if request.counts_sets else request.replicas  # where room does not decide, there is enough
    rooms = [room.get(candidate.name) for candidate in fitting] if counts else [0] * len(fitting)
    tiered = request.is_workload and bool(term.overflow)
    if not present and not tiered:
        free_ones = [enough if free is None else free for free in rooms] if None in rooms else rooms
        none = [0] * len(fitting)
        return list(map(_option, zip(fitting, none, none, free_ones, none, strict=True)))
    return [
        Option(
            candidate,
            (term.tier(candidate) or 0) if tiered else 0,
            100 if candidate.name in present else 0,
            enough if free is None else free,
            present.get(candidate.name, 0),
        )
        for candidate, free in zip(fitting, rooms, strict=True)
    ]


def _require_known(request: Request, fitting: Sequence[Candidate], room: Room) -> None:
    """Unknown is not zero: a guess would move replicas away from a cluster that only was not looked at."""
    if request.requirements is NotAsked.NOT_ASKED:
        raise Unplaceable("SchedulerError", "what one replica needs is not known")
    if unknown := [candidate.name for candidate in fitting if room.get(candidate.name) is None]:
        raise Unplaceable("SchedulerError", f"{_ROOM_OF}{', '.join(unknown)}{_UNKNOWN}")


def _best_first(option: Option) -> tuple[int, int, int]:
    """The order of clusters (§3); among equals the names decide, in whose order options are made."""
    return option[1], -option[2], -option[3] - option[4]


def _select(request: Request, options: Sequence[Option]) -> list[Option]:
    if not spreads(request.placement):
        # Without a past and without tiers the order of clusters is that of their room, which the division goes by.
        return sorted(options, key=_best_first) if any(option[1] or option[2] for option in options) else list(options)
    duplicated = of(request.placement) is Strategy.DUPLICATED or not request.is_workload
    wanted = spread.demand(
        request.placement.spread_constraints,
        1 if request.counts_sets else request.replicas,
        duplicated=duplicated,
        by_room=by_room(request.placement) and request.is_workload,
    )
    return spread.select(options, wanted)


def _best_reasons(reasons: Mapping[str, str], earlier: Mapping[str, str]) -> dict[str, str]:
    """Why a cluster failed in its own group says more than that it is not in a later one."""
    return {
        name: earlier.get(name, reason) if reason == filters.AFFINITY else reason for name, reason in reasons.items()
    }


def _assign(
    request: Request, selected: Sequence[Option], *, overflows: bool
) -> tuple[tuple[Share, ...], dict[str, str]]:
    """(shares by cluster, why the selected clusters without a share have none). §4"""
    if not request.is_workload or request.components:
        return tuple(Share(name) for name in sorted(option.candidate.name for option in selected)), {}
    given, why_not = _divide(request, selected, overflows=overflows)
    if request.empty_propagation:
        given = {option.name: given.get(option.name, 0) for option in selected}
        return tuple(_share(name, given[name]) for name in sorted(given)), {}
    shares = tuple(_share(name, given[name]) for name in sorted(given) if given[name] > 0)
    without = [option.candidate.name for option in selected if not given.get(option.candidate.name)]
    if isinstance(why_not, str):
        return shares, dict.fromkeys(without, why_not)
    return shares, {name: why_not(name) for name in without}


def _divide(
    request: Request, selected: Sequence[Option], *, overflows: bool
) -> tuple[Mapping[str, int], str | Callable[[str], str]]:
    """(replicas by cluster, why one gets none: all for the same reason, or each for its own)"""
    placement = request.placement
    match of(placement):
        case Strategy.DUPLICATED:
            given = dict.fromkeys((option.candidate.name for option in selected), request.replicas)
            return given, "the workload has no replicas"
        case Strategy.STATIC:
            weight = weights.static(placement, [option.candidate for option in selected])
            return (
                divide.by_weight(request.replicas, weight, request.uid),
                lambda name: (
                    f"no replica fell to it (weight {weight[name]})"
                    if name in weight
                    else "it has no weight in staticWeightList"
                ),
            )
        case strategy:
            divided = dynamic.by_tier if overflows else dynamic.by_room
            aggregated = strategy is Strategy.AGGREGATED
            try:
                given = divided(selected, request.replicas, aggregated=aggregated, fresh=request.fresh, uid=request.uid)
            except Unplaceable as error:
                raise Unplaceable(error.reason, f"failed to assign replicas: {error.message}") from error
            return given, NOT_NEEDED if aggregated else NO_REPLICA


def _kept(
    request: Request,
    candidates: Sequence[Candidate],
    reason: str,
    text: str,
    reasons: Mapping[str, str] | None = None,
) -> Result:
    """The decision failed: the previous shares stay."""
    previous = tuple(sorted(request.previous))
    present = {share.cluster for share in previous}
    rejections = {
        candidate.name: (reasons or {}).get(candidate.name, text)
        for candidate in candidates
        if candidate.name not in present
    }
    observed = request.observed_affinity if request.placement.cluster_affinities else ""
    return Result(previous, ScheduledCondition(False, reason, text), _rejections(rejections), observed)


def _rejections(reasons: Mapping[str, str]) -> tuple[Rejection, ...]:
    names = sorted(reasons)
    if names and len(set(reasons.values())) == 1:
        return _alike(tuple(names), reasons[names[0]])
    return tuple(rejection(name, reasons[name]) for name in names)


@lru_cache(maxsize=1 << 12)
def _alike(names: tuple[str, ...], reason: str) -> tuple[Rejection, ...]:
    """Thousands of workloads are not in the same clusters, for the same reason."""
    return tuple(rejection(name, reason) for name in names)


@lru_cache(maxsize=1 << 16)
def _share(name: str, replicas: int) -> Share:
    """Equal values are one object: thousands of workloads have the same share of the same cluster."""
    return Share(name, replicas)


@lru_cache(maxsize=1 << 14)
def rejection(name: str, reason: str) -> Rejection:
    """Equal values are one object."""
    return Rejection(name, reason)
