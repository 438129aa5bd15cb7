"""What comes out of `build`: one value that the daemon carries out, the command line prints and a review compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from gitfed.model.base import BindingId, Body, ClusterName, Commit, Digest, ObjectKey, Origin, Problem
from gitfed.model.decisions import (
    ClusterRecord,
    Decision,
    EvictionTask,
    Labels,
    Outage,
    PolicyRef,
    Rejection,
    Scheduled,
    Share,
)
from gitfed.model.fleet import FactsRef, LiveObject
from gitfed.model.reason import NO_REASON, Reason, ReasonCode
from gitfed.model.scaling import Scaling
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Who changed the manifest on its way to the cluster: an override policy, replica revision, …"""

    by: str
    """e.g. `OverridePolicy/shop/eu-registry`"""
    origin: Origin
    what: str
    """e.g. `imageOverrider`"""


@dataclass(frozen=True, slots=True)
class PropagationTerms:
    """What the policy in force, and orders, say of a template's objects wherever they go."""

    overwrite: bool = False
    """conflictResolution: Overwrite."""
    preserve: bool = False
    """preserveResourcesOnDeletion."""
    propagates_deps: bool = False
    """propagateDeps: what the template refers to goes along."""
    suspended: frozenset[ClusterName] | None = frozenset()
    """Clusters that get no writes (`suspension`); None: all of them."""
    divided: bool = False
    """Its replicas are divided among the clusters: each has a part, and one can stand in for another."""
    stateful: bool = False
    """The state that its objects report is recorded, for the day that a cluster fails."""


@dataclass(frozen=True, slots=True)
class PlacementReasons:
    """Why a template goes where it goes, and not elsewhere."""

    why: str = ""
    """Why these clusters, in a few words: the WHY column."""
    leaves: bool = False
    """The decision is about clusters that it leaves, and `why` names them."""
    rejections: tuple[Rejection, ...] = ()
    losers: tuple[PolicyRef, ...] = ()
    """Policies that select it, too, and lost."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Where one template goes, and why not elsewhere."""

    id: BindingId
    key: ObjectKey
    api_version: str
    origin: Origin
    scheduled: Scheduled
    terms: PropagationTerms = PropagationTerms()
    reasons: PlacementReasons = PlacementReasons()
    requirements: Body | None = None
    """What one replica needs (Karmada's ReplicaRequirements)."""
    decision: Decision | None = None
    """What is to be recorded; the previous decision itself when nothing changed. None: nothing to record."""
    attached: bool = False
    """It is placed only because other objects need it, never by a policy: where none needs it, it is deleted."""
    held: str = ""
    """Why nothing at all is to be written; "" when something may be."""
    keeps: str = ""
    """Why none of its objects may be deleted; "" when they may."""

    @property
    def injected(self) -> tuple[tuple[ClusterName, Labels], ...]:
        """State that a failover brought, as labels on the object that took over."""
        return self.decision.failover.injected if self.decision is not None else ()

    @property
    def evictions(self) -> tuple[EvictionTask, ...]:
        """Clusters that it is leaving, or has left while its old object may still be there."""
        return self.decision.failover.evictions if self.decision is not None else ()

    @property
    def awaits_deletion(self) -> tuple[ClusterName, ...]:
        """Clusters whose old object must be gone for certain before anything of it is written (purgeMode Directly)."""
        cleared = self.decision.failover.cleared if self.decision is not None else ()
        return tuple(
            task.from_cluster
            for task in self.evictions
            if task.purge_mode == "Directly" and task.from_cluster not in cleared
        )

    def with_rejections(self, rejections: tuple[Rejection, ...]) -> Binding:
        """The same with other rejections: when a cluster fails, this is called for every workload of the fleet."""
        return replace(self, reasons=replace(self.reasons, rejections=rejections))

    def share_of(self, cluster: ClusterName) -> Share | None:
        return next((share for share in self.scheduled.shares if share.cluster == cluster), None)


@dataclass(frozen=True, slots=True)
class RenderedManifest:
    """A render class: one body and the clusters that get exactly it."""

    key: ObjectKey
    binding: BindingId
    body: Body
    digest: Digest
    clusters: tuple[ClusterName, ...]
    """Sorted."""
    replicas: int | None
    origin: Origin
    edits: tuple[Edit, ...] = ()

    @property
    def made_by(self) -> str:
        """The overrides that made it what it is, to be added to a server's refusal; "" if there are none. When a single
        cluster refuses an object, an override is often the cause."""
        overrides = [edit for edit in self.edits if "OverridePolicy/" in edit.by]
        authors = dict.fromkeys(f"{edit.by} made it, {edit.origin}" for edit in overrides)
        return f" (as {' and '.join(authors)})" if authors else ""


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    KEEP = "keep"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One difference, redacted where it was made. `before`/`after` None with `absent_*` True: the member is missing."""

    pointer: str
    before: object = None
    after: object = None
    absent_before: bool = False
    absent_after: bool = False


class Left(StrEnum):
    """Why something that should be done is not: the kind of reason, whatever its words."""

    GATE = "gate"
    """A limit holds it until a person approves it."""
    SUSPENDED = "suspended"
    """A person or a policy wants nothing to be written."""
    REFUSED = "refused"
    """Another manager's object or field is in the way, or it cannot be rendered: a person has to change something."""
    AWAITS = "awaits"
    """It waits for something that happens by itself."""


