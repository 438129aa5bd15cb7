"""gitfed simulate"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import click

from gitfed.cli import complete, exits, load, names, options, plain, plan_json, structured, table, words
from gitfed.daemon import events, facts, losses, rehearsal
from gitfed.daemon.inputs import interpreter_of
from gitfed.errors import UsageError
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Binding

SCHEMA = "gitfed.io/simulation/v1"
_MOST = 40
"""Lines of one list that are printed; of more, how many there are."""
_AT_ONCE = 12
"""The same for what happens at one moment: all of it is in the JSON."""


@click.command("simulate")
@options.facts
@options.option("--fail", "fails", shared=False, multiple=True,
                shell_complete=complete.failing, metavar="TARGET[@TIME]",
                help="What fails: cluster/NAME, region/NAME, zone/NAME or provider/NAME. May be repeated.")  # fmt: skip
@options.option("--recover", "recovers", shared=False, multiple=True,
                shell_complete=complete.failing, metavar="TARGET[@TIME]",
                help="What comes back.  [default time: half of --until]")  # fmt: skip
@options.option("--taint", "taints", shared=False, multiple=True,
                shell_complete=complete.failing, metavar="TARGET:KEY[=VALUE]:EFFECT[@TIME]",
                help="A taint that a person sets, with the effect NoSchedule or NoExecute.")  # fmt: skip
@options.option("--until", shared=False, type=options.Duration(), default=1800.0, metavar="DURATION",
                help="When the clock stops.  [default: 30m]")  # fmt: skip
@options.option("--healthy-after", shared=False, type=options.Duration(), default=30.0, metavar="DURATION",
                help="How long a new copy takes to be healthy.  [default: 30s]")  # fmt: skip
@options.option("--n-minus-one", "each", shared=False, is_flag=True,
                help="Instead: let every cluster and region fail alone; say what would lose replicas.")  # fmt: skip
@options.option("--cluster-failure-threshold", "failure", type=options.Duration(), metavar="DURATION", default=30.0,
                help="As for gitfed run.  [default: 30s]")  # fmt: skip
@options.option("--cluster-success-threshold", "success", type=options.Duration(), metavar="DURATION", default=30.0,
                help="As for gitfed run.  [default: 30s]")  # fmt: skip
@options.output("text", "json", "yaml")
def command(
    inputs: options.Inputs,
    output: options.Output,
    fails: tuple[str, ...],
    recovers: tuple[str, ...],
    taints: tuple[str, ...],
    until: float,
    healthy_after: float,
    each: bool,
    failure: float,
    success: float,
) -> int:
    """Rehearse a failover on a virtual clock: what would be noticed, decided and done, and when.

    Nothing is written and no cluster is asked: it begins with what is decided and recorded. Decisions are taken by the
    code of the daemon. A time is a duration from the start, by default 0s.

    \b
    gitfed simulate --fail cluster/eu-1
    gitfed simulate --fail region/eu@1m --recover region/eu@20m --until 30m
    gitfed simulate --taint cluster/eu-1:drain:NoExecute
    gitfed simulate --n-minus-one

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in the repository · 4 not a repository · 5 with --n-minus-one: a
    workload would lose replicas.
    """
    happening = [
        *_events("fail", fails, 0.0),
        *_events("recover", recovers, until / 2),
        *(_taint(text) for text in taints),
    ]
    if each and happening:
        raise UsageError("--n-minus-one takes no events", hint="it lets everything fail, one after the other")
    if not each and not happening:
        raise UsageError("nothing happens", hint="name --fail, --taint or --n-minus-one")
    session = load.Session(inputs)
    fleet = session.fleet()
    past = session.decisions(fleet)
    problems = load.tell_errors(session.repo.problems)
    stage = rehearsal.Rehearsal(
        session.repo, fleet, past, interpreter_of(session.repo, past), session.now,
        rehearsal.Options(until, thresholds=facts.Thresholds(failure, success), healthy_after=healthy_after),
    )  # fmt: skip
    if each:
        found = list(stage.each_alone())
        _show_each(found, output)
        lost = any(lost for _, lost in found)
        return exits.first([problems, exits.HELD if lost else exits.OK])
    try:
        story = stage.run(happening)
    except KeyError as error:
        raise UsageError(f"{error.args[0]} names no declared cluster", hint="cluster/NAME, region/NAME, …") from error
    if output.format == "text":
        for line in _text(story, output.paint, quiet=output.quiet):
            click.echo(line, color=True)
    else:
        structured.echo(_document(story, session.repo.commit, until), output.format)
    return problems


def _events(what: str, texts: Iterable[str], otherwise: float) -> list[events.Event]:
    found = []
    for text in texts:
        read = events.target(text)
        if read is None:
            raise UsageError(f"--{what} {text!r} is not TARGET or TARGET@TIME", hint="such as cluster/eu-1@5m")
        target, at = read
        found.append(events.Event(_time(at, otherwise, text), what, target))
    return found


def _taint(text: str) -> events.Event:
    read = events.taint(text)
    if read is None:
        hint = "such as cluster/eu-1:drain:NoExecute@5m"
        raise UsageError(f"--taint {text!r} is not TARGET:KEY[=VALUE]:EFFECT[@TIME]", hint=hint)
    event, at = read
    return replace(event, after=_time(at, 0.0, text))


def _time(text: str | None, otherwise: float, option: str) -> float:
    if text is None:
        return otherwise
    seconds = options.duration(text)
    if seconds is None:
        raise UsageError(f"{text!r} of {option!r} is not a duration", hint="such as 90s, 10m or 1h30m")
    return seconds


# -- text ---------------------------------------------------------------------------------------------------------


def _text(story: rehearsal.Story, paint: plain.Paint, *, quiet: bool) -> Iterable[str]:
    if not quiet:
        yield paint.strong("Timeline")
        for moment in _folded(story.timeline):
            mark = {"event": "!", "decision": " ", "change": "·"}[moment.kind]
            line = f"  {clock(moment.after):>8}  {mark} {plain.clean(moment.text)}"
            yield paint.removed(line) if moment.kind == "event" else line
        yield paint.strong("Placement")
        yield from _moves(story)
        if story.pending:
            yield paint.strong("Pending")
            yield from (f"  {names.shown(key)}: {plain.clean(text)}" for key, text in story.pending[:_MOST])
            if len(story.pending) > _MOST:
                yield f"  … and {len(story.pending) - _MOST} more"
        if story.on_recovery:
            yield paint.strong("Deleted on recovery")
            by_cluster: dict[str, list[str]] = {}
            for cluster, key in story.on_recovery:
                by_cluster.setdefault(cluster, []).append(names.shown(key))
            yield from (f"  {cluster}: {words.some(found)}" for cluster, found in by_cluster.items())
    yield _total(story)


def _folded(timeline: Sequence[rehearsal.Moment]) -> Iterable[rehearsal.Moment]:
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
            yield rehearsal.Moment(moment.after, moment.kind, f"… and {counts[place] - _AT_ONCE} more")


def _moves(story: rehearsal.Story) -> list[str]:
    grid: list[list[table.Cell | str]] = []
    for key, before, after in _moved(story):
        grid.append([f"  {names.shown(key)}", shares(before), "→", shares(after)])
    return table.lines(grid) if grid else ["  nothing moves"]


def _moved(story: rehearsal.Story) -> Iterable[tuple[ObjectKey, Binding, Binding]]:
    """(object, before, after) of what a policy places and has another place now."""
    for key, binding in story.plan.bindings.items():
        before = story.before.get(key)
        if before is not None and plan_json.is_policy(binding.policy) and before.shares != binding.shares:
            yield key, before, binding


def shares(binding: Binding) -> str:
    parts = [one.cluster if one.replicas is None else f"{one.cluster}:{one.replicas}" for one in binding.shares]
    return " ".join(parts) or "nowhere"


def clock(seconds: float) -> str:
    """`+12m30s`"""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or hours else "") + f"{rest}s"
    return f"+{text}"


def _total(story: rehearsal.Story) -> str:
    moved = len(list(_moved(story)))
    waiting = len({key for key, _ in story.pending})
    parts = (
        f"{words.count(moved, 'object')} moved",
        f"{words.count(waiting, 'object')} pending",
        f"{words.count(len(story.losses), 'workload')} short of replicas",
        f"{words.count(len(story.on_recovery), 'copy', 'copies')} deleted on recovery",
    )
    return f"Total:  {', '.join(parts)}."


def _show_each(found: Sequence[tuple[str, Sequence[losses.Loss]]], output: options.Output) -> None:
    if output.format != "text":
        document = {
            "schema": "gitfed.io/n-minus-one/v1",
            "targets": [{"target": target, "losses": [_loss(one) for one in lost]} for target, lost in found],
        }
        structured.echo(document, output.format)
        return
    bad = 0
    for target, lost in found:
        bad += bool(lost)
        if output.quiet:
            continue
        click.echo(f"{target}: " + (f"{words.count(len(lost), 'workload')} would lose replicas" if lost else "ok"))
        for one in lost[:_MOST]:
            numbers = "has no copy left" if one.wanted is None else f"{one.running} of {one.wanted} replicas left"
            click.echo(f"  {names.shown(one.key)}: {numbers}: {plain.clean(one.why)}")
    click.echo(f"Total:  {bad} of {words.count(len(found), 'failure')} would cost replicas.")


# -- JSON ---------------------------------------------------------------------------------------------------------


def _document(story: rehearsal.Story, commit: str, until: float) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "commit": commit,
        "until": until,
        "timeline": [{"after": one.after, "kind": one.kind, "text": one.text} for one in story.timeline],
        "placement": [
            {
                **_resource(key),
                "before": _shares(story.before[key]) if key in story.before else [],
                "after": _shares(binding),
                "evicting": [task.raw for task in binding.evictions],
            }
            for key, binding in story.plan.bindings.items()
        ],
        "pending": [{**_resource(key), "reason": text} for key, text in story.pending],
        "deletedOnRecovery": [{"cluster": cluster, **_resource(key)} for cluster, key in story.on_recovery],
        "losses": [_loss(one) for one in story.losses],
    }


def _loss(one: losses.Loss) -> dict[str, Any]:
    return {**_resource(one.key), "running": one.running, "wanted": one.wanted, "reason": one.why}


def _shares(binding: Binding) -> list[dict[str, Any]]:
    return [{"name": one.cluster, "replicas": one.replicas} for one in binding.shares]


def _resource(key: ObjectKey) -> dict[str, str]:
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}
