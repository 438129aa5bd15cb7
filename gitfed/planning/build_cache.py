"""What one build works on, and what it remembers for the next one.

A `Memo` keeps, for each template, what was computed and from which objects; a `BuildContext` is everything that all
templates of one build have in common. Making the second replaces in the first what changed and nothing else: an equal
value stays the same object, so that later steps can tell by `is` what there is to be done (decision 0003).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from itertools import chain
from typing import Any

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, ObjectKey, Problem
from gitfed.model.counting import Count, unheard
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterLive, FleetSnapshot, LiveObject, Reach
from gitfed.model.plan import Binding, Change, RenderedManifest
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.placement.failover import state_preservation
from gitfed.placement.failover import step as failover
from gitfed.placement.failover.failover_context import StatusReader
from gitfed.placement.scheduling import match, rebalance
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.planning import contention, dependencies, place, scaled, schema_check, status
from gitfed.planning.context import Binder, HoldState, PlacementResult
from gitfed.planning.lazy_manifests import AT_ONCE, Rendering
from gitfed.planning.ordering import order
from gitfed.planning.schedule_cache import Schedules
from gitfed.planning.schema_check import Judge
from gitfed.render import override
from gitfed.services import placement as services
from gitfed.text.values import dataclass

_FIRST = order.Position(0, 0)


@dataclass(slots=True)
class RenderStage:
    """What was rendered for one template, and from what."""

    overrides: object = None
    judge: object = None
    manifests: tuple[RenderedManifest, ...] = ()
    failed: Mapping[ClusterName, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    ask_again: bool = False
    """A rule gave no answer when this was rendered; it may the next time."""
    digest: bytes = b""


@dataclass(slots=True)
class CompareStage:
    """What was found where the rendered manifests were held against the clusters, and what was known of these."""

    live: Mapping[ClusterName, LiveObject] | None = None
    live_clusters: object = None
    drift_known: frozenset[ClusterName] | None = None
    repaired: frozenset[ClusterName] | None = frozenset()
    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why changes were left out that a rule should have completed."""
    ask_again: bool = False
    """That rule may answer the next time."""


@dataclass(slots=True)
class PlanItem:
    """What was computed for one template, and from what: the left sides are compared with `is`."""

    manifest: Manifest
    candidates: object
    bound: PlacementResult
    places: object = None
    bodies: Mapping[ClusterName, Body] | None = None
    """Of an object that is another one in each cluster; None for all that come from a template."""
    wave: order.Position = _FIRST
    depends: bool = False
    """Its manifest names others that it waits for."""
    faults: tuple[Problem, ...] = ()
    rendering: RenderStage = field(default_factory=RenderStage)
    comparison: CompareStage = field(default_factory=CompareStage)

    @property
    def binding(self) -> Binding:
        return self.bound.binding


@dataclass(slots=True)
class ClusterCache:
    """The clusters of the last build."""

    candidates: tuple[Candidate, ...] = ()
    names: frozenset[ClusterName] = frozenset()
    places: tuple[Candidate, ...] = ()
    """The candidates but for what changes when they fail."""
    live: Mapping[ClusterName, ClusterLive] = field(default_factory=dict)
    defined: tuple[object, tuple[Candidate, ...]] | None = None
    """What definitions were asked about, and the clusters with their kinds."""


@dataclass(slots=True)
class RuleCache:
    """What the last build went by: policies, settings, interpreters, and their indexes."""

    settings: object = None
    interpreter: object = None
    propagation: object = None
    index: match.Index | None = None
    """Of `propagation`."""
    overrides: object = None
    override_index: override.Overrides | None = None
    standing: HoldState = field(default_factory=HoldState)
    judge: Judge | None = None
    sound: dict[ObjectKey, Manifest] = field(default_factory=dict)
    """Templates that `judge` has nothing against."""


@dataclass(slots=True)
class TemplateCache:
    """What follows from templates alone, or from a template and its copies."""

    assigned: dict[ObjectKey, Manifest] = field(default_factory=dict)
    references: dependencies.Memory = field(default_factory=dict)
    implied: dict[str, tuple[Manifest, tuple[ClusterName, ...]]] = field(default_factory=dict)
    collected: status.Memory = field(default_factory=dict)
    """What scripts said of copies that the failover of the last build looked at."""
    states: state_preservation.States = field(default_factory=lambda: state_preservation.States(_label_value))
    scaled: scaled.Memory = field(default_factory=dict)


