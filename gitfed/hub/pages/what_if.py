"""`/ui/what-if`: let clusters fail on a virtual clock, with the daemon's own decisions. Nothing real is touched.

It tells of the whole fleet, so it is for callers who may see all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from aiohttp import web

from gitfed.errors import TooBusy
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
from gitfed.offline.inputs import interpreter_of
from gitfed.simulation import scenario, simulation

_MINUTES = (10, 30, 60, 180)
_FIRST, _MOST_LINES = 4, 100
"""Of what happens at one moment: lines that are seen at once, and all that can be."""
_MOST_MOVES = 200


class Beat(NamedTuple):
    """What happens at one moment."""

    clock: str
    moments: tuple[simulation.Moment, ...]
    rest: tuple[simulation.Moment, ...]
    more: int


class Part(NamedTuple):
    share: Share
    kind: str
    """new, more, less, gone or same."""


class Move(NamedTuple):
    key: ObjectKey
    before: tuple[Share, ...]
    after: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Played:
    beats: tuple[Beat, ...]
    moves: tuple[Move, ...]
    more_moves: int
    story: simulation.Story


def route(frame: Frame, desk: Desk) -> Route:
    async def show(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        target, minutes = paging.text(request, "fail"), paging.number(request, "minutes", 30)
        minutes = minutes if minutes in _MINUTES else 30
        back = request.query.get("back") == "yes"
        everything = routes.rights(request).everywhere(Right.VIEW)
        played: Played | None = None
        wrong = ""
        if now is not None and everything and target:
            if scenario.target(target) is None:
                wrong = "Choose what fails from the list."
            else:
                try:
                    played = await desk.aside(lambda: _play(now, target, minutes, back=back), heavy=True)
                except KeyError:
                    wrong = f"{target} names no declared cluster."
                except TooBusy as error:
                    raise web.HTTPServiceUnavailable(text=error.message) from error
        return frame.page(
            request, "what_if.html", played=played, wrong=wrong, target=target, minutes=minutes,
            targets=_targets(now) if now is not None else (),
            choices=_MINUTES, back=back, everything=everything, planned=now is not None,
        )  # fmt: skip

    return Route("GET", "/ui/what-if", show, needs=Right.VIEW)


def _targets(now: Moment) -> tuple[str, ...]:
    """Every region, then every cluster."""
    regions = {one.spec.region for one in now.repo.clusters.values() if one.spec.region}
    return (*(f"region/{name}" for name in sorted(regions)), *(f"cluster/{name}" for name in sorted(now.repo.clusters)))


def _play(now: Moment, target: str, minutes: int, *, back: bool) -> Played:
    """Raises KeyError."""
    rehearsal = simulation.Rehearsal(
        now.repo, FleetSnapshot(now.plan.facts, now.facts), now.decisions, interpreter_of(now.repo, now.decisions),
        now.plan.now, simulation.Options(until=minutes * 60.0),
    )  # fmt: skip
    events = [scenario.Event(0.0, "fail", target)]
    if back:
        events.append(scenario.Event(minutes * 30.0, "recover", target))
    story = rehearsal.run(events)
    moved = list(_moves(story))
    return Played(tuple(_beats(story.timeline)), tuple(moved[:_MOST_MOVES]), max(0, len(moved) - _MOST_MOVES), story)


def _beats(timeline: Iterable[simulation.Moment]) -> Iterable[Beat]:
    for after, found in groupby(timeline, key=lambda one: one.after):
        moments = list(found)
        first = _FIRST if len(moments) > _FIRST + 1 else len(moments)
        rest = tuple(moments[first:_MOST_LINES])
        yield Beat(clock(after), tuple(moments[:first]), rest, len(moments) - first - len(rest))


def _moves(story: simulation.Story) -> Iterable[Move]:
    for key, binding in story.plan.bindings.items():
        before = story.before.get(key)
        if before is None or binding.decision is None or before.shares == binding.shares:
            continue
        had = {share.cluster: share.replicas for share in before.shares}
        after = [Part(share, _kind(share, had)) for share in binding.shares]
        gone = [Part(share, "gone") for share in before.shares if binding.share_of(share.cluster) is None]
        yield Move(key, before.shares, tuple(sorted([*after, *gone])))


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
