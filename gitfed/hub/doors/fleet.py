"""The door of the whole fleet: every cluster that the caller may enter, as if it were one (Karmada: the global proxy).

    get          of all clusters; in two of them it is ambiguous
    list         of all clusters, one after the other (`fleet_api.paging`)
    watch        of all clusters at the same time (`watch`)
    write, logs  to the cluster that has the object
    kinds        those of all clusters together
    can-i        of all clusters (`fleet_api.reviews`)

Karmada answers reads from a cache, whoever asks. Here members are asked in the caller's name, so nobody sees more
through this door than in the clusters themselves; what is cached (`cached`) is answered for whom they would answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from aiohttp import web
from multidict import CIMultiDict

from gitfed.edges.kube.connection.session import give_up
from gitfed.errors import ClusterError
from gitfed.fleet_api import accept, discovery, headers, merge, paging, reviews, versions
from gitfed.fleet_api import request as api_request
from gitfed.fleet_api.request import RequestInfo
from gitfed.http_relay import passing
from gitfed.hub import refusal, routes
from gitfed.hub.doors import entry, member_queries, relay, scope
from gitfed.hub.doors.cached import SearchDoor
from gitfed.hub.doors.member_queries import MemberAnswer
from gitfed.hub.doors.member_sessions import MemberSessions
from gitfed.hub.doors.relay import Relay
from gitfed.hub.doors.scope import Scope
from gitfed.hub.doors.watch import Watch
from gitfed.hub.server import Hub

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_LARGEST = 16 << 20
"""Bytes of an object that is read before it goes on."""
_OWN_WORDS = ("limit", "continue", "resourceVersion", "resourceVersionMatch")


class FleetDoor:
    def __init__(self, hub: Hub, reach: MemberSessions, passing: Relay, cached: SearchDoor) -> None:
        self._hub = hub
        self._cached = cached
        self._reach = reach
        self._relay = passing
        self.watches = Watch(hub, reach)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        target = entry.target_of(request)
        path = target.partition("?")[0]
        routes.audited(request, cluster="*", path=path)
        if refused := entry.refused(request, path):
            return refused
        about = api_request.parse(path)
        clusters = scope.of(self._hub, self._reach, routes.rights(request), about)
        if clusters is None:
            caller = routes.caller(request).name
            return refusal.answer(request, 403, entry.no_right(caller, "any", about))
        if not clusters.sessions:
            return refusal.answer(request, 503, "; ".join(clusters.warnings) or "no cluster can be asked")
        work = self._answer(request, about, target, clusters)
        return await entry.while_allowed(self._hub, request, scope.still(about, clusters.names), work)

    async def _answer(
        self, request: web.Request, about: RequestInfo, target: str, asked_clusters: Scope
    ) -> web.StreamResponse:
        reads = request.method == "GET" and not passing.upgrade_of(request)
        if not about.is_resource:
            return await self._of_no_resource(request, target, asked_clusters)
        if about.name and not (reads and not about.subresource):
            return await self._to_owner(request, about, target, asked_clusters)
        if request.method == "POST" and reviews.is_about_oneself(about):
            return await self._of_oneself(request, about, target, asked_clusters)
        if not reads:
            what = f"{request.method} without a name is for one cluster: use its own door, /clusters/NAME/proxy"
            return refusal.answer(request, 405, what)
        if not accept.in_json(request.headers.get("Accept", "")):
            return refusal.answer(request, 406, "answers of several clusters are put together in JSON")
        if api_request.is_true(request.query.get("watch")):
            return await self.watches.serve(request, about, asked_clusters)
        if (at_hand := await self._cached.read(request, about, asked_clusters)) is not None:
            return at_hand
        if about.name:
            return await self._get(request, about, target, asked_clusters)
        return await self._list(request, about, asked_clusters)

    # -- reads --------------------------------------------------------------------------------------------------------

    async def _get(self, request: web.Request, about: RequestInfo, target: str, clusters: Scope) -> web.StreamResponse:
        answers = await member_queries.ask_all(request, clusters.sessions, target, _accepted(request))
        owner = _one_of(request, about, answers, clusters)
        if isinstance(owner, web.Response):
            return owner
        body = owner.body
        if merge.is_table(body):
            body = {**merge.lists([(owner.cluster, body)]), "metadata": body.get("metadata") or {}}
        else:
            body = merge.marked(body, owner.cluster)
        return _json(body, clusters)

    async def _list(self, request: web.Request, about: RequestInfo, clusters: Scope) -> web.StreamResponse:
        query = request.query
        place = versions.decode_continue(query["continue"]) if query.get("continue") else None
        if query.get("continue") and place is None:
            return refusal.answer(request, 410, "the continue token is none of this door: begin the list anew")
        limit = query.get("limit") or "0"
        if not limit.isdecimal():
            return refusal.answer(request, 400, "limit is a number")
        page = paging.Page(clusters.names, int(limit), query.get("resourceVersion") or "", place)
        by_name = {session.cluster: session for session in clusters.sessions}
        bad: list[MemberAnswer] = []
        while (question := page.ask()) is not None:
            target = _part(request, about, question)
            answer = await member_queries.ask(request, by_name[question.cluster], target, _accepted(request))
            if answer.good:
                page.answered(question, answer.body)
                continue
            if answer.status == 410:
                return refusal.answer(request, 410, answer.error)
            if question.token:  # who has one part of it would keep that for ever
                why = f"{answer.error}: the list goes on in the middle of that cluster: begin it anew"
                return refusal.answer(request, 410, why)
            bad.append(answer)
            page.left_out(question)
        clusters.warnings += [f"{answer.error}: what it has is left out" for answer in bad if answer.status != 404]
        if page.empty:
            return _none(request, bad)
        unseen = [by_name[name] for name in page.unseen()]
        if unseen:
            first = _part(request, about, paging.Ask("", 1))
            for answer in await member_queries.ask_all(request, unseen, first, _METADATA_LIST):
                if answer.good:
                    metadata = answer.body.get("metadata") or {}
                    page.seen(answer.cluster, str(metadata.get("resourceVersion") or ""))
        return _json(page.made(), clusters)

    async def _of_oneself(
        self, request: web.Request, about: RequestInfo, target: str, clusters: Scope
    ) -> web.StreamResponse:
        content = await _read(request)
        if content is None:
            return refusal.answer(request, 413, f"the body is larger than {_LARGEST >> 20} MiB")
        answers = await member_queries.ask_all(request, clusters.sessions, target, _accepted(request), content)
        good = [answer for answer in answers if answer.good]
        if not good:
            return _none(request, answers)
        clusters.warnings += [answer.error for answer in answers if not answer.good]
        body = reviews.merged(about, [(answer.cluster, answer.body) for answer in good])
        return _json(body, clusters, code=good[0].status)

    async def _of_no_resource(self, request: web.Request, target: str, clusters: Scope) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            return refusal.answer(request, 405, f"{request.method} is for one cluster: use its own door")
        parts = [part for part in target.partition("?")[0].split("/") if part]
        if not _is_discovery(parts):
            return await self._first(request, target, clusters)
        for form in (_accepted(request), accept.JSON):
            answers = await member_queries.ask_all(request, clusters.sessions, target, form)
            good = [answer for answer in answers if answer.good]
            if not good:
                return _none(request, answers)
            union = discovery.union([answer.body for answer in good])
            if union is not None:
                clusters.warnings += [answer.error for answer in answers if answer.status not in (200, 404)]
                return _json(union, clusters, good[0].content_type)
        return refusal.answer(request, 503, "the clusters describe their kinds in several ways")

    async def _first(self, request: web.Request, target: str, clusters: Scope) -> web.StreamResponse:
        """Of the first cluster that has it: a version, a schema."""
        caller = routes.caller(request)
        sent = [*headers.to_member(request.headers.items()), *headers.impersonation(caller.name, caller.groups)]
        why = "no cluster has it"
        for session in clusters.sessions:
            try:
                answer = await session.begin(request.method, target, sent, seconds=member_queries.ANSWER)
            except ClusterError as error:
                why = error.message
                continue
            try:
                if answer.status in (200, 304):
                    return await passing.pass_back(request, answer)
                why = relay.why_refused(session, answer) or why
            finally:
                give_up(answer)
        return refusal.answer(request, 404 if why == "no cluster has it" else 503, why)

    # -- what goes to the one cluster that has the object -------------------------------------------------------------

    async def _to_owner(
        self, request: web.Request, about: RequestInfo, target: str, clusters: Scope
    ) -> web.StreamResponse:
        answers = await member_queries.ask_all(request, clusters.sessions, about.object, _METADATA)
        owner = _one_of(request, about, answers, clusters)
        if isinstance(owner, web.Response):
            return owner
        session = next(session for session in clusters.sessions if session.cluster == owner.cluster)
        routes.audited(request, cluster=owner.cluster)
        body: bytes | None = None
        if request.method in ("PUT", "PATCH") and about.subresource != "proxy":
            content = await _read(request)
            if content is None:
                return refusal.answer(request, 413, f"the body is larger than {_LARGEST >> 20} MiB")
            body = _for_owner(content, owner.cluster)
        return await self._relay.pass_on(request, session, target, may_wait=api_request.may_wait(about), body=body)


_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


def _accepted(request: web.Request) -> str:
    return accept.in_json(request.headers.get("Accept", "")) or accept.JSON


def _part(request: web.Request, about: RequestInfo, question: paging.Ask) -> str:
    """The address of a part of a list, for its cluster."""
    query = [(name, value) for name, value in request.query.items() if name not in _OWN_WORDS]
    if question.limit:
        query.append(("limit", str(question.limit)))
    if question.token:
        query.append(("continue", question.token))
    elif question.version:
        query.append(("resourceVersion", question.version))
        if match := request.query.get("resourceVersionMatch"):
            query.append(("resourceVersionMatch", match))
    return f"{about.collection}?{urlencode(query)}" if query else about.collection


def _one_of(
    request: web.Request, about: RequestInfo, answers: list[MemberAnswer], asked_clusters: Scope
) -> MemberAnswer | web.Response:
    """The cluster that has the object, or why there is not one."""
    good = [answer for answer in answers if answer.good]
    silent = [answer.error for answer in answers if answer.status not in (200, 403, 404)]
    if len(good) == 1:
        asked_clusters.warnings += silent
        return good[0]
    if good:
        kind = about.resource + (f".{about.group}" if about.group else "")
        clusters = ", ".join(answer.cluster for answer in good)
        message = f'Operation cannot be fulfilled on {kind} "{about.name}": ambiguous objects in clusters [{clusters}]'
        return refusal.answer(request, 409, message)
    if silent:  # what cannot be seen is not gone
        return refusal.answer(request, 503, "; ".join(silent))
    return _none(request, answers)


def _none(request: web.Request, answers: list[MemberAnswer]) -> web.Response:
    """No cluster has an answer: the reason that weighs most, in the words of a cluster."""
    for code in (403, 404):
        refused = next((answer for answer in answers if answer.status == code), None)
        if refused is not None and all(answer.status in (403, 404) for answer in answers):
            if isinstance(refused.body, Mapping):
                return _json(refused.body, Scope(), code=code)
            return refusal.answer(request, code, "the server could not find the requested resource")
    return refusal.answer(request, 503, "; ".join(answer.error for answer in answers) or "no cluster answers")


def _for_owner(content: bytes, cluster: str) -> bytes:
    """Without what this door adds to objects. Other bodies (a JSON patch, YAML) go as they are."""
    try:
        body = orjson.loads(content)
    except ValueError:
        return content
    return orjson.dumps(merge.unmarked(body, cluster)) if isinstance(body, dict) else content


async def _read(request: web.Request) -> bytes | None:
    data = bytearray()
    async for part in request.content.iter_any():
        data += part
        if len(data) > _LARGEST:
            return None
    return bytes(data)


def _is_discovery(parts: list[str]) -> bool:
    if parts[:1] == ["apis"]:
        return len(parts) <= 3
    return parts in (["api"], ["openapi", "v3"]) or (parts[:1] == ["api"] and len(parts) == 2)


def _json(body: Mapping[str, Any], clusters: Scope, content_type: str = accept.JSON, code: int = 200) -> web.Response:
    made = web.Response(body=orjson.dumps(body), status=code, headers=CIMultiDict(clusters.headers()))
    made.headers["Content-Type"] = content_type or accept.JSON
    return made
