"""When a leader stops leading, whatever its lock and its clock do."""

from __future__ import annotations

import asyncio
import time

import pytest

from gitfed import errors
from gitfed.edges.kube.leases.election import Election, LeaseTiming
from gitfed.edges.kube.leases.fence import Fence
from gitfed.model.leader import Lead

QUICK = LeaseTiming(lease=3, renew=2, retry=1)


class Lock:
    """In memory; `how` it is: well, `refused` at once, or `silent` for good."""

    def __init__(self) -> None:
        self.lead: Lead | None = None
        self.how = "well"

    async def _reach(self) -> None:
        if self.how == "silent":
            await asyncio.Event().wait()
        if self.how == "refused":
            await asyncio.sleep(0.01)
            raise errors.ClusterUnreachable("cut off", cluster="m1")
        await asyncio.sleep(0.01)

    async def read(self) -> Lead | None:
        await self._reach()
        return self.lead

    async def write(self, lead: Lead) -> bool:
        await self._reach()
        self.lead = lead
        return True

    async def close(self) -> None:
        pass


@pytest.fixture
def lock() -> Lock:
    return Lock()


async def leading(lock: Lock) -> Election:
    election = Election(lock, "first", QUICK)
    await election.win()
    return election


@pytest.mark.parametrize("how", ["refused", "silent"])
async def test_who_cannot_renew_stops(lock: Lock, how: str) -> None:
    election = await leading(lock)
    keeping = asyncio.ensure_future(election.keep())
    await asyncio.sleep(0.1)
    assert not keeping.done()
    lock.how = how
    await keeping


async def test_a_wall_clock_that_stands_still_or_goes_back_lengthens_no_lease(
    lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    election = await leading(lock)
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0)
    lock.how = "refused"
    await election.keep()


async def test_who_sees_another_holder_stops_although_the_lock_answers(lock: Lock) -> None:
    election = await leading(lock)
    keeping = asyncio.ensure_future(election.keep())
    await asyncio.sleep(0.05)
    assert lock.lead is not None
    lock.lead = Lead("second", 2, lock.lead.acquired, lock.lead.renewed)
    await keeping
    assert election.holder == "second"
    await election.resign()
    assert lock.lead.holder == "second", "what is somebody else's is not given back"


async def test_a_leader_that_stops_in_good_order_frees_the_lock(lock: Lock) -> None:
    election = await leading(lock)
    await election.resign()
    assert lock.lead is not None
    assert lock.lead.holder == ""


@pytest.mark.parametrize("how", ["refused", "silent"])
async def test_nothing_may_be_written_any_more_when_a_lead_ends(lock: Lock, how: str) -> None:
    fence = Fence(QUICK.grace)
    election = Election(lock, "first", QUICK, fence=fence)
    assert fence.left <= 0, "it does not lead yet"
    await election.win()
    assert 0 < fence.left <= QUICK.renew
    lock.how = how
    await election.keep()
    assert fence.left <= 0
    lock.how = "well"
    await election.win()
    assert fence.left > 0
    await election.resign()
    assert fence.left <= 0
