"""The scenario that a person asks for, read and checked: an event that would silently do nothing is a mistake."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitfed.errors import UsageError
from gitfed.model.fleet import FleetSnapshot, Reach
from gitfed.model.repo import RepoSnapshot
from gitfed.simulation import scenario
from gitfed.simulation.simulation import FailoverSimulation
from gitfed.text import duration

_LONGEST = 720 * 3600.0
"""Seconds that a simulation plays at most: the daemon's timers go on as long as its clock does."""


def events(
    fails: Iterable[str], recovers: Iterable[str], taints: Iterable[str], until: float
) -> list[scenario.ScenarioEvent]:
    """What happens, as it is written on the command line. Raises UsageError."""
    return [
        *_events("fail", fails, 0.0),
        *_events("recover", recovers, until / 2),
        *(_taint(text) for text in taints),
    ]


def check(happening: Sequence[scenario.ScenarioEvent], until: float, repo: RepoSnapshot) -> None:
    """Whether there is anything to play: where the clock decides, it is enough that it goes. Raises UsageError."""
    if not happening and not repo.cron_autoscalers:
        raise UsageError("nothing happens", hint="name --fail, --taint or --n-minus-one")
    if until > _LONGEST:
        end, longest = scenario.clock(until), scenario.clock(_LONGEST)
        raise UsageError(f"--until {end} is more than a rehearsal plays, {longest}", hint="such as 30m or 24h")


def check_targets(
    happening: Iterable[scenario.ScenarioEvent],
    stage: FailoverSimulation,
    fleet: FleetSnapshot,
    until: float,
) -> None:
    """What would silently do nothing is a slip: a target that is nowhere, a time after the end, a return of what is
    there. Raises UsageError."""
    away = {name for name, facts in fleet.clusters.items() if not facts.assumed and facts.reach is not Reach.READY}
    for event in sorted(happening, key=lambda event: event.after):
        try:
            names = stage.clusters(event.target)
        except KeyError as error:
            kind, _, name = event.target.partition("/")
            close = difflib.get_close_matches(name, stage.known(kind), n=1, cutoff=0.6)
            hint = f"did you mean {kind}/{close[0]}?" if close else "gitfed get clusters -o wide lists them"
            raise UsageError(f"{event.target} names no declared cluster", hint=hint) from error
        if event.after > until:
            when, end = scenario.clock(event.after), scenario.clock(until)
            raise UsageError(f"--{event.what} {event.target} at {when} is after the end, {end}", hint="raise --until")
        if event.what == "fail":
            away.update(names)
        elif event.what == "recover":
            if away.isdisjoint(names):
                hint = "name --fail with an earlier time"
                when = scenario.clock(event.after)
                raise UsageError(f"--recover {event.target}: nothing of it has failed by {when}", hint=hint)
            away.difference_update(names)


def _events(what: str, texts: Iterable[str], otherwise: float) -> list[scenario.ScenarioEvent]:
    events = []
    for text in texts:
        read = scenario.target(text)
        if read is None:
            raise UsageError(f"--{what} {text!r} is not TARGET or TARGET@TIME", hint="such as cluster/eu-1@5m")
        target, at = read
        events.append(scenario.ScenarioEvent(_time(at, otherwise, text), what, target))
    return events


def _taint(text: str) -> scenario.ScenarioEvent:
    read = scenario.taint(text)
    if read is None:
        hint = "such as cluster/eu-1:drain:NoExecute@5m"
        raise UsageError(f"--taint {text!r} is not TARGET:KEY[=VALUE]:EFFECT[@TIME]", hint=hint)
    event, at = read
    return replace(event, after=_time(at, 0.0, text))


def _time(text: str | None, otherwise: float, option: str) -> float:
    if text is None:
        return otherwise
    seconds = duration.seconds(text)
    if seconds is None:
        raise UsageError(f"{text!r} of {option!r} is not a duration", hint="such as 90s, 10m or 1h30m")
    return seconds
