"""Commands that run until they are stopped.

SIGTERM is how a supervisor asks: the work is wound up and the command ends with 0. Control-C does the same and ends
with 130, as the contract has it for everything interrupted. Both are asked for explicitly: a shell starts its
background jobs with Control-C ignored, and `kill -INT` should stop them all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable

from gitfed.cli import exits


def run(work: Callable[[], Awaitable[int | None]]) -> int:
    """Runs `work` in an event loop; its result is the exit code."""
    return asyncio.run(_until_stopped(work))


async def _until_stopped(work: Callable[[], Awaitable[int | None]]) -> int:
    task = asyncio.ensure_future(work())
    stopped: list[int] = []

    def stop(code: int) -> None:
        stopped.append(code)
        task.cancel()

    with contextlib.suppress(NotImplementedError):  # a loop without signals: only Control-C stops there
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop, exits.OK)
        loop.add_signal_handler(signal.SIGINT, stop, exits.INTERRUPTED)
    try:
        return await task or exits.OK
    except asyncio.CancelledError:
        if not stopped:
            raise
        return exits.first(stopped)
