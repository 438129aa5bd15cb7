"""One request that reads: its parameters and its answer, which a client need not get twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from gitfed import errors
from gitfed.hub import refusal, routes
from gitfed.hub.answers.desk import Desk, FormedAnswer
from gitfed.hub.api import resources
from gitfed.hub.api.resources import Resource
from gitfed.hub.server import Hub
from gitfed.views import written

JSON = "application/json"
_TAKEN = ("*/*", "application/*", JSON)


class Reading:
    def __init__(self, hub: Hub, desk: Desk) -> None:
        self._hub = hub
        self._desk = desk

    def handler(self, resource: Resource) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await refusing(request, self._read(request, resource))

        return handle

    async def _read(self, request: web.Request, resource: Resource) -> web.StreamResponse:
        if not takes(request, JSON, _TAKEN):
            return refusal.answer(request, 406, f"only {JSON} is answered here")
        raw_parameters = {name: request.query.getall(name) for name in dict.fromkeys(request.query)}
        requested = resources.asked(resource, raw_parameters, request.match_info.get("object", ""))
        moment, rights = self._desk.now(), routes.rights(request)
        if moment is None:
            return refusal.answer(request, 503, "no commit was planned yet", {"Retry-After": "5"})

        def form() -> bytes:
            return written.json_bytes(resource.form(moment, self._desk.sight(rights, moment), requested))

        answer = await self._desk.answer((resource.name, requested, rights), form, heavy=resource.heavy)
        return sent(request, answer, JSON)


async def refusing(request: web.Request, answer: Awaitable[web.StreamResponse]) -> web.StreamResponse:
    """Errors as one documented shape."""
    try:
        return await answer
    except errors.GitfedError as error:
        status = refusal.status_of(error)
        if status is None:
            raise
        again = "2" if isinstance(error, errors.TooBusy) else "10"
        headers = {"Retry-After": again} if status == 503 else {}
        return refusal.answer(request, status, error.message, headers, hint=error.hint)


def sent(request: web.Request, answer: FormedAnswer, content_type: str) -> web.StreamResponse:
    """The answer, or that it is the one that the client has."""
    tag = f'W/"{answer.tag}"'
    headers = {
        "Cache-Control": "private, no-cache",
        "Content-Type": content_type,
        "ETag": tag,
        "Vary": "Accept-Encoding, Authorization, Cookie",
    }
    if tag in {condition.strip() for condition in request.headers.get("If-None-Match", "").split(",")}:
        del headers["Content-Type"]
        return web.Response(status=304, headers=headers)
    if answer.packed and _takes_gzip(request):
        return web.Response(body=answer.packed, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=answer.body, headers=headers)


def takes(request: web.Request, content_type: str, taken: tuple[str, ...]) -> bool:
    """Whether the client takes what we send."""
    accepted = [
        _weighed(media_type)
        for media_type in ",".join(request.headers.getall("Accept", [])).split(",")
        if media_type.strip()
    ]
    return not accepted or any(name in taken for name, weight in accepted if weight > 0)


def _takes_gzip(request: web.Request) -> bool:
    offered = dict(_weighed(encoding) for encoding in request.headers.get("Accept-Encoding", "").split(","))
    return offered.get("gzip", offered.get("*", 0.0)) > 0


def _weighed(item: str) -> tuple[str, float]:
    """`text/html;q=0.8` → (`text/html`, 0.8)."""
    name, *parameters = (part.strip().lower() for part in item.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return name, float(parameter[2:])
            except ValueError:
                return name, 0.0
    return name, 1.0
