"""`suspend`, `resume`, `reconcile`, `approve`: what is ordered, as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NotRequired

import orjson
from aiohttp import web
from pydantic import TypeAdapter, ValidationError

from gitfed.hub import refusal, routes
from gitfed.hub.access.rights import Right
from gitfed.hub.api import reading, resources
from gitfed.hub.orders import Giver, Orders, ordered_by
from gitfed.hub.routes import Route
from gitfed.hub.server import Hub
from gitfed.text.values import dataclass
from gitfed.views import ordered, written
from gitfed.views.value import View

_LARGEST = 16 << 10


class Suspend(View):
    """Stop writing to something."""

    what: str
    """`all`, `cluster/NAME` or `KIND/[NS/]NAME`."""
    namespace: NotRequired[str]
    reason: NotRequired[str]
    scheduling: NotRequired[bool]
    """Of deciding, not of writing."""


class Resume(View):
    """Take back what was suspended."""

    what: str
    namespace: NotRequired[str]


class Reconcile(View):
    """Look anew, try again what failed, repair drift, once."""

    what: NotRequired[list[str]]
    """Nothing: everything."""
    namespace: NotRequired[str]


class Approve(View):
    """Let through what gates hold, of exactly the plan that waits."""

    what: str
    """The digest of that plan, or the name of a gate."""


@dataclass(frozen=True, slots=True)
class OrderEndpoint:
    name: str
    body: Any
    summary: str
    give: Callable[[Orders, Giver, Any], Awaitable[ordered.OrderView]]


ALL = (
    OrderEndpoint(
        "suspend",
        Suspend,
        "Stop writing to an object, a cluster, or everything.",
        lambda orders, giver, body: orders.suspend(giver, **body),
    ),
    OrderEndpoint(
        "resume", Resume, "Take back what was suspended.", lambda orders, giver, body: orders.resume(giver, **body)
    ),
    OrderEndpoint(
        "reconcile",
        Reconcile,
        "Look anew, try again what failed, and repair drift, once.",
        lambda orders, giver, body: orders.reconcile(giver, body.get("what", ()), namespace=body.get("namespace", "")),
    ),
    OrderEndpoint(
        "approve",
        Approve,
        "Let through what gates hold, of exactly the plan that waits.",
        lambda orders, giver, body: orders.approve(giver, **body),
    ),
)


def routes_of(hub: Hub) -> list[Route]:
    return [
        Route(
            "POST",
            f"{resources.PREFIX}/{operation.name}",
            _handler(hub, operation),
            needs=Right.OPERATE,
            largest=_LARGEST,
        )
        for operation in ALL
    ]


def _handler(hub: Hub, operation: OrderEndpoint) -> routes.Handler:
    form: TypeAdapter[Any] = TypeAdapter(operation.body)

    async def handle(request: web.Request) -> web.StreamResponse:
        return await reading.refusing(request, _take(hub, operation, form, request))

    return handle


async def _take(hub: Hub, operation: OrderEndpoint, form: TypeAdapter[Any], request: web.Request) -> web.StreamResponse:
    if request.content_type != reading.JSON:
        return refusal.answer(request, 415, f"the body is {reading.JSON}, and its Content-Type says so")
    try:
        body = form.validate_python(orjson.loads(await request.read()), strict=True)
    except ValueError as error:
        return refusal.answer(request, 400, _why(error))
    order = await ordered_by(
        request, hub.orders, str(body.get("what", "all")), lambda orders, giver: operation.give(orders, giver, body)
    )
    return web.Response(status=202, body=written.json_bytes(order), headers={"Content-Type": reading.JSON})


def _why(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:100]
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return "the body is no JSON"
