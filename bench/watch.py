"""100 clusters × 50 nodes × 30 pods, and quotas, watched: time until all are read, what it holds, what quiet costs.

The other side is a process of its own that answers lists in pages and then keeps watches open, as API servers do. Its
pods are as large as real ones (some five kilobytes, half of it managed fields).
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import orjson
from aiohttp import web

from gitfed.edges.kube.capacity import CapacityReading, Watch
from gitfed.edges.kube.connection.client_settings import ClientSettings
from gitfed.edges.kube.connection.credentials import ClusterConnection
from gitfed.edges.kube.connection.session import Session
from gitfed.model.declared.cluster import usual_models

CLUSTERS, NODES, PODS = 100, 50, 30
QUIET = 20.0
EVENTS = 20_000
REQUESTS = ("100m", "250m", "500m", "1")


# -- the other side ------------------------------------------------------------------------------------------------


def node(number: int) -> dict[str, object]:
    name = f"node-{number}"
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    return {
        "metadata": {
            "name": name,
            "uid": f"node-uid-{number}",
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"z{number % 3}"},
            "managedFields": [{"manager": "kubelet", "fieldsV1": {f"f:{field}": {} for field in range(80)}}],
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": [f"registry.example/image-{image}"], "sizeBytes": image} for image in range(50)],
        },
    }


def pod(number: int) -> dict[str, object]:
    requests = {"cpu": REQUESTS[number % 4], "memory": f"{128 << number % 3}Mi"}
    return {
        "metadata": {
            "name": f"workload-{number % 200}-{number}",
            "namespace": f"team-{number % 20}",
            "uid": f"{number:08x}-0000-4000-8000-000000000000",
            "labels": {"app": f"workload-{number % 200}", "pod-template-hash": "5d59d67564"},
            "managedFields": [{"manager": "kubelet", "fieldsV1": {f"f:member-{field}": {} for field in range(120)}}],
        },
        "spec": {
            "nodeName": f"node-{number % NODES}",
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/main:1.2.3",
                    "env": [{"name": f"SETTING_{setting}", "value": "x" * 20} for setting in range(20)],
                    "resources": {"requests": requests, "limits": requests},
                }
            ],
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}] * 4},
    }


def quota(number: int) -> dict[str, object]:
    limits = {"requests.cpu": "400", "requests.memory": "2Ti", "pods": "1000"}
    return {
        "metadata": {"name": "all", "namespace": f"team-{number}", "uid": f"quota-uid-{number}"},
        "spec": {"hard": limits},
        "status": {"hard": limits, "used": {"requests.cpu": "40", "requests.memory": "100Gi", "pods": "75"}},
    }


def serve(path: str) -> None:
    lists = {
        "nodes": [orjson.dumps(node(number)) for number in range(NODES)],
        "pods": [orjson.dumps(pod(number)) for number in range(NODES * PODS)],
        "resourcequotas": [orjson.dumps(quota(number)) for number in range(20)],
    }

    async def answer(request: web.Request) -> web.StreamResponse:
        items = lists[request.path.rpartition("/")[2]]
        if request.query.get("watch"):
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.Event().wait()
        start, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        more = b',"continue":"%d"' % (start + limit) if start + limit < len(items) else b""
        body = b'{"metadata":{"resourceVersion":"1"%b},"items":[%b]}' % (more, b",".join(items[start : start + limit]))
        return web.Response(body=body, content_type="application/json")

    async def run() -> None:
        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        Path(path).write_text(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()

    asyncio.run(run())


# -- our side ------------------------------------------------------------------------------------------------------


async def run() -> list[tuple[str, str]]:
    address = Path(f"/tmp/bench-watch-{os.getpid()}")
    server = subprocess.Popen([sys.executable, "-m", "bench.watch", str(address)])
    try:
        while not address.exists():
            await asyncio.sleep(0.1)
        return await _measured(address.read_text())
    finally:
        server.terminate()
        server.wait(10)
        address.unlink(missing_ok=True)


async def _measured(url: str) -> list[tuple[str, str]]:
    async def configure() -> ClientSettings:
        return ClientSettings(host=url)

    await configure()
    sessions = [
        Session(f"c{number}", ClusterConnection(f"c{number}", f"{url}/c{number}", "bench", configure))
        for number in range(CLUSTERS)
    ]
    watches = [Watch(session) for session in sessions]
    before, began = _memory(), time.perf_counter()
    tasks = [asyncio.create_task(watch.run()) for watch in watches]
    for watch in watches:
        await watch.settled()
    read = time.perf_counter() - began
    peak = _memory("VmHWM") - before
    gc.collect()
    await asyncio.sleep(3)  # watches open after their lists
    held = _memory() - before
    sockets = sum(1 for entry in Path("/proc/self/fd").iterdir() if _is_socket(entry))

    cpu = time.process_time()
    await asyncio.sleep(QUIET)
    cpu = time.process_time() - cpu

    began = time.perf_counter()
    rooms = [watch.room(usual_models(), CapacityReading()) for watch in watches]
    summed = (time.perf_counter() - began) / CLUSTERS
    total = sum(int((one.summary or {})["allocated"]["pods"]) for one in rooms)

    lines = [orjson.dumps(pod(number % (NODES * PODS)) | {"kind": "Pod"}) for number in range(100)]
    from gitfed.edges.kube.capacity import _Pods

    follower = _Pods(watches[0])
    began = time.perf_counter()
    for number in range(EVENTS):
        follower.event("DELETED" if number % 2 else "MODIFIED", orjson.loads(lines[number // 2 % 100]))
    events = EVENTS / (time.perf_counter() - began)

    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for session in sessions:
        await session.close()
    return [
        (f"{CLUSTERS} clusters × {NODES} nodes × {PODS} pods: all read after", f"{read:.1f} s"),
        ("pods counted", f"{total:,}"),
        ("memory held for them", f"{held:.0f} MB"),
        ("the most while reading (target: 600 MB)", f"{peak:.0f} MB"),
        ("of the whole process, clients included", f"{_memory():.0f} MB"),
        ("sockets when quiet", str(sockets)),
        (f"CPU in {QUIET:.0f} quiet seconds", f"{cpu * 1000:.0f} ms"),
        ("pod events of one core, decoded and summed", f"{events:,.0f} a second"),
        ("sums, grades and nodes of one cluster", f"{summed * 1000:.1f} ms"),
    ]


def _memory(what: str = "VmRSS") -> float:
    """MB"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1024
    return 0.0


def _is_socket(entry: Path) -> bool:
    try:
        return os.readlink(entry).startswith("socket:")
    except OSError:
        return False


if __name__ == "__main__":
    serve(sys.argv[1])
