"""One commit of 40 objects to 30 clusters of a pool: three members against one.

The ratio of the times says something where each member has a core, and the clusters have some beside them. What can be
said on fewer cores is how much of the work the busiest member has: its processor time with three against that with one.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from bench.servers import clusters
from tests.e2e.pool import Pool, cluster
from tests.e2e.world import World, config_map, policy, settings

NAMES = [f"m{number}" for number in range(1, 31)]
OBJECTS = 40


async def run() -> list[tuple[str, str]]:
    found = []
    for count in (1, 3):
        with tempfile.TemporaryDirectory() as scratch:
            async with clusters(NAMES, Path(scratch)) as (what, kubeconfig):
                found.append(_measured(World(Path(scratch), kubeconfig, NAMES, {}), count))
    (one, one_cpu), (three, three_cpu) = found
    return [
        ("clusters", f"{len(NAMES)} × {OBJECTS} objects, {what}, {os.cpu_count()} cores"),
        ("one member: time, its processor time", f"{one:.1f} s, {one_cpu:.1f} s"),
        ("three members: time, processor time of the busiest", f"{three:.1f} s, {three_cpu:.1f} s"),
        ("ratio of the times", f"{one / three:.2f}"),
        ("ratio of the busiest member's work", f"{one_cpu / three_cpu:.2f}"),
    ]


def _measured(world: World, count: int) -> tuple[float, float]:
    """Seconds from the push until everything is applied, and of the processor that the busiest member took."""
    pool = Pool(world)
    try:
        daemon = pool.daemon()
        files = {f"clusters/{name}.yaml": cluster(name) for name in NAMES}
        kinds = (("v1", "ConfigMap"),)
        world.push({**files, "gitfed.json": settings(), "policy.json": policy("all", NAMES, kinds),
                    "first.json": config_map("first", {"n": "1"})})  # fmt: skip
        world.until(lambda: (world.data / "hub" / "ca.crt").exists() and daemon.said("cycle finished"), "the hub runs")
        pool.register()
        members = [pool.member() for _ in range(count)]
        world.until(lambda: _shares(pool) == [len(NAMES) // count] * count, "the clusters are shared")
        _applied(world)
        before = [_processor(one.process.pid) for one in members]
        head = world.push({f"c{n}.json": config_map(f"c{n}", {"n": str(n)}) for n in range(OBJECTS)})
        began = time.perf_counter()
        world.until(lambda: head in world.state().get("state.yaml", ""), "it is decided")
        _applied(world)
        took = time.perf_counter() - began
        used = [_processor(one.process.pid) - was for one, was in zip(members, before, strict=True)]
        return took, max(used)
    finally:
        pool.close()
        world.close()


def _applied(world: World) -> None:
    world.until(lambda: "outcome: applied" in world.state().get("state.yaml", ""), "everything is applied")


def _shares(pool: Pool) -> list[int]:
    holders = list(pool.holders().values())
    return sorted(holders.count(one) for one in pool.members)


def _processor(pid: int) -> float:
    """Seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
