"""What the hub's doors cost: a proxied GET against a direct one, and watches of ten clusters told to twenty clients.

Hub, members and clients are processes of their own, over plain HTTP. Direct and proxied requests take turns, so that
what else the machine does falls on both; the processor's time of the hub does not depend on that. Where the cores were
shared out among them so that none was left, waiting says nothing of the hub, and the last lines say so. `WATCHES=0`:
without the second part, `GETS=0`: without the first.
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

from bench import cores, played_members
from gitfed.fleet_api import versions
from tests.hub import stage
from tests.hub.doors import members

CLUSTERS = 10
CLIENTS = int(os.environ.get("WATCHES", "20"))
GETS = os.environ.get("GETS", "1") != "0"
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
            found = await _gets(site) if GETS else []
            return found + (await _watches(site) if CLIENTS else [])


@dataclass
class Site:
    hub: int
    """Its process."""
    members: int
    """All of them in one process."""
    url: str
    direct: str
    """The first member."""
    relay: str
    """The same through a process that does nothing but pass bytes on."""

    def cpu(self) -> float:
        """Seconds of a processor that the hub took so far."""
        return cores.of_process(self.hub)

    def shares(self) -> cores.Shares:
        """From now on."""
        return cores.Shares({"hub": self.hub, "members": self.members, "clients": os.getpid()})


@contextlib.asynccontextmanager
async def _site(folder: Path) -> AsyncIterator[Site]:
    played = [str(folder), str(CLUSTERS), str(CLIENTS), str(EVENTS), str(RATE)]
    processes = [subprocess.Popen([sys.executable, "-m", "bench.played_members", *played])]
    try:
        kubeconfig = orjson.loads(await _written(folder / "kubeconfig"))
        processes.append(subprocess.Popen([sys.executable, "-m", "bench.doors", str(folder)]))
        url = await _written(folder / "hub-url")
        direct = kubeconfig["clusters"][0]["cluster"]["server"]
        port = direct.rpartition(":")[2]
        processes.append(subprocess.Popen([sys.executable, "-m", "bench.bare_relay", str(folder), port]))
        yield Site(processes[1].pid, processes[0].pid, url, direct, await _written(folder / "relay-url"))
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
        urls = [direct, f"{site.relay}{_PATH}/one", through]
        paced, pausing = await _beside(site, http, urls, _PAUSE)
        closed, without = await _beside(site, http, urls, 0.0)
    ways = "p99 direct, through a bare relay, through the door"
    return [
        ("GET: median direct, through the door", _told(*(statistics.median(one) for one in zip(*pairs, strict=True)))),
        ("more through the door at the median (target ≤ 1.5 ms)", _ms(more)),
        ("processor of the hub for one", _ms(used / _GETS)),
        (f"{_TOGETHER} clients, one request in {_PAUSE:g} s each by turns: {ways}", _told(*map(_p99, paced))),
        ("more through the door at p99 than directly (target ≤ 5 ms)", _ms(_p99(paced[2]) - _p99(paced[0]))),
        ("more than through a process that does nothing", _ms(_p99(paced[2]) - _p99(paced[1]))),
        ("cores", pausing),
        (f"{_TOGETHER} clients without a pause: {ways}", _told(*map(_p99, closed))),
        ("cores", without),
    ]


async def _get(http: aiohttp.ClientSession, url: str, caller: str = "c0") -> float:
    began = time.perf_counter()
    async with http.get(url, headers={"Authorization": f"Bearer {caller}"}) as answer:
        data = await answer.read()
        assert answer.status == 200, data
    return time.perf_counter() - began


async def _beside(
    site: Site, http: aiohttp.ClientSession, urls: list[str], pause: float
) -> tuple[list[list[float]], str]:
    """Of many clients, each of which asks all of these by turns; and who had the cores."""

    async def client(number: int) -> list[list[float]]:
        await asyncio.sleep(pause * number / _TOGETHER)
        for url in urls:
            await _get(http, url, f"c{number}")  # its connections
        taken = []
        for _ in range(_EACH):
            times = []
            for url in urls:
                times.append(await _get(http, url, f"c{number}"))
                await asyncio.sleep(pause / len(urls))
            taken.append(times)
        return taken

    shares = site.shares()
    found = [times for taken in await asyncio.gather(*map(client, range(_TOGETHER))) for times in taken]
    return [list(one) for one in zip(*found, strict=True)], shares.told()


def _p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100)[-1]


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"


def _told(*taken: float) -> str:
    return ", ".join(map(_ms, taken))


# -- watches ----------------------------------------------------------------------------------------------------------


@dataclass
class Flow:
    """What the members tell, from when the first client hears of it: all watches are open then."""

    site: Site
    used: float = 0.0
    """By the hub, before."""
    began: float = 0.0
    unit: float = 0.0
    """For reading and writing the JSON of an event, here and at that time: a core that others use is slower, too."""
    shares: cores.Shares | None = None

    def begin(self) -> None:
        if self.shares is None:
            self.unit = _unit()
            self.shares = self.site.shares()
            self.used, self.began = self.site.cpu(), time.perf_counter()


async def _watches(site: Site) -> list[tuple[str, str]]:
    url = f"{site.url}{members.fleet_door(_PATH)}?watch=true"
    timeout = aiohttp.ClientTimeout(total=None, sock_read=_STALLED)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as http:
        async with http.get(url.partition("?")[0], headers={"Authorization": "Bearer c0"}) as answer:
            await answer.read()  # the hub's connections are made, and what it imports for them
        opening, flow = -site.cpu(), Flow(site)
        told = await asyncio.gather(*(_client(http, url, f"c{number}", flow) for number in range(CLIENTS)))
    assert flow.shares is not None
    took, used = time.perf_counter() - flow.began, site.cpu() - flow.used
    opening += flow.used
    shares, unit = flow.shares.told(), min(flow.unit, _unit())
    counts = [_checked(lines) for lines in told]  # afterwards: the clients take less of the cores meanwhile
    total = CLUSTERS * EVENTS
    lost = sum(total - count for count in counts)
    return [
        (f"watch: {CLUSTERS} clusters × {EVENTS} events to {CLIENTS} clients, each got", f"{min(counts)} of {total}"),
        ("events lost (target 0)", str(lost)),
        ("took; as told by the members", f"{took:.1f} s; {EVENTS / RATE:.1f} s"),
        (f"events of each cluster a second (target {RATE})", f"{EVENTS / took:.0f}"),
        ("told to all clients together", f"{CLIENTS * total / took:.0f}/s"),
        ("processor of the hub for one told event (target ≤ 5 µs)", f"{1e6 * used / (CLIENTS * total):.1f} µs"),
        ("the same / reading and writing its JSON", f"{used / (CLIENTS * total) / unit:.2f} ({1e6 * unit:.1f} µs)"),
        (f"cores that {RATE}/s of each would take", f"{used / (CLIENTS * total) * RATE * CLUSTERS * CLIENTS:.1f}"),
        (f"processor of the hub to open a watch of {CLUSTERS} clusters", _ms(opening / CLIENTS)),
        ("cores", shares),
    ]  # fmt: skip


def _unit() -> float:
    line = orjson.dumps({"type": "MODIFIED", "object": played_members.body("one", 1)})
    found = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(500):
            orjson.dumps(orjson.loads(line))
        found.append((time.process_time() - began) / 500)
    return statistics.median(found)


async def _client(http: aiohttp.ClientSession, url: str, caller: str, flow: Flow) -> list[bytes]:
    """The lines that came."""
    lines: list[bytes] = []
    rest = b""
    async with http.get(url, headers={"Authorization": f"Bearer {caller}"}) as answer:
        assert answer.status == 200, await answer.text()
        async for part in answer.content.iter_any():
            flow.begin()
            *whole, rest = (rest + part).split(b"\n")
            lines += whole
            if len(lines) >= CLUSTERS * EVENTS:
                break
    return lines


def _checked(lines: list[bytes]) -> int:
    """How many events came. Raises AssertionError unless each cluster's came in their order, without a gap."""
    before: dict[str, str] = {}
    for line in lines:
        told = versions.decode(orjson.loads(line)["object"]["metadata"]["resourceVersion"])
        # A watch without a version begins with a list, of version 1; that of some clusters comes after others' events.
        changed = {name: version for name, version in told.items() if before.get(name, "1") != version}
        assert len(changed) == 1, (before, told)
        [(name, version)] = changed.items()
        assert int(version) == int(before.get(name, "1")) + 1, (name, version, before)
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
