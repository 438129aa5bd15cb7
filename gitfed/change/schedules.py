"""Answers of the scheduler, kept from build to build.

Thousands of templates ask the same: the same policy, as many replicas, no past. Equal questions share one answer, and
its memory. What a question does not name must therefore not matter, or the answers are cleared when it changes:
policies, candidates and settings for all of them, the room of the clusters for those that go by room.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gitfed.change.directive import Directive
from gitfed.model.base import Body, ClusterName
from gitfed.model.decisions import Rejection, Share
from gitfed.model.declared.policy import Placement
from gitfed.placement import schedule
from gitfed.placement.allowance import Space
from gitfed.placement.cluster import Candidate
from gitfed.placement.fits import Fits

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Propagation


class Question(NamedTuple):
    """Everything a schedule depends on beside the candidates. Equal questions share one answer, and its memory."""

    placement: int
    api_version: str
    kind: str
    replicas: int
    is_workload: bool
    previous: tuple[Share, ...]
    evicting: frozenset[str]
    observed: str
    descending: bool
    fresh: bool
    requirements: str
    """Digest of what one replica, or one set of components, needs, where room decides; else "": it does not matter."""
    space: Space
    """Namespace and priority class, where ResourceQuotas inside clusters ask for them; else none."""
    history: bytes
    """What earlier decisions of the build took of the room there is a choice of; empty where room does not decide."""
    beside: frozenset[str] | None
    away_from: frozenset[str]


@dataclass(slots=True)
class Schedules:
    """Answers already given for the present policies and candidates; and applied placements, parsed."""

    answers: dict[Question, schedule.Result] = field(default_factory=dict)
    by_room: dict[Question, tuple[schedule.Result, tuple[ClusterName, ...]]] = field(default_factory=dict)
    """The answers that hold for the present room of certain clusters only, and these clusters."""
    standing: dict[Question, tuple[Rejection, ...]] = field(default_factory=dict)
    """Why decisions that stand are not anywhere else."""
    unreadable: dict[str, str | None] = field(default_factory=dict)
    """By the digest of what a replica needs: why that cannot be read."""
    fits: Fits = field(default_factory=Fits)
    _placements: dict[int, tuple[Body, Placement | None]] = field(default_factory=dict)
    _directives: dict[int, Directive] = field(default_factory=dict)
    """By the identity of the policy, which is kept alive here."""
    shared: dict[tuple[Share, ...], tuple[Share, ...]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def clear(self) -> None:
        self.answers.clear()
        self.by_room.clear()
        self.standing.clear()
        self.unreadable.clear()
        self.fits = Fits()
        self._directives.clear()
        self._placements.clear()
        self.shared.clear()
        self.names = frozenset()

    def reads(self, request: schedule.Request, candidates: Sequence[Candidate]) -> tuple[ClusterName, ...]:
        """The clusters whose room an answer depends on, in an order that is always the same."""
        return self.fits.names(request, candidates) if request.needs_room else ()

    def forget_room(self, changed: Collection[ClusterName]) -> None:
        """The room of these clusters is another one."""
        touched: dict[int, bool] = {}
        for question, (_, names) in list(self.by_room.items()):
            known = touched.get(id(names))
            if known is None:
                known = touched[id(names)] = not set(changed).isdisjoint(names)
            if known:
                del self.by_room[question]

    def applied(self, body: Body | None) -> Placement | None:
        """A recorded placement as a model; None when there is none, or when it cannot be read."""
        if body is None:
            return None
        known = self._placements.get(id(body))
        if known is None or known[0] is not body:
            known = self._placements[id(body)] = (body, _read_placement(body))
        return known[1]

    def directive(self, policy: Propagation) -> Directive:
        known = self._directives.get(id(policy))
        if known is None:
            known = self._directives[id(policy)] = Directive.of(policy)
        return known


def _read_placement(body: Body) -> Placement | None:
    try:
        return Placement.model_validate(body)
    except ValueError:  # pydantic's ValidationError is one
        return None
