"""Where each object goes, and how it is in each cluster: `gitfed.io/bindings/v1`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, cast

from gitfed.model.base import Body
from gitfed.model.plan import Binding, HeldDecision
from gitfed.model.status import BindingStatus, CopyStatus
from gitfed.views import plans
from gitfed.views.value import View


class CopyView(View):
    """The object in one cluster: Karmada's AggregatedStatusItem, and why it is not healthy."""

    clusterName: str
    applied: bool
    health: str
    """Healthy, Unhealthy or Unknown."""
    appliedMessage: NotRequired[str]
    healthMessage: NotRequired[str]
    status: NotRequired[Any]
    """What was collected of its status."""


class StatusView(View):
    """How an object is in its clusters."""

    aggregatedStatus: list[CopyView]
    conditions: list[plans.ConditionView]
    templateStatus: NotRequired[Any]
    """That of the template as a whole, as far as its kind has a rule."""
    error: NotRequired[str]
    """Why there is no such status although the kind has a rule."""


class PlacedBinding(plans.BindingView):
    """A binding, and how its object is in each cluster."""

    status: StatusView | None
    """null: nothing is known of it in any cluster."""


class BindingList(View):
    """Bindings, sorted by object."""

    schema: Literal["gitfed.io/bindings/v1"]
    items: list[PlacedBinding]
    total: NotRequired[int]
    """Of the whole list, in an answer of the API."""
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


def item(binding: Binding, status: StatusView | None, held: HeldDecision | None = None) -> PlacedBinding:
    return {**plans.binding(binding, held), "status": status}


def seen(status: BindingStatus) -> StatusView:
    """As the clusters show it now."""
    shown: StatusView = {
        "aggregatedStatus": [_copy(copy) for copy in status.copies],
        "conditions": cast(list[plans.ConditionView], [status.fully_applied.as_json()]),
        "templateStatus": status.status,
    }
    if status.error:
        shown["error"] = status.error
    return shown


def recorded(status: Body) -> StatusView:
    """As the state branch has it."""
    return cast(StatusView, dict(status))


def _copy(copy: CopyStatus) -> CopyView:
    said = copy.health_message if copy.health != "Healthy" else ""
    return cast(CopyView, {**copy.as_json(), **({"healthMessage": said} if said else {})})
