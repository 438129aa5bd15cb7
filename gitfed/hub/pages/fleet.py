"""`/ui`: the clusters, how they are, how full they are, and which commit each holds."""

from __future__ import annotations

from typing import Any, NamedTuple

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.hub.pages.change_events import ChangeEvents
from gitfed.hub.pages.frame import Frame
from gitfed.hub.routes import Route
from gitfed.model import operator_orders
from gitfed.model.fleet import Reach
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.text.values import dataclass
from gitfed.views import capacity

_LATELY = 12
_STATES = {Reach.READY: ("ok", "Ready"), Reach.NOT_READY: ("bad", "Not ready"), Reach.UNKNOWN: ("unknown", "Unknown")}


class Amount(NamedTuple):
    asked: str
    offered: str
    percent: int


@dataclass(frozen=True, slots=True)
class ClusterRow:
    candidate: Candidate
    mark: str
    words: str
    says: tuple[str, ...]
    """Why it is not ready, and who suspended it."""
    amounts: tuple[tuple[str, Amount | None], ...]
    """(label, how full; None: not known)"""
    objects: int
    pending: int
    commit: str
    outcome: str
    current: bool
    """It holds the commit in force, and nothing is unfinished."""


def route(frame: Frame, desk: Desk, happenings: ChangeEvents) -> Route:
    async def fleet(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        if now is None:
            return frame.page(request, "fleet.html", rows=(), figures=None, lately=())
        sight = desk.sight(routes.rights(request), now)

        def form() -> dict[str, Any]:
            rows = [_row(now, candidate) for candidate in now.candidates if sight.cluster(candidate.name)]
            return {
                "rows": rows,
                "figures": _figures(now, rows, sight),
                "lately": happenings.seen(now, sight, most=_LATELY),
            }

        return await frame.formed(request, "fleet.html", form)

    return Route("GET", "/ui", fleet, needs=Right.VIEW)


def _row(now: Moment, cluster: Candidate) -> ClusterRow:
    mark, words = _STATES[cluster.reach]
    if cluster.facts is None or cluster.facts.assumed:
        mark, words = "unknown", "Not looked at"
    says = []
    live = now.live.get(cluster.name) if now.live is not None else None
    if live is not None and live.error and cluster.reach is not Reach.READY:
        says.append(now.hidden.text(live.error))
    covering = (operator_orders.EVERYTHING, operator_orders.CLUSTER + cluster.name)
    held = [order for order in now.decisions.suspensions if order.of in covering]
    if held:
        mark, words = "held", f"{words}, suspended"
        says += [str(order) for order in held]
    member = now.engine.fleet.members.get(cluster.name) if now.engine is not None else None
    result = now.results.get(cluster.name, {})
    commit, outcome = str(result.get("commit") or ""), str(result.get("outcome") or "")
    current = outcome == "applied" and not result.get("unfinished") and commit == now.repo.commit
    return ClusterRow(
        cluster,
        mark,
        words,
        tuple(says),
        tuple(_amounts(cluster)),
        now.index.objects[cluster.name],
        member.worker.pending if member is not None and member.worker is not None else 0,
        commit,
        outcome,
        current,
    )


def _amounts(cluster: Candidate) -> list[tuple[str, Amount | None]]:
    utilization = capacity.of_cluster(cluster.facts)
    amounts: list[tuple[str, Amount | None]] = []
    for name, label in (("cpu", "CPU"), ("memory", "Memory"), ("pods", "Pods")):
        part = utilization.get(name) if utilization is not None else None
        measured = part is not None and part.percent is not None
        amounts.append(
            (
                label,
                Amount(capacity.amount(name, part.asked), capacity.amount(name, part.offered), part.percent or 0)
                if measured and part is not None
                else None,
            )
        )
    return amounts


def _figures(now: Moment, rows: list[ClusterRow], sight: Sight) -> dict[str, Any]:
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
