"""`/ui`: the clusters, how they are, how full they are, and which commit each holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.hub.pages.frame import Frame
from gitfed.hub.pages.happenings import Happenings
from gitfed.hub.routes import Route
from gitfed.model import operator_orders
from gitfed.model.fleet import Reach
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.views import capacity

_LATELY = 12
_STATES = {Reach.READY: ("ok", "Ready"), Reach.NOT_READY: ("bad", "Not ready"), Reach.UNKNOWN: ("unknown", "Unknown")}


class Amount(NamedTuple):
    asked: str
    offered: str
    percent: int


@dataclass(frozen=True, slots=True)
class Row:
    candidate: Candidate
    mark: str
    words: str
    says: tuple[str, ...]
    """Why it is not ready, and who suspended it."""
    amounts: tuple[tuple[str, Amount | None], ...]
    """(label, how full; None where nobody knows)"""
    objects: int
    pending: int
    commit: str
    outcome: str
    current: bool
    """It holds the commit in force, and nothing is unfinished."""


def route(frame: Frame, desk: Desk, happenings: Happenings) -> Route:
    async def fleet(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        if now is None:
            return frame.page(request, "fleet.html", rows=(), figures=None, lately=())
        sight = desk.sight(routes.rights(request), now)

        def form() -> dict[str, Any]:
            rows = [_row(now, one) for one in now.candidates if sight.cluster(one.name)]
            return {
                "rows": rows,
                "figures": _figures(now, rows, sight),
                "lately": happenings.seen(now, sight, most=_LATELY),
            }

        return await frame.formed(request, "fleet.html", form)

    return Route("GET", "/ui", fleet, needs=Right.VIEW)


def _row(now: Moment, one: Candidate) -> Row:
    mark, words = _STATES[one.reach]
    if one.facts is None or one.facts.assumed:
        mark, words = "unknown", "Not looked at"
    says = []
    known = now.live.get(one.name) if now.live is not None else None
    if known is not None and known.error and one.reach is not Reach.READY:
        says.append(now.hidden.text(known.error))
    covering = (operator_orders.EVERYTHING, operator_orders.CLUSTER + one.name)
    held = [order for order in now.decisions.suspensions if order.of in covering]
    if held:
        mark, words = "held", f"{words}, suspended"
        says += [str(order) for order in held]
    member = now.engine.fleet.members.get(one.name) if now.engine is not None else None
    result = now.results.get(one.name, {})
    commit, outcome = str(result.get("commit") or ""), str(result.get("outcome") or "")
    current = outcome == "applied" and not result.get("unfinished") and commit == now.repo.commit
    return Row(
        one,
        mark,
        words,
        tuple(says),
        tuple(_amounts(one)),
        now.index.objects[one.name],
        member.worker.pending if member is not None and member.worker is not None else 0,
        commit,
        outcome,
        current,
    )


def _amounts(one: Candidate) -> list[tuple[str, Amount | None]]:
    room = capacity.of_cluster(one.facts)
    found: list[tuple[str, Amount | None]] = []
    for name, label in (("cpu", "CPU"), ("memory", "Memory"), ("pods", "Pods")):
        part = room.get(name) if room is not None else None
        known = part is not None and part.percent is not None
        found.append(
            (
                label,
                Amount(capacity.amount(name, part.asked), capacity.amount(name, part.offered), part.percent or 0)
                if known and part is not None
                else None,
            )
        )
    return found


def _figures(now: Moment, rows: list[Row], sight: Sight) -> dict[str, Any]:
    return {
        "ready": sum(1 for row in rows if row.candidate.reach is Reach.READY),
        "clusters": len(rows),
        "workloads": sum(1 for key in now.index.workloads if sight.binding(now.plan.bindings[key])),
        "objects": len(now.plan.bindings) if sight.everything else None,
        "current": sum(1 for row in rows if row.current),
        "pending": sum(row.pending for row in rows),
        "held": sum(gate.held for gate in now.plan.gates) if sight.everything else None,
        "live": now.engine is not None,
    }
