"""gitfed simulate"""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

import click

from gitfed.cli import complete, exits, load, options
from gitfed.cli.output import simulation, structured
from gitfed.errors import UsageError
from gitfed.model.fleet import FleetSnapshot, Reach
from gitfed.offline.inputs import interpreter_of
from gitfed.placement import recorded_facts
from gitfed.simulation import scenario
from gitfed.simulation import simulation as rehearsal
from gitfed.views import simulations

_PATIENCE = 2.0
"""Seconds until a person is told how far it is."""
_LONGEST = 720 * 3600.0
"""Seconds that a rehearsal plays at most: the daemon's timers go on as long as its clock does."""


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
                help="When the clock stops, 720h at most.  [default: 30m]")  # fmt: skip
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
    if until > _LONGEST:
        end, longest = simulation.clock(until), simulation.clock(_LONGEST)
        raise UsageError(f"--until {end} is more than a rehearsal plays, {longest}", hint="such as 30m or 24h")
    session = load.Session(inputs)
    fleet = session.fleet()
    past = session.decisions(fleet)
    problems = load.tell_errors(session.repo.problems)
    stage = rehearsal.Rehearsal(
        session.repo, fleet, past, interpreter_of(session.repo, past), session.now,
        rehearsal.Options(until, thresholds=recorded_facts.Thresholds(failure, success), healthy_after=healthy_after),
    )  # fmt: skip
    if each:
        found = list(_with_progress(stage.each_alone(), len(stage.targets()), output))
        if output.format == "text":
            for line in simulation.each_text(found, quiet=output.quiet):
                click.echo(line)
        else:
            structured.echo(simulations.each_document(found, session.repo.commit), output.format)
        lost = any(lost for _, lost in found)
        return exits.first([problems, exits.HELD if lost else exits.OK])
    _check(happening, stage, fleet, until)
    story = stage.run(happening)
    if output.format == "text":
        for line in simulation.text(story, output.paint, quiet=output.quiet):
            click.echo(line, color=True)
    else:
        structured.echo(simulations.document(story, session.repo.commit, until), output.format)
    return problems


def _check(happening: Iterable[scenario.Event], stage: rehearsal.Rehearsal, fleet: FleetSnapshot, until: float) -> None:
    """What would silently do nothing is a slip: a target that is nowhere, a time after the end, a return of what is
    there. Raises UsageError."""
    away = {name for name, one in fleet.clusters.items() if not one.assumed and one.reach is not Reach.READY}
    for event in sorted(happening, key=lambda event: event.after):
        try:
            names = stage.clusters(event.target)
        except KeyError as error:
            kind, _, name = event.target.partition("/")
            close = difflib.get_close_matches(name, stage.known(kind), n=1, cutoff=0.6)
            hint = f"did you mean {kind}/{close[0]}?" if close else "gitfed get clusters -o wide lists them"
            raise UsageError(f"{event.target} names no declared cluster", hint=hint) from error
        if event.after > until:
            when, end = simulation.clock(event.after), simulation.clock(until)
            raise UsageError(f"--{event.what} {event.target} at {when} is after the end, {end}", hint="raise --until")
        if event.what == "fail":
            away.update(names)
        elif event.what == "recover":
            if away.isdisjoint(names):
                hint = "name --fail with an earlier time"
                when = simulation.clock(event.after)
                raise UsageError(f"--recover {event.target}: nothing of it has failed by {when}", hint=hint)
            away.difference_update(names)


_T = TypeVar("_T")


def _with_progress(found: Iterable[_T], total: int, output: options.Output) -> Iterator[_T]:
    """On a terminal, once it takes long: how many of them are done."""
    began, width = time.monotonic(), 0
    for number, one in enumerate(found, start=1):
        yield one
        if output.shows_progress and time.monotonic() - began > _PATIENCE:
            line = f"{number} of {total} failures"
            click.echo(f"\r{line.ljust(width)}", nl=False, err=True)
            width = len(line)
    if width:
        click.echo(f"\r{' ' * width}\r", nl=False, err=True)


def _events(what: str, texts: Iterable[str], otherwise: float) -> list[scenario.Event]:
    found = []
    for text in texts:
        read = scenario.target(text)
        if read is None:
            raise UsageError(f"--{what} {text!r} is not TARGET or TARGET@TIME", hint="such as cluster/eu-1@5m")
        target, at = read
        found.append(scenario.Event(_time(at, otherwise, text), what, target))
    return found


def _taint(text: str) -> scenario.Event:
    read = scenario.taint(text)
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
