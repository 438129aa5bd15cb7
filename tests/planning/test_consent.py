"""What orders to let through what gates hold come to."""

from __future__ import annotations

from dataclasses import replace

from gitfed.model.base import Commit
from gitfed.model.operator_orders import Approval, HeldGate, HeldPlan
from gitfed.model.plan import Gate, Plan
from gitfed.planning.ordering import consent
from tests.planning.stage import START, Stage

GATES = (
    Gate("deletions", "1", "4", held=4),
    Gate("moved replicas", "25%", "50%", held=2),
    Gate("history", "x", "y"),
    Gate("quota shop/q cpu", "2", "3", held=1, consent=False),
)


def plan() -> Plan:
    return replace(Stage().build(), gates=GATES)


def order(about: Plan, *gates: str, digest: str = "") -> Approval:
    return Approval(digest or about.digest, about.commit, (), "ada", START, gates)


def test_what_is_written_down_is_what_a_person_could_let_through() -> None:
    made = plan()
    held = (HeldGate("deletions", "1", "4", 4), HeldGate("moved replicas", "25%", "50%", 2))
    assert consent.held_plan(made) == HeldPlan(made.commit, made.digest, held)
    assert consent.held_plan(replace(made, gates=GATES[2:])) is None


def test_an_order_about_this_plan_is_filled_in_for_all_gates_or_those_it_names() -> None:
    made = plan()
    every, one = consent.taken_up((order(made), order(made, "deletions")), made)
    assert (every.allowed, every.pending) == ((("deletions", 4), ("moved replicas", 2)), False)
    assert one.allowed == (("deletions", 4),)


def test_an_order_about_another_plan_or_commit_lets_nothing_through() -> None:
    made = plan()
    orders = (order(made, digest="0" * 64), replace(order(made), commit=Commit("2" * 40)), order(made, "history"))
    assert consent.taken_up(orders, made) == orders
    assert consent.void(orders) == orders


def test_what_was_filled_in_stays_when_the_plan_goes_on() -> None:
    made = plan()
    filled = consent.taken_up((order(made),), made)
    later = replace(made, digest=type(made.digest)("f" * 64), gates=(replace(GATES[0], held=9),))
    assert consent.taken_up(filled, later) == filled
    assert consent.void(filled) == ()
