"""What the hub costs the engine: pushes with 200 readers and 20 streams beside them and without, in turns; memory.

The same daemon takes all pushes of both kinds, a few with readers and a few without, several times over. The memory is
that of this daemon at the end, beside that of one without a hub that took as many pushes.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.pushes import Ground, ground
from bench.readers import EVERY, READERS, STREAMS
from gitfed.edges import certificates

PAIRS, PUSHES = 4, 8
_DEPLOYMENTS = 300
_CALLERS = 10
"""Under whose names the readers come: of one caller the hub takes only so many streams."""
_WARM = 3.0
"""Seconds until every reader has a connection and has asked once."""


async def run() -> list[tuple[str, str]]:
    access = {
        "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "readers"},
        "spec": {"subjects": [{"kind": "Group", "name": "readers"}], "allow": ["view"]},
    }  # fmt: skip
    async with ground(_DEPLOYMENTS, {"access.json": json.dumps(access)}) as place:
        alone = place.daemon("alone")
        place.pushes(count=2 * PAIRS * PUSHES)
        without = _resident(alone.process.pid)
        alone.stop()
        daemon = place.daemon("data", "--hub-address", "0.0.0.0:0")
        address = "127.0.0.1:" + daemon.lines("the hub listens")[0]["url"].rpartition(":")[2]
        folder = _callers(place, place.folder / "data" / "hub")
        quiet, read, ratios, seen = [], [], [], []
        for _ in range(PAIRS):
            quiet.append(_median(place))
            with _readers(folder, address) as figures:
                time.sleep(_WARM)
                read.append(_median(place))
            seen.append(figures)
            ratios.append(read[-1] / quiet[-1])
        resident = _resident(daemon.process.pid)
        daemon.stop()
    figures = seen[-1]
    assert not any(one["refused"] for one in seen), [one["refused"] for one in seen]
    return [
        ("servers", place.servers),
        (f"push until both clusters hold it, median of {PAIRS} × {PUSHES}", f"{statistics.median(quiet):.3f} s"),
        (f"beside {READERS} readers and {STREAMS} streams", f"{statistics.median(read):.3f} s"),
        ("ratio, median of the pairs (target ≤ 1.2)", f"{statistics.median(ratios):.2f}"),
        ("ratios of the pairs", " ".join(f"{one:.2f}" for one in ratios)),
        (f"answers, each reader one every {EVERY:g} s", f"{figures['rate']:.0f}/s, {figures['megabytes']:.0f} MB"),
        ("an answer: median, slowest in a hundred", f"{figures['median']:.3f} s, {figures['p99']:.3f} s"),
        ("memory without a hub, after as many pushes", f"{without:.0f} MB"),
        ("more with a hub, after readers and streams (target ≤ 80 MB)", f"{resident - without:.0f} MB"),
    ]


def _median(place: Ground) -> float:
    return statistics.median(took for _, took in place.pushes(count=PUSHES))


@contextlib.contextmanager
def _readers(folder: Path, address: str) -> Iterator[dict[str, Any]]:
    """While they read; what they say of it stands in the dictionary afterwards."""
    figures: dict[str, Any] = {}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.readers", str(folder), address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield figures
        said, _ = process.communicate(b"", timeout=60)
        figures.update(json.loads(said))
    finally:
        process.kill()
        process.wait()


def _callers(place: Ground, hub: Path) -> Path:
    """Certificates of the hub's own authority, for people of the group that may view."""
    folder = place.folder / "callers"
    folder.mkdir()
    authority = certificates.Authority.open(hub)
    (folder / "ca.crt").write_bytes(authority.certificate)
    for number in range(_CALLERS):
        pair = authority.client(f"reader-{number}", ["readers"], timedelta(hours=1))
        (folder / f"caller-{number}.pem").write_bytes(pair.certificate + pair.key)
    return folder


def _resident(pid: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
