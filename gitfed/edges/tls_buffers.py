"""How much memory an open TLS connection holds while nothing comes over it."""

from __future__ import annotations

from asyncio import sslproto
from typing import Final

SIZE: Final = 64 * 1024
"""Bytes: four records of TLS. Reading megabytes through it takes no longer than through asyncio's 256 kB."""


def keep_small() -> None:
    """Connections opened from now on have read buffers of `SIZE`.

    asyncio fills one for each connection and keeps it, and has no argument for its size. An idle agent has ten and more
    connections to its API server, a hub one from each agent.
    """
    sslproto.SSLProtocol.max_size = SIZE
