"""Requests that no honest client sends: refused before the caller is authenticated.

Two programs that read one request differently are how a proxy in front is fooled, so whatever could be read in two
ways is refused instead of repaired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from aiohttp import web

_ONCE = ("Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Origin", "X-CSRF-Token")
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|\?|#|$)", re.IGNORECASE)
_LONGEST_PATH = 4096


def why_not(request: web.Request) -> str:
    """ "" for a request that means one thing."""
    target = request.raw_path
    if not target.startswith("/"):
        return "the request target must be a path"
    path = target.partition("?")[0]
    if len(target) > _LONGEST_PATH:
        return "the path is too long"
    if "//" in path or "\\" in path or "%5c" in path.lower() or "%00" in path or _DOTS.search(path):
        return "the path must be in its plain form"
    if not _is_utf8(target):
        return "the address must be UTF-8"
    for name, value in request.headers.items():
        if not _is_utf8(value, escaped=False):
            return f"the header {name} must be UTF-8" if name.isascii() else "headers must be UTF-8"
    for name in _ONCE:
        if len(request.headers.getall(name, ())) > 1:
            return f"the header {name} stands twice"
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        return "compressed bodies are not accepted"
    return ""


def _is_utf8(text: str, *, escaped: bool = True) -> bool:
    """Of what came as bytes, and was read so that no byte is lost. `escaped`: what %XX means counts, too."""
    sent = text.encode("utf-8", "surrogateescape")
    try:
        (unquote_to_bytes(sent) if escaped else sent).decode()
    except UnicodeDecodeError:
        return False
    return True


async def form(request: web.Request) -> Mapping[str, Any]:
    """The fields of a form. Raises HTTPBadRequest for what is none, or not UTF-8."""
    try:
        if (request.charset or "utf-8").lower() not in ("utf-8", "us-ascii"):
            raise ValueError(request.charset)
        if request.content_type == "application/x-www-form-urlencoded":
            unquote_to_bytes(await request.read()).decode()
        return await request.post()
    except (ValueError, LookupError) as error:
        raise web.HTTPBadRequest(text="the form cannot be read: it must be UTF-8") from error


def limit_body(request: web.Request, largest: int) -> None:
    """Raises HTTPRequestEntityTooLarge at once when the body says that it is larger; reading ends there in any case."""
    request._client_max_size = largest
    if request.content_length is not None and request.content_length > largest:
        raise web.HTTPRequestEntityTooLarge(max_size=largest, actual_size=request.content_length)
