"""`/ui/orders/…`: what a form of a page orders. The browser is led back to its page, which says what was done.

Who may order what is asked of `hub.orders`, as the API asks it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode

from aiohttp import web

from gitfed.errors import GitfedError
from gitfed.hub import orders, refusal, request_shape
from gitfed.hub.access.rights import Right
from gitfed.hub.orders import Giver, Orders
from gitfed.hub.pages import frame
from gitfed.hub.pages.frame import Frame
from gitfed.hub.routes import Handler, Route
from gitfed.hub.server import Hub
from gitfed.model.operator_orders import EVERYTHING
from gitfed.views.ordered import OrderView

_LARGEST = 16 << 10
Refuse = Callable[[web.Request, int, str, str], web.Response]
"""The page that says why not, and leads back to where the form was."""
_Form = dict[str, str]
_Give = Callable[[Orders, Giver, _Form], Awaitable[OrderView]]
_ORDERS: dict[str, _Give] = {
    "suspend": lambda taken, giver, form: taken.suspend(giver, form["what"], reason=form["reason"]),
    "resume": lambda taken, giver, form: taken.resume(giver, form["what"]),
    "reconcile": lambda taken, giver, form: taken.reconcile(giver, [form["what"]]),
    "approve": lambda taken, giver, form: taken.approve(giver, form["what"]),
}


def routes_of(hub: Hub, made: Frame, refuse: Refuse) -> list[Route]:
    return [
        Route("POST", f"/ui/orders/{name}", _handler(hub, made, refuse, give), needs=Right.OPERATE, largest=_LARGEST)
        for name, give in _ORDERS.items()
    ]


def offers(hub: Hub, giver: Giver, of: str) -> bool:
    """Whether this caller gets forms for the orders about it."""
    return hub.orders is not None and hub.orders.offers(giver, of)


def offers_approval(hub: Hub, giver: Giver) -> bool:
    return hub.orders is not None and hub.orders.offers_approval(giver)


def _handler(hub: Hub, made: Frame, refuse: Refuse, give: _Give) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        sent = await request_shape.form(request)
        form = {name: _text(sent.get(name)) for name in ("what", "reason", "back")}
        back = _without_result(frame.local(form["back"]))
        try:
            order = await orders.ordered_by(
                request, hub.orders, form["what"], lambda taken, giver: give(taken, giver, form)
            )
        except GitfedError as error:
            status = refusal.status_of(error)
            if status is None:
                raise
            return refuse(request, status, f"{error.message}: {error.hint}" if error.hint else error.message, back)
        token = made.results.keep(request, _done(order))
        return web.Response(status=303, headers={"Location": f"{back}{'&' if '?' in back else '?'}done={token}"})

    return handle


def _text(value: Any) -> str:
    """A file is none."""
    return value.strip() if isinstance(value, str) else ""


def _without_result(back: str) -> str:
    """The page's address without what it said before."""
    path, _, query = back.partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name != "done"]
    return f"{path}?{urlencode(kept)}" if kept else path


def _done(order: OrderView) -> str:
    what = ", ".join("everything" if target == EVERYTHING else target for target in order["of"])
    match order["order"]:
        case "suspend":
            return f"{what}: suspended, nothing is written to it until a user resumes it"
        case "resume":
            return f"{what}: resumed"
        case "approve":
            approved = order["approved"]
            return f"plan {approved['digest'][:12]} of commit {approved['commit'][:12]} is let through: {what}"
    return f"{what}: looked at anew, what failed is tried again, drift is repaired"