@dataclass(slots=True)
class Memo:
    """What a planner remembers between builds. Give the same memo to consecutive builds of one repository."""

    count: Count = unheard
    """Is told how far a build is."""
    rendering: Rendering = AT_ONCE
    """When its builds make manifests."""
    items: dict[ObjectKey, PlanItem] = field(default_factory=dict)
    questions: dict[ObjectKey, place.PlacementState] = field(default_factory=dict)
    room: contention.CapacityLedger = field(default_factory=contention.CapacityLedger)
    schedules: Schedules = field(default_factory=Schedules)
    clusters: ClusterCache = field(default_factory=ClusterCache)
    rules: RuleCache = field(default_factory=RuleCache)
    templates: TemplateCache = field(default_factory=TemplateCache)
    recomputed: int = 0
    """Templates whose binding, rendering or changes the last build had to compute: what a test asserts on."""
    _as_before: Memo | None = None

    @property
    def as_before(self) -> Memo:
        """For the items of what stands as before because a gate holds its next decision."""
        if self._as_before is None:
            self._as_before = Memo()
        return self._as_before

    def nothing_held(self) -> None:
        self._as_before = None

    def forget_items(self) -> None:
        self.items.clear()
        self._as_before = None


@dataclass(frozen=True, slots=True)
class BuildContext:
    repo: RepoSnapshot
    fleet: FleetSnapshot
    decisions: Decisions
    """After what clusters that fail made of them."""
    step: failover.FailoverStep
    interpreter: Interpreter
    now: datetime
    candidates: tuple[Candidate, ...]
    places: tuple[Candidate, ...]
    by_name: Mapping[ClusterName, Candidate]
    policies: match.Index
    overrides: override.Overrides
    live_clusters: Mapping[ClusterName, ClusterLive]
    same_commit: bool
    binder: Binder
    numbers: scaled.ScaledRepo
    judge: Judge | None = None
    """What tells whether API servers would take a manifest; None: nobody does."""
    rendering: Rendering = AT_ONCE

    def to_repair(self, key: ObjectKey) -> frozenset[ClusterName] | None:
        """Clusters where drift of this object is repaired: everywhere (None), or where a person ordered a look."""
        if self.repo.settings.spec.sync.self_heal:
            return None
        orders = self.decisions.reconciliations
        return frozenset(name for name in self.by_name for order in orders if order.covers(name, key))

    def settled(self, key: ObjectKey) -> frozenset[ClusterName] | None:
        """Clusters where this commit's version of an object was not written when the roll-out was over; None: anywhere.

        Where it was written, whatever differs now is drift.
        """
        if not self.same_commit:
            return None
        return frozenset(name for name, keys in self.decisions.unfinished.items() if str(key) in keys or "*" in keys)


