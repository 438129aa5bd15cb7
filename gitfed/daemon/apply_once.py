"""One plan, carried out by the calling command: `gitfed apply`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from gitfed.daemon.cycle import Engine
from gitfed.daemon.loop import run_cycles
from gitfed.daemon.wiring import DaemonOptions, data_dir, make_engine
from gitfed.edges import lock
from gitfed.errors import InputError
from gitfed.model.base import ClusterName
from gitfed.model.operator_orders import Approval
from gitfed.model.plan import Change, Left, Plan
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Applied:
    """How one `apply` ended."""

    plan: Plan
    failures: tuple[str, ...]
    unreachable: Mapping[ClusterName, str]
    """Clusters that could not be used, and why."""
    unhealthy: tuple[str, ...]
    settled: bool
    """False: the time was over first."""


@dataclass(frozen=True, slots=True)
class Order:
    """How far one `apply` goes."""

    timeout: float
    """Seconds."""
    wait: bool
    """Until its objects are healthy."""
    confirm: str = ""
    """The digest of a plan whose gates are let through."""
    by: str = ""
    """The person who orders it."""
    take_over: bool = False
    """Also where a daemon leads, which leads again when this is over."""


async def apply_once(
    options: DaemonOptions,
    order: Order,
    *,
    listener: Callable[[str, Any], None] = lambda event, value: None,
    review: Callable[[Plan], None] | None = None,
) -> Applied:
    """One plan carried out: returns when every reachable cluster holds it.

    Where a daemon leads nothing is done, unless ordered. Raises NotOwned.
    `review` sees that very plan before anything of it is done, and stops it by an exception.
    """
    with lock.exclusive(data_dir(options)):
        engine = await asyncio.to_thread(
            make_engine, options, review=review, listener=listener, one_shot=True, takes_over=order.take_over
        )
        work = asyncio.create_task(run_cycles(engine, poll=lambda: 3600.0))
        try:
            settled = await _settle(engine, work, order, options.now)
            plan = engine.plan
            if plan is None:
                await asyncio.wait({work}, timeout=0)
                raise TimeoutError("no plan in time") if not work.done() else work.exception() or TimeoutError()
            return Applied(
                plan,
                tuple(
                    f"{result.cluster}: {result.key}: {result.message}"
                    for name in engine.fleet.members
                    for result in engine.fleet.unfinished.failures(name)
                )
                + tuple(f"{change.cluster}: {change.key}: {change.reason}" for change in _refused(plan))
                + tuple(f"{change.cluster}: {change.key}: {change.turn.waits}" for change in engine.waiting()),
                {
                    name: member.live().error or "not ready in time"
                    for name, member in sorted(engine.fleet.members.items())
                    if not member.ready.is_set()
                },
                tuple(
                    f"{live.cluster}: {live.key}: {live.health_message or live.health}"
                    for live in engine.fleet.unhealthy()
                ),
                settled,
            )
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def _settle(engine: Engine, work: asyncio.Task[None], order: Order, now: Callable[[], datetime]) -> bool:
    """Whether it settled in time."""
    deadline = time.monotonic() + order.timeout
    confirmed = False
    while time.monotonic() < deadline:
        if work.done():
            work.result()
        plan = engine.plan
        if engine.trouble is not None:
            raise engine.trouble
        if engine.commits.rejected and not engine.fleet.busy():
            raise InputError(f"the newest commit is not applied: {engine.commits.rejected}", hint="gitfed validate")
        held = (
            tuple(sorted((gate.name, gate.held) for gate in plan.gates if gate.held and gate.consent))
            if plan is not None
            else ()
        )
        if plan is not None and held and order.confirm == plan.digest and not confirmed:
            confirmed = True
            engine.approve(Approval(order.confirm, plan.commit, held, order.by or "command line", now()))
        elif plan is not None and engine.settled():
            if not order.wait or _is_over(engine, plan):
                return True
            engine.tell("waiting", engine.fleet.unhealthy())
        await asyncio.sleep(0.1)
    return False


def _is_over(engine: Engine, plan: Plan) -> bool:
    """Whether there is nothing left to wait for: all is well, or will never be without a person."""
    failures = [result for name in engine.fleet.members for result in engine.fleet.unfinished.failures(name)]
    if any(result.permanent for result in failures) or any(_refused(plan)):
        return True
    return not failures and not engine.fleet.unhealthy()


def _refused(plan: Plan) -> Iterator[Change]:
    """What is not written because another client's object is in the way, or because it cannot be rendered."""
    return (change for change in plan.changes or () if change.left is Left.REFUSED and not change.drift)
