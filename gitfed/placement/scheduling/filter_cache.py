"""Which clusters pass the filters for one group of a placement, and the reasons of all that do not get the work.

What filters say depends on the policy, the kind and where the workload is now, not on its size: thousands of workloads
ask the same. `Fits` remembers, as long as the clusters are the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

from gitfed.model.decisions import Rejection
from gitfed.placement.scheduling import affinity, filters
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.request import PlacementRequest
from gitfed.text.identity import IdentityMemo

_name = attrgetter("name")
_NONE: Mapping[str, str] = {}
NO_WEIGHT = "it has no weight in staticWeightList"
"""Why a cluster that passes never gets anything."""


class Split:
    """The clusters that pass, by name, and why each of the others does not."""

    def __init__(
        self, fitting: Iterable[Candidate], reasons: Mapping[str, str], passed: frozenset[str] = frozenset()
    ) -> None:
        """`passed`: those that pass in another group, to which the work may come."""
        self.fitting = tuple(fitting)
        self.names = tuple(candidate.name for candidate in self.fitting)
        self.reasons = reasons
        self._place = {name: at for at, name in enumerate(sorted([*self.names, *reasons]))}
        self._rows: dict[str, list[Rejection | None]] = {}
        self._passed = passed

    def rejections(self, chosen: Iterable[str], why: str, others: Mapping[str, str] = _NONE) -> tuple[Rejection, ...]:
        """Sorted by cluster; one for every cluster but the chosen. `why`: of those that fit and are not in `others`."""
        row = self._rows.get(why)
        if row is None:
            reasons = dict.fromkeys(self.names, why) | dict(self.reasons)
            row = self._rows[why] = [
                rejection(name, reasons[name], name in self.reasons and name not in self._passed)
                for name in self._place
            ]
        rows, place = row.copy(), self._place
        for name, reason in others.items():
            rows[place[name]] = rejection(name, reason, reason == NO_WEIGHT)
        for name in chosen:
            if name in place:
                rows[place[name]] = None
        return tuple(filter(None, rows))

    def after(self, earlier: Mapping[str, str]) -> Split:
        """Why a cluster failed in its own, earlier group says more than that it is not in a later one."""
        reasons = {
            name: earlier.get(name, reason) if reason == filters.AFFINITY else reason
            for name, reason in self.reasons.items()
        }
        return Split(self.fitting, reasons, self._passed)


class Fits:
    """What the filters said of the present candidates: asked again and again for templates of one policy."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Split] = {}
        self._terms = IdentityMemo(affinity.terms)
        self._names: dict[tuple[object, ...], tuple[str, ...]] = {}

    def terms(self, request: PlacementRequest) -> list[affinity.Term]:
        """The groups to try: from the one in use onwards; earlier ones return only by an explicit reschedule (§1.4)."""
        terms = self._terms(request.placement)
        return terms if len(terms) == 1 else _to_try(request, terms)

    def names(self, request: PlacementRequest, candidates: Sequence[Candidate]) -> tuple[str, ...]:
        """Every cluster that fits in one of the groups that may be tried: no other's room matters. The same object
        for the same question."""
        terms = self.terms(request)
        if len(terms) == 1:
            return self.split(request, terms[0], candidates).names
        key = tuple(_question(request, term) for term in terms)
        names = self._names.get(key)
        if names is None:
            fitting = {name for term in terms for name in self.split(request, term, candidates).names}
            names = self._names[key] = tuple(sorted(fitting))
        return names

    def in_use(self, request: PlacementRequest, candidates: Sequence[Candidate]) -> Split:
        """The clusters by the group in use: for a decision that stands and is not made again."""
        return self.split(request, self.terms(request)[0], candidates)

    def of_group(self, request: PlacementRequest, term: affinity.Term, candidates: Sequence[Candidate]) -> Split:
        """As `split`, and it knows which clusters pass in another group that may be tried."""
        if len(self.terms(request)) == 1:
            return self.split(request, term, candidates)
        key = ("among others", *_question(request, term))
        split = self._known.get(key)
        if split is None:
            alone = self.split(request, term, candidates)
            split = Split(alone.fitting, alone.reasons, frozenset(self.names(request, candidates)))
            self._known[key] = split
        return split

    def split(self, request: PlacementRequest, term: affinity.Term, candidates: Sequence[Candidate]) -> Split:
        key = _question(request, term)
        split = self._known.get(key)
        if split is None:
            split = self._known[key] = Split(*filters.split(demand(request, term), sorted(candidates, key=_name)))
        return split


def demand(request: PlacementRequest, term: affinity.Term) -> filters.FilterQuery:
    """What the filters are asked about one group."""
    overflows = request.is_workload and term.overflow
    return filters.FilterQuery(
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


@lru_cache(maxsize=1 << 14)
def rejection(name: str, reason: str, barred: bool) -> Rejection:
    """Equal values are one object."""
    return Rejection(name, reason, barred)


def _to_try(request: PlacementRequest, terms: list[affinity.Term]) -> list[affinity.Term]:
    if request.fresh:
        return terms
    start = next((index for index, term in enumerate(terms) if term.name == request.observed_affinity), 0)
    return terms[start:]


def _question(request: PlacementRequest, term: affinity.Term) -> tuple[object, ...]:
    previous = request.previous
    return (
        id(request.placement),
        term.name,
        request.api_version,
        request.kind,
        request.is_workload,
        tuple([share.cluster for share in previous]) if previous else (),
        request.evicting,
        request.beside,
        request.away_from,
    )
