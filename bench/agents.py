"""A thousand agents with 200 objects each against one hub: how they come back, what one commit takes, what quiet costs.

The hub is `gitfed run` in a process of its own. The agents live in this one: each has its own certificate, its own
connection over mutual TLS by the agent's own `Dial`, and a cluster that does at once what it is told
(`bench.played_agent`). `AGENTS=100 OBJECTS=50 python -m bench agents` measures another size.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.daemon import Daemon
from bench.played_agent import Agent, Counted
from bench.rollout import git
from gitfed.agent.dial import Dial
from gitfed.agent.hub_endpoint import HubEndpoint
from gitfed.edges import certificate_pins
from gitfed.edges.certificates import Authority
from gitfed.hub.enrolment.ledger import Enrolled, Issued, Ledger
from gitfed.hub.enrolment.ledger_file import LedgerFile
from gitfed.model import agent_identity
from tests.e2e.world import deployment, policy, settings
from tests.support.ports import free_port

AGENTS, OBJECTS, QUIET = 1000, 200, 60.0
_LIFE = timedelta(days=1)
_PATIENCE = 600.0
_STILL = 12.0
"""Seconds in which no message is exchanged and the hub does next to nothing, after which a stage is over."""
_IDLE = 0.05
"""Part of a core."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of the hub's process."""

    cpu: float
    """Seconds, since it began."""
    memory: float
    """Megabytes, now."""
    peak: float

    @classmethod
    def of(cls, pid: int) -> Usage:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        known = {line[0]: int(line[1]) / 1024 for line in lines if line[0] in ("VmRSS:", "VmHWM:")}
        ticks = os.sysconf("SC_CLK_TCK")
        return cls((int(fields[11]) + int(fields[12])) / ticks, known["VmRSS:"], known["VmHWM:"])


@dataclass
class Stage:
    folder: Path
    agents: list[Agent]
    dials: list[Dial]
    port: int
    daemons: list[Daemon] = field(default_factory=list)
    dialling: list[asyncio.Task[None]] = field(default_factory=list)

    def dial(self) -> None:
        self.dialling += [asyncio.create_task(one.run()) for one in self.dials]

    def begin(self) -> Daemon:
        url = f"https://127.0.0.1:{self.port}"
        made = Daemon(
            self.folder / "repo", self.folder / "kubeconfig", self.folder / "data", "--hub-address",
            f"127.0.0.1:{self.port}", "--hub-url", url, "--no-push-state",
        )  # fmt: skip
        self.daemons.append(made)
        return made

    async def until(self, claim: Callable[[Agent], bool], what: str) -> list[float]:
        """Seconds until it was true of each agent, sorted."""
        began, missing, found = time.perf_counter(), list(self.agents), []
        while missing:
            still = [one for one in missing if not claim(one)]
            now = time.perf_counter() - began
            found += [now] * (len(missing) - len(still))
            missing = still
            for ended in (task for task in self.dialling if task.done()):
                ended.result()
            if now > _PATIENCE or self.daemons[-1].process.poll() is not None:
                raise RuntimeError(f"{len(missing)} agents: did not happen: {what}")
            await asyncio.sleep(0.02)
        return found


async def still(daemon: Daemon, traffic: Counted) -> None:
    """Wait until nothing has happened for a while: when the last agent holds the last object, the hub has results to
    take in and to record."""
    began = time.perf_counter()
    since, messages, cpu = began, -1, 0.0
    while (now := time.perf_counter()) - since < _STILL and now - began < _PATIENCE:
        used = Usage.of(daemon.process.pid).cpu
        if traffic.traffic.messages != messages or used - cpu > _IDLE * _STILL:
            since, messages, cpu = now, traffic.traffic.messages, used
        await asyncio.sleep(0.1)


def own_cpu() -> float:
    """Seconds of a processor that this process, the agents, took so far."""
    used = os.times()
    return used.user + used.system


def repository(folder: Path, names: list[str], objects: int) -> None:
    files = {"gitfed.json": settings(), "policies/all.json": policy("all", None)}
    for name in names:
        files[f"clusters/{name}.yaml"] = (
            f"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\n"
            "spec: {syncMode: Pull}\n"
        )
    files |= {f"apps/d{number}.json": deployment(f"d{number}") for number in range(objects)}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")


def enrol(place: Path, names: list[str], folder: Path) -> dict[str, Path]:
    """A certificate for each of them, as `gitfed register` would have got it, and where it lies."""
    authority, now, enrolled, found = Authority.open(place), datetime.now(UTC), {}, {}
    for name in names:
        pair = authority.client(agent_identity.common_name(name), [agent_identity.GROUP], _LIFE)
        read = certificate_pins.read(pair.certificate)
        enrolled[name] = Enrolled(name, now, "", (Issued(read.serial, read.key, read.begins, read.ends),))
        found[name] = folder / name
        found[name].mkdir(parents=True)
        contents = (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key))
        for file, content in contents:
            (found[name] / file).write_bytes(content)
    LedgerFile(place).change(lambda known: (Ledger(known.tokens, {**known.clusters, **enrolled}), None))
    return found


@contextmanager
def stage(agents: int, objects: int) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        names = [f"c{number:05}" for number in range(agents)]
        for made in ("repo", "data"):
            (folder / made).mkdir()
        (folder / "kubeconfig").write_text("apiVersion: v1\nkind: Config\n")
        repository(folder / "repo", names, objects)
        port = free_port()
        credentials = enrol(folder / "data" / "hub", names, folder / "agents")
        played = [Agent(name) for name in names]
        url = f"https://127.0.0.1:{port}"
        dials = [Dial(HubEndpoint(url, credentials[one.cluster]), one) for one in played]  # type: ignore[arg-type]
        place = Stage(folder, played, dials, port)
        try:
            yield place
        finally:
            for daemon in place.daemons:
                if daemon.process.poll() is None:
                    daemon.stop(kill=True)


