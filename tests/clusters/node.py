"""A node for a real API server: what its pods need to run, and what kubectl needs to reach them.

A real kube-apiserver without a kubelet stores pods and nothing more. This node says of the pods that are bound to it
that they run, removes those that are deleted, and serves what kubelets serve (logs, commands, attached output, ports)
to the API server, which passes it on. kubesim imagines what is in the containers. The resource metrics API is here,
too, registered as an aggregated API as metrics-server does it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import orjson
import trustme

from kubesim import status
from kubesim.containers import commands, logs, metrics, ports
from tests.clusters import streaming
from tests.clusters.rest import Endpoint, RefusedError

Body = dict[str, Any]
NAME = "node-1"
_LOOK = 0.1
_MERGE = "application/merge-patch+json"
_UPGRADED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"


@dataclass(frozen=True, slots=True)
class _Request:
    path: Sequence[str]
    query: Mapping[str, list[str]]
    offered: Sequence[str]
    """Protocols of streams."""

    def first(self, name: str) -> str:
        return self.query.get(name, [""])[0]

    def has(self, name: str) -> bool:
        return self.first(name) in ("1", "true")


@contextlib.asynccontextmanager
async def node(cluster: Endpoint) -> AsyncIterator[Node]:
    """The node `NAME`, ready, for as long as the block lasts."""
    made = Node(cluster)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=_certificate())
    port = server.sockets[0].getsockname()[1]
    await asyncio.to_thread(made.register, port)
    task = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.close()


def _certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@dataclass
class Node:
    cluster: Endpoint
    pods: list[Body] = field(default_factory=list)
    broken: list[BaseException] = field(default_factory=list)
    """What went wrong in connections."""

    def __post_init__(self) -> None:
        self._disks = commands.Disks(lambda: {pod["metadata"]["uid"] for pod in self.pods})

    def check(self) -> None:
        """AssertionError if a connection went wrong."""
        assert not self.broken, self.broken

    # -- for the API server's store -----------------------------------------------------------------------------------

    def register(self, port: int) -> None:
        ask = self.cluster.request
        machine = {"metadata": {"name": NAME, "labels": {"kubernetes.io/hostname": NAME}}}
        ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **machine})
        amount = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        found = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}, "capacity": amount, "allocatable": amount,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}],
        }  # fmt: skip
        ask("PATCH", f"/api/v1/nodes/{NAME}/status", {"status": found}, _MERGE)
        # A service of this type is reached by its name, without addresses that only a cluster's network knows.
        service = {"metadata": {"name": "metrics"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        ask("POST", "/api/v1/namespaces/kube-system/services", {"apiVersion": "v1", "kind": "Service", **service})
        served = {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                  "insecureSkipTLSVerify": True,
                  "service": {"namespace": "kube-system", "name": "metrics", "port": port}}  # fmt: skip
        ask("POST", "/apis/apiregistration.k8s.io/v1/apiservices",
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
             "metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": served})  # fmt: skip

    async def run(self) -> None:
        while True:
            with contextlib.suppress(RefusedError):  # the server may be away for a while
                await asyncio.to_thread(self._look)
            await asyncio.sleep(_LOOK)

    def _look(self) -> None:
        found = self.cluster.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NAME}")["items"]
        for pod in found:
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            with contextlib.suppress(RefusedError):  # it was changed meanwhile: then it is looked at again
                if meta.get("deletionTimestamp"):
                    self.cluster.request(
                        "DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
                    )
                elif pod["status"]["phase"] == "Pending":
                    self.cluster.request("PATCH", f"{path}/status", {"status": _running(pod)}, _MERGE)
        self.pods = found

    # -- for the API server's connections -----------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = _parsed(await reader.readuntil(b"\r\n\r\n"))
            await self._answer(request, reader, writer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass  # the caller has gone
        except Exception as error:  # noqa: BLE001 -- a test says it
            self.broken.append(error)
        finally:
            writer.close()

    async def _answer(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match request.path:
            case ["containerLogs", namespace, name, container]:
                await self._log(namespace, name, container, request, writer)
            case ["exec" | "attach" as what, namespace, name, *_, container]:
                await self._command(what, self._pod(namespace, name), container, request, reader, writer)
            case ["portForward", namespace, name]:
                _upgrade(writer, request, streaming.PORTS)
                await streaming.ports(ports.forwarding(self._pod(namespace, name)), reader, writer)
            case ["apis", "metrics.k8s.io", "v1beta1", *rest]:
                _say(writer, 200, orjson.dumps(self._metrics(rest)))
            case _:
                _say(writer, 404, b"{}")

    def _pod(self, namespace: str, name: str) -> Body:
        return next(pod for pod in self.pods
                    if (pod["metadata"]["namespace"], pod["metadata"]["name"]) == (namespace, name))  # fmt: skip

    def _find(self, uid: str) -> Body | None:
        return next((pod for pod in self.pods if pod["metadata"]["uid"] == uid), None)

    async def _log(
        self, namespace: str, name: str, container: str, request: _Request, writer: asyncio.StreamWriter
    ) -> None:  # fmt: skip
        pod = self._pod(namespace, name)
        wanted = logs.Wanted(
            previous=request.has("previous"), timestamps=request.has("timestamps"),
            tail=int(request.first("tailLines")) if request.first("tailLines") else None,
        )  # fmt: skip
        if not request.has("follow"):
            try:
                _say(writer, 200, logs.text(logs.of(pod, container, wanted, _now()), wanted), "text/plain")
            except status.ApiError as error:
                _say(writer, error.code, str(error).encode(), "text/plain")
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        uid = pod["metadata"]["uid"]
        async for part in logs.follow(lambda: self._find(uid), container, wanted, _now):
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async def _command(
        self, what: str, pod: Body, container: str, request: _Request, reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:  # fmt: skip
        terminal = request.has("tty")
        if what == "attach":
            uid = pod["metadata"]["uid"]
            session = commands.attachment(lambda: self._find(uid), container, _now)
        else:
            files = self._disks.of(pod, container)
            session = commands.execution(pod, container, files, request.query["command"], tty=terminal)
        wanted = {"stdin": request.has("input"), "stdout": request.has("output"),
                  "stderr": request.has("error") and not terminal, "error": True}  # fmt: skip
        _upgrade(writer, request, streaming.COMMANDS)
        await streaming.command(session, [name for name, asked in wanted.items() if asked], reader, writer)

    def _metrics(self, rest: Sequence[str]) -> Body:
        if not rest:
            return {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "metrics.k8s.io/v1beta1",
                    "resources": [{"name": one.plural, "singularName": "", "namespaced": one.namespaced,
                                   "kind": one.kind, "verbs": ["get", "list"]} for one in metrics.KINDS]}  # fmt: skip
        *space, plural = rest
        kind = next(one for one in metrics.KINDS if one.plural == plural)
        assert kind.computed is not None
        measured: Iterator[Body] = kind.computed(_Lookup(self), _now())  # type: ignore[arg-type]
        found = [one for one in measured if not space or one["metadata"]["namespace"] == space[-1]]
        return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": f"{kind.kind}List", "metadata": {}, "items": found}


@dataclass(frozen=True, slots=True)
class _Lookup:
    """As much as metrics are computed from."""

    node: Node

    def list(self, collection: str) -> list[Body]:
        return self.node.pods if collection == "pods" else [{"metadata": {"name": NAME}}] * (collection == "nodes")


def _running(pod: Body) -> Body:
    now = _now().strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    containers = [
        {"name": one["name"], "image": one["image"], "imageID": "", "ready": True, "restartCount": 0, "started": True,
         "state": {"running": {"startedAt": now}}} for one in pod["spec"]["containers"]
    ]  # fmt: skip
    return {
        "phase": "Running", "startTime": now, "hostIP": "127.0.0.1", "podIP": "10.244.0.2",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds],
        "containerStatuses": containers,
    }  # fmt: skip


def _parsed(head: bytes) -> _Request:
    first, *lines = head.decode().split("\r\n")
    path, _, query = first.split()[1].partition("?")
    offered = [name.strip() for line in lines if line.lower().startswith("x-stream-protocol-version:")
               for name in line.partition(":")[2].split(",")]  # fmt: skip
    return _Request([part for part in path.split("/") if part], parse_qs(query), offered)


def _upgrade(writer: asyncio.StreamWriter, request: _Request, protocol: str) -> None:
    assert protocol in request.offered, f"{request.path}: {request.offered}"
    writer.write(f"{_UPGRADED}X-Stream-Protocol-Version: {protocol}\r\n\r\n".encode())


def _say(writer: asyncio.StreamWriter, code: int, body: bytes, kind: str = "application/json") -> None:
    head = f"HTTP/1.1 {code} {code}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)


def _now() -> datetime:
    return datetime.now(UTC)
