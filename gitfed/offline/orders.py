"""The orders that a person gives to a running daemon: what each of them writes, and when it is refused.

    suspend, resume    nothing is written to an object, a cluster, or everything
    remove             orphans are deleted, those very objects
    approve            what gates hold is let through, of exactly the plan that was shown
    reconcile          observe again, try again what failed, repair drift, once
    reschedule         decide again where workloads go (Karmada: scheduling §7)

How they get to the daemon, and who signs them, is `order_book`' business. The command line and the hub give them
by these functions; `by` is who asked, as it is shown to others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from gitfed.documents import state_commits
from gitfed.documents.state_commits import Order
from gitfed.edges.state.state import BranchState
from gitfed.errors import UsageError
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.operator_orders import EVERYTHING, Approval, HeldGate, HeldPlan, Reconciliation, Removal, Suspension
from gitfed.offline import order_book
from gitfed.offline.order_book import OrderBook
from gitfed.placement.scheduling import reschedule as rescheduling
from gitfed.text.values import dataclass

_LEAST = 8
"""Characters of a digest that name it."""
_HEXADECIMAL = frozenset("0123456789abcdef")


class Fate(StrEnum):
    """What became of an order."""

    DONE = "done"
    DROPPED = "dropped"
    """The daemon left it out: it was about a plan that is another one now."""
    WAITING = "waiting"
    """The time was over first."""


# -- suspend, resume, remove ------------------------------------------------------------------------------------


def suspend(book: OrderBook, order: Suspension) -> None:
    """Raises what `order_book.change` raises, as all of these do."""

    def add(decisions: Decisions) -> Decisions:
        same = (order.of, order.scheduling)
        others = tuple(old for old in decisions.suspensions if (old.of, old.scheduling) != same)
        return replace(decisions, suspensions=(*others, order))

    order_book.change(
        book, add, message=state_commits.ordered(Order.SUSPEND, f"Suspend {order.of}", str(order)), now=order.at
    )


def resume(book: OrderBook, of: str, *, by: str, now: datetime) -> tuple[Suspension, ...]:
    """What is over by that; `all` ends every suspension. Raises UsageError when there is none."""
    ended: tuple[Suspension, ...] = ()

    def drop(decisions: Decisions) -> Decisions:
        nonlocal ended
        ended = tuple(suspension for suspension in decisions.suspensions if of in (EVERYTHING, suspension.of))
        if not ended:
            standing = ", ".join(suspension.of for suspension in decisions.suspensions)
            raise UsageError(f"{of} is not suspended", hint=standing or "nothing is")
        return replace(
            decisions, suspensions=tuple(suspension for suspension in decisions.suspensions if suspension not in ended)
        )

    order_book.change(book, drop, message=state_commits.ordered(Order.RESUME, f"Resume {of}", f"by {by}"), now=now)
    return ended


def remove(book: OrderBook, orders: Collection[Removal], *, now: datetime) -> None:
    def add(decisions: Decisions) -> Decisions:
        standing = {(removal.cluster, removal.object, removal.uid) for removal in decisions.removals}
        new = (removal for removal in orders if (removal.cluster, removal.object, removal.uid) not in standing)
        return replace(decisions, removals=(*decisions.removals, *new))

    subject = f"Delete {len(orders)} orphan{'' if len(orders) == 1 else 's'}"
    reason = "\n".join(f"{removal.cluster}: {removal.object} by {removal.by}" for removal in orders)
    order_book.change(book, add, message=state_commits.ordered(Order.REMOVE, subject, reason), now=now)


# -- approve ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Consent:
    """What a person let through, to be shown: exactly this plan, and these gates of it."""

    plan: HeldPlan
    gates: tuple[HeldGate, ...]
    state: BranchState
    """As it stands with the order."""


def held(book: OrderBook) -> HeldPlan | None:
    """What waits for a person's consent, as the daemon wrote it down; None: nothing does."""
    return order_book.look(book).decisions.held_plan


def chosen(plan: HeldPlan | None, what: str) -> tuple[HeldGate, ...]:
    """The gates that `what` means: all of the plan with this digest, or the one of this name.

    Raises UsageError when nothing is held, or not that.
    """
    if plan is None:
        raise UsageError(
            "no gate holds anything, as far as the state branch tells",
            hint="the daemon writes down what is held when it has carried out the rest; gitfed plan --live shows it",
        )
    text = " ".join(what.strip().lower().replace("-", " ").split())
    named = tuple(gate for gate in plan.gates if gate.name == text)
    if named:
        return named
    names = ", ".join(gate.name for gate in plan.gates)
    if len(text) >= _LEAST and set(text) <= _HEXADECIMAL:
        if plan.digest.startswith(text):
            return plan.gates
        raise UsageError(
            f"{what[:12]} is not what waits: gates hold changes of the plan {plan.digest[:12]}",
            hint=f"look at it again: gitfed plan --live shows its changes; gitfed approve {plan.digest[:12]}",
        )
    raise UsageError(f"no gate {what!r} holds anything", hint=f"held: {names}, of the plan {plan.digest[:12]}")


