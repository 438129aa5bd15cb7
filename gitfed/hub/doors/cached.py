"""The door to what ResourceRegistries select: answers from the hub's memory, of what the caller may see (`hub.search`).

    GET /apis/search.karmada.io/v1alpha1/search/cache/PATH       always a list, of all clusters that are cached

The door of the fleet asks here, too, before it asks members: for a `get` or `list` that takes any version (0), of what
is cached in every cluster it is about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import field
from datetime import UTC, datetime

import orjson
from aiohttp import web
from multidict import CIMultiDict

from gitfed.edges.kube.connection.session import Session
from gitfed.errors import UsageError
from gitfed.fleet_api import accept, doors, versions
from gitfed.fleet_api import request as api_request
from gitfed.fleet_api.request import RequestInfo
from gitfed.hub import refusal, routes
from gitfed.hub.access.rights import Right, Rights
from gitfed.hub.doors import entry
from gitfed.hub.doors.scope import Scope
from gitfed.hub.search import stored_object
from gitfed.hub.search.access_reviews import AccessReview, AccessReviews
from gitfed.hub.search.cache import Cache, Kept
from gitfed.hub.search.collection import Collection, Filter
from gitfed.hub.server import Hub
from gitfed.model.fleet import Reach as Health
from gitfed.text import selector
from gitfed.text.values import dataclass

_AT_ONCE = 16
_FIELDS = {"metadata.name": "name", "metadata.namespace": "namespace"}


@dataclass(frozen=True, slots=True)
class CachedPart:
    """What one cluster has for an answer."""

    kept: Kept
    collections: list[Collection]


@dataclass(slots=True)
class SearchDoor:
    hub: Hub
    cache: Cache
    reviews: AccessReviews = field(default_factory=AccessReviews)

    # -- its own address ----------------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        target = request.raw_path.partition(doors.SEARCH)[2] or "/"
        path = target.partition("?")[0]
        if refused := entry.refused(request, path):
            return refused
        about = api_request.parse(path)
        if wrong := _why_not(request, about, path):
            return refusal.answer(request, 400, wrong)
        try:
            wanted = _filter(request, about)
        except UsageError as error:
            return refusal.answer(request, 400, error.message)
        kept = self.cache.about(about)
        if not kept:
            return self._not_registered(request, about)
        rights = routes.rights(request)
        allowed = {name: kept_kind for name, kept_kind in sorted(kept.items()) if _may(rights, name, about)}
        if not allowed:
            return self._no_right(request, about)
        work = self._answer(request, about, wanted, allowed)
        names = list(allowed)
        return await entry.while_allowed(
            self.hub, request, lambda rights: all(_may(rights, name, about) for name in names), work
        )

    async def _answer(
        self, request: web.Request, about: RequestInfo, wanted: Filter, kept: dict[str, Kept]
    ) -> web.StreamResponse:
        scope = Scope()
        rights = routes.rights(request)
        away = dict(self.cache.unreached)
        kinds = {kept_kind.selected.kind for kept_kind in kept.values()}
        away |= {
            kept_kind.cluster: _not_asked(kept_kind)
            for kept_kind in self.cache.may_be_about(about)
            if kept_kind.selected.kind in kinds
        }
        scope.warnings += [
            f"{why}: what it has is left out" for name, why in sorted(away.items()) if _may(rights, name, about)
        ]
        usable = [kept_kind for kept_kind in kept.values() if self._is_usable(kept_kind, scope)]
        verdicts = await self._verdicts(request, about, usable)
        for kept_kind, verdict in zip(usable, verdicts, strict=True):
            if not verdict.allowed:
                scope.warnings.append(f"{verdict.why_unknown or _forbidden(request, about, kept_kind)}: it is left out")
        seen = [kept_kind for kept_kind, verdict in zip(usable, verdicts, strict=True) if verdict.allowed]
        if not seen:
            code = 403 if usable and not any(verdict.why_unknown for verdict in verdicts) else 503
            return refusal.answer(request, code, "; ".join(scope.warnings) or "no cluster serves it")
        for kept_kind in seen:
            scope.warnings += _age(kept_kind)
        made = web.StreamResponse(headers=CIMultiDict(scope.headers()))
        made.headers["Content-Type"] = accept.JSON
        await made.prepare(request)
        selected = seen[0].selected
        start = orjson.dumps({"apiVersion": selected.api_version, "kind": f"{selected.kind}List", "metadata": {}})
        await made.write(start[:-1] + b',"items":[')
        follows = False
        for kept_kind in seen:
            for part in _chunks(kept_kind, about, wanted):
                await made.write(b"," + part if follows else part)
                follows = True
        await made.write(b"]}")
        await made.write_eof()
        return made

    def _is_usable(self, kept: Kept, scope: Scope) -> bool:
        facts = self.hub.running.facts.get(kept.cluster)
        if kept.not_served:
            return False
        if facts is not None and facts.reach is not Health.READY:
            scope.warnings.append(f"cluster {kept.cluster} is not ready: what it has is left out")
            return False
        whole = kept.collections.values()
        if any(collection.full for collection in whole):
            limit = self.cache.budget.limit >> 20
            scope.warnings.append(
                f"cluster {kept.cluster}: {kept.selected.kind} is left out, the cache of {limit} MiB is full"
            )
            return False
        if not whole or not all(collection.version for collection in whole):
            why = next(
                (f": {collection.lost_since.message}" for collection in whole if collection.lost_since is not None), ""
            )
            scope.warnings.append(f"cluster {kept.cluster}: {kept.selected.kind} was not read yet{why}")
            return False
        return True

    def _not_registered(self, request: web.Request, about: RequestInfo) -> web.Response:
        rights = routes.rights(request)
        maybe = [kept for kept in self.cache.may_be_about(about) if _may(rights, kept.cluster, about)]
        away = [why for name, why in self.cache.unreached.items() if _may(rights, name, about)]
        version = f"{about.group}/{about.version}" if about.group else f"/{about.version}"
        if maybe or away:
            why = "; ".join(dict.fromkeys([*away, *(_not_asked(kept) for kept in maybe)]))
            return refusal.answer(request, 503, f"whether {about.resource} is cached cannot be told yet: {why}")
        what = f"no matches for {version}, Resource={about.resource}: no ResourceRegistry selects it"
        return refusal.answer(request, 404, what)

    def _no_right(self, request: web.Request, about: RequestInfo) -> web.Response:
        where = f" in namespace {about.namespace}" if about.namespace else " in all namespaces"
        what = f"no AccessPolicy lets {routes.caller(request).name} view {about.resource}{where} of any cached cluster"
        return refusal.answer(request, 403, what)

    # -- for the door of the fleet ------------------------------------------------------------------------------------

    async def read(self, request: web.Request, about: RequestInfo, scope: Scope) -> web.StreamResponse | None:
        """The answer to a `get` or `list` of the fleet; None: members have to be asked."""
        query = request.query
        if query.get("resourceVersion") != versions.ANY or (query.get("limit") or "0") != "0" or query.get("continue"):
            return None
        if api_request.is_true(query.get("watch")) or "as=" in request.headers.get("Accept", ""):
            return None
        try:
            wanted = _filter(request, about)
        except UsageError:
            return None
        kept = self.cache.about(about)
        parts = [_part(kept.get(name), about) for name in scope.names]
        whole = [part for part in parts if part is not None]
        if not whole or len(whole) < len(parts):
            return None
        verdicts = await self._verdicts(request, about, [part.kept for part in whole])
        if not all(verdict.allowed for verdict in verdicts):
            return None
        return self._one(whole, wanted, scope) if about.name else _list(whole, wanted, scope)

    def _one(self, parts: list[CachedPart], wanted: Filter, scope: Scope) -> web.Response | None:
        """None unless exactly one cluster has it: members say what is to be said then."""
        matching = [
            (part, collection, stored)
            for part in parts
            for collection in part.collections
            for stored in collection.find(wanted)
        ]
        if len(matching) != 1:
            return None
        part, collection, stored = matching[0]
        return _json(stored_object.text(stored, collection.head, part.kept.cluster), scope)

    async def _verdicts(self, request: web.Request, about: RequestInfo, kept: Iterable[Kept]) -> list[AccessReview]:
        gate = asyncio.Semaphore(_AT_ONCE)
        caller = routes.caller(request)

        async def ask(session: Session) -> AccessReview:
            async with gate:
                return await self.reviews.of(session, caller, about, "get" if about.name else "list")

        return list(await asyncio.gather(*(ask(each.session) for each in kept)))


def _why_not(request: web.Request, about: RequestInfo, path: str) -> str:
    if not about.is_resource:
        return f"{path} is about no resource: only kinds that a ResourceRegistry selects are cached"
    if about.subresource:
        return f"{about.resource}/{about.subresource} is not cached: objects are, and nothing below them"
    if api_request.is_true(request.query.get("watch")):
        return "there is no watch here: use the door of the fleet"
    return ""


def _filter(request: web.Request, about: RequestInfo) -> Filter:
    """Raises UsageError for a selector that cannot be answered here."""
    labels = request.query.get("labelSelector") or ""
    fields = request.query.get("fieldSelector") or ""
    exact = {
        "namespace": "" if about.resource == "namespaces" and not about.group else about.namespace,
        "name": about.name,
    }
    for part in filter(None, fields.split(",")):
        name, equals, value = part.replace("==", "=").partition("=")
        if name not in _FIELDS or not equals or name.endswith("!"):
            raise UsageError(f"field selector {part}: only metadata.name and metadata.namespace can be asked for here")
        if exact[_FIELDS[name]] not in ("", value):
            value = "/"  # nothing is called so
        exact[_FIELDS[name]] = value
    return Filter(exact["namespace"], exact["name"], selector.from_text(labels) if labels else None)


def _not_asked(kept: Kept) -> str:
    return kept.trouble or f"cluster {kept.cluster} was not asked yet"


def _may(rights: Rights, cluster: str, about: RequestInfo) -> bool:
    return rights.on_object(Right.VIEW, cluster, about.namespace)


def _part(kept: Kept | None, about: RequestInfo) -> CachedPart | None:
    """None for what is not wholly and freshly at hand."""
    if kept is None or kept.resource is None:
        return None
    if not kept.resource.namespaced or kept.extent.namespaces is None:
        collections = kept.covering("")
    else:
        collections = kept.covering(about.namespace) if about.namespace else []
    return (
        CachedPart(kept, collections)
        if collections and all(collection.is_current for collection in collections)
        else None
    )


def _chunks(kept: Kept, about: RequestInfo, wanted: Filter) -> Iterable[bytes]:
    namespaced = kept.resource is not None and kept.resource.namespaced
    for collection in kept.covering(wanted.namespace if namespaced else ""):
        if chunk := stored_object.texts(collection.find(wanted), collection.head):
            yield chunk


def _list(parts: list[CachedPart], wanted: Filter, scope: Scope) -> web.Response:
    own = {part.kept.cluster: part.collections[0].version for part in parts}
    first = parts[0].kept.resource
    assert first is not None
    start = {
        "apiVersion": first.api_version,
        "kind": f"{first.kind}List",
        "metadata": {"resourceVersion": versions.encode(own)},
    }
    chunks = [
        stored_object.texts(collection.find(wanted), collection.head, part.kept.cluster)
        for part in parts
        for collection in part.collections
    ]
    return _json(orjson.dumps(start)[:-1] + b',"items":[' + b",".join(filter(None, chunks)) + b"]}", scope)


def _age(kept: Kept) -> list[str]:
    lost = next(
        (collection.lost_since for collection in kept.collections.values() if collection.lost_since is not None), None
    )
    if lost is None:
        return []
    since = datetime.fromtimestamp(lost.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return [f"{lost.message}: {kept.selected.kind} as of {since}"]


def _forbidden(request: web.Request, about: RequestInfo, kept: Kept) -> str:
    kind = about.resource + (f".{about.group}" if about.group else "")
    verb = "get" if about.name else "list"
    where = f' in the namespace "{about.namespace}"' if about.namespace else " at the cluster scope"
    return f'cluster {kept.cluster}: user "{routes.caller(request).name}" may not {verb} {kind}{where}'


def _json(body: bytes, scope: Scope) -> web.Response:
    made = web.Response(body=body, headers=CIMultiDict(scope.headers()))
    made.headers["Content-Type"] = accept.JSON
    return made
