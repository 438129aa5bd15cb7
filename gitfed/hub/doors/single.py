"""The door of one cluster: its API as it is, for callers whom an AccessPolicy lets in (Karmada: the cluster proxy)."""

from __future__ import annotations

from aiohttp import web

from gitfed.errors import CredentialsError, NotThere
from gitfed.fleet_api import request as api_request
from gitfed.hub import refusal, routes
from gitfed.hub.doors import entry
from gitfed.hub.doors.member_sessions import MemberSessions
from gitfed.hub.doors.relay import Relay
from gitfed.hub.server import Hub


class SingleDoor:
    def __init__(self, hub: Hub, reach: MemberSessions, relay: Relay) -> None:
        self._hub = hub
        self._reach = reach
        self._relay = relay

    async def handle(self, request: web.Request) -> web.StreamResponse:
        cluster = request.match_info["cluster"]
        target = entry.target_of(request)
        path = target.partition("?")[0]
        routes.audited(request, cluster=cluster, path=path)
        if refused := entry.refused(request, path):
            return refused
        about = api_request.parse(path)
        if not entry.may(routes.rights(request), cluster, about):
            return refusal.answer(request, 403, entry.no_right(routes.caller(request).name, cluster, about))
        try:
            session = self._reach.session(cluster)
        except NotThere as error:
            return refusal.answer(request, 404, error.message)
        except CredentialsError as error:
            return refusal.answer(request, 503, error.message, hint=error.hint)
        work = self._relay.pass_on(request, session, target, may_wait=api_request.may_wait(about))
        return await entry.while_allowed(self._hub, request, lambda rights: entry.may(rights, cluster, about), work)
