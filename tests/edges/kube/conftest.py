"""Clusters to test against: the embedded fleet always, a real kube-apiserver when KUBEBUILDER_ASSETS names one.

Each test gets a namespace of its own, so that the real server can be started once for all of them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitfed.edges.kube import apply
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery
from gitfed.model.base import BindingId, Body, Digest, ObjectKey, Origin, key_of
from gitfed.model.fleet import InventoryEntry, LiveObject
from gitfed.model.plan import Action, Change, RenderedManifest, Write
from kubesim import cluster as sim
from tests.clusters.apiserver import RealApiServer
from tests.edges.kube import declared
from tests.support import needs, patience

FEDERATION = "acme"
_numbers = itertools.count(1)


@dataclass
class Place:
    """One cluster and a namespace of the test's own in it."""

    session: Session
    discovery: Discovery
    namespace: str
    kubeconfig: Path

    @property
    def cluster(self) -> str:
        return self.session.cluster

    def target(self, **options: Any) -> apply.ApplyTarget:
        return apply.ApplyTarget(self.session, self.discovery, FEDERATION, **options)

    def config_map(self, name: str, data: dict[str, str], **metadata: Any) -> Body:
        labels = {"gitfed.io/federation": FEDERATION, **metadata.pop("labels", {})}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels, **metadata},
            "data": data,
        }

    async def get(self, body: Body) -> dict[str, Any]:
        key = key_of(body)
        resource = await self.discovery.resource((key.group, key.kind), body["apiVersion"])  # type: ignore[arg-type]
        return await self.session.json("GET", resource.path(key.namespace, key.name))

    async def post(self, body: Body, manager: str = "kubectl-create") -> dict[str, Any]:
        """What another writer does: create by POST."""
        key = key_of(body)
        resource = await self.discovery.resource((key.group, key.kind), body["apiVersion"])  # type: ignore[arg-type]
        query = {"fieldManager": manager}
        return await self.session.json("POST", resource.path(key.namespace), body=dict(body), query=query)

    async def merge(self, body: Body, patch: dict[str, Any], manager: str = "kubectl-edit") -> dict[str, Any]:
        """What another writer does: change by merge patch."""
        key = key_of(body)
        resource = await self.discovery.resource((key.group, key.kind), body["apiVersion"])  # type: ignore[arg-type]
        return await self.session.json(
            "PATCH",
            resource.path(key.namespace, key.name),
            body=patch,
            content_type="application/merge-patch+json",
            query={"fieldManager": manager},
        )


@pytest.fixture(scope="session")
def real_kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    needs.path_of("kube-apiserver")
    directory = tmp_path_factory.mktemp("real")
    server = RealApiServer(directory, "m1")
    config = server.start()
    path = directory / "kubeconfig"
    path.write_text(json.dumps(config))
    yield path
    server.stop()


@pytest.fixture(params=["embedded", "real"])
async def kubeconfig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path]:
    if request.param == "real":
        yield request.getfixturevalue("real_kubeconfig")
        await _parted()
        return
    cluster = sim.Cluster("m1")
    await cluster.start()
    path = tmp_path / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "contexts": [{"name": "m1", "context": {"cluster": "m1", "user": "m1"}}],
                "clusters": [{"name": "m1", "cluster": {"server": cluster.url}}],
                "users": [{"name": "m1", "user": {"token": sim.TOKEN}}],
            }
        )
    )
    yield path
    await cluster.stop()


async def _parted() -> None:
    """Wait until TLS connections that a cancelled request left have said goodbye: the loop ends with the test."""
    loop: Any = asyncio.get_running_loop()
    async with asyncio.timeout(patience.SECONDS):
        while len(loop._selector.get_map()) > 1:  # noqa: ASYNC110  (one is its own)
            await asyncio.sleep(0.01)


@pytest.fixture
async def place(kubeconfig: Path) -> AsyncIterator[Place]:
    sources = credentials.CredentialSources(kubeconfig=(kubeconfig,), environment={})
    async with Session("m1", credentials.resolve(declared.cluster("m1"), sources)) as session:
        namespace = f"t{next(_numbers)}-{uuid.uuid4().hex[:6]}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await session.json("POST", "/api/v1/namespaces", body=body)
        yield Place(session, Discovery(session), namespace, kubeconfig)


def create(body: Body, /, *, cluster: str = "m1", **write: Any) -> Change:
    return Change(
        cluster, key_of(body), body["apiVersion"], Action.CREATE, write=Write(rendered=rendered(body), **write)
    )


def update(desired: Body, live: Body, /, *, ours: bool = True, cluster: str = "m1", **write: Any) -> Change:
    seen = live_object(live, ours=ours, cluster=cluster)
    sent = Write(rendered=rendered(desired), **write)
    return Change(cluster, key_of(desired), desired["apiVersion"], Action.UPDATE, live=seen, write=sent)


def delete(live: Body, *, ours: bool = True, cluster: str = "m1") -> Change:
    return Change(
        cluster, key_of(live), live["apiVersion"], Action.DELETE, live=live_object(live, ours=ours, cluster=cluster)
    )


def live_object(live: Body, *, ours: bool = True, cluster: str = "m1") -> LiveObject:
    metadata = live["metadata"]
    key = key_of(live)
    entry = InventoryEntry(key, metadata["uid"], BindingId("b")) if ours else None
    return LiveObject(key, cluster, metadata["uid"], metadata["resourceVersion"], ours, body=live, entry=entry)


def rendered(body: Body) -> RenderedManifest:
    return RenderedManifest(
        key=key_of(body),
        binding=BindingId("b"),
        body=body,
        digest=Digest("d"),
        clusters=("m1",),
        replicas=None,
        origin=Origin("web.yaml", 1),
    )


def entry(key: ObjectKey, uid: str = "", **options: Any) -> InventoryEntry:
    return InventoryEntry(key, uid, BindingId("abcdefghijklmnop"), **options)
