"""What an unchanged fleet costs: requests and writes in thirty quiet seconds, watches and probes apart."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bench.rollout import NAMES, repository
from bench.servers import clusters
from gitfed.daemon import wiring
from gitfed.daemon.loop import run_cycles
from gitfed.edges.kube import identity
from gitfed.edges.kube.connection import session

QUIET = 30.0


async def run() -> list[tuple[str, str]]:
    counts: Counter[str] = Counter()
    original = session.Session._send

    async def counted(self: session.Session, sending: Any) -> session.ServerAnswer:
        method, path = sending.method, sending.path
        # Whether it answers, what it serves, and whether it is still the same cluster.
        probe = path in ("/readyz", "/version", identity.PATH) or (path.startswith("/api") and path.count("/") <= 1)
        counts["probes" if probe else f"{'reads' if method == 'GET' else 'writes'}"] += 1
        return await original(self, sending)

    session.Session._send = counted  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            async with clusters(NAMES, folder) as (what, kubeconfig):
                (folder / "repo").mkdir()
                repo = repository(folder / "repo", count=1000)
                options = wiring.DaemonOptions(str(repo), data_dir=folder / "data", kubeconfig=(kubeconfig,))
                engine = await asyncio.to_thread(wiring.make_engine, options)
                work = asyncio.create_task(run_cycles(engine, poll=lambda: 2.0))
                while not engine.settled():
                    await asyncio.sleep(0.2)
                await asyncio.sleep(2)
                counts.clear()
                await asyncio.sleep(QUIET)
                quiet = counts.copy()
                work.cancel()  # which writes down that this daemon's lead is over
                await asyncio.gather(work, return_exceptions=True)
    finally:
        session.Session._send = original  # type: ignore[method-assign]
    return [
        ("servers", what),
        (f"2,000 objects, {QUIET:.0f} s: writes (target 0)", str(quiet["writes"])),
        ("lists and reads (target 0)", str(quiet["reads"])),
        ("probes", str(quiet["probes"])),
    ]
