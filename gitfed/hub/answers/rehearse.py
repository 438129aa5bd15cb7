"""What if: a failover simulated for a caller who sees the whole fleet."""

from __future__ import annotations

from datetime import UTC, datetime

from gitfed.errors import UsageError
from gitfed.hub.answers.moment import Moment
from gitfed.model.fleet import FactsRef, FleetSnapshot
from gitfed.offline import inputs
from gitfed.simulation import scenario_input, simulation
from gitfed.text import duration
from gitfed.text.values import dataclass
from gitfed.views import simulations

_MOST = 20
"""Events of one simulation."""
_LONGEST = 24 * 3600.0
"""Seconds that the clock runs; `gitfed simulate` plays more, on the caller's machine."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """As for `gitfed simulate`."""

    fail: tuple[str, ...] = ()
    recover: tuple[str, ...] = ()
    taint: tuple[str, ...] = ()
    until: str = "30m"
    healthy_after: str = "30s"
    each: bool = False
    """Let every cluster and region fail alone instead."""


def simulate(moment: Moment, what: WhatIf) -> simulations.SimulationView | simulations.EachView:
    """Raises UsageError. It may take seconds."""
    until, healthy_after = _seconds("until", what.until), _seconds("healthyAfter", what.healthy_after)
    if until > _LONGEST:
        raise UsageError("until is 24h at most", hint="gitfed simulate plays more, on your machine")
    happening = scenario_input.events(what.fail, what.recover, what.taint, until)
    if len(happening) > _MOST:
        raise UsageError(f"that are {len(happening)} events, and {_MOST} at most are played")
    if what.each and happening:
        raise UsageError("nMinusOne takes no events", hint="it lets everything fail, one after the other")
    if not what.each:
        scenario_input.check(happening, until, moment.repo)
    fleet = FleetSnapshot(FactsRef("live"), moment.facts)
    stage = simulation.FailoverSimulation(
        moment.repo,
        fleet,
        moment.decisions,
        inputs.interpreter_of(moment.repo, moment.decisions),
        datetime.now(UTC),
        simulation.SimulationOptions(until, healthy_after=healthy_after),
    )
    if what.each:
        return simulations.each_document(list(stage.each_alone()), moment.repo.commit)
    scenario_input.check_targets(happening, stage, fleet, until)
    return simulations.document(stage.run(happening), moment.repo.commit, until)


def _seconds(name: str, text: str) -> float:
    seconds = duration.seconds(text) if len(text) <= 32 else None
    if seconds is None:
        raise UsageError(f"{name} is not a duration", hint="such as 90s, 10m or 1h30m")
    return seconds
