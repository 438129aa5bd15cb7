"""★ Where one template goes: groups → filter → select → assign (Karmada: scheduling §1.3).

`schedule` reads top to bottom. It looks at nothing but its arguments, decides for one template, and gives a reason
for every cluster that it does not choose. Whether a template is due for scheduling at all is `due`'s question; what
is done about copies in clusters that are no longer chosen is decided after this package.

Steps that are still to come have their place: `select` (spread constraints) between filter and assign, an estimate of
room before it, and the dynamic half of `assign`. Until then a placement that needs them is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitfed.model.decisions import Rejection, ScheduledCondition, Share
from gitfed.placement import affinity, divide, filters, weights
from gitfed.placement.cluster import Candidate
from gitfed.placement.strategy import Strategy, of, unsupported

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement

SUCCESS = ScheduledCondition(True, "Success", "Binding has been scheduled successfully.")
NOBODY = "no clusters available to schedule"


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
    """replicas > 0, or the pod template asks for resources or nodes."""
    previous: tuple[Share, ...] = ()
    evicting: frozenset[str] = frozenset()
    observed_affinity: str = ""
    uid: str = ""
    fresh: bool = False
    empty_propagation: bool = False
    """Setting `scheduling.emptyWorkloadPropagation`: chosen clusters without replicas get the object too."""


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


def schedule(request: Request, candidates: Sequence[Candidate]) -> Result:
    """Decides. The order of `candidates` does not matter."""
    candidates = sorted(candidates, key=lambda candidate: candidate.name)
    if sentences := unsupported(request.placement):
        return _kept(request, candidates, "; ".join(sentences))

    named = bool(request.placement.cluster_affinities)
    first_failure: Result | None = None
    passed_over: dict[str, str] = {}
    for term in _terms_to_try(request):
        fitting, reasons = filters.split(_demand(request, term), candidates)
        reasons = _best_reasons(reasons, passed_over)
        if fitting:
            shares, unchosen = _assign(request, fitting)
            return Result(shares, SUCCESS, _rejections({**reasons, **unchosen}), term.name if named else "")
        passed_over = reasons
        if first_failure is None:
            condition = ScheduledCondition(False, "NoClusterFit", filters.fit_message(reasons, len(candidates)))
            observed = request.observed_affinity if named else ""
            first_failure = Result(None, condition, _rejections(reasons), observed)
    assert first_failure is not None, "there is always a group to try"
    return first_failure


def _terms_to_try(request: Request) -> list[affinity.Term]:
    """From the group in use onwards: earlier groups return only by an explicit reschedule (§1.4)."""
    terms = affinity.terms(request.placement)
    if request.fresh:
        return terms
    start = next((index for index, term in enumerate(terms) if term.name == request.observed_affinity), 0)
    return terms[start:]


def _demand(request: Request, term: affinity.Term) -> filters.Demand:
    return filters.Demand(
        api_version=request.api_version,
        kind=request.kind,
        affinity=term.matches,
        tolerations=request.placement.cluster_tolerations or (),
        spread=request.placement.spread_constraints or (),
        present=frozenset(share.cluster for share in request.previous),
        evicting=request.evicting,
    )


def _best_reasons(reasons: Mapping[str, str], earlier: Mapping[str, str]) -> dict[str, str]:
    """Why a cluster failed in its own group says more than that it is not in a later one."""
    return {
        name: earlier.get(name, reason) if reason == filters.AFFINITY else reason for name, reason in reasons.items()
    }


def _assign(request: Request, fitting: Sequence[Candidate]) -> tuple[tuple[Share, ...], dict[str, str]]:
    """(shares by cluster, why the fitting clusters without a share have none). §4"""
    if not request.is_workload:
        return tuple(Share(candidate.name) for candidate in fitting), {}
    if of(request.placement) is Strategy.DUPLICATED:
        given = {candidate.name: request.replicas for candidate in fitting}
        empty = {candidate.name: "the workload has no replicas" for candidate in fitting}
    else:
        weight = weights.static(request.placement, fitting)
        given = divide.by_weight(request.replicas, weight, request.uid)
        empty = {
            candidate.name: f"no replica fell to it (weight {weight[candidate.name]})"
            if candidate.name in weight
            else "it has no weight in staticWeightList"
            for candidate in fitting
        }
    shares = [
        Share(candidate.name, given.get(candidate.name, 0))
        for candidate in fitting
        if given.get(candidate.name, 0) > 0 or request.empty_propagation
    ]
    chosen = {share.cluster for share in shares}
    return tuple(shares), {name: reason for name, reason in empty.items() if name not in chosen}


def _kept(request: Request, candidates: Sequence[Candidate], text: str) -> Result:
    previous = tuple(sorted(request.previous))
    present = {share.cluster for share in previous}
    rejections = {candidate.name: text for candidate in candidates if candidate.name not in present}
    return Result(
        previous, ScheduledCondition(False, "SchedulerError", text), _rejections(rejections), request.observed_affinity
    )


def _rejections(reasons: Mapping[str, str]) -> tuple[Rejection, ...]:
    return tuple(Rejection(name, reason) for name, reason in sorted(reasons.items()))
