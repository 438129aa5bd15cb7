"""Which kinds a cluster serves, and under which paths.

Servers since Kubernetes 1.26 answer in two requests (aggregated discovery); others are asked group by group. A group
that did not answer is *unknown*: its last answer stays in use, and nothing may be concluded from a kind's absence.

A kind that is not known is looked for once more before it counts as unknown, because definitions are often applied
moments before their objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from gitfed import errors
from gitfed.edges.kube.connection import translate
from gitfed.edges.kube.connection.session import Session
from gitfed.model.base import Kind
from gitfed.model.fleet import ApiEnablements
from gitfed.text.values import dataclass

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version, and where its objects lie."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()

    def path(self, namespace: str = "", name: str = "") -> str:
        """Percent-encoded path of a collection, or of an object. A namespace is left out for cluster-scoped kinds."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        if namespace and self.namespaced:
            root = f"{root}/namespaces/{quote(namespace, safe='')}"
        return f"{root}/{self.plural}/{quote(name, safe='')}" if name else f"{root}/{self.plural}"


@dataclass(frozen=True, slots=True)
class _Group:
    """The versions of one group, preferred first; `stale` when this is an older answer or none at all."""

    versions: tuple[str, ...]
    resources: tuple[Resource, ...]
    stale: bool = False


