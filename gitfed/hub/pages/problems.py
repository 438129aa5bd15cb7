"""`/ui/problems`: what is held and by which limit, what others use, what is wrong in the files, who suspended what; and
what to do."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from gitfed.hub import orders as orders_taken
from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers import listings
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.query import Query
from gitfed.hub.answers.sight import Sight
from gitfed.hub.pages import ordering
from gitfed.hub.pages.frame import Frame
from gitfed.hub.routes import Route
from gitfed.hub.server import Hub
from gitfed.model import operator_orders
from gitfed.model.base import ClusterName, key_from
from gitfed.model.operator_orders import Suspension
from gitfed.model.plan import Change
from gitfed.model.reason import ReasonCode
from gitfed.text.values import dataclass
from gitfed.views import gates, problems

_MOST = 200
"""Problems of one page; `gitfed validate` lists all."""


@dataclass(frozen=True, slots=True)
class ProblemsPage:
    holding: gates.GateList
    quiet: tuple[gates.HeldGate, ...]
    """Limits that hold nothing."""
    listed: problems.ProblemList
    suspensions: tuple[Suspension, ...]
    clusters: tuple[ClusterName, ...]
    in_use: tuple[Change, ...]
    """What should go and stays, because others have something in it."""


def route(hub: Hub, frame: Frame, desk: Desk) -> Route:
    async def show(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        if now is None:
            return frame.page(request, "problems.html", seen=None)
        sight = desk.sight(routes.rights(request), now)
        giver = orders_taken.giver(request)

        def form() -> dict[str, Any]:
            seen = _look(now, sight)
            named = (operator_orders.EVERYTHING, *(operator_orders.CLUSTER + name for name in seen.clusters))
            return {
                "seen": seen,
                "approves": ordering.offers_approval(hub, giver),
                "resumes": [order.of for order in seen.suspensions if ordering.offers(hub, giver, order.of)],
                "targets": [of for of in named if ordering.offers(hub, giver, of)],
            }

        return await frame.formed(request, "problems.html", form)

    return Route("GET", "/ui/problems", show, needs=Right.VIEW)


def _look(now: Moment, sight: Sight) -> ProblemsPage:
    every = listings.gate_list(now, sight)
    holding: gates.GateList = {**every, "gates": [gate for gate in every["gates"] if gate["held"]]}
    return ProblemsPage(
        holding,
        tuple(gate for gate in every["gates"] if not gate["held"]),
        listings.problem_list(now, sight, Query(limit=_MOST)),
        tuple(order for order in now.decisions.suspensions if _is_seen(order, now, sight)),
        tuple(name for name in now.plan.clusters if sight.cluster(name)),
        tuple(
            change
            for change in now.plan.changes or ()
            if change.reason.code is ReasonCode.IN_USE_BY_OTHERS
            and sight.change(change)
            and sight.whole(change.key.namespace)
        )[:_MOST],
    )


def _is_seen(order: Suspension, now: Moment, sight: Sight) -> bool:
    if order.of == operator_orders.EVERYTHING:
        return True
    if order.of.startswith(operator_orders.CLUSTER):
        return sight.cluster(order.of.removeprefix(operator_orders.CLUSTER))
    binding = now.plan.bindings.get(key_from(order.of))
    return sight.everything if binding is None else sight.binding(binding)
