"""The lines of a watch: JSON texts, as an API server sends them one after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

from gitfed.edges.kube.connection import translate
from gitfed.model.base import ClusterName

_LONGEST_LINE = 16 << 20


async def each(response: aiohttp.ClientResponse, cluster: ClusterName, server: str) -> AsyncIterator[bytes]:
    """One by one, without the newline. Raises ClusterFailed, ClusterUnreachable."""
    async for lines in together(response, cluster, server):
        for line in lines:
            yield line


async def together(response: aiohttp.ClientResponse, cluster: ClusterName, server: str) -> AsyncIterator[list[bytes]]:
    """As many at a time as came together. aiohttp's own `readline` refuses lines longer than its buffer; objects of
    3 MiB are allowed. Raises ClusterFailed, ClusterUnreachable."""
    rest = bytearray()
    try:
        async for chunk in response.content.iter_any():
            if b"\n" not in chunk:
                rest += chunk
                if len(rest) > _LONGEST_LINE:
                    raise translate.broken(cluster, "a watch event of more than 16 MiB is not read")
                continue
            lines = chunk.split(b"\n")
            if rest:
                lines[0] = bytes(rest) + lines[0]
            rest = bytearray(lines.pop())
            if lines := [line for line in lines if line]:
                yield lines
    except translate.NO_ANSWER as error:
        raise translate.unreachable(cluster, error, server=server) from error
