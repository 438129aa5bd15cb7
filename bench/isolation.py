"""A cluster that answers every request with 500, beside one that is well: what it costs the other.

The same roll-out to m1, in turn with a fleet of m1 alone and with one whose m2 always fails; fresh clusters each time.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from bench.rollout import repository
from bench.servers import clusters
from gitfed.daemon import wiring
from gitfed.daemon.loop import run_cycles

COUNT = 300
TURNS = 3


async def run() -> list[tuple[str, str]]:
    failing = web.AppRunner(_failing())
    await failing.setup()
    site = web.TCPSite(failing, "127.0.0.1", 0)
    await site.start()
    port = failing.addresses[0][1]
    alone, beside, what = [], [], ""
    try:
        for _ in range(TURNS):
            what, seconds = await rolled_out(["m1"], port)
            alone.append(seconds)
            what, seconds = await rolled_out(["m1", "m2"], port)
            beside.append(seconds)
    finally:
        await failing.cleanup()
    return [
        ("servers", what),
        (f"{COUNT} objects to m1 alone", f"{statistics.median(alone) * 1000:.0f} ms"),
        ("beside a cluster that fails every request", f"{statistics.median(beside) * 1000:.0f} ms"),
        ("ratio (target 1.0)", f"{statistics.median(beside) / statistics.median(alone):.2f}"),
    ]


def _failing() -> web.Application:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "code": 500, "reason": "InternalError"}, status=500)

    app = web.Application()
    app.router.add_route("*", "/{any:.*}", refuse)
    return app


async def rolled_out(names: list[str], port: int) -> tuple[str, float]:
    """What the servers are, and seconds from the first list handed to m1 to its last response."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with clusters(["m1"], folder) as (what, kubeconfig):
            config = yaml.safe_load(kubeconfig.read_text())
            config["clusters"].append({"name": "m2", "cluster": {"server": f"http://127.0.0.1:{port}"}})
            config["users"].append({"name": "m2", "user": {"token": "x"}})
            config["contexts"].append({"name": "m2", "context": {"cluster": "m2", "user": "m2"}})
            kubeconfig.write_text(yaml.safe_dump(config))
            (folder / "repo").mkdir()
            repo = repository(folder / "repo", count=COUNT, names=names)
            moments: dict[str, float] = {}
            done = asyncio.Event()
            left = COUNT

            def listen(event: str, value: Any) -> None:
                nonlocal left
                if event == "cycle" and value.handed_over:
                    moments.setdefault("plan", time.perf_counter())
                if event == "result" and value[0].key.kind == "Deployment" and value[1].outcome == "created":
                    left -= 1
                    moments["last"] = time.perf_counter()
                    if not left:
                        done.set()

            options = wiring.DaemonOptions(str(repo), data_dir=folder / "data", kubeconfig=(kubeconfig,))
            engine = await asyncio.to_thread(wiring.make_engine, options, listener=listen)
            work = asyncio.create_task(run_cycles(engine, poll=lambda: 60.0))
            async with asyncio.timeout(120):
                await done.wait()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return what, moments["last"] - moments["plan"]