class Discovery:
    """What one cluster serves, read when first needed and again after `refresh`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._groups: dict[str, _Group] = {}
        self._resources: dict[tuple[Kind, str], Resource] = {}
        self._preferred: dict[Kind, Resource] = {}
        self._complete = False
        self._loaded = False
        self._reading = asyncio.Lock()
        self._reads = 0
        self._etags: dict[str, tuple[str, Any]] = {}

    def known(self, kind: Kind, api_version: str | None = None) -> Resource | None:
        """`resource` without asking the cluster: None says that it has to be asked."""
        return self._preferred.get(kind) if api_version is None else self._resources.get((kind, api_version))

    async def resource(self, kind: Kind, api_version: str | None = None) -> Resource:
        """The kind in that version, or in the group's preferred one.

        Raises KindUnknown when the cluster, asked just now, does not serve it; ClusterFailed (worth another try) when
        the group did not answer; and what `refresh` raises.
        """
        resource = self.known(kind, api_version)
        if resource is None:
            await self.refresh()
            resource = self.known(kind, api_version)
        if resource is not None:
            return resource
        name = f"{kind.kind} of {api_version or kind.group or 'v1'}"
        cluster = self._session.cluster
        group = self._groups.get(kind.group)
        if not self._complete and (group is None or group.stale):
            raise errors.ClusterFailed(
                f"cluster {cluster}: cannot tell whether {name} is served: its group did not answer",
                cluster=cluster,
                reason="GroupUnknown",
            )
        raise errors.KindUnknown(
            f"cluster {cluster}: {name} is not served",
            cluster=cluster,
            status=404,
            hint="install its CustomResourceDefinition, or propagate that too",
        )

    async def preferred(self) -> tuple[tuple[Resource, ...], bool]:
        """Every kind in its preferred version, read again; and whether that is all.

        Raises what `refresh` raises when nothing at all could be read.
        """
        await self.refresh()
        return tuple(self._preferred.values()), self._complete

    async def namespaced(self) -> tuple[tuple[Resource, ...], bool]:
        """Of `preferred`, the kinds whose objects lie in namespaces."""
        resources, complete = await self.preferred()
        return tuple(resource for resource in resources if resource.namespaced), complete

    async def enablements(self) -> ApiEnablements:
        """All kinds served, read again. Raises what `refresh` raises when nothing at all could be read."""
        await self.refresh()
        kinds = frozenset((resource.api_version, resource.kind) for resource in self._resources.values())
        return ApiEnablements(kinds=kinds, complete=self._complete)

    async def refresh(self) -> None:
        """Read again; callers that wait together share one reading. Raises a ClusterError when the root fails."""
        before = self._reads
        async with self._reading:
            # A task that began after we asked has read what we need.
            if self._reads > before:
                return
            named, core = await asyncio.gather(
                self._read_root("/apis"), self._read_root("/api"), return_exceptions=True
            )
            for answer in (named, core):
                if isinstance(answer, Exception):
                    raise translate.of_taking_in(self._session.cluster, answer)
                if isinstance(answer, BaseException):
                    raise answer
            assert not isinstance(named, BaseException)
            assert not isinstance(core, BaseException)
            self._take({**core, **named})
            self._reads += 1

    def _take(self, groups: Mapping[str, _Group]) -> None:
        self._complete = all(not group.stale for group in groups.values())
        self._groups = {}
        resources: dict[tuple[Kind, str], Resource] = {}
        preferred: dict[Kind, Resource] = {}
        for name, group in groups.items():
            self._groups[name] = group
            for resource in group.resources:
                kind = Kind(name, resource.kind)
                resources.setdefault((kind, resource.api_version), resource)
                preferred.setdefault(kind, resource)
        self._resources, self._preferred, self._loaded = resources, preferred, True

    async def _read_root(self, path: str) -> dict[str, _Group]:
        """All groups under /apis or /api, however the server tells them."""
        tag, last = self._etags.get(path, ("", None))
        headers = {"If-None-Match": tag} if tag else None
        answer = await self._session.request("GET", path, accept=_AGGREGATED, headers=headers, allow={304})
        if answer.status == 304:
            body = last
        else:
            try:
                body = answer.json()
            except ValueError:
                body = None
        if not isinstance(body, dict):
            raise translate.broken(self._session.cluster, f"{path}: discovery answered no JSON object")
        if body.get("kind") == "APIGroupDiscoveryList":
            # Remembered when it could be read, and not before: what cannot be must not come back from memory.
            self._etags.pop(path, None)
            groups = {str(item.get("metadata", {}).get("name") or ""): self._aggregated(item) for item in body["items"]}
            self._etags[path] = (tag if answer.status == 304 else answer.headers.get("Etag") or "", body)
            return groups
        self._etags.pop(path, None)
        if path == "/api":
            versions = tuple(str(version) for version in body.get("versions") or ())
            return {"": await self._one_by_one("", versions)}
        names = [
            (str(group["name"]), _preferred_first(group)) for group in body.get("groups") or () if group.get("name")
        ]
        read = await asyncio.gather(*(self._one_by_one(name, versions) for name, versions in names))
        return {name: group for (name, _), group in zip(names, read, strict=True)}

    def _aggregated(self, item: Mapping[str, Any]) -> _Group:
        name = str(item.get("metadata", {}).get("name") or "")
        resources: list[Resource] = []
        stale = False
        for version in item.get("versions") or ():
            api_version = f"{name}/{version['version']}" if name else str(version["version"])
            # The server keeps what it last heard of an aggregated API and calls it Stale when that does not answer.
            stale = stale or version.get("freshness") == "Stale"
            resources.extend(
                Resource(
                    api_version=api_version,
                    kind=str((resource.get("responseKind") or {}).get("kind") or ""),
                    plural=str(resource["resource"]),
                    namespaced=resource.get("scope") == "Namespaced",
                    verbs=frozenset(resource.get("verbs") or ()),
                )
                for resource in version.get("resources") or ()
            )
        versions = tuple(str(version["version"]) for version in item.get("versions") or ())
        return self._kept(name, versions, resources) if stale else _Group(versions, tuple(resources))

    async def _one_by_one(self, name: str, versions: Iterable[str]) -> _Group:
        versions = tuple(versions)
        answers = await asyncio.gather(
            *(self._read_version(f"{name}/{version}" if name else version) for version in versions)
        )
        resources = [resource for answer in answers for resource in answer or ()]
        if any(answer is None for answer in answers):
            return self._kept(name, versions, resources)
        return _Group(versions, tuple(resources))

    async def _read_version(self, api_version: str) -> list[Resource] | None:
        """None: this version did not answer."""
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            body = await self._session.json("GET", path)
            return [
                Resource(
                    api_version=api_version,
                    kind=str(entry["kind"]),
                    plural=str(entry["name"]),
                    namespaced=bool(entry.get("namespaced")),
                    verbs=frozenset(entry.get("verbs") or ()),
                )
                for entry in body.get("resources") or ()
                if "/" not in entry["name"]  # subresources
            ]
        except (errors.ClusterError, TypeError, KeyError, AttributeError):
            return None  # an answer that is no list of resources is none

    def _kept(self, name: str, versions: tuple[str, ...], answered_resources: list[Resource]) -> _Group:
        """What answered now, and what was known before of the versions that did not."""
        answered = {resource.api_version for resource in answered_resources}
        before = self._groups.get(name)
        kept = [resource for resource in before.resources if resource.api_version not in answered] if before else []
        return _Group(versions, (*answered_resources, *kept), stale=True)


def _preferred_first(group: Mapping[str, Any]) -> list[str]:
    preferred = str((group.get("preferredVersion") or {}).get("version") or "")
    versions = [str(version["version"]) for version in group.get("versions") or ()]
    return sorted(versions, key=lambda version: version != preferred)
