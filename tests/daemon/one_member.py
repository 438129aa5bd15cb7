"""One member of the fleet with a server that a test answers for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from gitfed.daemon.fleet.callbacks import FleetCallbacks
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.daemon.fleet.member import Member
from gitfed.daemon.fleet.member_context import MemberContext
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.observe import Assessment
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import Health
from gitfed.placement.recorded_facts import Thresholds
from tests.support import patience

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


QUICK = Timing(probe=0.02, thresholds=Thresholds(failure=0.0, success=0.0))


DECLARED = Cluster.model_validate(
    {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "m1"},
        "spec": {"syncMode": "Push"},
    }
)


def upward(woken: list[str] | None = None) -> FleetCallbacks:
    return FleetCallbacks(
        assess=lambda *_: Assessment(None, Health.CURRENT, ""),
        changed=lambda *_: None,
        relisted=lambda *_: None,
        facts_changed=(woken if woken is not None else []).append,
        finished=lambda *_: None,
        now=lambda: NOW,
        redact=lambda body, text: text,
    )


@asynccontextmanager
async def serving(open_session: Callable[[Cluster], Session], **options: Any) -> AsyncIterator[Member]:
    capacity = options.pop("capacity", False)
    told = upward(options.pop("woken", None))
    own = {name: options.pop(name) for name in ("timing", "concurrency") if name in options}
    context = MemberContext(**{"federation": "acme", "repository_id": lambda: "id", **options})
    member = Member(DECLARED, open_session, told, context, **own)
    member.want_capacity(capacity)
    member.claim()
    work = asyncio.create_task(member.run())
    try:
        async with asyncio.timeout(patience.SECONDS):
            await member.looked.wait()
        yield member
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def until(claim: Callable[[], Any]) -> None:
    async with asyncio.timeout(patience.SECONDS):
        while not claim():  # noqa: ASYNC110 - facts change without an event of their own
            await asyncio.sleep(0.01)
