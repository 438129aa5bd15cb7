"""An endpoint changes in one cluster: how long until every other has it, with 200 MultiClusterServices.

Five embedded clusters in a process of their own, the daemon in another. Each Service is provided and consumed
everywhere and has one slice in the first cluster. Of these, one after the other is changed, so many a second; four
watches tell when a change has arrived in the others. What counts is each change in each cluster, from before the write
to the event.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from bench import ground
from gitfed.model.keys import SERVICE_NAME
from tests.clusters.rest import Endpoint
from tests.e2e.world import cluster, settings
from tests.services.stage import multi_cluster_service, service

SERVICES, CHANGES, A_SECOND = 200, 200, 5.0
CLUSTERS = ("m1", "m2", "m3", "m4", "m5")
TARGET = 1.0
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
_GITFED = (sys.executable, "-m", "gitfed")


class Arrivals(threading.Thread):
    """A watch of one cluster: when each address was seen first."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(daemon=True)
        self.seen: dict[str, float] = {}
        context = ssl.create_default_context(cadata=endpoint.authority) if endpoint.authority else None
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        handlers += [urllib.request.HTTPSHandler(context=context)] if context else []
        headers = {"Authorization": f"Bearer {endpoint.token}"}
        request = urllib.request.Request(f"{endpoint.server}{_SLICES}?watch=true&timeoutSeconds=600", headers=headers)
        self._stream = urllib.request.build_opener(*handlers).open(request, timeout=600)

    def run(self) -> None:
        for line in self._stream:
            now = time.perf_counter()
            for one in json.loads(line)["object"].get("endpoints") or ():
                self.seen.setdefault(one["addresses"][0], now)


def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        ground.commit(folder / "repo", _files())
        kubeconfig = folder / "kubeconfig"
        names = [part for name in CLUSTERS for part in ("--name", name)]
        fleet = subprocess.Popen(
            [*_GITFED, "sim", "up", "--no-controllers", "--nodes", "0", "--kubeconfig", str(kubeconfig), "--quiet",
             *names], stdout=subprocess.DEVNULL,
        )  # fmt: skip
        daemon: subprocess.Popen[bytes] | None = None
        try:
            _until(kubeconfig.exists, "the embedded fleet")
            config = yaml.safe_load(kubeconfig.read_text())
            endpoints = {name: Endpoint.of(config, name) for name in CLUSTERS}
            environment = {key: value for key, value in os.environ.items() if not key.startswith("GITFED_")}
            with (folder / "log").open("wb") as log:
                daemon = subprocess.Popen(
                    [*_GITFED, "run", "--repo", str(folder / "repo"), "--kubeconfig", str(kubeconfig),
                     "--data-dir", str(folder / "data"), "--health-address", ""],
                    stderr=log, env=environment | {"HOME": scratch},
                )  # fmt: skip
            took, cpu = _changes(endpoints, daemon.pid)
        finally:
            for process in (daemon, fleet):
                if process is not None:
                    process.kill()
                    process.wait()
    count = f"{CHANGES} changes, {A_SECOND:g} a second, in {len(CLUSTERS) - 1} clusters"
    ordered = sorted(took)
    return [
        (f"{SERVICES} MultiClusterServices, {count}: median", f"{statistics.median(took) * 1000:.0f} ms"),
        (f"p99 (target ≤ {TARGET:g} s)", f"{ordered[int(len(ordered) * 0.99)] * 1000:.0f} ms"),
        ("the slowest", f"{ordered[-1] * 1000:.0f} ms"),
        ("of the daemon's processor, a change", f"{cpu * 1000 / CHANGES:.1f} ms"),
    ]


def _files() -> dict[str, bytes | None]:
    files = {"gitfed.json": settings()}
    files |= {f"clusters/{name}.json": cluster(name) for name in CLUSTERS}
    for n in range(SERVICES):
        files[f"services/s{n}.json"] = service(f"s{n}")
        files[f"shared/s{n}.json"] = multi_cluster_service(f"s{n}")
    return {path: text.encode() for path, text in files.items()}


def _changes(endpoints: dict[str, Endpoint], daemon: int) -> tuple[list[float], float]:
    """Seconds of each change in each cluster, and of the daemon's processor for all."""
    others = [endpoints[name] for name in CLUSTERS[1:]]
    services = "/api/v1/namespaces/shop/services"

    def placed(endpoint: Endpoint) -> bool:
        return endpoint.answers(services) and len(endpoint.request("GET", services)["items"]) >= SERVICES

    _until(lambda: all(placed(one) for one in endpoints.values()), "the Services in all clusters")
    first = endpoints[CLUSTERS[0]]
    for n in range(SERVICES):
        first.request("POST", _SLICES, _slice(n, f"10.0.{n // 250}.{n % 250}"))
    arrivals = [Arrivals(one) for one in others]
    for one in arrivals:
        one.start()
    _until(lambda: all(len(one.seen) >= SERVICES for one in arrivals), "the first endpoints")
    chance, sent = random.Random(7), dict[str, float]()

    def change(n: int) -> None:
        address = f"10.{1 + n // 62500}.{n // 250 % 250}.{n % 250}"
        body = _slice(chance.randrange(SERVICES), address)
        sent[address] = time.perf_counter()
        first.request("PUT", f"{_SLICES}/{body['metadata']['name']}", body)

    began, cpu = time.perf_counter(), _cpu(daemon)
    with ThreadPoolExecutor(4) as threads:
        for n in range(CHANGES):
            time.sleep(max(0.0, began + n / A_SECOND - time.perf_counter()))
            threads.submit(change, n)
    # A change that the next one of the same slice overtook need not be seen: then that one tells.
    last: dict[str, str] = {one["metadata"]["name"]: one["endpoints"][0]["addresses"][0]
                            for one in first.request("GET", _SLICES)["items"]}  # fmt: skip
    _until(lambda: all(address in one.seen for address in last.values() for one in arrivals), "the last endpoints")
    cpu = _cpu(daemon) - cpu
    return [one.seen[address] - at for address, at in sent.items() for one in arrivals if address in one.seen], cpu


def _cpu(process: int) -> float:
    """Seconds of the processor that it has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _slice(n: int, address: str) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": f"s{n}-1", "namespace": "shop", "labels": {SERVICE_NAME: f"s{n}"}},
        "addressType": "IPv4", "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }  # fmt: skip


def _until(holds: Any, what: str) -> None:
    end = time.monotonic() + 180
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within three minutes")
        time.sleep(0.1)
