"""`/ui/what-if`: let clusters fail on a virtual clock, with the daemon's own decisions. Nothing real is touched.

It tells of the whole fleet, so it is for callers who may see all of it. In a large fleet it takes a while: the
page says that it is under way and asks again, and all callers of one simulation wait for the same run.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.pages import paging
from gitfed.hub.pages.frame import Frame
from gitfed.hub.routes import Route
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Share
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.offline.inputs import interpreter_of
from gitfed.simulation import scenario, simulation
from gitfed.simulation.capacity_loss import Loss
from gitfed.text.values import dataclass

_MINUTES = (10, 30, 60, 180)
_FIRST, _MOST_LINES = 4, 100
"""Of what happens at one moment: lines that are seen at once, and all that can be."""
_MOST_MOVES = 200
_MOST_NAMED = 50
"""Workloads that are short of replicas, or wait."""
_MOST_CHIPS = 12
"""Clusters of one move that are named though nothing changes there."""
_PATIENCE = 3.0
"""Seconds after which a page says that the play is under way."""
_AGAIN = 2
"""Seconds until the browser asks again."""
_KEPT = 4
"""Plays that are remembered, as long as the plan is the same."""


class Beat(NamedTuple):
    """What happens at one moment."""

    clock: str
    moments: tuple[simulation.Moment, ...]
    rest: tuple[simulation.Moment, ...]
    more: int


class ShareChange(NamedTuple):
    share: Share
    kind: str
    """new, more, less, gone or same."""


class Move(NamedTuple):
    key: ObjectKey
    before: tuple[Share, ...]
    after: tuple[ShareChange, ...]
    alike: int
    """Clusters besides, in which nothing changes."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a page shows of it: the plans that it was made of are large, and go."""

    beats: tuple[Beat, ...]
    moves: tuple[Move, ...]
    more_moves: int
    short: int
    losses: tuple[Loss, ...]
    """The first of them."""
    waiting: int
    pending: tuple[tuple[ObjectKey, str], ...]
    """The first of them."""
    on_recovery: int
    goes_on: bool
    """More falls due after the clock has stopped."""


class WhatIfQuestion(NamedTuple):
    target: str
    minutes: int
    back: bool


class Plays:
    """Those under way, and the newest that are over."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._under_way: dict[WhatIfQuestion, asyncio.Task[Played]] = {}
        self._over: OrderedDict[WhatIfQuestion, tuple[Plan, Played]] = OrderedDict()

    async def of(self, now: Moment, question: WhatIfQuestion) -> Played | None:
        """None: it takes a while yet. Raises KeyError, TooBusy."""
        plan, played = self._over.get(question, (None, None))
        if plan is now.plan:
            return played
        task = self._under_way.get(question)
        if task is None:
            task = self._under_way[question] = asyncio.create_task(self._play(now, question))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # the callers may have left
        await asyncio.wait({task}, timeout=_PATIENCE)
        return task.result() if task.done() else None

    async def _play(self, now: Moment, question: WhatIfQuestion) -> Played:
        try:
            played = await self._desk.aside(lambda: _play(now, question), heavy=True)
        finally:
            del self._under_way[question]
        self._over[question] = now.plan, played
        while len(self._over) > _KEPT:
            self._over.popitem(last=False)
        return played


def route(frame: Frame, desk: Desk) -> Route:
    plays = Plays(desk)

    async def show(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        target, minutes = paging.text(request, "fail"), paging.number(request, "minutes", 30)
        minutes = minutes if minutes in _MINUTES else 30
        back = request.query.get("back") == "yes"
        everything = routes.rights(request).everywhere(Right.VIEW)
        played: Played | None = None
        wrong, playing = "", False
        if now is not None and everything and target:
            if scenario.target(target) is None:
                wrong = "Choose what fails from the list."
            else:
                try:
                    played = await plays.of(now, WhatIfQuestion(target, minutes, back))
                    playing = played is None
                except KeyError:
                    wrong = f"{target} names no declared cluster."
        page = frame.page(
            request,
            "what_if.html",
            played=played,
            wrong=wrong,
            target=target,
            minutes=minutes,
            playing=playing,
            targets=_targets(now) if now is not None else (),
            choices=_MINUTES,
            back=back,
            everything=everything,
            planned=now is not None,
        )
        if playing:
            page.headers["Refresh"] = str(_AGAIN)
        return page

    return Route("GET", "/ui/what-if", show, needs=Right.VIEW)


def _targets(now: Moment) -> tuple[str, ...]:
    """Every region, then every cluster."""
    regions = {cluster.spec.region for cluster in now.repo.clusters.values() if cluster.spec.region}
    return (*(f"region/{name}" for name in sorted(regions)), *(f"cluster/{name}" for name in sorted(now.repo.clusters)))


def _play(now: Moment, question: WhatIfQuestion) -> Played:
    """Raises KeyError."""
    target, minutes, back = question
    rehearsal = simulation.FailoverSimulation(
        now.repo,
        FleetSnapshot(now.plan.facts, now.facts),
        now.decisions,
        interpreter_of(now.repo, now.decisions),
        now.plan.now,
        simulation.SimulationOptions(until=minutes * 60.0),
    )
    events = [scenario.ScenarioEvent(0.0, "fail", target)]
    if back:
        events.append(scenario.ScenarioEvent(minutes * 30.0, "recover", target))
    story = rehearsal.run(events)
    moved = list(_moves(story))
    return Played(
        tuple(_beats(story.timeline)),
        tuple(moved[:_MOST_MOVES]),
        max(0, len(moved) - _MOST_MOVES),
        len(story.losses),
        tuple(story.losses[:_MOST_NAMED]),
        len(story.pending),
        tuple(story.pending[:_MOST_NAMED]),
        len(story.on_recovery),
        story.falls_due is not None,
    )


def _beats(timeline: Iterable[simulation.Moment]) -> Iterable[Beat]:
    for after, together in groupby(timeline, key=lambda moment: moment.after):
        moments = list(together)
        first = _FIRST if len(moments) > _FIRST + 1 else len(moments)
        rest = tuple(moments[first:_MOST_LINES])
        yield Beat(clock(after), tuple(moments[:first]), rest, len(moments) - first - len(rest))


def _moves(story: simulation.SimulationResult) -> Iterable[Move]:
    for key, binding in story.plan.bindings.items():
        before = story.before.get(key)
        if before is None or binding.decision is None or before.scheduled.shares == binding.scheduled.shares:
            continue
        had = {share.cluster: share.replicas for share in before.scheduled.shares}
        after = [ShareChange(share, _kind(share, had)) for share in binding.scheduled.shares]
        gone = [
            ShareChange(share, "gone") for share in before.scheduled.shares if binding.share_of(share.cluster) is None
        ]
        alike = [part.share.cluster for part in after if part.kind == "same"]
        left_out = set(alike[_MOST_CHIPS:])
        yield Move(
            key,
            tuple(share for share in before.scheduled.shares if share.cluster not in left_out),
            tuple(sorted(part for part in (*after, *gone) if part.share.cluster not in left_out)),
            len(left_out),
        )


def _kind(share: Share, had: dict[str, int | None]) -> str:
    if share.cluster not in had:
        return "new"
    before, now = had[share.cluster] or 0, share.replicas or 0
    return "same" if before == now else "more" if now > before else "less"


def clock(seconds: float) -> str:
    """`12 min 30 s`"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "at once"
