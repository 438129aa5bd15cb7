"""Ending a task for sure."""

from __future__ import annotations

import asyncio
import logging

log = logging.getLogger("gitfed.agent")

_FINISH = 12.0
"""Seconds in which what is under way ends."""
_INSISTS = 3


async def ended(task: asyncio.Task[None]) -> None:
    """Cancel it, and again after a while: a cancellation that meets the end of a wait can be lost on its way in."""
    for _ in range(_INSISTS):
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_FINISH)
        if done:
            return
    log.error("a task does not end", extra={"task": task.get_name()})
