"""What can be ordered of a hub. Whether a caller may, and what an order means, the hub knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from gitfed.client import lists
from gitfed.client.connection import HubConnection
from gitfed.errors import HubError
from gitfed.views import ordered
from gitfed.views.ordered import Approved, OrderView, SuspensionView


def suspend(
    hub: HubConnection, what: str, *, namespace: str = "", reason: str = "", scheduling: bool = False
) -> SuspensionView:
    """These all raise HubError, HubUnreachable, NotThere, UsageError."""
    answer = _give(hub, "suspend", what=what, namespace=namespace, reason=reason, scheduling=scheduling)
    suspensions = answer.get("suspensions") or []
    if len(suspensions) != 1:
        raise HubError(f"the hub at {hub.server} does not say what is suspended")
    return suspensions[0]


def resume(hub: HubConnection, what: str, *, namespace: str = "") -> list[SuspensionView]:
    """Those that ended."""
    return _give(hub, "resume", what=what, namespace=namespace).get("suspensions") or []


def reconcile(hub: HubConnection, what: Sequence[str], *, namespace: str = "") -> list[str]:
    """What will be reconciled."""
    return _give(hub, "reconcile", what=list(what), namespace=namespace)["of"]


def approve(hub: HubConnection, what: str) -> Approved:
    answer = _give(hub, "approve", what=what)
    if "approved" not in answer:
        raise HubError(f"the hub at {hub.server} does not say what is approved")
    return answer["approved"]


def _give(hub: HubConnection, order: str, **body: Any) -> OrderView:
    answer = hub.post(f"/{order}", {name: value for name, value in body.items() if value})
    lists.check(hub, answer, ordered.SCHEMA, OrderView)
    return cast(OrderView, answer)
