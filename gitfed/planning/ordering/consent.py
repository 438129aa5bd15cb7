"""What a person can let through, and what orders to do so come to.

What gates hold is written down with the digest of its plan, and a person approves that (`gitfed approve`). The order
lets nothing through by itself: an engine that has made the plan of that digest fills in the numbers (`taken_up`), and
from then on they hold for the commit as every approval does (`gate`). If its plan is another one, the order is void.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitfed.model.operator_orders import Approval, HeldGate, HeldPlan
from gitfed.model.plan import Plan


def held_plan(plan: Plan) -> HeldPlan | None:
    """None: no gate holds anything that a person could let through."""
    gates = tuple(
        HeldGate(gate.name, gate.limit, gate.value, gate.held) for gate in plan.gates if gate.held and gate.consent
    )
    return HeldPlan(plan.commit, plan.digest, gates) if gates else None


def taken_up(approvals: Iterable[Approval], plan: Plan) -> tuple[Approval, ...]:
    """The same, with the numbers filled in of orders that are about exactly this plan."""
    held = held_plan(plan)
    return tuple(_filled(approval, held) for approval in approvals)


def _filled(order: Approval, held: HeldPlan | None) -> Approval:
    if not order.pending or held is None or (order.digest, order.commit) != (held.digest, held.commit):
        return order
    allowed = sorted((gate.name, gate.held) for gate in held.gates if not order.gates or gate.name in order.gates)
    # Without its gates an order that let nothing through would be one for all of them.
    return replace(order, allowed=tuple(allowed), gates=()) if allowed else order


def void(approvals: Iterable[Approval]) -> tuple[Approval, ...]:
    """Orders that nothing came of: after `taken_up`, when all is quiet, they are about a plan that is no more."""
    return tuple(approval for approval in approvals if approval.pending)
