"""All collections that the ResourceRegistries of the commit in force select, and no others.

Every two seconds what is followed is compared with what is wanted: by name of cluster, kind and namespace, so a commit
that changes nothing of them disturbs none. A kind that a cluster does not serve is looked for again every half minute.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Protocol

from gitfed import errors
from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.discovery import Discovery, Resource
from gitfed.fleet_api.request import RequestInfo
from gitfed.hub.search.collection import Budget, Collection, Copy
from gitfed.model.base import ClusterName
from gitfed.model.declared.cluster import Cluster
from gitfed.model.declared.search import OpenSearchConfig
from gitfed.model.repo import RepoSnapshot
from gitfed.reading import registries
from gitfed.reading.registries import Extent, Selected
from gitfed.text.values import dataclass

LIMIT = 1 << 30
"""Bytes of all objects together."""
_LOOK = 2.0
_AGAIN = 30.0
"""Seconds until what a cluster did not serve, or what did not fit, is tried again."""

log = logging.getLogger(__name__)


class Ways(Protocol):
    """How clusters are reached."""

    def session(self, name: ClusterName) -> Session: ...


class Copies(Protocol):
    """The stores that cached objects are exported to."""

    def to(self, config: OpenSearchConfig) -> Copy: ...
    async def keep_only(self, configs: Iterable[OpenSearchConfig]) -> None: ...


@dataclass(slots=True)
class Kept:
    """One kind of one cluster."""

    cluster: ClusterName
    selected: Selected
    extent: Extent
    session: Session
    resource: Resource | None = None
    """None: the cluster was not asked yet."""
    collections: dict[str, Collection] = field(default_factory=dict)
    """By namespace; "" is all of them."""
    not_served: bool = False
    trouble: str = ""
    """Why it cannot be told which resource it is."""
    task: asyncio.Task[None] | None = None

    def is_about(self, request: RequestInfo) -> bool:
        version = f"{request.group}/{request.version}" if request.group else request.version
        resource = self.resource
        return resource is not None and resource.api_version == version and resource.plural == request.resource

    def covering(self, namespace: str) -> list[Collection]:
        """Those that may hold something of it, in order; with "" all."""
        if "" in self.collections:
            return [self.collections[""]]
        if namespace:
            return [self.collections[namespace]] if namespace in self.collections else []
        return [self.collections[name] for name in sorted(self.collections)]


class Cache:
    def __init__(self, ways: Ways, limit: int = LIMIT, copies: Copies | None = None) -> None:
        self._ways = ways
        self._copies = copies
        self.budget = Budget(limit)
        self._kept: dict[tuple[ClusterName, Selected], Kept] = {}
        self._discovered: dict[ClusterName, tuple[Session, Discovery]] = {}
        self.unreached: dict[ClusterName, str] = {}
        """Why clusters that registries select cannot be read from here."""
        self._next_try: dict[ClusterName, float] = {}
        self._of_repo: tuple[RepoSnapshot | None, dict[tuple[ClusterName, Selected], Extent]] = (None, {})

    def all(self) -> Iterator[Kept]:
        return iter(self._kept.values())

    def about(self, request: RequestInfo) -> dict[ClusterName, Kept]:
        """What is kept of the resource that a request is about."""
        return {kept.cluster: kept for kept in self._kept.values() if kept.is_about(request)}

    def may_be_about(self, request: RequestInfo) -> list[Kept]:
        """Of which it cannot be told yet, because the cluster was not asked which resource the kind is."""
        version = f"{request.group}/{request.version}" if request.group else request.version
        unknown = (kept for kept in self._kept.values() if kept.resource is None and not kept.not_served)
        return [kept for kept in unknown if kept.selected.api_version == version]

    async def run(self, repo: Callable[[], RepoSnapshot | None]) -> None:
        """A service: follows what `repo()`, the commit in force, selects."""
        try:
            while True:
                await self._compare(repo())
                await asyncio.sleep(_LOOK)
        finally:
            for key in list(self._kept):
                await self._drop(key)
            if self._copies is not None:
                await self._copies.keep_only(())

    async def _compare(self, repo: RepoSnapshot | None) -> None:
        if self._of_repo[0] is not repo:
            self._of_repo = repo, _wanted(repo)
            self._next_try.clear()
        wanted = self._of_repo[1]
        sessions: dict[ClusterName, Session] = {}
        unreached: dict[ClusterName, str] = {}
        for cluster in {cluster for cluster, _ in wanted}:
            if time.monotonic() < self._next_try.get(cluster, 0.0):
                unreached[cluster] = self.unreached[cluster]
                continue
            try:
                sessions[cluster] = self._ways.session(cluster)
            except (errors.NotThere, errors.CredentialsError) as error:
                unreached[cluster] = error.message
                self._next_try[cluster] = time.monotonic() + _AGAIN
        self.unreached = unreached
        for key, kept in list(self._kept.items()):
            if wanted.get(key) != kept.extent or sessions.get(key[0]) is not kept.session or _has_ended(kept):
                await self._drop(key)
        for (cluster, selected), extent in wanted.items():
            if cluster in sessions and (cluster, selected) not in self._kept:
                kept = Kept(cluster, selected, extent, sessions[cluster])
                kept.task = asyncio.create_task(self._keep(kept))
                self._kept[cluster, selected] = kept
        if self._copies is not None:
            await self._copies.keep_only({extent.store for extent in wanted.values() if extent.store is not None})

    async def _drop(self, key: tuple[ClusterName, Selected]) -> None:
        kept = self._kept.pop(key)
        if kept.task is not None:
            kept.task.cancel()
            await asyncio.wait({kept.task})
            if not kept.task.cancelled() and (error := kept.task.exception()) is not None:
                log.error("a kind cannot be cached", exc_info=error)
        for collection in kept.collections.values():
            collection.clear()

    async def _keep(self, kept: Kept) -> None:
        """Follow one kind until cancelled, or until it does not fit."""
        wake = reflect.Wake()
        while True:
            try:
                resource = await self._discovery(kept).resource(kept.selected.group_kind, kept.selected.api_version)
                kept.resource, kept.trouble, kept.not_served = resource, "", False
                await self._follow(kept, resource, wake)
                return
            except (errors.KindUnknown, errors.ObjectNotFound):
                kept.not_served = True
            except errors.ClusterError as error:
                kept.trouble = error.message
                details = {"cluster": kept.cluster, "kind": kept.selected.kind, "error": translate.said(error)}
                log.debug("cannot tell which resource a kind is", extra=details)
            for collection in kept.collections.values():
                collection.clear()
            kept.collections.clear()
            await wake.pause(_AGAIN if kept.not_served else _LOOK)

    async def _follow(self, kept: Kept, resource: Resource, wake: reflect.Wake) -> None:
        """Raises ObjectNotFound when it is not served any more. Returns when something does not fit."""
        namespaces = kept.extent.namespaces
        wanted = [""] if namespaces is None or not resource.namespaced else sorted(namespaces)
        store = kept.extent.store
        copy = self._copies.to(store) if self._copies is not None and store is not None else None
        tasks: list[asyncio.Task[None]] = []
        for namespace in wanted:
            made = Collection(kept.cluster, resource.api_version, resource.kind, self.budget, copy)
            kept.collections[namespace] = made
            collection = reflect.Collection(resource.path(namespace), project=made.project)
            following = reflect.follow(kept.session, collection, made, wake=wake)
            tasks.append(asyncio.create_task(following))
        try:
            while not any(kept_collection.full for kept_collection in kept.collections.values()):
                done, _ = await asyncio.wait(tasks, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for kept_collection in kept.collections.values():
            kept_collection.clear()
            kept_collection.full = True
        log.warning("a kind does not fit into the search cache", extra={"cluster": kept.cluster, "kind": resource.kind})
        await wake.pause(_AGAIN)

    def _discovery(self, kept: Kept) -> Discovery:
        """One for each cluster, so that many kinds ask it once."""
        session, discovery = self._discovered.get(kept.cluster, (None, None))
        if discovery is None or session is not kept.session:
            discovery = Discovery(kept.session)
            self._discovered[kept.cluster] = kept.session, discovery
        return discovery


def _has_ended(kept: Kept) -> bool:
    return kept.task is not None and kept.task.done()


def _wanted(repo: RepoSnapshot | None) -> dict[tuple[ClusterName, Selected], Extent]:
    extents: dict[tuple[ClusterName, Selected], Extent] = {}
    clusters: Mapping[ClusterName, Cluster] = repo.clusters if repo is not None else {}
    for name, declared in clusters.items():
        selected = registries.of_cluster(repo.registries, declared) if repo is not None else {}
        extents.update({(name, kind): extent for kind, extent in selected.items()})
    return extents
