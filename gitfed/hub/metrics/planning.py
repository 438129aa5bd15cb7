"""Of the engine: its cycles, its decisions, what is held and what is wrong, and Git."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gitfed.daemon.telemetry import Histogram
from gitfed.hub.metric import Metric, Sample
from gitfed.hub.running import Running
from gitfed.model.base import Severity


def metrics(running: Running) -> tuple[Metric, ...]:
    counts = running.telemetry

    def held() -> Iterator[Sample]:
        plan = running.plan
        by_gate: Counter[str] = Counter()
        for gate in plan.gates if plan is not None else ():
            # Of quotas there are as many as namespaces: their names are no label's values.
            by_gate["quota" if gate.name.startswith("quota ") else gate.name] += gate.held
        yield from (((name,), count) for name, count in sorted(by_gate.items()))

    def problems() -> Iterator[Sample]:
        plan = running.plan
        by_severity = Counter(problem.severity for problem in plan.problems) if plan is not None else Counter()
        yield from (((severity.value,), by_severity[severity]) for severity in Severity)

    def workloads() -> Iterator[Sample]:
        plan = running.plan
        yield (), len(plan.bindings) if plan is not None else 0

    def failures() -> Iterator[Sample]:
        yield from (((command,), counts.git_failures[command]) for command in list(counts.git))

    def recorded() -> Iterator[Sample]:
        engine = running.engine
        yield (), int(engine is None or engine.trouble is None)

    def attempts() -> Iterator[Sample]:
        yield from (((result,), counts.attempts[result]) for result in ("scheduled", "unschedulable"))

    return (
        Metric(
            "gitfed_cycle_duration_seconds",
            "histogram",
            "How long cycles took, by part: read, observe, build (which schedules), record, hand-over; cycle is the "
            "whole",
            lambda: _each(counts.phases),
            ("phase",),
        ),
        Metric(
            "gitfed_scheduling_attempts_total",
            "counter",
            "Decisions that were taken anew, by what came out",
            attempts,
            ("result",),
        ),
        Metric("gitfed_workloads", "gauge", "Templates of the newest plan that are propagated or could be", workloads),
        Metric("gitfed_gate_held", "gauge", "Changes that a gate of the newest plan holds", held, ("gate",)),
        Metric("gitfed_problems", "gauge", "Problems of the newest plan", problems, ("severity",)),
        Metric(
            "gitfed_decisions_recorded",
            "gauge",
            "0 while no decision can be recorded, so that nothing new is done",
            recorded,
        ),
        Metric(
            "gitfed_git_duration_seconds",
            "histogram",
            "How long Git commands to other repositories took, those that failed included",
            lambda: _each(counts.git),
            ("command",),
        ),
        Metric(
            "gitfed_git_failures_total",
            "counter",
            "Git commands to other repositories that failed",
            failures,
            ("command",),
        ),
    )


def _each(histograms: Mapping[str, Histogram]) -> Iterator[Sample]:
    yield from (((name,), histogram) for name, histogram in list(histograms.items()))