def approve(book: OrderBook, what: str, *, by: str, now: datetime) -> Consent:
    """Let through what gates hold now: `what` is the digest of the plan (or how it begins), or the name of a gate.

    The daemon carries it out if its plan is still that one, byte for byte; else the order is void. Raises UsageError
    like `chosen`, and InputError when who signs is no approver.
    """
    held: tuple[HeldPlan, tuple[HeldGate, ...]] | None = None

    def add(decisions: Decisions) -> Decisions:
        nonlocal held
        gates = chosen(decisions.held_plan, what)
        plan = decisions.held_plan
        assert plan is not None
        held = (plan, gates)
        names = () if gates == plan.gates else tuple(gate.name for gate in gates)
        order = Approval(plan.digest, plan.commit, (), by, now, names)
        return replace(decisions, approvals=(*decisions.approvals, order))

    state = order_book.look(book)
    gates = chosen(state.decisions.held_plan, what)
    plan = state.decisions.held_plan
    assert plan is not None
    subject = f"Approve {', '.join(gate.name for gate in gates)} at {plan.commit[:12]}"
    reason = "\n".join((f"by {by}: the plan {plan.digest}", *map(str, gates)))
    state = order_book.change(book, add, message=state_commits.ordered(Order.APPROVE, subject, reason), now=now)
    assert held is not None
    return Consent(*held, state)


def await_approval(book: OrderBook, consent: Consent, seconds: float) -> tuple[Fate, BranchState]:
    """Wait until what was let through is carried out, as far as it can be."""
    names = {gate.name for gate in consent.gates}

    def fate(decisions: Decisions) -> Fate | None:
        plan = decisions.held_plan
        if plan is None or plan.commit != consent.plan.commit or not names & {gate.name for gate in plan.gates}:
            return Fate.DONE
        ours = [
            approval
            for approval in decisions.approvals
            if approval.commit == plan.commit and approval.digest == consent.plan.digest
        ]
        return None if ours else Fate.DROPPED

    return _awaited(book, fate, seconds)


# -- reconcile --------------------------------------------------------------------------------------------------


def reconcile(book: OrderBook, what: Iterable[str], *, by: str, now: datetime) -> tuple[Reconciliation, ...]:
    """Have the daemon look anew at these (`all`, `cluster/NAME`, `Deployment.apps/shop/web`), once."""
    orders = tuple(Reconciliation(of, by, now) for of in sorted(set(what)))
    meant = {order.of for order in orders}

    def add(decisions: Decisions) -> Decisions:
        others = tuple(order for order in decisions.reconciliations if order.of not in meant)
        return replace(decisions, reconciliations=(*others, *orders))

    subject = f"Reconcile {orders[0].of}" if len(orders) == 1 else f"Reconcile {len(orders)} things"
    reason = "\n".join(f"{order.of} by {by}" for order in orders)
    order_book.change(book, add, message=state_commits.ordered(Order.RECONCILE, subject, reason), now=now)
    return orders


def await_reconciliation(book: OrderBook, orders: Iterable[Reconciliation], seconds: float) -> tuple[Fate, BranchState]:
    """Wait until the daemon has carried them out: looked, written what differs, and tried again what had failed."""
    given = frozenset(orders)
    return _awaited(book, lambda now: None if given & set(now.reconciliations) else Fate.DONE, seconds)


# -- reschedule -------------------------------------------------------------------------------------------------


def reschedule(book: OrderBook, keys: Collection[ObjectKey], *, by: str, now: datetime) -> None:
    """Have the daemon decide anew where these workloads go, whatever they have now.

    The order is the field that Karmada has for it, `spec.rescheduleTriggeredAt`: honoured when later than the last
    decision. That is reckoned from the decision and not from our clock, which may be behind the daemon's, or ahead.
    Raises UsageError for what was never placed.
    """

    def trigger(decisions: Decisions) -> Decisions:
        changed: dict[ObjectKey, Decision] = {}
        for key in keys:
            decision = decisions.bindings.get(key)
            if decision is None or decision.last_scheduled is None:
                raise UsageError(f"{key} was not placed yet, so there is nothing to decide anew")
            if not rescheduling.rescheduled(decision.rescheduling.triggered, decision.last_scheduled):
                later = decision.last_scheduled + timedelta(seconds=1)
                changed[key] = replace(decision, rescheduling=replace(decision.rescheduling, triggered=later))
        return replace(decisions, bindings={**decisions.bindings, **changed}) if changed else decisions

    first = min(keys)
    subject = f"Reschedule {first}" if len(keys) == 1 else f"Reschedule {len(keys)} objects"
    reason = "\n".join(f"{key} by {by}" for key in sorted(keys))
    order_book.change(book, trigger, message=state_commits.ordered(Order.RESCHEDULE, subject, reason), now=now)


def await_rescheduling(book: OrderBook, keys: Collection[ObjectKey], seconds: float) -> tuple[Fate, BranchState]:
    """Wait until it was decided anew where these go."""

    def fate(decisions: Decisions) -> Fate | None:
        decided = (decisions.bindings.get(key) for key in keys)
        waits = any(
            decision is not None and rescheduling.rescheduled(decision.rescheduling.triggered, decision.last_scheduled)
            for decision in decided
        )
        return None if waits else Fate.DONE

    return _awaited(book, fate, seconds)


def _awaited(book: OrderBook, fate: Callable[[Decisions], Fate | None], seconds: float) -> tuple[Fate, BranchState]:
    state: BranchState | None = None
    for state in order_book.looks(book, seconds):
        outcome = fate(state.decisions)
        if outcome is not None:
            return outcome, state
    assert state is not None
    return Fate.WAITING, state
