"""Look objects up, before a plan, where they were not seen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from gitfed.daemon.fleet.member_protocol import ClusterMember
from gitfed.model.base import ObjectKey

_MOST_LOOKS = 500
"""Objects that are looked up one by one."""


async def look_for(members: Iterable[ClusterMember], keys: Iterable[ObjectKey]) -> None:
    """Look up these objects where they were not seen: one of that name may be another client's.

    If there are too many of them, only those that no cluster has; with many of these too the plan says "create", and
    the write finds out.
    """
    all_members, wanted = list(members), list(keys)
    unseen = {member.name: [key for key in wanted if not member.view.has(key)] for member in all_members}
    if sum(map(len, unseen.values())) > _MOST_LOOKS:
        nowhere = [key for key in wanted if not any(member.view.has(key) for member in all_members)]
        unseen = dict.fromkeys(unseen, nowhere if len(nowhere) <= _MOST_LOOKS else [])
    await asyncio.gather(*(member.view.look_at(unseen[member.name]) for member in all_members))
