"""Whoever reaches the health port can open connections and ask nothing: the daemon stays, and so do its answers."""

from __future__ import annotations

import asyncio
import sys

import aiohttp

from gitfed.hub.health import HealthServer
from gitfed.hub.running import Running
from tests.support import patience

MANY = 1078
FLOOD = """
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (4096 if hard == resource.RLIM_INFINITY else min(hard, 4096), hard))
kept = []
for number in range(int(sys.argv[2])):
    kept.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    try:
        kept[-1].send(b"GET /livez HTTP/1.1\\r\\nX: " if number % 2 else b"")
    except OSError:
        pass
print("open", flush=True)
sys.stdin.read()
"""


async def test_half_open_connections_neither_end_the_daemon_nor_silence_probes() -> None:
    """All from the probe's own address, as they are behind a load balancer."""
    server = HealthServer(Running())
    await server.start("127.0.0.1", 0)
    command = (sys.executable, "-c", FLOOD, str(server.port), str(MANY))
    pipe = asyncio.subprocess.PIPE
    flood = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        assert flood.stdout is not None
        assert await asyncio.wait_for(flood.stdout.readline(), patience.SECONDS) == b"open\n"
        for _ in range(40):
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{server.port}/livez") as answer,
            ):
                assert (answer.status, await answer.text()) == (200, "ok\n")
        assert 0 < server.open <= 64
    finally:
        flood.kill()
        await flood.wait()
        await server.stop()


async def test_connections_that_rest_after_an_answer_silence_no_probe() -> None:
    server = HealthServer(Running())
    await server.start("127.0.0.1", 0)
    resting = []
    try:
        for _ in range(100):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            resting.append(writer)
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), patience.SECONDS)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    finally:
        for writer in resting:
            writer.close()
        await server.stop()
