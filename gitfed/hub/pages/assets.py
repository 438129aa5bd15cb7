"""The pages' own style sheet, script and icon, for callers whom we know.

They are read once. Their addresses carry a digest, so that a browser may keep them and still gets the new ones after
an upgrade. The page that asks a stranger to sign in has style and icon inside it (`frame.Frame.alone`).
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from aiohttp import web

from gitfed.hub.routes import Route

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES = {
    name: (resources.files(__package__) / "static" / name).read_bytes()
    for name in ("pages.css", "pages.js", "icon.svg")
}
_DIGESTS = {name: hashlib.sha256(content).hexdigest()[:16] for name, content in _FILES.items()}


def address(name: str) -> str:
    return f"/ui/static/{name}?v={_DIGESTS[name]}"


def inside(name: str) -> str:
    """The file itself as an address."""
    return f"data:{_TYPES[name.rpartition('.')[2]]};base64,{base64.b64encode(_FILES[name]).decode()}"


def route() -> Route:
    return Route("GET", "/ui/static/{name}", _serve)


async def _serve(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    content = _FILES.get(name)
    if content is None:
        raise web.HTTPNotFound
    newest = request.query.get("v") == _DIGESTS[name]
    return web.Response(
        body=content,
        content_type=_TYPES[name.rpartition(".")[2]],
        charset="utf-8",
        headers={"Cache-Control": "private, max-age=31536000, immutable" if newest else "no-cache"},
    )
