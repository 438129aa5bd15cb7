"""Members behind the doors of a staged hub: embedded clusters, and servers that say exactly so many bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitfed.daemon import wiring
from gitfed.hub.options import HubOptions
from gitfed.model.repo import RepoSnapshot
from kubesim.controllers import Settings
from kubesim.fleet import ClusterSpec, Fleet
from tests.hub import stage
from tests.hub.stage import Recorded, Staged

ANYTHING = stage.policy("all", subjects=[stage.user("ann")], allow=["proxy"])
Rules = Sequence[Mapping[str, Any]]


def door(cluster: str, path: str) -> str:
    return f"/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}/proxy{path}"


def fleet_door(path: str) -> str:
    return f"/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy{path}"


@contextlib.asynccontextmanager
async def embedded(
    folder: Path, names: Sequence[str], *documents: str, settings: Settings | None = None
) -> AsyncIterator[tuple[Staged, Fleet]]:
    """A hub with the doors of these clusters."""
    async with Fleet([ClusterSpec(name=name) for name in names], settings=settings) as fleet:
        fleet.write_kubeconfig(folder / "kubeconfig")
        declared = [stage.cluster(name) for name in names]
        async with stage.staged(folder, *declared, *documents) as staged:
            reached(staged, folder / "kubeconfig")
            yield staged, fleet


def reached(staged: Staged, kubeconfig: Path) -> None:
    staged.hub.open_session = wiring.open_doors(wiring.DaemonOptions(repo=".", kubeconfig=(kubeconfig,)))


def commit(staged: Staged, repo: RepoSnapshot) -> None:
    """From now on this is in force."""
    assert isinstance(staged.hub.running.recorded, Recorded)
    staged.hub.running.recorded.repo = repo


def allow(fleet: Fleet, cluster: str, user: str, *rules: Mapping[str, Any], kind: str = "User") -> None:
    """A ClusterRole with a binding in a member."""
    api = fleet[cluster].api
    name = f"for-{user}-{len(rules)}"
    api.create("clusterroles.rbac.authorization.k8s.io", {"metadata": {"name": name}, "rules": list(rules)})
    api.create(
        "clusterrolebindings.rbac.authorization.k8s.io",
        {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user}],
        },
    )


EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


@dataclass
class Exact:
    """A server that does with each connection what `serve` says; `heads` are those of the requests it read."""

    serve: Callable[[Exact, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    heads: list[str] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """A connection that was being served was lost."""

    async def head(self, reader: asyncio.StreamReader) -> str:
        text = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(text)
        return text

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.serve(self, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.ended.set()


@contextlib.asynccontextmanager
async def exact(
    folder: Path, serve: Callable[[Exact, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    *documents: str, options: HubOptions = stage.LOOPBACK,
) -> AsyncIterator[tuple[Staged, Exact]]:  # fmt: skip
    """A hub with the door of m1, which is such a server."""
    member = Exact(serve)
    server = await asyncio.start_server(member.take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    _write(folder / "kubeconfig", port)
    try:
        pulls = any("{syncMode: Pull}" in text and '"m1"' in text for text in documents)
        own = () if pulls else (stage.cluster("m1"),)
        async with stage.staged(folder, *own, *(documents or (ANYTHING,)), options=options) as staged:
            reached(staged, folder / "kubeconfig")
            yield staged, member
    finally:
        server.close()


def _write(path: Path, port: int) -> None:
    config = {
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "m1", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "m1", "user": {"token": "the-daemons"}}],
        "contexts": [{"name": "m1", "context": {"cluster": "m1", "user": "m1"}}],
    }  # fmt: skip
    path.write_text(json.dumps(config))


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
