"""`gitfed simulate` of a large fleet, each time a process of its own: from its start to the last line.

Two fleets of 100 clusters and 10,000 workloads with everything a daemon recorded of them: that of `failover`, whose
workloads stand in one, three or five clusters each, and that of `scale`, where every one stands in every cluster.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from bench import failover, ground, record, scale

FAILS = ("--fail", "cluster/c007", "--recover", "cluster/c007@20m", "--until", "30m")
TARGET, TARGET_COPIES = 4.0, 12.0


def spread(path: Path) -> None:
    """Workloads in few clusters each."""
    ground.commit(path, failover.files(10_000))
    _recorded(path)


def copied(path: Path) -> None:
    """A million copies."""
    tree = scale.repository()
    ground.commit(path, {name: tree.blobs[blob] for name, blob in tree.paths.items()})
    _recorded(path)


def _recorded(path: Path) -> None:
    chance = random.Random(7)
    ground.facts(path, {name: record.with_room(one, chance) for name, one in failover.facts({}).items()})
    ground.state(path)


def run() -> list[tuple[str, str]]:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, lay, target in (("10,000 workloads", spread, TARGET), ("a million copies", copied, TARGET_COPIES)):
            path, cache = Path(scratch, lay.__name__), Path(scratch, "cache")
            lay(path)
            ground.command(path, cache, "simulate", *FAILS)  # what it parses is kept
            runs = [ground.command(path, cache, "simulate", *FAILS) for _ in range(2)]
            rows.append((f"{name}: a cluster fails and comes back (target ≤ {target:g} s)", _best(runs)))
            rows.append((f"{name}: that, in one line", runs[0][2].splitlines()[-1]))
            region = [ground.command(path, cache, "simulate", "--fail", "region/r3")]
            rows.append((f"{name}: a region fails", _best(region)))
            # 5: a workload would lose replicas, as some of these do.
            each = [ground.command(path, cache, "simulate", "--n-minus-one", "-q", codes=(0, 5))]
            rows.append((f"{name}: each cluster and region alone", _best(each)))
    return rows


def _best(runs: list[tuple[float, float, str]]) -> str:
    return f"{min(took for took, _, _ in runs):.1f} s, {min(cpu for _, cpu, _ in runs):.1f} s of the processor"
