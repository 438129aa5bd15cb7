"""A failover simulated on a virtual clock: the daemon's own steps, with clusters that only exist here.

What a cluster's health is believed to be (`placement.recorded_facts`), what is decided from it (`planning.build`),
what of it is recorded (`planning.ordering.gate`) and how it is told (`planning.decision_text`) is the daemon's code.
The clusters are `simulated_fleet`. The clock jumps from one moment at which something can happen to the next.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.counting import Count, unheard
from gitfed.model.decisions import Decisions
from gitfed.model.declared.cluster import Taint
from gitfed.model.fleet import FleetSnapshot, LiveState
from gitfed.model.plan import Action, Binding, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement import recorded_facts
from gitfed.planning import build, decision_text
from gitfed.planning.lazy_manifests import Outlines, Rendering
from gitfed.planning.ordering import gate
from gitfed.simulation import capacity_loss, n_minus_one, simulated_fleet
from gitfed.simulation.capacity_loss import Loss
from gitfed.simulation.scenario import ScenarioEvent
from gitfed.text.values import dataclass

_TURNS = 20
"""Cycles at one moment. Each carries something out, so there is an end; this is for the defect that has none."""


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    until: float = 1800.0
    """Seconds."""
    probe: float = 10.0
    thresholds: recorded_facts.Thresholds = field(default_factory=recorded_facts.Thresholds)
    healthy_after: float = 30.0
    """Seconds that a new copy takes to be healthy."""
    poll: float = 60.0
    """Seconds after which the daemon looks again at what it decided, although nothing happened."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened `after` so many seconds. `kind`: event, decision or change."""

    after: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """What a simulation showed."""

    timeline: tuple[Moment, ...]
    before: Mapping[ObjectKey, Binding]
    plan: Plan
    """The last one."""
    pending: tuple[tuple[ObjectKey, str], ...]
    """Workloads that wait at the end, and for what."""
    on_recovery: tuple[tuple[ClusterName, ObjectKey], ...]
    """Copies that will be deleted when their cluster is back."""
    losses: tuple[Loss, ...]
    falls_due: float | None = None
    """Seconds from the start until more would happen, had the clock not stopped; None: nothing more."""
    load_not_played: tuple[ObjectKey, ...] = ()
    """FederatedHPAs that would follow the load: a simulation has none, so their numbers stay as they were decided."""


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What every run begins with."""

    repo: RepoSnapshot
    fleet: FleetSnapshot
    decisions: Decisions
    interpreter: Interpreter
    start: datetime
    options: SimulationOptions


class FailoverSimulation:
    """Give it what a plan is built from. Every `run` begins with a fleet that holds exactly what was decided."""

    def __init__(
        self,
        repo: RepoSnapshot,
        fleet: FleetSnapshot,
        decisions: Decisions,
        interpreter: Interpreter,
        now: datetime,
        options: SimulationOptions = SimulationOptions(),
    ) -> None:
        decisions, now = replace(decisions, known=True, descends=True), now.replace(microsecond=0)
        self._begin = _Beginning(repo, fleet, decisions, interpreter, now, options)
        self._repo = repo
        self._memo = build.Memo(rendering=_rendering())

    def clusters(self, target: str) -> list[ClusterName]:
        """The clusters that a target names, sorted. Raises KeyError when it names none."""
        kind, _, name = target.partition("/")
        clusters = [cluster for cluster, named in self._named(kind) if name in named]
        if not clusters:
            raise KeyError(target)
        return clusters

    def known(self, kind: str) -> list[str]:
        """The names of this kind of target: of clusters, regions, zones or providers."""
        return sorted({name for _, named in self._named(kind) for name in named if name})

    def _named(self, kind: str) -> Iterator[tuple[ClusterName, Iterable[str | None]]]:
        """Every cluster, sorted, with its names of one kind."""
        for name, declared in sorted(self._repo.clusters.items()):
            spec = declared.spec
            values = {
                "cluster": (name,),
                "region": (spec.region,),
                "zone": spec.zones or (),
                "provider": (spec.provider,),
            }
            yield name, values.get(kind, ())

    def targets(self) -> list[str]:
        """Every cluster, and every region with more than one."""
        regions: dict[str, int] = {}
        for declared in self._repo.clusters.values():
            if declared.spec.region:
                regions[declared.spec.region] = regions.get(declared.spec.region, 0) + 1
        return [f"cluster/{name}" for name in sorted(self._repo.clusters)] + [
            f"region/{name}" for name, count in sorted(regions.items()) if count > 1
        ]

    def run(self, events: Iterable[ScenarioEvent], count: Count = unheard) -> SimulationResult:
        """Play the events until the end, as `count` is told. Raises KeyError for a target that names no cluster."""
        ordered = sorted(events, key=lambda event: event.after)
        run = _Run(self._begin, [(event, self.clusters(event.target)) for event in ordered], self._memo)
        gc.disable()  # as the planner does: plans have no reference cycles
        try:
            return run.play(count)
        finally:
            gc.enable()

    def each_alone(self) -> Iterator[tuple[str, list[Loss]]]:
        """What every cluster and every region would cost if it alone were gone for good: no clock (`alone`)."""
        targets = {target: self.clusters(target) for target in self.targets()}
        begin = self._begin
        return n_minus_one.each(begin.repo, begin.fleet, begin.decisions, begin.interpreter, begin.start, targets)


def _rendering() -> Rendering:
    return Rendering(outlines=Outlines())


class _Run:
    def __init__(
        self, begin: _Beginning, events: list[tuple[ScenarioEvent, list[ClusterName]]], memo: build.Memo
    ) -> None:
        """`events`: in their order, with the clusters that each is about."""
        self._repo, self._fleet, self._decisions = begin.repo, begin.fleet, begin.decisions
        self._interpreter, self._start, self._options = begin.interpreter, begin.start, begin.options
        self._memo = memo
        self._events = events
        self._at = 0.0
        self._clusters = simulated_fleet.Fleet(begin.fleet.clusters, begin.start)
        self._timeline: list[Moment] = []
        self._plan: Plan | None = None
        self._changed = False
        """Whether a new plan may say something else."""
        self._review: float | None = None
        """When a decision is looked at again that nothing in the clusters has to be done about."""

    # -- the clock ----------------------------------------------------------------------------------------------

    def play(self, count: Count) -> SimulationResult:
        bindings = self._begin().bindings
        waiting = list(self._events)
        for name in sorted(self._clusters.away):
            self._say("event", f"cluster/{name}: is away, as recorded")
        while True:
            self._at = self._next(waiting)
            count("seconds played", int(min(self._at, self._options.until)), int(self._options.until))
            if self._at > self._options.until:
                break
            while waiting and waiting[0][0].after <= self._at:
                self._happen(*waiting.pop(0))
            self._changed |= self._look()
            self._changed |= self._clusters.grow(self._at)
            if self._is_due():
                self._settle()
        assert self._plan is not None
        return self._told(bindings, self._plan)

    def _next(self, waiting: list[tuple[ScenarioEvent, list[ClusterName]]]) -> float:
        """The next moment at which anything can happen."""
        moments = [math.inf]
        if waiting:
            moments.append(waiting[0][0].after)
        if (grown := self._clusters.next_healthy) is not None:
            moments.append(grown)
        if self._plan is not None and self._plan.look_again is not None:
            again = (self._plan.look_again - self._start).total_seconds()
            moments.append(max(again, self._at + 1))
        if self._review is not None:
            moments.append(self._review)
        if self._clusters.watched():
            probe = self._options.probe
            moments.append((math.floor(self._at / probe) + 1) * probe)
            due = self._clusters.due(self._options.thresholds).values()
            moments += (moment for moment in due if moment > self._at)
        return max(min(moments), self._at)

    # -- what happens -------------------------------------------------------------------------------------------

    def _happen(self, event: ScenarioEvent, names: list[ClusterName]) -> None:
        self._say("event", f"{event.target}: {event.words}")
        if event.what == "fail":
            self._clusters.away.update(names)
            self._changed |= self._is_busy()
        elif event.what == "recover":
            self._clusters.away.difference_update(names)
            self._changed |= self._is_busy()
        else:
            key, value, effect = event.taint
            clusters = dict(self._repo.clusters)
            for name in names:
                spec = clusters[name].spec
                others = tuple(taint for taint in spec.taints or () if (taint.key, taint.effect) != (key, effect))
                taint = Taint(key=key, value=value, effect=effect, time_added=None)
                clusters[name] = clusters[name].model_copy(
                    update={"spec": spec.model_copy(update={"taints": (*others, taint)})}
                )
            self._repo = replace(self._repo, clusters=clusters)
            self._changed = True

    def _is_busy(self) -> bool:
        """Whether anything is left to be done, or waits to be seen: only that can depend on a cluster whose health is
        still believed to be what it was."""
        plan = self._plan
        if plan is None or plan.changes:
            return True
        decisions = (binding.decision for binding in plan.bindings.values())
        return any(
            decision is not None
            and (decision.failover.evictions or decision.failover.released or decision.ownership.required_by)
            for decision in decisions
        )

    def _look(self) -> bool:
        """The clusters are looked at as often as the daemon looks, and when a threshold is over."""
        looks, thresholds = self._at / self._options.probe, self._options.thresholds
        if abs(looks - round(looks)) <= 1e-6:
            return self._clusters.look(self._at, self._now, thresholds)
        due = [name for name, moment in self._clusters.due(thresholds).items() if moment <= self._at]
        return bool(due) and self._clusters.look(self._at, self._now, thresholds, due)

    def _begin(self) -> Plan:
        """What is decided is there, and healthy."""
        plan = self._plan = self._build(replace(self._snapshot(), live=None))
        self._record(plan, None, quietly=True)
        self._clusters.hold(plan.rendered)
        return plan

    def _is_due(self) -> bool:
        again = self._plan.look_again if self._plan is not None else None
        reviewed = self._review is not None and self._review <= self._at
        return self._changed or reviewed or (again is not None and again <= self._now)

    # -- one moment ---------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Cycles until nothing is left to be done at this moment."""
        before = self._decisions.bindings
        for _ in range(_TURNS):
            self._changed = False
            fleet = self._snapshot()
            plan = self._plan = self._build(fleet)
            self._record(plan, fleet.live, quietly=False)
            if not self._carry_out(plan):
                break
        left = any(
            decision.failover.evictions and before.get(key) is not decision
            for key, decision in self._decisions.bindings.items()
        )
        # What new copies wait for is looked at when one is healthy; what waits for none, when the daemon looks again.
        self._review = self._at + self._options.poll if left and self._clusters.next_healthy is None else None

    def _build(self, fleet: FleetSnapshot) -> Plan:
        return build.build(self._repo, fleet, self._decisions, self._interpreter, self._now, self._memo)

    def _record(self, plan: Plan, live: LiveState | None, *, quietly: bool) -> None:
        bindings = gate.decisions_to_record(plan, self._decisions, live)
        for line in decision_text.lines(plan, self._decisions, bindings) if not quietly else ():
            self._say("decision", line)
        self._decisions = replace(
            self._decisions,
            bindings=bindings,
            applied_commit=plan.commit or None,
            clusters=plan.records,
            outage=plan.outage,
            autoscalers=plan.scaling.records,
        )

    def _carry_out(self, plan: Plan) -> bool:
        """Whether anything was deleted: then there is more to decide at once, else when the new copies are healthy."""
        deleted = False
        for change in plan.changes or ():
            if change.cluster in self._clusters.away or change.turn.waits:
                continue
            if change.action is Action.DELETE:
                self._clusters.delete(change.key, change.cluster)
                verb, deleted = "deleted", True
            elif change.action in (Action.CREATE, Action.UPDATE) and change.write.rendered is not None:
                self._clusters.write(
                    change.key, change.cluster, change.write.rendered, self._at + self._options.healthy_after
                )
                verb = "created" if change.action is Action.CREATE else "configured"
            else:
                continue
            self._say("change", f"{change.key} {verb} in {change.cluster}")
        return deleted

    def _snapshot(self) -> FleetSnapshot:
        return self._clusters.snapshot(self._fleet, self._repo.clusters)

    @property
    def _now(self) -> datetime:
        return self._start + timedelta(seconds=self._at)

    def _say(self, kind: str, text: str) -> None:
        self._timeline.append(Moment(self._at, kind, text))

    # -- the end ------------------------------------------------------------------------------------------------

    def _told(self, before: Mapping[ObjectKey, Binding], plan: Plan) -> SimulationResult:
        prefixes = {f"{key}: ": key for key in plan.bindings}
        pending: dict[tuple[ObjectKey, str], None] = {}
        for problem in plan.problems:
            name, _, text = problem.message.partition(": ")
            key = prefixes.get(f"{name}: ")
            if key is not None:
                pending[key, text] = None
        for key, binding in plan.bindings.items():
            for task in binding.evictions:
                others = ", ".join(share.cluster for share in binding.scheduled.shares)
                pending.setdefault((key, f"its copy in {task.from_cluster} stays until {others} is healthy"), None)
        for change in plan.changes or ():
            text = change.turn.waits or (str(change.reason) if change.action is Action.SKIP and not change.move else "")
            if text and change.cluster not in self._clusters.away:
                pending.setdefault((change.key, f"{change.cluster}: {text}"))
        short = capacity_loss.of(plan, self._clusters.away, before)
        told = {key for key, _ in pending}
        pending |= {(loss.key, loss.why): None for loss in short if loss.key not in told}
        left_behind = sorted(self._left_behind(plan))
        falls_due = None if math.isinf(self._at) else self._at
        by_load = sorted(
            autoscaler.key for autoscaler in self._repo.federated_autoscalers if autoscaler.target in plan.bindings
        )
        return SimulationResult(
            tuple(self._timeline),
            before,
            plan,
            tuple(pending),
            tuple(left_behind),
            tuple(short),
            falls_due,
            tuple(by_load),
        )

    def _left_behind(self, plan: Plan) -> Iterable[tuple[ClusterName, ObjectKey]]:
        for key, binding in plan.bindings.items():
            if binding.decision is None:
                continue  # a namespace that went along stays
            targets = binding.scheduled.clusters
            for name in self._clusters.holders(key):
                if name in self._clusters.away and name not in targets:
                    yield name, key
