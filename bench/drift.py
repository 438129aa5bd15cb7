"""100 objects changed by somebody at once: how long until all are put back, against writing them once.

Somebody's writes and the repair go on at the same time, so what counts is the time from the first foreign write to the
last repair, less what the foreign writes alone took, against a bare loop that applies the same bodies once.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.rollout import NAMES, VALIDATION, repository
from bench.servers import clusters
from gitfed.daemon import wiring
from gitfed.daemon.loop import run_cycles
from gitfed.edges.kube.connection.session import APPLY
from tests.e2e.world import deployment

EACH = 50
MERGE = "application/merge-patch+json"


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with clusters(NAMES, folder) as (what, kubeconfig):
            (folder / "repo").mkdir()
            repo = repository(folder / "repo", count=EACH)
            repaired: dict[tuple[str, str], float] = {}

            def listen(event: str, value: Any) -> None:
                if event == "result" and value[0].drift and value[1].outcome == "configured":
                    repaired[value[0].cluster, value[0].key.name] = time.perf_counter()

            options = wiring.DaemonOptions(str(repo), data_dir=folder / "data", kubeconfig=(kubeconfig,))
            engine = await asyncio.to_thread(wiring.make_engine, options, listener=listen)
            work = asyncio.create_task(run_cycles(engine, poll=lambda: 60.0))
            snapshot = engine.reader.read(engine.reader.newest(), None, {})
            while not engine.settled():
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)
            open_session = wiring.open_sessions(options)
            sessions = [open_session(snapshot.clusters[name]) for name in NAMES]
            bare = await _each(sessions, "bench", APPLY, lambda n: json.loads(deployment(f"d{n}", namespace="bare")))
            began = time.perf_counter()
            foreign = await _each(sessions, "somebody", MERGE, lambda n: {"spec": {"replicas": 7}}, namespace="shop")
            while len(repaired) < EACH * len(NAMES):
                await asyncio.sleep(0.005)
            took = max(repaired.values()) - began
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            for session in sessions:
                await session.close()
    objects = EACH * len(NAMES)
    return [
        ("servers", what),
        ("fieldValidation of both", VALIDATION),
        (f"{objects} objects written once", f"{bare * 1000:.0f} ms"),
        (
            "from the first foreign write to the last repair",
            f"{took * 1000:.0f} ms (foreign writes {foreign * 1000:.0f})",
        ),
        ("repair against writing once (target ≤ 1.5)", f"{max(0.0, took - foreign) / bare:.2f}"),
    ]


async def _each(sessions: Any, manager: str, kind: str, body: Any, *, namespace: str = "bare") -> float:
    """Seconds for one write of every object."""
    if namespace == "bare":
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        for session in sessions:
            await session.request("POST", "/api/v1/namespaces", body=space)
    query = {"fieldManager": manager, "fieldValidation": VALIDATION, **({"force": "true"} if kind == APPLY else {})}
    began = time.perf_counter()
    await asyncio.gather(*(
        session.request("PATCH", f"/apis/apps/v1/namespaces/{namespace}/deployments/d{n}", body=body(n),
                        content_type=kind, query=query)
        for n in range(EACH) for session in sessions
    ))  # fmt: skip
    return time.perf_counter() - began
