"""What the hub costs the engine: pushes with 200 readers and 20 streams beside them and without, in turns; memory.

The same daemon takes all pushes, with readers and without by turns, so that what else the machine does falls on both.
The memory is that of this daemon at the end, beside that of one without a hub that took as many pushes.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.pushes import Ground, ground
from bench.readers import EVERY, READERS, STREAMS
from gitfed.edges import certificates

PAIRS = 32
_DEPLOYMENTS = 300
_CALLERS = 10
"""Under whose names the readers come: of one caller the hub takes only so many streams."""
_WARM = 1.5
"""Seconds until every reader has asked once."""


async def run() -> list[tuple[str, str]]:
    access = {
        "apiVersion": "gitfed.io/v1alpha1", "kind": "AccessPolicy", "metadata": {"name": "readers"},
        "spec": {"subjects": [{"kind": "Group", "name": "readers"}], "allow": ["view"]},
    }  # fmt: skip
    async with ground(_DEPLOYMENTS, {"access.json": json.dumps(access)}) as place:
        alone = place.daemon("alone")
        place.pushes(count=2 * PAIRS)
        without = _resident(alone.process.pid)
        alone.stop()
        daemon = place.daemon("data", "--hub-address", "0.0.0.0:0")
        address = "127.0.0.1:" + daemon.lines("the hub listens")[0]["url"].rpartition(":")[2]
        folder = _callers(place, place.folder / "data" / "hub")
        quiet, read = [], []
        with _readers(folder, address) as readers:
            for _ in range(PAIRS):
                quiet.append(place.push()[1])
                readers.turn()
                time.sleep(_WARM)
                read.append(place.push()[1])
                readers.turn()
            figures = readers.end()
        resident = _resident(daemon.process.pid)
        daemon.stop()
    assert not figures["refused"], figures["refused"]
    ratios = sorted(one / other for one, other in zip(read, quiet, strict=True))
    return [
        ("servers", place.servers),
        (f"push until both clusters hold it, median of {PAIRS}", f"{statistics.median(quiet):.3f} s"),
        (f"beside {READERS} readers and {STREAMS} streams", f"{statistics.median(read):.3f} s"),
        ("ratio, median of the pairs (target ≤ 1.2)", f"{statistics.median(ratios):.2f}"),
        (
            "the same of all, and of the middle half",
            f"{_ratio(read, quiet):.2f}, {ratios[PAIRS // 4]:.2f} to {ratios[-PAIRS // 4]:.2f}",
        ),
        (f"answers, each reader one every {EVERY:g} s", f"{figures['rate']:.0f}/s, {figures['megabytes']:.0f} MB"),
        ("an answer: median, slowest in a hundred", f"{figures['median']:.3f} s, {figures['p99']:.3f} s"),
        ("connections that had to be made anew", str(figures["again"])),
        ("memory without a hub, after as many pushes", f"{without:.0f} MB"),
        ("more with a hub, after readers and streams (target ≤ 80 MB)", f"{resident - without:.0f} MB"),
    ]


def _ratio(read: list[float], quiet: list[float]) -> float:
    return statistics.median(read) / statistics.median(quiet)


@dataclass
class Readers:
    process: subprocess.Popen[str]

    def turn(self) -> None:
        """Begin, or rest."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> dict[str, Any]:
        """What they say of it."""
        said, _ = self.process.communicate(timeout=60)
        found: dict[str, Any] = json.loads(said)
        return found


@contextlib.contextmanager
def _readers(folder: Path, address: str) -> Iterator[Readers]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.readers", str(folder), address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        yield Readers(process)
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
