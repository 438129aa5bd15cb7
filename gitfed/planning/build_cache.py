"""What one build works on, and what it remembers for the next one.

A `Memo` keeps, for each template, what was computed and from which objects; a `BuildContext` is everything that all
templates of one build have in common. Making the second replaces in the first what changed and nothing else: an equal
value stays the same object, so that later steps can tell by `is` what there is to be done (decision 0003).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

_FIRST = order.Position(0, 0)


@dataclass(slots=True)
class PlanItem:
    """What was computed for one template, and from what: the left sides are compared with `is`."""

    manifest: Manifest
    candidates: object
    bound: PlacementResult
    places: object = None
    bodies: Mapping[ClusterName, Body] | None = None
    """Of an object that is another one in each cluster; None for all that come from a template."""
    overrides: object = None
    judge: object = None
    rendered: tuple[RenderedManifest, ...] = ()
    failed: Mapping[ClusterName, str] = field(default_factory=dict)
    render_problems: tuple[Problem, ...] = ()
    wave: order.Position = _FIRST
    depends: bool = False
    """Its manifest names others that it waits for."""
    faults: tuple[Problem, ...] = ()
    live: Mapping[ClusterName, LiveObject] | None = None
    live_clusters: object = None
    drift_known: frozenset[ClusterName] | None = None
    repaired: frozenset[ClusterName] | None = frozenset()
    render_again: bool = False
    """A rule gave no answer when this was rendered; it may the next time."""
    changes: tuple[Change, ...] = ()
    unretained: tuple[Problem, ...] = ()
    """Why changes were left out that somebody's rule should have completed."""
    ask_again: bool = False
    """That rule may answer the next time."""
    digest: bytes = b""

    @property
    def binding(self) -> Binding:
        return self.bound.binding


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
    candidates: tuple[Candidate, ...] = ()
    names: frozenset[ClusterName] = frozenset()
    places: tuple[Candidate, ...] = ()
    """The candidates but for what changes when they fail."""
    index: match.Index | None = None
    policies: object = None
    override_index: override.Overrides | None = None
    overrides: object = None
    standing: HoldState = field(default_factory=HoldState)
    schedules: Schedules = field(default_factory=Schedules)
    settings: object = None
    interpreter: object = None
    live_clusters: Mapping[ClusterName, ClusterLive] = field(default_factory=dict)
    assigned: dict[ObjectKey, Manifest] = field(default_factory=dict)
    references: dependencies.Memory = field(default_factory=dict)
    implied: dict[str, tuple[Manifest, tuple[ClusterName, ...]]] = field(default_factory=dict)
    defined: tuple[object, tuple[Candidate, ...]] | None = None
    """What definitions were asked about, and the clusters with their kinds."""
    collected: status.Memory = field(default_factory=dict)
    """What scripts said of copies that the failover of the last build looked at."""
    states: state_preservation.States = field(default_factory=lambda: state_preservation.States(_label_value))
    scaled: scaled.Memory = field(default_factory=dict)
    _as_before: Memo | None = None
    judge: Judge | None = None
    sound: dict[ObjectKey, Manifest] = field(default_factory=dict)
    """Templates that `judge` has nothing against."""
    recomputed: int = 0
    """Templates whose binding, rendering or changes the last build had to compute: what a test asserts on."""

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
    if memo.interpreter is not interpreter or memo.settings != repo.settings:
        memo.forget_items()
        memo.questions.clear()
        memo.schedules.clear()
        memo.scaled.clear()
        memo.interpreter, memo.settings = interpreter, repo.settings
    numbers = scaled.scale(memo.scaled, repo, decisions, interpreter, now)
    repo = numbers.repo
    policies = (repo.propagation, services.policies(repo))
    if memo.index is None or memo.policies != policies:
        memo.index, memo.policies = match.Index(*policies), policies
        memo.schedules.clear()
    clusters, capacities = place.candidates(repo, fleet)
    earlier, memo.collected = memo.collected, {}
    step = failover.step(
        repo,
        fleet,
        decisions,
        clusters,
        memo.index,
        StatusReader(memo.states, lambda copy: status.collected(copy, interpreter, memo.collected, earlier)[:2]),
        now,
    )
    clusters, decisions = step.candidates, step.decisions
    standing = HoldState(
        frozenset((policy.kind, policy.metadata.namespace, policy.metadata.name) for policy in repo.overrides),
        decisions.suspensions,
        repo.unread,
        frozenset(match.ref(policy) for policy in chain(*policies)) if repo.unread else frozenset(),
    )
    if standing != memo.standing:
        memo.standing = standing
    candidates = _with_definitions(memo, clusters, repo, decisions, interpreter, now)
    if candidates != memo.candidates:
        memo.candidates = candidates
        memo.schedules.forget_clusters()
        names, places = frozenset(candidate.name for candidate in candidates), tuple(map(_place, candidates))
        memo.names = memo.names if memo.names == names else names
        memo.places = memo.places if memo.places == places else places
    memo.room.use(capacities, memo.schedules)
    if memo.override_index is None or memo.overrides != repo.overrides:
        memo.override_index, memo.overrides = override.Overrides(repo.overrides), repo.overrides
    live_clusters = fleet.live.clusters if fleet.live is not None else {}
    if live_clusters != memo.live_clusters:
        memo.live_clusters = live_clusters
    broken = {**_broken(memo, repo, fleet, interpreter), **numbers.failed}
    memo.recomputed = 0
    return BuildContext(
        repo=repo,
        fleet=fleet,
        decisions=decisions,
        step=step,
        interpreter=interpreter,
        now=now,
        candidates=memo.candidates,
        places=memo.places,
        by_name={candidate.name: candidate for candidate in memo.candidates},
        policies=memo.index,
        overrides=memo.override_index,
        live_clusters=memo.live_clusters,
        judge=memo.judge,
        rendering=memo.rendering,
        same_commit=bool(repo.commit) and decisions.applied_commit == repo.commit,
        binder=Binder(
            memo.index,
            memo.candidates,
            interpreter,
            memo.schedules,
            repo.settings,
            now,
            rebalance.wanted(repo.rebalancers),
            step.before,
            step.stopped,
            standing=memo.standing,
            names=memo.names,
            broken=broken,
        ),
        numbers=numbers,
    )