async def measure(agents: int = AGENTS, objects: int = OBJECTS, quiet: float = QUIET) -> list[tuple[str, str]]:
    copies = objects + 1  # and their namespace

    def has_all(one: Agent) -> bool:
        return one.is_at_rest and len(one.objects) == copies

    with stage(agents, objects) as place, Counted() as bytes_of:
        agents_cpu = own_cpu()
        daemon = place.begin()
        place.dial()
        try:
            first = await place.until(has_all, "the first roll-out")
            first_use, first_cpu = Usage.of(daemon.process.pid), own_cpu() - agents_cpu
            await still(daemon, bytes_of)
            before, bytes_before, began = Usage.of(daemon.process.pid), bytes_of.snapshot(), time.perf_counter()
            await asyncio.sleep(quiet)
            spent, after = time.perf_counter() - began, Usage.of(daemon.process.pid)
            idle = bytes_of.since(bytes_before)
            (place.folder / "repo/apps/d0.json").write_text(deployment("d0", image="nginx:2"))
            bytes_before, cpu, agents_cpu = bytes_of.snapshot(), after.cpu, own_cpu()
            digests = {one: one.digest("d0") for one in place.agents}
            git(place.folder / "repo", "commit", "-q", "-am", "an image")
            everywhere = await place.until(lambda one: one.digest("d0") != digests[one], "the commit")
            told = await place.until(lambda one: one.is_at_rest, "the hub heard of it")
            pushed, push_cpu = bytes_of.since(bytes_before), Usage.of(daemon.process.pid).cpu - cpu
            push_agents_cpu = own_cpu() - agents_cpu
            await still(daemon, bytes_of)
            recorded_cpu = Usage.of(daemon.process.pid).cpu - cpu
            await asyncio.to_thread(daemon.stop)
            while any(one.connected for one in place.agents):
                await asyncio.sleep(0.01)
            bytes_before, terms = bytes_of.snapshot(), {one: one.term for one in place.agents}
            agents_cpu = own_cpu()
            again, restarted = place.begin(), time.perf_counter()
            listening = await place.until(lambda one: one.connected, "all are connected again")
            storm = await place.until(lambda one: one.term > terms[one] and has_all(one), "all are led again")
            stormed = time.perf_counter() - restarted
            storm_bytes, storm_use = bytes_of.since(bytes_before), Usage.of(again.process.pid)
            storm_agents_cpu = own_cpu() - agents_cpu
            doubled = sum(one.carried_out for one in place.agents) - agents * (copies + 1)
        finally:
            for task in place.dialling:
                task.cancel()
            await asyncio.gather(*place.dialling, return_exceptions=True)
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    return [
        ("agents × objects", f"{agents} × {objects}, {datetime.now(UTC):%Y-%m-%d}, load of the machine {load}"),
        ("first roll-out: from the hub's start until all hold all", f"{first[-1]:.1f} s"),
        ("the same: processor of the hub; of the played agents", f"{first_use.cpu:.1f} s; {first_cpu:.1f} s"),
        ("the same, until the hub has recorded it and is at rest", f"{before.cpu:.1f} s"),
        ("memory of the hub then; its peak (target ≤ 1,500 MB)", f"{before.memory:.0f} MB; {before.peak:.0f} MB"),
        ("the same for each agent, and for each copy",
         f"{1000 * before.memory / agents:.0f} kB; {1000 * before.memory / agents / copies:.1f} kB"),
        ("quiet: processor of the hub", f"{100 * (after.cpu - before.cpu) / spent:.1f} % of a core"),
        ("quiet: messages, bytes and pings of each agent in a minute (target ≤ 1 message)",
         f"{60 * idle.messages / spent / agents:.1f}; {60 * idle.bytes / spent / agents:.0f}; "
         f"{60 * idle.pings / spent / agents:.1f}"),
        ("one commit: until half, and all, hold it (target ≤ 5 s)",
         f"{statistics.median(everywhere):.2f} s; {everywhere[-1]:.2f} s"),
        ("the hub knows it of all, after that", f"{told[-1]:.2f} s"),
        ("one commit: processor of the hub; of the played agents", f"{push_cpu:.1f} s; {push_agents_cpu:.1f} s"),
        ("the same, until the hub has recorded it and is at rest", f"{recorded_cpu:.1f} s"),
        ("one commit: bytes of each agent", f"{pushed.bytes / agents:.0f}"),
        ("restart: from the hub's start until all are connected", f"{listening[-1]:.1f} s"),
        ("restart: until all are led and all is told (target ≤ 30 s)", f"{max(stormed, storm[-1]):.1f} s"),
        ("restart: bytes of each agent, down and up",
         f"{storm_bytes.down / agents:.0f}; {storm_bytes.up / agents:.0f}"),
        ("restart: processor of the hub; of the played agents", f"{storm_use.cpu:.1f} s; {storm_agents_cpu:.1f} s"),
        ("restart: peak of the hub's memory", f"{storm_use.peak:.0f} MB"),
        ("objects written again for it (target 0)", str(doubled)),
    ]  # fmt: skip


async def run() -> list[tuple[str, str]]:
    return await measure(int(os.environ.get("AGENTS", AGENTS)), int(os.environ.get("OBJECTS", OBJECTS)))
