"""How the hub says no: a line of text for people, and for programs RFC 9457's problem+json (below `/api/`), or a
Status of Kubernetes (below `/apis/`)."""

from __future__ import annotations

from http import HTTPStatus
from typing import NotRequired

from aiohttp import web

from gitfed import errors
from gitfed.fleet_api import status
from gitfed.views import written
from gitfed.views.value import View

CONTENT_TYPE = "application/problem+json"


class ProblemDetails(View):
    """Why a request was refused (RFC 9457)."""

    type: str
    """`about:blank`: the status says what kind of problem it is."""
    title: str
    status: int
    detail: str
    """What is wrong, for a person."""
    hint: NotRequired[str]
    """What to do."""


def details(code: int, detail: str, hint: str = "") -> ProblemDetails:
    standard = code in HTTPStatus._value2member_map_
    problem: ProblemDetails = {
        "type": "about:blank",
        "title": HTTPStatus(code).phrase if standard else "Error",
        "status": code,
        "detail": detail,
    }
    if hint:
        problem["hint"] = hint
    return problem


def status_of(error: errors.GitfedError) -> int | None:
    """How an error of ours is answered; None: it is no caller's concern."""
    return next((status for kinds, status in _STATUSES if isinstance(error, kinds)), None)


_STATUSES: tuple[tuple[tuple[type[errors.GitfedError], ...], int], ...] = (
    ((errors.NotThere,), 404),
    ((errors.NotAllowed,), 403),
    ((errors.StateConflict,), 409),
    ((errors.NotLeading, errors.TooBusy, errors.SourceError, errors.StateError), 503),
    ((errors.UsageError, errors.InputError), 400),
)
"""The first that fits."""


def answer(
    request: web.Request, code: int, detail: str, headers: dict[str, str] | None = None, *, hint: str = ""
) -> web.Response:
    kept = {name: value for name, value in (headers or {}).items() if name not in ("Content-Type", "Content-Length")}
    if request.path.startswith("/apis/"):
        body = written.json_bytes(status.failure(code, f"{detail} ({hint})" if hint else detail))
        return web.Response(status=code, body=body, headers={**kept, "Content-Type": "application/json"})
    if request.path == "/api" or request.path.startswith("/api/"):
        body = written.json_bytes(details(code, detail, hint))
        return web.Response(status=code, body=body, headers={**kept, "Content-Type": CONTENT_TYPE})
    return web.Response(status=code, text=f"{detail} ({hint})\n" if hint else f"{detail}\n", headers=kept)
