"""API servers for `bench.doors`, as little of one as is asked for: a ConfigMap, and watches that tell as many events a
second as wanted. `python -m bench.played_members FOLDER CLUSTERS WATCHES EVENTS RATE` writes the kubeconfig there.

Each watch tells the same EVENTS events, of versions after the 1 that is listed; all begin together, once WATCHES of
each cluster are open. A watch whose reader is slow is waited for: a real server would end it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import orjson

_TICK = 0.02


def body(name: str, version: int) -> dict[str, object]:
    metadata = {"name": name, "namespace": "shop", "uid": f"0b9c2f1e-4a70-9d1c-{version:012d}",
                "resourceVersion": str(version), "labels": {"app": "web", "tier": "front"}}  # fmt: skip
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": "x" * 700}}


class Members:
    def __init__(self, clusters: int, watches: int, events: int, rate: int) -> None:
        self._missing = clusters * watches
        self._begin = asyncio.Event()
        self._events = events
        self._each = max(1, int(rate * _TICK))
        one = orjson.dumps(body("one", 1))
        self._one = _head("application/json", f"Content-Length: {len(one)}") + one
        self._chunks = [self._chunk(first) for first in range(0, events, self._each)]

    def _chunk(self, first: int) -> bytes:
        numbers = range(first, min(first + self._each, self._events))
        lines = b"".join(
            orjson.dumps({"type": "MODIFIED", "object": body("one", number + 2)}) + b"\n" for number in numbers
        )
        return b"%x\r\n%b\r\n" % (len(lines), lines)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b"watch=" in head.partition(b"\r\n")[0]:
                    await self._watch(writer)
                    return
                writer.write(self._one)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _watch(self, writer: asyncio.StreamWriter) -> None:
        writer.write(_head("application/json", "Transfer-Encoding: chunked"))
        self._missing -= 1
        if not self._missing:
            self._begin.set()
        await self._begin.wait()
        loop = asyncio.get_running_loop()
        due = loop.time()
        for chunk in self._chunks:
            writer.write(chunk)
            await writer.drain()
            due += _TICK
            await asyncio.sleep(max(0.0, due - loop.time()))
        await asyncio.Event().wait()  # until it is killed: the end of one would end the watch of the fleet


def _head(kind: str, length: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{length}\r\n\r\n".encode()


async def main(folder: Path, clusters: int, watches: int, events: int, rate: int) -> None:
    members = Members(clusters, watches, events, rate)
    ports = []
    for _ in range(clusters):
        server = await asyncio.start_server(members.take, "127.0.0.1", 0, backlog=256)
        ports.append(server.sockets[0].getsockname()[1])
    names = [f"m{number}" for number in range(clusters)]
    config = {
        "apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [{"name": name, "cluster": {"server": f"http://127.0.0.1:{port}"}}
                     for name, port in zip(names, ports, strict=True)],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in names],
    }  # fmt: skip
    made = folder / "made"
    made.write_text(json.dumps(config))
    made.rename(folder / "kubeconfig")
    await asyncio.Event().wait()


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    asyncio.run(main(Path(place), *map(int, numbers)))
