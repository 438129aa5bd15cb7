"""What waits for a person's consent: `gitfed.io/gates/v1`."""

from __future__ import annotations

from typing import Literal, NotRequired

from gitfed.model.plan import Change, Gate, Plan
from gitfed.planning.objects import redact, secret_leaks
from gitfed.views import plans
from gitfed.views.value import View

SCHEMA: Literal["gitfed.io/gates/v1"] = "gitfed.io/gates/v1"


SAMPLES = 100
"""Changes that are shown of one gate."""


class HeldGate(View):
    """A limit, and what it holds."""

    name: str
    limit: str | None
    """null for callers who do not see the whole fleet, as `value`."""
    value: str | None
    held: int
    """Changes, or of a quota workloads, that wait because of it."""
    consent: bool
    """Whether a person may let through what it holds; what a quota refuses needs another quota."""
    messages: NotRequired[list[str]]
    changes: list[plans.ChangeView]
    """The first of those that it holds."""


class GateList(View):
    """The gates of the present plan."""

    schema: Literal["gitfed.io/gates/v1"]
    commit: str
    digest: str
    """Of the plan: what `gitfed approve` names."""
    gates: list[HeldGate]


def item(gate: Gate, changes: list[plans.ChangeView], *, held: int, whole: bool) -> HeldGate:
    """`held`: as many as may be told; `whole`: whether the limits may be told."""
    shown: HeldGate = {
        "name": gate.name,
        "limit": gate.limit if whole else None,
        "value": gate.value if whole else None,
        "held": held,
        "consent": gate.consent,
        "changes": changes,
    }
    if gate.messages and whole:
        shown["messages"] = list(gate.messages)
    return shown


def held_by(plan: Plan) -> dict[str, list[Change]]:
    """Changes by the gate that holds them."""
    held: dict[str, list[Change]] = {}
    for change in plan.changes or ():
        if change.gate:
            held.setdefault(change.gate, []).append(change)
    return held


def document(plan: Plan) -> GateList:
    """All gates, for who sees the whole fleet."""
    held, hidden = held_by(plan), secret_leaks.hidden_of(plan)
    shown = [
        item(
            gate,
            [change(held_change, hidden) for held_change in held.get(gate.name, ())[:SAMPLES]],
            held=gate.held,
            whole=True,
        )
        for gate in plan.gates
    ]
    return {"schema": SCHEMA, "commit": plan.commit, "digest": plan.digest, "gates": shown}


def change(item: Change, hidden: redact.Hidden) -> plans.ChangeView:
    """One change, without what Secrets hold."""
    view = plans.change(secret_leaks.without(item, hidden))
    return {**view, "reason": hidden.text(view["reason"])}
