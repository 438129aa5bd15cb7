"""What all templates of one build have in common, and what is known of one before and after it was its turn."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import BindingId, ObjectKey, Problem
from gitfed.model.decisions import Decision, PolicyRef, Rejection
from gitfed.model.operator_orders import EVERYTHING, Suspension
from gitfed.model.plan import Binding
from gitfed.model.repo import Manifest, UnreadFile
from gitfed.placement.scheduling import match
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.request import PlacementRequest
from gitfed.planning.compiled_policy import Directive
from gitfed.planning.schedule_cache import Schedules
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.federation import Federation
    from gitfed.model.declared.policy import Propagation


@dataclass(frozen=True, slots=True)
class HoldState:
    """What may keep templates from being decided at all. The same object while it is equal."""

    overrides: frozenset[tuple[str, str, str]] = frozenset()
    """(kind, namespace, name) of every override policy: a policy may wait for some (`dependentOverrides`)."""
    suspensions: tuple[Suspension, ...] = ()
    unread: tuple[UnreadFile, ...] = ()
    policies: frozenset[tuple[str, str, str]] = frozenset()
    """(kind, namespace, name) of every propagation policy, if any file is unread: one may be in it."""


@dataclass(frozen=True, slots=True)
class Binder:
    """What all templates of one build have in common."""

    policies: match.Index
    candidates: tuple[Candidate, ...]
    interpreter: Interpreter
    schedules: Schedules
    settings: Federation
    now: datetime
    rebalancers: Mapping[ObjectKey, tuple[str, ...]] = field(default_factory=dict)
    """Who asks for which template to be placed anew."""
    before: Mapping[ObjectKey, Decision] = field(default_factory=dict)
    """Of templates that are to leave a cluster: what stands if nothing can take them (`placement.failover.step`)."""
    stopped: Set[ObjectKey] = frozenset()
    """Templates that were decided too often for the same inputs (`placement.damper`)."""
    undecided: Set[ObjectKey] = frozenset()
    """Templates whose next decision waits for a person's consent: the last one stands (`build`)."""
    standing: HoldState = field(default_factory=lambda: HoldState())
    broken: Mapping[ObjectKey, str] = field(default_factory=dict)
    """Templates that no cluster would take, and why (`schema_check`)."""
    names: frozenset[str] = frozenset()
    """Of all clusters; the same object while there are the same ones."""

    def cluster_names(self) -> frozenset[str]:
        if not self.schedules.names:
            self.schedules.names = frozenset(candidate.name for candidate in self.candidates)
        return self.schedules.names

    def missing_override(self, policy: Propagation) -> str:
        """Why a policy has to wait for an override (Karmada: dependentOverrides); "" when it has not to."""
        kind = "ClusterOverridePolicy" if policy.is_cluster_wide else "OverridePolicy"
        for name in policy.spec.dependent_overrides:
            if (kind, policy.metadata.namespace, name) not in self.standing.overrides:
                return f"{match.ref(policy)} waits for the {kind} {name}, which does not exist"
        return ""

    def why_unread(self, key: ObjectKey, decision: Decision | None) -> tuple[str, bool]:
        """(Why nothing may be decided for a template because a file cannot be used, whether nothing may be written).

        Such a file may be about the template, or define the policy that placed it or a cluster that it is in.
        """
        for file in self.standing.unread:
            reason = f"{file.path} cannot be used, and may be about it"
            if file.may_concern(key):
                return reason, file.overrides
            if decision is not None and self._may_be_in(file, decision):
                return reason, False
        return "", False

    def _may_be_in(self, file: UnreadFile, decision: Decision) -> bool:
        by = decision.scheduled.policy
        if by is not None and by not in self.standing.policies and file.may_define(by.kind, by.namespace, by.name):
            return True
        lost = (share.cluster for share in decision.scheduled.shares if share.cluster not in self.cluster_names())
        return any(file.may_define("Cluster", "", name) for name in lost)

    def why_suspended(self, key: ObjectKey, decision: Decision | None) -> str:
        """Why nothing is to be decided for a template now; "" when something may be."""
        for suspension in self.standing.suspensions:
            if suspension.scheduling and suspension.of in (EVERYTHING, str(key)):
                return str(suspension)
        if decision is not None and decision.scheduling_suspended:
            return "scheduling is suspended on its binding"
        return ""


@dataclass(frozen=True, slots=True)
class PlacementResult:
    binding: Binding
    problems: tuple[Problem, ...] = ()
    ask_again: bool = False
    """A rule gave no answer this time; it may the next time."""
    essence: object = field(default_factory=object, init=False, repr=False, compare=False)
    """Shared with answers that differ in nothing but the reasons of clusters that are not chosen."""

    def with_rejections(self, rejections: tuple[Rejection, ...]) -> PlacementResult:
        other = PlacementResult(self.binding.with_rejections(rejections), self.problems, self.ask_again)
        object.__setattr__(other, "essence", self.essence)
        return other


@dataclass(frozen=True, slots=True)
class Selected:
    """A template, the policy that places it, and what is on record."""

    manifest: Manifest
    directive: Directive
    losers: tuple[PolicyRef, ...]
    """Policies that select it as well."""
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class PlacementQuery:
    """A template that a policy places, with all that can be known before it is its turn."""

    manifest: Manifest
    decision: Decision | None
    directive: Directive
    """What the policy says that places it."""
    losers: tuple[PolicyRef, ...]
    request: PlacementRequest
    """But for what others take and where they are."""
    shape: str
    """Digest of what one replica, or one set of components, needs; "" for what is no workload."""
    identity: BindingId
    stands: bool
    """The previous decision holds; nothing is decided anew."""
    group: str = ""
    """Its workload affinity group, `<label key>=<value>`; "" for none."""
    apart: str = ""
    """Its anti-affinity group."""
    before: Decision | None = None
    """`decision` has new evictions; this is the one without, which stands if no place is found."""
    held: bool = False
    """It stands, whatever its template and policy say: a gate holds what follows from these."""
    asks: int = 0
    """What the scheduler is asked, as a number (`Schedules.number`)."""

    @property
    def policy(self) -> Propagation:
        return self.directive.policy

    @property
    def waits(self) -> bool:
        """Whether the answer depends on what is decided for other templates."""
        return not self.stands and (self.request.needs_room or bool(self.group) or bool(self.apart))

    def decides(self, bound: PlacementResult) -> bool:
        """Whether this answer is a new decision: it bears the time of its build. As long as it is not on record,
        because a gate holds it or nothing could be written, the next build has to give it anew."""
        return bound.binding.decision is not self.decision
