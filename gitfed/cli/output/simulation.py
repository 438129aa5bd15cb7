"""What a simulation showed, as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitfed.cli.output import formatting, plain, table
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Binding
from gitfed.simulation import scenario, simulation
from gitfed.views import names, plans
from gitfed.views.simulations import Each

_MOST = 40
"""Lines of one list that are printed; of more, how many there are."""
_AT_ONCE = 12
"""The same for what happens at one moment: all of it is in the JSON."""
_LEAVES = re.compile(r"(?P<key>\S+) leaves (?P<cluster>\S+) \((?P<how>[^:()]+): (?P<why>.+)\)")
_PLACED = re.compile(r"(?P<head>(?P<key>\S+) → [^()]*\S) \((?P<why>.*)\)")
"""Sentences of `planning.decision_text`."""
_FEW = 8
"""Clusters of one workload that are listed before and after."""


def text(story: simulation.SimulationResult, paint: plain.Paint, *, quiet: bool) -> Iterable[str]:
    if not quiet:
        yield paint.strong("Timeline")
        for moment in _folded(_once(story.timeline)):
            mark = {"event": "!", "decision": " ", "change": "·"}[moment.kind]
            line = f"  {scenario.clock(moment.after):>8}  {mark} {plain.clean(_short(moment.text))}"
            yield paint.removed(line) if moment.kind == "event" else line
        yield paint.strong("Placement")
        yield from _moves(story)
        if story.pending:
            yield paint.strong("Pending")
            yield from (f"  {names.shown(key)}: {plain.clean(text)}" for key, text in story.pending[:_MOST])
            if len(story.pending) > _MOST:
                yield f"  … and {len(story.pending) - _MOST} more"
        if story.on_recovery:
            yield paint.strong("To delete on recovery")
            by_cluster: dict[str, list[str]] = {}
            for cluster, key in story.on_recovery:
                by_cluster.setdefault(cluster, []).append(names.shown(key))
            yield from (f"  {cluster}: {formatting.some(objects)}" for cluster, objects in by_cluster.items())
    if story.load_not_played and not quiet:
        some = formatting.some([names.shown(key) for key in story.load_not_played])
        yield f"Load:   not played. Replicas stay as decided for {some}."
    if story.falls_due is not None and not quiet:
        yield f"Later:  something falls due at {scenario.clock(story.falls_due)}, when the clock had stopped (--until)."
    yield _total(story)


def _once(timeline: Sequence[simulation.Moment]) -> list[simulation.Moment]:
    """Every reason once: many workloads leave a cluster for the same one, and what is decided for each repeats it."""
    shown: set[tuple[float, str]] = set()
    clauses: dict[tuple[float, str], list[str]] = {}
    moments = []
    for moment in timeline:
        text = moment.text
        if leaving := _LEAVES.fullmatch(text):
            why = leaving["why"]
            clauses.setdefault((moment.after, leaving["key"]), []).append(f"leaves {leaving['cluster']}: {why}")
            if (moment.after, why) in shown:
                text = f"{leaving['key']} leaves {leaving['cluster']} ({leaving['how']})"
            shown.add((moment.after, why))
        elif clauses and (placed := _PLACED.fullmatch(text)):
            why = placed["why"]
            for clause in clauses.get((moment.after, placed["key"]), ()):
                why = why.replace(clause, "", 1).removeprefix("; ")
            text = f"{placed['head']} ({why.strip()})" if why.strip() else placed["head"]
        moments.append(moment if text is moment.text else replace(moment, text=text))
    return moments


def _folded(timeline: Sequence[simulation.Moment]) -> Iterable[simulation.Moment]:
    """Thousands of workloads do the same at one moment: of many, the first and how many more."""
    counts: dict[tuple[float, str], int] = {}
    for moment in timeline:
        counts[moment.after, moment.kind] = counts.get((moment.after, moment.kind), 0) + 1
    shown: dict[tuple[float, str], int] = {}
    for moment in timeline:
        place = (moment.after, moment.kind)
        shown[place] = shown.get(place, 0) + 1
        if shown[place] <= _AT_ONCE:
            yield moment
        elif shown[place] == _AT_ONCE + 1:
            yield simulation.Moment(moment.after, moment.kind, f"… and {counts[place] - _AT_ONCE} more")


def _short(text: str) -> str:
    """A sentence of the record, where a hundred clusters may follow an arrow, with the first of them."""
    head, arrow, tail = text.partition(" → ")
    listed, why, rest = tail.partition(" (")
    return f"{head}{arrow}{formatting.some(listed.split())}{why}{rest}" if arrow else text


def _moves(story: simulation.SimulationResult) -> list[str]:
    moved = list(_moved(story))
    grid: list[list[table.Cell | str]] = []
    for key, before, after in moved[:_MOST]:
        grid.append([f"  {names.shown(key)}", *_beside(before, after)])
    lines = table.lines(grid) if grid else ["  nothing moves"]
    return [*lines, f"  … and {len(moved) - _MOST} more"] if len(moved) > _MOST else lines


def _beside(before: Binding, after: Binding) -> list[str]:
    """Before and after; of workloads in many clusters those that differ."""
    if max(len(before.scheduled.shares), len(after.scheduled.shares)) <= _FEW:
        return [shares(before), "→", shares(after)]
    same = {*before.scheduled.shares} & {*after.scheduled.shares}
    left, new = (
        replace(
            binding,
            scheduled=replace(
                binding.scheduled, shares=tuple(part for part in binding.scheduled.shares if part not in same)
            ),
        )
        for binding in (before, after)
    )
    return [_some(left), "→", _some(new), f"({formatting.count(len(same), 'cluster')} as before)"]


def _some(binding: Binding) -> str:
    return formatting.some(shares(binding).split()) if binding.scheduled.shares else "–"


def _moved(story: simulation.SimulationResult) -> Iterable[tuple[ObjectKey, Binding, Binding]]:
    """(object, before, after) of what a policy places and has another place now."""
    for key, binding in story.plan.bindings.items():
        before = story.before.get(key)
        if (
            before is not None
            and plans.is_policy(binding.scheduled.policy)
            and before.scheduled.shares != binding.scheduled.shares
        ):
            yield key, before, binding


def shares(binding: Binding) -> str:
    parts = [
        share.cluster if share.replicas is None else f"{share.cluster}:{share.replicas}"
        for share in binding.scheduled.shares
    ]
    return " ".join(parts) or "nowhere"


def _total(story: simulation.SimulationResult) -> str:
    moved = len(list(_moved(story)))
    waiting = len({key for key, _ in story.pending})
    parts = (
        f"{formatting.count(moved, 'object')} moved",
        f"{formatting.count(waiting, 'object')} pending",
        f"{formatting.count(len(story.losses), 'workload')} short of replicas",
        f"{formatting.count(len(story.on_recovery), 'copy', 'copies')} to delete on recovery",
    )
    return f"Total:  {', '.join(parts)}."


def each_text(losses: Each, *, quiet: bool) -> Iterable[str]:
    for target, lost in losses if not quiet else ():
        yield f"{target}: " + (f"{formatting.count(len(lost), 'workload')} would lose replicas" if lost else "ok")
        for workload in lost[:_MOST]:
            numbers = (
                "has no copy left"
                if workload.wanted is None
                else f"{workload.running} of {workload.wanted} replicas left"
            )
            yield f"  {names.shown(workload.key)}: {numbers}: {plain.clean(workload.why)}"
        if len(lost) > _MOST:
            yield f"  … and {len(lost) - _MOST} more"
    bad = sum(1 for _, lost in losses if lost)
    yield f"Total:  {bad} of {formatting.count(len(losses), 'failure')} would cost replicas."
