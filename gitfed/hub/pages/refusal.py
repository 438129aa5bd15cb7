"""What a browser is shown instead of a page: where to sign in, or why not."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, urlsplit

from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.pages.frame import Frame
from gitfed.hub.server import Hub


def of(hub: Hub, frame: Frame) -> Callable[..., web.Response]:
    def refusal(request: web.Request, status: int, text: str, back: str = "") -> web.Response:
        settings = hub.options.oidc
        caller = request.get(routes.CALLER)
        wanted = request.path_qs if request.method == "GET" and not request.path.startswith("/login") else "/ui"
        # A browser that another site sent here leaves our cookie out; once it asks again by itself, it does not.
        arriving = (
            status == 401
            and request.method == "GET"
            and not request.path.startswith("/login")
            and request.headers.get("Sec-Fetch-Site") == "cross-site"
        )
        return frame.alone(
            request,
            "refused.html",
            status=status,
            code=status,
            text=text.strip(),
            known=caller,
            back=back,
            arriving=arriving,
            wanted=wanted,
            issuer=urlsplit(settings.issuer).netloc if settings is not None else "",
            sign_in=f"/login/oidc?next={quote(wanted, safe='/')}",
            loopback=hub.options.loopback,
        )

    return refusal
