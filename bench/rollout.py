"""300 Deployments to 2 clusters: from the plan being ready to the last response, against a bare loop.

The bare loop sends the same bodies with the same session and the same number of requests at a time; it knows nothing,
records nothing and watches nothing. It runs before and after on the same servers in the same process, and the mean of
both counts.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.servers import clusters
from gitfed.daemon import apply_once, wiring
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.edges.kube.connection.session import APPLY
from tests.e2e.world import cluster, deployment, policy, settings

COUNT = 300
NAMES = ["m1", "m2"]
VALIDATION = "Ignore"
"""What gitfed sends (`edges/kube/apply` says why). A server that validates takes longer: bare loops send the same."""


def repository(folder: Path, count: int = COUNT, names: list[str] = NAMES) -> Path:
    files = {"gitfed.json": settings(), "policies/all.json": policy("all", names)}
    files |= {f"clusters/{name}.json": cluster(name) for name in names}
    files |= {f"apps/d{n}.json": deployment(f"d{n}") for n in range(count)}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=b", "-c", "user.email=b@e", *arguments], cwd=folder, check=True)


async def bare_loop(options: wiring.DaemonOptions, repo: Any, namespace: str) -> float:
    """Seconds for the same objects, in a namespace of their own."""
    sessions = [wiring.open_sessions(options)(repo.clusters[name]) for name in NAMES]
    bodies = [json.loads(deployment(f"d{n}", namespace=namespace)) for n in range(COUNT)]
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    for session in sessions:
        await session.request("POST", "/api/v1/namespaces", body=space)
    began = time.perf_counter()

    async def one(session: Any, body: dict[str, Any]) -> None:
        await session.request(
            "PATCH", f"/apis/apps/v1/namespaces/{namespace}/deployments/{body['metadata']['name']}", body=body,
            content_type=APPLY, query={"fieldManager": "bench", "force": "true", "fieldValidation": VALIDATION},
        )  # fmt: skip

    await asyncio.gather(*(one(session, body) for body in bodies for session in sessions))
    took = time.perf_counter() - began
    for session in sessions:
        await session.close()
    return took


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        async with clusters(NAMES, folder) as (what, kubeconfig):
            (folder / "repo").mkdir()
            repo = repository(folder / "repo")
            options = wiring.DaemonOptions(
                str(repo), data_dir=folder / "data", kubeconfig=(kubeconfig,), timing=Timing()
            )
            moments: dict[str, float] = {}

            def listen(event: str, value: Any) -> None:
                if event == "cycle" and value.handed_over and "plan" not in moments:
                    moments["plan"] = time.perf_counter()
                if event == "result" and value[0].key.kind == "Deployment":
                    moments["last"] = time.perf_counter()

            engine = wiring.make_engine(
                wiring.DaemonOptions(str(repo), data_dir=folder / "other", kubeconfig=(kubeconfig,))
            )
            snapshot = engine.reader.read(engine.reader.newest(), None, {})
            before = await bare_loop(options, snapshot, "bare-1")
            done = await apply_once.apply_once(options, apply_once.Order(120, wait=False), listener=listen)
            assert not done.failures, done.failures[:3]
            ours = moments["last"] - moments["plan"]
            bare = statistics.mean([before, await bare_loop(options, snapshot, "bare-2")])
    objects = COUNT * len(NAMES)
    return [
        ("servers", f"{what}, {datetime.now(UTC):%Y-%m-%d}"),
        ("fieldValidation of both", VALIDATION),
        ("bare loop", f"{objects / bare:.0f} objects/s"),
        ("gitfed, plan ready to last response", f"{objects / ours:.0f} objects/s"),
        ("ratio (target ≥ 0.80)", f"{bare / ours:.2f}"),
    ]
