"""Answers of the scheduler, kept from build to build.

Thousands of templates ask the same: the same policy, as many replicas, no past. Equal questions share one answer, and
its memory. What a question does not name must therefore not matter, or the answers are cleared when it changes:
policies, candidates and settings for all of them, the room of the clusters for those that go by room.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from gitfed.model.base import Body, ClusterName
from gitfed.model.decisions import Rejection, Share
from gitfed.model.declared.policy import Placement
from gitfed.placement.capacity import allowance
from gitfed.placement.capacity.allowance import Space
from gitfed.placement.scheduling import reschedule, schedule
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.filter_cache import Fits
from gitfed.placement.scheduling.request import PlacementRequest
from gitfed.planning.compiled_policy import Directive
from gitfed.text.identity import IdentityMemo
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Propagation

_MOST_SHARED = 50_000


class Asks(NamedTuple):
    """What a template by itself asks. Equal ones share their answers, and the memory of these."""

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


class Others(NamedTuple):
    """What a schedule depends on of those that were placed before it."""

    history: bytes = b""
    """What earlier decisions of the build took of the room there is a choice of; empty where room does not decide."""
    space: Space = allowance.ANYWHERE
    """Namespace and priority class, where ResourceQuotas inside clusters ask for them; else none."""
    beside: frozenset[ClusterName] | None = None
    """Clusters that all others of its affinity group use; None: it has none."""
    away_from: frozenset[ClusterName] = frozenset()
    """Clusters that any of its anti-affinity group uses."""


ALONE = Others()


class PlacementComparison(NamedTuple):
    """Everything a schedule depends on beside the candidates."""

    asks: int
    """The number of an `Asks`: a hundred shares are hashed once, and not in every build."""
    history: bytes
    space: Space
    beside: frozenset[str] | None
    away_from: frozenset[str]
    """As of `Others`: one flat tuple, for it is hashed often."""


@dataclass(slots=True)
class Schedules:
    """Answers already given for the present policies and candidates; and applied placements, parsed."""

    answers: dict[PlacementComparison, schedule.ScheduleResult] = field(default_factory=dict)
    by_room: dict[PlacementComparison, tuple[schedule.ScheduleResult, tuple[ClusterName, ...]]] = field(
        default_factory=dict
    )
    """The answers that hold for the present room of certain clusters only, and these clusters."""
    standing: dict[PlacementComparison, tuple[Rejection, ...]] = field(default_factory=dict)
    """Why decisions that stand are not anywhere else."""
    unreadable: dict[str, str | None] = field(default_factory=dict)
    """By the digest of what a replica needs: why that cannot be read."""
    fits: Fits = field(default_factory=Fits)
    _numbers: dict[Asks, int] = field(default_factory=dict)
    _numbered: int = 0
    _reads: dict[int, tuple[ClusterName, ...]] = field(default_factory=dict)
    _placements: IdentityMemo[Body, Placement | None] = field(default_factory=lambda: IdentityMemo(_read_placement))
    _changed: dict[tuple[int, int, str], bool] = field(default_factory=dict)
    _directives: IdentityMemo[Propagation, Directive] = field(default_factory=lambda: IdentityMemo(Directive.of))
    shared: dict[tuple[Share, ...], tuple[Share, ...]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def clear(self) -> None:
        """The policies or the settings are others."""
        self.forget_clusters()
        self.unreadable.clear()
        self._directives.clear()
        self.shared.clear()

    def forget_clusters(self) -> None:
        """The candidates are others."""
        self.answers.clear()
        self.by_room.clear()
        self.standing.clear()
        self.fits = Fits()
        self._numbers.clear()
        self._reads.clear()
        self._placements.clear()
        self._changed.clear()
        if len(self.shared) > _MOST_SHARED:
            self.shared.clear()
        self.names = frozenset()

    def number(self, asks: Asks) -> int:
        """Stands for what is asked. One that was given is never given to something else: who kept it may come back
        after everything was forgotten."""
        number = self._numbers.get(asks)
        if number is None:
            self._numbered += 1
            number = self._numbers[asks] = self._numbered
        return number

    def reads(self, asks: int, request: PlacementRequest, candidates: Sequence[Candidate]) -> tuple[ClusterName, ...]:
        """The clusters whose room an answer depends on, in an order that is always the same."""
        names = self._reads.get(asks)
        if names is None:
            names = self._reads[asks] = self.fits.names(request, candidates) if request.needs_room else ()
        return names

    def forget_room(self, changed: Collection[ClusterName]) -> None:
        """The room of these clusters is another one."""
        touched = IdentityMemo[tuple[ClusterName, ...], bool](lambda names: not set(changed).isdisjoint(names))
        for question, (_, names) in list(self.by_room.items()):
            if touched(names):
                del self.by_room[question]

    def applied(self, body: Body | None) -> Placement | None:
        """A recorded placement as a model; None when there is none, or when it cannot be read."""
        return self._placements(body) if body is not None else None

    def placement_changed(self, placement: Placement, recorded: Body | None, observed: str) -> bool:
        """Whether a policy says something else than a recorded placement (`due`): asked of thousands of templates."""
        question = id(placement), id(recorded), observed
        changed = self._changed.get(question)
        if changed is None:
            applied = self.applied(recorded)
            changed = applied is not None and reschedule.placement_changed(placement, applied, observed)
            self._changed[question] = changed
        return changed

    def directive(self, policy: Propagation) -> Directive:
        return self._directives(policy)


def _read_placement(body: Body) -> Placement | None:
    try:
        return Placement.model_validate(body)
    except ValueError:  # pydantic's ValidationError is one
        return None
