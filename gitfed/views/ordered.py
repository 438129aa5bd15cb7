"""What a person ordered, as it was taken: `gitfed.io/order/v1`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NotRequired

from gitfed.documents.bindings import time_text
from gitfed.model.operator_orders import Suspension
from gitfed.views.value import Time, View

SCHEMA: Literal["gitfed.io/order/v1"] = "gitfed.io/order/v1"


class SuspensionView(View):
    """What is not written, or not decided, until it is resumed."""

    of: str
    """`all`, `cluster/NAME`, or an object: `Deployment.apps/shop/web`."""
    by: str
    at: Time
    reason: str
    scheduling: bool
    """Of deciding, not of writing."""
    text: str


class Approved(View):
    """What was let through, of which plan."""

    digest: str
    commit: str
    gates: list[str]


class OrderView(View):
    """An order that stands on the state branch now."""

    schema: Literal["gitfed.io/order/v1"]
    order: str
    """suspend, resume, reconcile or approve."""
    by: str
    of: list[str]
    suspensions: NotRequired[list[SuspensionView]]
    """Those that begin, or end."""
    approved: NotRequired[Approved]


def suspensions(orders: Iterable[Suspension]) -> list[SuspensionView]:
    return [
        {
            "of": order.of,
            "by": order.by,
            "at": time_text(order.at),
            "reason": order.reason,
            "scheduling": order.scheduling,
            "text": str(order),
        }
        for order in orders
    ]
