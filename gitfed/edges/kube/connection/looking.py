"""A session for one look: what is there is listed, and no watch is opened.

Whoever looks once would cancel the watches as soon as all is listed. Where each of them is a connection of its own, as
through the agent of a pulled cluster, they would take those away that the lists need.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from gitfed.edges.kube.connection.session import Session


class LookingSession(Session):
    @contextlib.asynccontextmanager
    async def lines(self, path: str, query: Mapping[str, str], *, idle: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Of a watch that nothing happens in, and that is not there. Ends by cancellation only."""
        yield _nothing()


async def _nothing() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""