_LEFT: Mapping[ReasonCode, Left] = MappingProxyType(
    {
        ReasonCode.GATE: Left.GATE,
        ReasonCode.SUSPENDED_BY_POLICY: Left.SUSPENDED,
        ReasonCode.SUSPENDED_BY_ORDER: Left.SUSPENDED,
        ReasonCode.BINDING_HELD: Left.REFUSED,
        ReasonCode.FIELD_CONFLICT: Left.REFUSED,
        ReasonCode.NOT_OURS: Left.REFUSED,
        ReasonCode.NOT_RENDERED: Left.REFUSED,
        ReasonCode.RETAIN_REFUSED: Left.REFUSED,
        ReasonCode.RETAIN_UNKNOWN: Left.AWAITS,
        ReasonCode.NOT_OBSERVED: Left.AWAITS,
        ReasonCode.DELETION_AWAITED: Left.AWAITS,
        ReasonCode.AVAILABILITY_FLOOR: Left.AWAITS,
    }
)


@dataclass(frozen=True, slots=True)
class Write:
    """What a create or an update sends, and how it differs from what is there."""

    rendered: RenderedManifest | None = None
    """None: nothing is written."""
    body: Body | None = None
    """What to send when it is not `rendered.body`: after retain."""
    diff: tuple[FieldChange, ...] = ()
    adopt: bool = False
    """The live object is not ours and the policy says Overwrite."""
    replaces: bool = False
    """An immutable field changed and the template allows replacement."""


@dataclass(frozen=True, slots=True)
class Turn:
    """When a change is carried out, among the others of its cluster."""

    wave: int = 0
    order: int = 0
    """Position by kind inside the wave."""
    waits_for: tuple[ObjectKey, ...] = ()
    """What the template names in `gitfed.io/depends-on`."""
    waits: str = ""
    """Why it is not this change's turn yet; "" when it may be applied. A later plan lets it through."""
    first: bool = False
    """An evicted object: deleted before anything else is done in its cluster."""


@dataclass(frozen=True, slots=True)
class Change:
    """One object in one cluster that differs from the desired state, or that is deliberately left alone.

    A skip holds what would be written: a gate or a suspension that ends lets exactly that through.
    """

    cluster: ClusterName
    key: ObjectKey
    api_version: str
    action: Action
    reason: Reason = NO_REASON
    live: LiveObject | None = None
    write: Write = Write()
    """Empty for delete and keep."""
    turn: Turn = Turn()
    move: bool = False
    """Part of a move: counted as such, exempt from the deletion gates."""
    drift: bool = False
    """The desired state did not change since it was last applied: another client changed the object."""

    @property
    def left(self) -> Left | None:
        """Why a skip is skipped; None where nothing is to be done (drift that is left alone)."""
        return _LEFT.get(self.reason.code) if self.action is Action.SKIP else None

    @property
    def gate(self) -> str:
        """The name of the gate that holds it; "" if none does."""
        return self.reason.subject if self.left is Left.GATE else ""


@dataclass(frozen=True, slots=True)
class Gate:
    """A limit and what it holds. `held` counts the changes that became `skip` because of it; of a quota the workloads
    that it refused."""

    name: str
    limit: str
    value: str
    held: int = 0
    messages: tuple[str, ...] = ()
    """Sentences that say more than the numbers."""
    consent: bool = True
    """Whether a person may let through what it holds; what a quota refuses needs another quota."""
    over: bool = False
    """The value is beyond the limit although nothing is held: what runs already asks for more than it did."""


@dataclass(frozen=True, slots=True)
class HeldDecision:
    """What would be decided for a template if a person approved it."""

    binding: Binding
    gate: str
    """The name of the gate."""


@dataclass(frozen=True, slots=True)
class Totals:
    create: int = 0
    update: int = 0
    move: int = 0
    delete: int = 0
    keep: int = 0
    skip: int = 0
    clusters: int = 0
    """Clusters with at least one create, update, move or delete."""
    of_clusters: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Equal inputs give equal plans. `changes` is None when the clusters were not observed."""

    commit: Commit
    base: Commit | None
    facts: FactsRef
    now: datetime
    federation: str
    bindings: Mapping[ObjectKey, Binding]
    """Sorted by key. Of what a gate holds, as it was decided before: that stands, and is kept up."""
    rendered: Mapping[ObjectKey, tuple[RenderedManifest, ...]]
    changes: tuple[Change, ...] | None
    gates: tuple[Gate, ...]
    problems: tuple[Problem, ...]
    totals: Totals
    digest: Digest
    """Over commit, decisions and changes: the DIGEST of `apply --confirm`."""
    clusters: tuple[ClusterName, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Sentences for the header: what was assumed, what was not observed."""
    records: Mapping[ClusterName, ClusterRecord] = field(default_factory=dict)
    """What the state branch is to hold of clusters; the same mapping as before when nothing changed."""
    outage: Outage | None = None
    said: tuple[str, ...] = ()
    """What happened to clusters, as sentences for the record."""
    eased: frozenset[str] = frozenset()
    """Those of `said` that end something that kept work out of a cluster: they need no warning."""
    doubtful: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()
    """Evictions that another program wrote, and that no cluster has borne out or refuted yet."""
    look_again: datetime | None = None
    """When something falls due although nothing happens: a taint, an eviction, the end of a task, a cron rule."""
    scaling: Scaling = field(default_factory=Scaling)
    held_decisions: Mapping[ObjectKey, HeldDecision] = field(default_factory=lambda: MappingProxyType({}))
    """Sorted by key: decisions that a gate holds. Their changes are among `changes`, as skips."""

    def wanted(self, key: ObjectKey) -> Binding:
        """Where a template goes if a person approves what the gates hold."""
        held = self.held_decisions.get(key)
        return held.binding if held is not None else self.bindings[key]
