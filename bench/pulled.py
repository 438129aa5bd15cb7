"""Two clusters pushed to, and then pulled by agents: what goes through an agent against what does not.

The same daemon on the same servers, first as it writes itself, then with its hub and two `gitfed agent` beside it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from bench.agents import Usage, enrol
from bench.daemon import Daemon, until
from bench.pushes import Ground, ground
from bench.rollout import COUNT, NAMES, bare_loop, git
from gitfed.daemon import wiring
from tests.e2e.world import cluster, deployment
from tests.support.ports import free_port

QUIET = 60.0
_REST = 1.5
"""Seconds without a change after which a cluster is at rest."""
_SETTLED = 15.0
"""Seconds until an agent has looked at everything once more, and gave back what the roll-out took."""


def messages(port: int) -> int:
    """Between an agent and its hub, since it began."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return next(int(one.split()[1]) for one in lines if one.startswith("gitfed_agent_messages_total "))


@contextmanager
def agents(place: Ground, url: str, credentials: dict[str, Path]) -> Iterator[dict[int, int]]:
    """The process of each, with the port of its metrics."""
    processes, ports = [], {}
    for name in NAMES:
        port = free_port()
        command = [sys.executable, "-m", "gitfed", "agent", "--hub-url", url, "--hub-credentials",
                   str(credentials[name]), "--kubeconfig", str(place.kubeconfig), "--context", name,
                   "--health-address", f"127.0.0.1:{port}"]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.append(process)
        ports[process.pid] = port
    try:
        yield ports
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


def pull(place: Ground) -> None:
    """Both clusters are pulled from the next commit on."""
    for name in NAMES:
        (place.work / f"clusters/{name}.json").write_text(cluster(name, syncMode="Pull"))
    git(place.work, "commit", "-q", "-am", "pull")
    git(place.work, "push", "-q", "origin", "HEAD:main")


def at_rest(place: Ground) -> None:
    """Until nothing changes in the clusters: the embedded ones have controllers, which go on with what was written."""
    for eye in place.eyes:
        version, since = "", time.monotonic()
        while time.monotonic() - since < _REST:
            now = str(eye.request("GET", "/apis/apps/v1/replicasets?limit=1")["metadata"]["resourceVersion"])
            if now != version:
                version, since = now, time.monotonic()
            time.sleep(0.1)


def roll_out(place: Ground, daemon: Daemon) -> float:
    """Seconds from a plan of that many new objects to the last result that the hub heard of."""
    known = daemon.count("object created")
    for number in range(COUNT):
        (place.work / f"apps/more{number}.json").write_text(deployment(f"more{number}"))
    git(place.work, "add", "-A")
    git(place.work, "commit", "-q", "-m", "more")
    git(place.work, "push", "-q", "origin", "HEAD:main")
    wanted = known + COUNT * len(NAMES)
    until(lambda: daemon.count("object created") >= wanted, "the roll-out", 600.0, every=0.2)
    planned = next(line for line in daemon.lines("cycle finished") if line["create"] >= COUNT * len(NAMES))
    ends = daemon.lines("object created")[-1]["ts"]
    took = datetime.fromisoformat(ends) - datetime.fromisoformat(planned["ts"])
    return took.total_seconds() + float(planned["record"])


async def run() -> list[tuple[str, str]]:
    async with ground() as place:
        daemon = place.daemon("data")
        direct = [push + rest for push, rest in place.pushes()]
        daemon.stop()
        pull(place)
        port = free_port()
        url = f"https://127.0.0.1:{port}"
        credentials = enrol(place.folder / "pulled" / "hub", NAMES, place.folder / "agents")
        options = wiring.DaemonOptions(str(place.bare), data_dir=place.folder / "bare", kubeconfig=(place.kubeconfig,))
        engine = await asyncio.to_thread(wiring.make_engine, options)
        snapshot = engine.reader.read(engine.reader.newest(), None, {})
        with agents(place, url, credentials) as ports:
            daemon = place.daemon("pulled", "--hub-address", f"127.0.0.1:{port}", "--hub-url", url)
            through = [push + rest for push, rest in place.pushes()]
            at_rest(place)
            before = await bare_loop(options, snapshot, "bare-1")
            at_rest(place)
            began = [Usage.of(pid) for pid in (daemon.process.pid, *ports)]
            ours = roll_out(place, daemon)
            worked = [Usage.of(pid) for pid in (daemon.process.pid, *ports)]
            at_rest(place)
            bare = statistics.mean([before, await bare_loop(options, snapshot, "bare-2")])
            at_rest(place)
            time.sleep(_SETTLED)
            used, said = [Usage.of(pid) for pid in ports], [messages(one) for one in ports.values()]
            time.sleep(QUIET)
            after = [Usage.of(pid) for pid in ports]
            idle = max(messages(one) - before for one, before in zip(ports.values(), said, strict=True))
            daemon.stop()
    objects = COUNT * len(NAMES)
    hub, *agent = (now.cpu - then.cpu for now, then in zip(worked, began, strict=True))
    cpu = max(now.cpu - then.cpu for now, then in zip(after, used, strict=True))
    return [
        ("servers", f"{place.servers}, load of the machine {os.getloadavg()[0]:.1f}"),
        ("git push until both clusters hold it, pushed to, median", f"{statistics.median(direct):.3f} s"),
        ("the same through agents, median", f"{statistics.median(through):.3f} s"),
        ("ratio (target ≤ 1.3)", f"{statistics.median(through) / statistics.median(direct):.2f}"),
        ("bare loop", f"{objects / bare:.0f} objects/s"),
        (f"{COUNT} Deployments to both through agents, plan to last result", f"{objects / ours:.0f} objects/s"),
        ("ratio (target ≥ 0.70)", f"{bare / ours:.2f}"),
        ("the same, processor of the hub for each object; of an agent",
         f"{1000 * hub / objects:.1f} ms; {1000 * max(agent) / COUNT:.1f} ms"),
        ("an idle agent of 350 objects: memory (target ≤ 70 MB)", f"{max(one.memory for one in after):.0f} MB"),
        ("an idle agent: messages in a minute (target ≤ 1)", f"{60 * idle / QUIET:.1f}"),
        ("an idle agent: processor", f"{100 * cpu / QUIET:.2f} % of a core"),
    ]  # fmt: skip
