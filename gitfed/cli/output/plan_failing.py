"""What a plan says of clusters that fail and of work that leaves them: lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gitfed.cli.output import formatting, plain, table
from gitfed.cli.output.table import Cell
from gitfed.model.decisions import EvictionTask
from gitfed.model.fleet import Reach
from gitfed.model.plan import Binding, Plan
from gitfed.views import names

_WORDS = {Reach.NOT_READY: "is not ready", Reach.UNKNOWN: "does not answer", Reach.READY: "is ready"}


def lines(plan: Plan, paint: plain.Paint, fold: int | None = None) -> list[str]:
    """Clusters that are not well, and workloads between two clusters; nothing when there are none."""
    grid = [*_clusters(plan, paint), *_workloads(plan)]
    if not grid:
        return []
    again = [f"  next decision at {formatting.time(plan.look_again)}"] if plan.look_again is not None else []
    return [paint.strong("Failing"), *table.lines(grid, indent=2, width=fold), *again]


def _clusters(plan: Plan, paint: plain.Paint) -> Iterator[list[Cell | str]]:
    for name, record in sorted(plan.records.items()):
        if record.reach is Reach.READY and not record.taints:
            continue
        since = f"{_WORDS[record.reach]} since {formatting.time(record.since)}"
        taints = ", ".join(f"{taint} since {formatting.time(taint.added)}" for taint in record.taints)
        mark = paint.removed if record.reach is not Reach.READY else paint.changed
        yield [Cell(f"cluster {name}", mark), since, taints or "no taint yet"]


def _workloads(plan: Plan) -> Iterator[list[Cell | str]]:
    for key, binding in plan.bindings.items():
        for task in binding.evictions:
            yield [names.shown(key), f"leaves {task.from_cluster} ({task.purge_mode})", _waits(binding, task)]
        for name in binding.decision.failover.released if binding.decision is not None else ():
            yield [names.shown(key), f"has left {name}", "its copy is deleted there as soon as it answers"]


def _waits(binding: Binding, task: EvictionTask) -> str:
    others = ", ".join(share.cluster for share in binding.scheduled.shares)
    if task.from_cluster in binding.awaits_deletion:
        return f"{others or 'its new copy'} waits for the confirmed deletion there"
    if task.suppress_deletion:
        return "its copy stays until suppressDeletion is false"
    if not others:
        return "its copy stays: nothing takes its place"
    return f"its copy stays until {others} is healthy" if task.purge_mode != "Directly" else f"{others} takes its place"