def _broken(memo: Memo, repo: RepoSnapshot, fleet: FleetSnapshot, interpreter: Interpreter) -> Mapping[ObjectKey, str]:
    """Templates that no cluster would take; `memo.judge` is who says so."""
    versions = dict.fromkeys(repo.clusters, "")
    versions |= {name: facts.kubernetes_version for name, facts in fleet.clusters.items()}
    bodies = (manifest.body for manifest in place.definitions(repo))
    judge = schema_check.judge(memo.judge, interpreter.kubernetes, bodies, versions)
    if judge is not memo.judge:
        memo.judge = judge
        memo.sound.clear()
    assert memo.override_index is not None
    return schema_check.broken(judge, repo.manifests, memo.override_index, memo.sound)


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
    assert memo.index is not None
    asked = (
        clusters,
        memo.index,
        memo.standing,
        *((manifest, decisions.bindings.get(manifest.key)) for manifest in defining),
    )
    if memo.defined is None or memo.defined[0] != asked:
        binder = Binder(memo.index, clusters, interpreter, Schedules(), repo.settings, now, standing=memo.standing)
        memo.defined = (asked, place.with_definitions(clusters, defining, decisions, binder))
    return memo.defined[1]


def _label_value(text: str, document: Any) -> str:
    """`jsonpath.label_value`, whose parser is imported by those who preserve state, and not at every start."""
    from gitfed.text import jsonpath

    return jsonpath.label_value(text, document)
