"""What the hub's doors cost: a proxied GET against a direct one, and watches of ten clusters told to twenty clients.

Hub, members and clients are processes of their own, over plain HTTP. Direct and proxied requests take turns, so that
what else the machine does falls on both; the processor's time of the hub does not depend on that. `WATCHES=0`: without
the second part.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import orjson

from gitfed.fleet_api import versions
from tests.hub import stage
from tests.hub.doors import members

CLUSTERS = 10
CLIENTS = int(os.environ.get("WATCHES", "20"))
RATE = 500
"""Events a second of each cluster."""
EVENTS = 1000
"""Of each cluster."""
_GETS = 500
_TOGETHER = 50
_EACH = 20
_PAUSE = 1.0
"""Seconds between two requests of one of fifty clients."""
_STALLED = 60.0
_PATH = "/api/v1/namespaces/shop/configmaps"


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory(prefix="bench-doors-") as folder:
        async with _site(Path(folder)) as site:
            found = await _gets(site)
            return found + (await _watches(site) if CLIENTS else [])


@dataclass
class Site:
    hub: int
    """Its process."""
    url: str
    direct: str
    """The first member."""

    def cpu(self) -> float:
        """Seconds of a processor that the hub took so far."""
        fields = Path(f"/proc/{self.hub}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.asynccontextmanager
async def _site(folder: Path) -> AsyncIterator[Site]:
    played = [str(folder), str(CLUSTERS), str(CLIENTS), str(EVENTS), str(RATE)]
    processes = [subprocess.Popen([sys.executable, "-m", "bench.played_members", *played])]
    try:
        kubeconfig = orjson.loads(await _written(folder / "kubeconfig"))
        processes.append(subprocess.Popen([sys.executable, "-m", "bench.doors", str(folder)]))
        url = await _written(folder / "hub-url")
        yield Site(processes[1].pid, url, kubeconfig["clusters"][0]["cluster"]["server"])
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def _written(path: Path) -> str:
    async with asyncio.timeout(60):
        while not path.exists():
            await asyncio.sleep(0.05)
    return path.read_text()


# -- GET --------------------------------------------------------------------------------------------------------------


async def _gets(site: Site) -> list[tuple[str, str]]:
    through = site.url + members.door("m0", f"{_PATH}/one")
    direct = f"{site.direct}{_PATH}/one"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        for url in (direct, through):
            for _ in range(20):
                await _get(http, url)
        pairs = []
        used = -site.cpu()
        for _ in range(_GETS):
            pairs.append((await _get(http, direct), await _get(http, through)))
        used += site.cpu()
        more = statistics.median(proxied for _, proxied in pairs) - statistics.median(one for one, _ in pairs)
        beside = {url: await _together(http, url, _PAUSE) for url in (direct, through)}
        busy = -site.cpu()
        closed = {url: await _together(http, url, 0.0) for url in (direct, through)}
        busy += site.cpu()
    return [
        ("GET: median direct, through the door", _two(*(statistics.median(one) for one in zip(*pairs, strict=True)))),
        ("more through the door at the median (target ≤ 1.5 ms)", _ms(more)),
        ("processor of the hub for one", _ms(used / _GETS)),
        (f"{_TOGETHER} clients, one request in {_PAUSE:g} s each: p99 direct, through",
         _two(_p99(beside[direct]), _p99(beside[through]))),
        ("more through the door at p99 (target ≤ 5 ms)", _ms(_p99(beside[through]) - _p99(beside[direct]))),
        (f"{_TOGETHER} clients without a pause: p99 direct, through",
         _two(_p99(closed[direct]), _p99(closed[through]))),
        ("processor of the hub for one of these", _ms(busy / (_TOGETHER * (_EACH + 1)))),
    ]  # fmt: skip


async def _get(http: aiohttp.ClientSession, url: str, caller: str = "c0") -> float:
    began = time.perf_counter()
    async with http.get(url, headers={"Authorization": f"Bearer {caller}"}) as answer:
        data = await answer.read()
        assert answer.status == 200, data
    return time.perf_counter() - began


async def _together(http: aiohttp.ClientSession, url: str, pause: float) -> list[float]:
    async def client(number: int) -> list[float]:
        await asyncio.sleep(pause * number / _TOGETHER)
        await _get(http, url, f"c{number}")  # its connection
        taken = []
        for _ in range(_EACH):
            taken.append(await _get(http, url, f"c{number}"))
            await asyncio.sleep(pause)
        return taken

    return [one for found in await asyncio.gather(*map(client, range(_TOGETHER))) for one in found]


def _p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[-1]


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"


def _two(one: float, other: float) -> str:
    return f"{_ms(one)}, {_ms(other)}"


# -- watches ----------------------------------------------------------------------------------------------------------


async def _watches(site: Site) -> list[tuple[str, str]]:
    url = f"{site.url}{members.fleet_door(_PATH)}?watch=true"
    used, began = -site.cpu(), time.perf_counter()
    timeout = aiohttp.ClientTimeout(total=None, sock_read=_STALLED)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as http:
        counts = await asyncio.gather(*(_client(http, url, f"c{number}") for number in range(CLIENTS)))
    took, used = time.perf_counter() - began, used + site.cpu()
    total = CLUSTERS * EVENTS
    lost = sum(total - count for count in counts)
    return [
        (f"watch: {CLUSTERS} clusters × {EVENTS} events to {CLIENTS} clients, each got", f"{min(counts)} of {total}"),
        ("events lost (target 0)", str(lost)),
        ("took; as told by the members", f"{took:.1f} s; {EVENTS / RATE:.1f} s"),
        (f"events of each cluster a second (target {RATE})", f"{EVENTS / took:.0f}"),
        ("told to all clients together", f"{CLIENTS * total / took:.0f}/s"),
        ("processor of the hub for one told event", f"{1e6 * used / (CLIENTS * total):.1f} µs"),
        (f"cores that {RATE}/s of each would take", f"{used / (CLIENTS * total) * RATE * CLUSTERS * CLIENTS:.1f}"),
    ]  # fmt: skip


async def _client(http: aiohttp.ClientSession, url: str, caller: str) -> int:
    """How many events came. Raises AssertionError unless each cluster's came in their order, without a gap."""
    lines: list[bytes] = []
    rest = b""
    async with http.get(url, headers={"Authorization": f"Bearer {caller}"}) as answer:
        assert answer.status == 200, await answer.text()
        async for part in answer.content.iter_any():
            *whole, rest = (rest + part).split(b"\n")
            lines += whole
            if len(lines) >= CLUSTERS * EVENTS:
                break
    before: dict[str, str] = {}
    for line in lines:  # read after the last, so that the clients take less of the processors meanwhile
        told = versions.decode(orjson.loads(line)["object"]["metadata"]["resourceVersion"])
        changed = {name: version for name, version in told.items() if before.get(name) != version}
        assert len(changed) == 1, (before, told)
        [(name, version)] = changed.items()
        assert int(version) == int(before.get(name, "0")) + 1, (name, version, before)
        before = told
    return len(lines)


# -- the hub's process ------------------------------------------------------------------------------------------------


async def _hub(folder: Path) -> None:
    names = [f"c{number}" for number in range(max(_TOGETHER, CLIENTS))]
    clusters = [stage.cluster(f"m{number}") for number in range(CLUSTERS)]
    opened = stage.policy("all", subjects=[stage.user(name) for name in names], allow=["proxy"])
    async with stage.staged(folder, *clusters, opened, names=names) as staged:
        members.reached(staged, folder / "kubeconfig")
        made = folder / "made-url"
        made.write_text(staged.url)
        made.rename(folder / "hub-url")
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_hub(Path(sys.argv[1])))
