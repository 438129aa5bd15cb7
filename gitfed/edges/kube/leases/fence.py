"""Until when this process may write: a leader's time is lent to it, and every write ends with it.

The election extends the time with each renewal; each session asks before it writes, and cuts off a write that is still
under way when the time is over. That is the renew deadline, counted from when the last renewal was *sent*, so it ends
before a rival may take the lock: between the two lies the time that a stalled process and its kernel get to let go.
A kernel goes on sending for minutes what was not acknowledged, even after the process has closed the connection; of a
write it must not, so its sockets give up when the lock runs out, and drop what is left when they are closed.

What a server has already taken in cannot be taken back: it is told that the answer is not awaited any more. What it
stores all the same is the next leader's to see, and to put right.

Time is that of the machine, suspended or not, where the system tells it; it cannot be set.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gitfed import errors

_STEP = 1.0
"""Seconds between two looks at the clock: while the machine sleeps, the loop's own stands still."""
_DROP_ON_CLOSE = struct.pack("ii", 1, 0)
_USER_TIMEOUT = getattr(socket, "TCP_USER_TIMEOUT", None)
_T = TypeVar("_T")


def clock() -> float:
    """Seconds; they pass while the machine is suspended, and setting the wall clock changes nothing."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def lead_is_over(what: str) -> errors.GitfedError:
    return errors.NotOwned(f"{what}: this daemon's lead has run out")


class Fence:
    """`grace`: seconds from the end of this process's time until another process may take over. `over` makes the error
    from what becomes of a write that comes too late."""

    def __init__(self, grace: float, over: Callable[[str], errors.GitfedError] = lead_is_over) -> None:
        self._over = over
        self._grace = grace
        self._until = 0.0
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def extend(self, until: float) -> None:
        """The lead lasts until then, by `clock`."""
        self._until = until

    def close(self) -> None:
        """The lead is over: nothing begins any more, and what was not sent is not sent."""
        self._until = 0.0
        for open_socket in list(self._sockets):
            # Not closed: the loop still holds it. It notices, and gives up what it has kept for later.
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()

    @property
    def left(self) -> float:
        """Seconds; not positive: nothing may be written."""
        return self._until - clock()

    async def within(self, write: Coroutine[Any, Any, _T], *, cluster: str) -> _T:
        """Do it, as long as this process leads. Raises NotOwned, or what `over` makes, before or instead."""
        if self.left <= 0:
            write.close()
            raise self._over(f"cluster {cluster}: not written")
        writing = asyncio.ensure_future(write)
        try:
            while self.left > 0 and not writing.done():
                await asyncio.wait({writing}, timeout=min(self.left, _STEP))
            if self.left > 0 or (writing.done() and writing.exception() is None):
                return await writing
            self.close()
            raise self._over(f"cluster {cluster}: given up on its way")
        finally:
            if writing.cancel():
                await asyncio.wait({writing})
            if not writing.cancelled():
                writing.exception()  # no other task asks for it

    def open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """For a connection on which writes go out. `address` is one of `socket.getaddrinfo`."""
        family, kind, protocol, *_ = address
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROP_ON_CLOSE)
        if _USER_TIMEOUT is not None and family != getattr(socket, "AF_UNIX", None):
            opened.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, max(1, int(1000 * self._grace)))
        self._sockets.add(opened)
        return opened
