"""gitfed simulate"""

from __future__ import annotations

import functools

import click

from gitfed.cli import complete, exits, health_options, load, options, parameters
from gitfed.cli.output import progress, simulation, structured
from gitfed.errors import UsageError
from gitfed.offline.inputs import interpreter_of
from gitfed.placement.recorded_facts import Thresholds
from gitfed.simulation import scenario_input
from gitfed.simulation import simulation as rehearsal
from gitfed.text.values import dataclass
from gitfed.views import simulations

_event = functools.partial(parameters.option, shared=False, multiple=True, shell_complete=complete.failing)


@dataclass(frozen=True, slots=True)
class Events:
    """What happens, as it is typed."""

    fails: tuple[str, ...]
    recovers: tuple[str, ...]
    taints: tuple[str, ...]


@click.command("simulate")
@options.facts
@_event(
    "--fail",
    "fails",
    metavar="TARGET[@TIME]",
    help="What fails: cluster/NAME, region/NAME, zone/NAME or provider/NAME. May be repeated.",
)
@_event(
    "--recover",
    "recovers",
    metavar="TARGET[@TIME]",
    help="What comes back.  [default time: half of --until]",
)
@_event(
    "--taint",
    "taints",
    metavar="TARGET:KEY[=VALUE]:EFFECT[@TIME]",
    help="A taint that a person sets, with the effect NoSchedule or NoExecute.",
)
@parameters.option(
    "--until",
    shared=False,
    type=parameters.Duration(),
    default=1800.0,
    metavar="DURATION",
    help="When the clock stops, 720h at most.  [default: 30m]",
)
@parameters.option(
    "--healthy-after",
    shared=False,
    type=parameters.Duration(),
    default=30.0,
    metavar="DURATION",
    help="How long a new copy takes to be healthy.  [default: 30s]",
)
@parameters.option(
    "--n-minus-one",
    "each",
    shared=False,
    is_flag=True,
    help="Instead: let every cluster and region fail alone; say what would lose replicas.",
)
@health_options.thresholds(failure="As for gitfed run.", success="As for gitfed run.")
@options.output("text", "json", "yaml")
@parameters.value("events", Events)
def command(
    inputs: options.Inputs,
    events: Events,
    until: float,
    healthy_after: float,
    each: bool,
    thresholds: Thresholds,
    output: options.Output,
) -> int:
    """Rehearse a failover, or what autoscalers do by the clock: what would be noticed, decided and done, and when.

    Nothing is written and no cluster is asked: it begins with what is decided and recorded. Decisions are taken by the
    code of the daemon. A time is a duration from the start, by default 0s. There is no load: what a FederatedHPA
    decided stays as it is, and is named.

    \b
    gitfed simulate --fail cluster/eu-1
    gitfed simulate --fail region/eu@1m --recover region/eu@20m --until 30m
    gitfed simulate --taint cluster/eu-1:drain:NoExecute
    gitfed simulate --until 24h           what rules of CronFederatedHPAs decide until tomorrow
    gitfed simulate --n-minus-one

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in the repository · 4 not a repository · 5 with --n-minus-one: a
    workload would lose replicas.
    """
    happening = scenario_input.events(events.fails, events.recovers, events.taints, until)
    if each and happening:
        raise UsageError("--n-minus-one takes no events", hint="it lets everything fail, one after the other")
    session = load.CommandSession(inputs)
    if not each:
        scenario_input.check(happening, until, session.repo)
    fleet = session.fleet()
    past = session.decisions(fleet)
    problems = load.tell_errors(session.repo.problems)
    stage = rehearsal.FailoverSimulation(
        session.repo,
        fleet,
        past,
        interpreter_of(session.repo, past),
        session.now,
        rehearsal.SimulationOptions(until, thresholds=thresholds, healthy_after=healthy_after),
    )
    count = progress.of_command().count
    if each:
        total = len(stage.targets())
        failures = []
        for failure in stage.each_alone():
            failures.append(failure)
            count("failures tried", len(failures), total)
        if output.format == "text":
            for line in simulation.each_text(failures, quiet=output.quiet):
                click.echo(line)
        else:
            structured.echo(simulations.each_document(failures, session.repo.commit), output.format)
        lost = any(lost for _, lost in failures)
        return exits.first([problems, exits.HELD if lost else exits.OK])
    scenario_input.check_targets(happening, stage, fleet, until)
    story = stage.run(happening, count)
    if output.format == "text":
        for line in simulation.text(story, output.paint, quiet=output.quiet):
            click.echo(line, color=True)
    else:
        structured.echo(simulations.document(story, session.repo.commit, until), output.format)
    return problems