def prepare(
    memo: Memo, repo: RepoSnapshot, fleet: FleetSnapshot, decisions: Decisions, interpreter: Interpreter, now: datetime
) -> BuildContext:
    """Replace what changed in the memo; keep the old object where the new one is equal, so that `is` holds."""
    if memo.rules.interpreter is not interpreter or memo.rules.settings != repo.settings:
        memo.forget_items()
        memo.questions.clear()
        memo.schedules.clear()
        memo.templates.scaled.clear()
        memo.rules.interpreter, memo.rules.settings = interpreter, repo.settings
    numbers = scaled.scale(memo.templates.scaled, repo, decisions, interpreter, now)
    repo = numbers.repo
    policies = (repo.propagation, services.policies(repo))
    if memo.rules.index is None or memo.rules.propagation != policies:
        memo.rules.index, memo.rules.propagation = match.Index(*policies), policies
        memo.schedules.clear()
    clusters, capacities = place.candidates(repo, fleet)
    earlier, memo.templates.collected = memo.templates.collected, {}
    step = failover.step(
        repo,
        fleet,
        decisions,
        clusters,
        memo.rules.index,
        StatusReader(
            memo.templates.states,
            lambda copy: status.collected(copy, interpreter, memo.templates.collected, earlier)[:2],
        ),
        now,
    )
    clusters, decisions = step.candidates, step.decisions
    standing = HoldState(
        frozenset((policy.kind, policy.metadata.namespace, policy.metadata.name) for policy in repo.overrides),
        decisions.suspensions,
        repo.unread,
        frozenset(match.ref(policy) for policy in chain(*policies)) if repo.unread else frozenset(),
    )
    if standing != memo.rules.standing:
        memo.rules.standing = standing
    candidates = _with_definitions(memo, clusters, repo, decisions, interpreter, now)
    if candidates != memo.clusters.candidates:
        memo.clusters.candidates = candidates
        memo.schedules.forget_clusters()
        names, places = frozenset(candidate.name for candidate in candidates), tuple(map(_place, candidates))
        memo.clusters.names = memo.clusters.names if memo.clusters.names == names else names
        memo.clusters.places = memo.clusters.places if memo.clusters.places == places else places
    memo.room.use(capacities, memo.schedules)
    if memo.rules.override_index is None or memo.rules.overrides != repo.overrides:
        memo.rules.override_index, memo.rules.overrides = override.Overrides(repo.overrides), repo.overrides
    live_clusters = fleet.live.clusters if fleet.live is not None else {}
    if live_clusters != memo.clusters.live:
        memo.clusters.live = live_clusters
    broken = {**_broken(memo, repo, fleet, interpreter), **numbers.failed}
    memo.recomputed = 0
    return BuildContext(
        repo=repo,
        fleet=fleet,
        decisions=decisions,
        step=step,
        interpreter=interpreter,
        now=now,
        candidates=memo.clusters.candidates,
        places=memo.clusters.places,
        by_name={candidate.name: candidate for candidate in memo.clusters.candidates},
        policies=memo.rules.index,
        overrides=memo.rules.override_index,
        live_clusters=memo.clusters.live,
        judge=memo.rules.judge,
        rendering=memo.rendering,
        same_commit=bool(repo.commit) and decisions.applied_commit == repo.commit,
        binder=Binder(
            memo.rules.index,
            memo.clusters.candidates,
            interpreter,
            memo.schedules,
            repo.settings,
            now,
            rebalance.wanted(repo.rebalancers),
            step.before,
            step.stopped,
            standing=memo.rules.standing,
            names=memo.clusters.names,
            broken=broken,
        ),
        numbers=numbers,
    )


def _broken(memo: Memo, repo: RepoSnapshot, fleet: FleetSnapshot, interpreter: Interpreter) -> Mapping[ObjectKey, str]:
    """Templates that no cluster would take; `memo.rules.judge` says so."""
    versions = dict.fromkeys(repo.clusters, "")
    versions |= {name: facts.kubernetes_version for name, facts in fleet.clusters.items()}
    bodies = (manifest.body for manifest in place.definitions(repo))
    judge = schema_check.judge(memo.rules.judge, interpreter.kubernetes, bodies, versions)
    if judge is not memo.rules.judge:
        memo.rules.judge = judge
        memo.rules.sound.clear()
    assert memo.rules.override_index is not None
    return schema_check.broken(judge, repo.manifests, memo.rules.override_index, memo.rules.sound)


def _place(candidate: Candidate) -> Candidate:
    """A cluster as overrides see it: what is rendered for it does not depend on how it is."""
    return replace(candidate, taints=(), apis=None, reach=Reach.READY)


def _with_definitions(
    memo: Memo,
    clusters: tuple[Candidate, ...],
    repo: RepoSnapshot,
    decisions: Decisions,
    interpreter: Interpreter,
    now: datetime,
) -> tuple[Candidate, ...]:
    """See `place.with_definitions`; done again only when a definition, its decision, a policy or a cluster changed."""
    defining = place.definitions(repo)
    if not defining:
        return clusters
    assert memo.rules.index is not None
    asked = (
        clusters,
        memo.rules.index,
        memo.rules.standing,
        *((manifest, decisions.bindings.get(manifest.key)) for manifest in defining),
    )
    if memo.clusters.defined is None or memo.clusters.defined[0] != asked:
        binder = Binder(
            memo.rules.index, clusters, interpreter, Schedules(), repo.settings, now, standing=memo.rules.standing
        )
        memo.clusters.defined = (asked, place.with_definitions(clusters, defining, decisions, binder))
    return memo.clusters.defined[1]


def _label_value(text: str, document: Any) -> str:
    """`jsonpath.label_value`, whose parser is imported by those who preserve state, and not at every start."""
    from gitfed.text import jsonpath

    return jsonpath.label_value(text, document)
