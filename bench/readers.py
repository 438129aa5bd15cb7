"""People and scripts that read from a hub, in a process of their own: each has a connection that stays open.

A reader asks for the next answer every second, the first of them at different moments; a stream takes what it is sent.
`python -m bench.readers FOLDER HOST:PORT` begins at a line of its input, rests at the next, and so on; it prints its
figures, as JSON, when its input ends. FOLDER holds ca.crt and the callers' certificates. Readers keep their connections
while they rest, streams are opened anew.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import statistics
import sys
import time
from pathlib import Path

READERS, STREAMS = 200, 20
EVERY = 1.0
_PATHS = (
    "/api/v1/objects?limit=100", "/ui", "/api/v1/bindings?limit=100", "/ui/placement", "/api/v1/clusters",
    "/ui/object?of=Deployment.apps/shop/d7", "/api/v1/gates", "/ui/problems", "/api/v1/problems", "/api/v1/plan",
)  # fmt: skip


class Reading:
    def __init__(self, folder: Path, address: str) -> None:
        self.host, _, port = address.rpartition(":")
        self.port = int(port)
        self.contexts = []
        for certificate in sorted(folder.glob("caller-*.pem")):
            context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
            context.load_cert_chain(certificate)
            self.contexts.append(context)
        self.took: list[float] = []
        self.bytes = 0
        self.refused: dict[str, int] = {}
        self.events = self.again = 0
        self.reading = asyncio.Event()

    async def reader(self, number: int) -> None:
        reader, writer = await self._connect(number)
        paths = random.Random(number)
        await asyncio.sleep(EVERY * number / READERS)
        while True:
            await self.reading.wait()
            began = time.perf_counter()
            path = paths.choice(_PATHS)
            try:
                writer.write(_request(path))
                status = await self._answer(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                # A connection that was idle for too long is closed: as every client does, ask again on another.
                self.again += 1
                reader, writer = await self._connect(number)
                continue
            if status != "200":
                self.refused[f"{status} {path}"] = self.refused.get(f"{status} {path}", 0) + 1
            took = time.perf_counter() - began
            self.took.append(took)
            await asyncio.sleep(max(0.0, EVERY - took))

    async def stream(self, number: int) -> None:
        while True:
            await self.reading.wait()
            reader, writer = await self._connect(number)
            writer.write(_request("/api/v1/events" if number % 2 else "/ui/live", "*/*"))
            while self.reading.is_set() and (line := await reader.readline()):
                self.events += line.startswith(b"event: ")
            writer.close()

    async def _connect(self, number: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = self.contexts[number % len(self.contexts)]
        # As from many machines: of one address the hub takes only so many connections.
        source = f"127.0.0.{2 + number % 100}"
        return await asyncio.open_connection(self.host, self.port, ssl=context, local_addr=(source, 0))

    async def _answer(self, reader: asyncio.StreamReader) -> str:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        body = await reader.readexactly(int(length.partition(":")[2]))
        self.bytes += len(head) + len(body)
        return head.split(" ")[1]


def _request(path: str, accept: str = "text/html, application/json, */*") -> bytes:
    lines = (f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Accept: {accept}", "Accept-Encoding: gzip")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _obey(reading: Reading) -> float:
    """Seconds of reading in all."""
    took = 0.0
    while await asyncio.to_thread(sys.stdin.readline):
        began = time.perf_counter()
        reading.reading.set()
        await asyncio.to_thread(sys.stdin.readline)
        reading.reading.clear()
        took += time.perf_counter() - began
    return took


async def main() -> None:
    reading = Reading(Path(sys.argv[1]), sys.argv[2])
    tasks = [asyncio.create_task(reading.stream(number)) for number in range(STREAMS)]
    tasks += [asyncio.create_task(reading.reader(number)) for number in range(READERS)]
    over = asyncio.create_task(_obey(reading))
    await asyncio.wait({over, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task.done():
            task.result()  # a connection that ended is no reader any more: say why
    assert over.done()
    print(
        json.dumps({
            "rate": len(reading.took) / over.result(),
            "median": statistics.median(reading.took),
            "p99": sorted(reading.took)[int(len(reading.took) * 0.99)],
            "megabytes": reading.bytes / 1e6,
            "refused": reading.refused,
            "events": reading.events,
            "again": reading.again,
        })
    )  # fmt: skip
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
