"""Pages for people, under `/ui`: made on the server, followed live by a little script, and complete without it.

frame           what stands around every page, and the rules for the browser
ordering        what a form of a page orders
object_history  what the state branch tells of an object, read beside its page
live            tells a page that something happened
refusal         what stands in place of a page that is not shown
"""

from __future__ import annotations

from aiohttp import web

from gitfed.hub import request_shape
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.pages import (
    assets,
    commits,
    fleet,
    frame,
    live,
    object_page,
    ordering,
    placement,
    problems,
    refusal,
    what_if,
)
from gitfed.hub.pages.change_events import ChangeEvents
from gitfed.hub.pages.frame import Frame
from gitfed.hub.routes import Capability, Route
from gitfed.hub.server import Hub


def capability(hub: Hub) -> Capability:
    desk = Desk(hub.running)
    made = Frame(hub, desk)
    lately = ChangeEvents()
    hub.running.listen(lately.hear)
    hub.home = "/ui"
    refuse = hub.refusal_page = refusal.of(hub, made)
    return Capability(
        routes=(
            Route("GET", "/", _home),
            assets.route(),
            live.route(hub, desk),
            Route("POST", "/ui/theme", _theme, needs=Right.VIEW),
            fleet.route(made, desk, lately),
            placement.route(hub, made, desk),
            object_page.route(hub, made, desk, lately),
            commits.route(made, desk),
            problems.route(hub, made, desk),
            what_if.route(made, desk),
            *ordering.routes_of(hub, made, refuse),
        ),
        services=(desk.rest,),
    )


async def _home(request: web.Request) -> web.StreamResponse:
    return web.Response(status=303, headers={"Location": "/ui"})


async def _theme(request: web.Request) -> web.StreamResponse:
    """Also without a script: then the browser goes back to where it was."""
    form = await request_shape.form(request)
    theme, back = str(form.get("theme", "")), str(form.get("back", ""))
    answer = web.Response(status=303, headers={"Location": frame.local(back)})
    if theme in frame.THEMES:
        frame.set_theme(request, answer, theme)
    return answer
