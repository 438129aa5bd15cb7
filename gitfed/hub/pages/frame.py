"""What every page stands in: the templates, who looks, what is in force, and the rules that a browser is given.

No text of a repository, a cluster or a commit is ever markup: Jinja escapes every value, nothing is marked as safe, and
the browser is told to run no script and use no style but our two files. A page for strangers runs none at all, and has
the style inside it, which the browser is told by its digest: whom we do not know gets nothing but that one page.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2
import markupsafe
from aiohttp import web

from gitfed.hub import routes
from gitfed.hub.access import authentication
from gitfed.hub.access.rights import Right
from gitfed.hub.answers.desk import Desk
from gitfed.hub.pages import assets
from gitfed.hub.pages.results import Results
from gitfed.hub.server import Hub
from gitfed.model.base import ObjectKey
from gitfed.text import moment as moments
from gitfed.views import names

_NOTHING_ELSE = "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    f"connect-src 'self'; form-action 'self'; {_NOTHING_ELSE}",
    "Cross-Origin-Opener-Policy": "same-origin",
    # With none at all a browser sends our own forms with `Origin: null`, as if they were of another site.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PAGES = (
    ("/ui", "Fleet"),
    ("/ui/placement", "Placement"),
    ("/ui/commits", "Commits"),
    ("/ui/problems", "Problems"),
    ("/ui/what-if", "What if"),
)
THEMES = ("auto", "light", "dark")
_THEME = "gitfed-theme"
_LOCAL = re.compile(r"/ui(?:[/?][\x21-\x7e]{0,2000})?")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def _clean(value: object) -> str:
    """A value as text, in which nothing hides or turns the direction of reading."""
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(__package__), jinja2.PackageLoader(__package__, "static")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_finalize,
    )
    made.globals.update(
        asset=assets.address, inside=assets.inside, query=query, object_url=object_url, cluster_url=cluster_url
    )
    made.filters.update(ago=_ago, moment=moment, sentence=sentence, path=path)
    return made


def _finalize(value: Any) -> Any:
    """Runs over every value that a template shows, before it is escaped."""
    return value if hasattr(value, "__html__") else _clean(value)


def query(path: str, **parameters: object) -> str:
    """An address of ours; parameters that are empty are left out."""
    kept = {name: str(value) for name, value in parameters.items() if value not in (None, "", 0)}
    return f"{path}?{urlencode(kept)}" if kept else path


def object_url(key: ObjectKey | str, **more: object) -> str:
    return query("/ui/object", of=str(key), **more)


def cluster_url(name: str) -> str:
    return query("/ui/placement", cluster=name)


def local(back: str) -> str:
    """A page of ours to go back to; no address of anything else."""
    return back if _LOCAL.fullmatch(back) and "\\" not in back else PAGES[0][0]


def path(key: ObjectKey) -> str:
    """What stands in front of an object's name: `shop/Deploy/`."""
    return names.shown(key).removesuffix(key.name)


def sentence(text: str) -> str:
    """With a capital in front."""
    return text[:1].upper() + text[1:]


def _ago(when: datetime) -> str:
    return moments.ago(when, datetime.now(UTC))


def moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


ENVIRONMENT = _environment()


class _Caller(NamedTuple):
    name: str


_HOLE = secrets.token_hex(16)
_NAME, _TOKEN = f"name-{_HOLE}", f"token-{_HOLE}"
"""What stands in a page that is formed for many in the place of what differs; no caller ever gets them."""
TURN_HEADER = "Gitfed-Turn"
"""The turn of the engine that a page was told of, and asks again because of it."""


def _alone() -> dict[str, str]:
    style = base64.b64encode(hashlib.sha256(ENVIRONMENT.get_template("pages.css").render().encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style}'; img-src data:; form-action 'none'; {_NOTHING_ELSE}"
    return {**_HEADERS, "Content-Security-Policy": policy}


_HEADERS_ALONE = _alone()


class Frame:
    """Makes pages of templates."""

    def __init__(self, hub: Hub, desk: Desk) -> None:
        self._hub = hub
        self._desk = desk
        self.results = Results()

    async def formed(
        self, request: web.Request, template: str, form: Callable[[], Mapping[str, Any]], *question: Hashable
    ) -> web.Response:
        """A page for callers whom we know, formed and written in a thread: once for all who ask for the same address
        with the same rights and theme. `question` is what else it depends on. Raises TooBusy, and what
        `form` raises.
        """
        theme = _theme_of(request)
        about = {**self._about(request), "caller": _Caller(_NAME), "csrf": _TOKEN}

        def write() -> bytes:
            values = {**about, "theme": theme, "looked_at": moment(datetime.now(UTC)), **form()}
            return ENVIRONMENT.get_template(template).render(values).encode()

        page_key = (template, routes.rights(request), theme, *about.items(), *question)
        turn = request.headers.get(TURN_HEADER, "")
        since = int(turn) if turn.isascii() and turn.isdecimal() and len(turn) < 16 else 0
        # Not packed: what a caller types into the address stands in one body with their token.
        formed = await self._desk.answer(page_key, write, since=since, packs=False)
        body = formed.body
        for hole, value in ((_TOKEN, routes.csrf_token(request)), (_NAME, routes.caller(request).name)):
            body = body.replace(hole.encode(), str(markupsafe.escape(_clean(value))).encode())
        return web.Response(body=body, content_type="text/html", charset="utf-8", headers=_HEADERS)

    def page(self, request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
        """A page for a caller whom we know."""
        about = {**self._about(request), "caller": routes.caller(request), "csrf": routes.csrf_token(request)}
        return self._answer(
            request, template, status, {**about, "looked_at": moment(datetime.now(UTC)), **values}, _HEADERS
        )

    def alone(self, request: web.Request, template: str, *, status: int = 200, **values: Any) -> web.Response:
        """A page that tells nothing of the fleet, for any client, and that needs no other file of ours."""
        return self._answer(request, template, status, values, _HEADERS_ALONE)

    def _answer(
        self, request: web.Request, template: str, status: int, values: Mapping[str, Any], headers: Mapping[str, str]
    ) -> web.Response:
        text = ENVIRONMENT.get_template(template).render(theme=_theme_of(request), **values)
        return web.Response(status=status, text=text, content_type="text/html", headers=headers)

    def _about(self, request: web.Request) -> dict[str, Any]:
        """What the frame itself shows."""
        running, rights = self._hub.running, routes.rights(request)
        repo, plan = running.repo, running.plan
        everywhere = rights.everywhere(Right.VIEW)
        held = sum(gate.held for gate in plan.gates) if plan is not None else 0
        return {
            "pages": PAGES,
            "here": request.path,
            "address": request.path_qs,
            "signs_out": request.get(routes.SESSION) is not None,
            "commit": repo.commit if repo is not None else None,
            "attention": held + len(plan.problems) if plan is not None and everywhere else 0,
            "live": running.engine is not None,
            "stands_by": running.engine is None,
            "trouble": self._trouble() if everywhere else "",
            "done": self.results.take(request),
        }

    def _trouble(self) -> str:
        """Why nothing new is done, or the newest commit is not read; "" when all is well."""
        engine = self._hub.running.engine
        if engine is None:
            return str(getattr(self._hub.running.recorded, "error", ""))
        return str(engine.trouble) if engine.trouble is not None else engine.commits.error


def _theme_of(request: web.Request) -> str:
    theme = request.cookies.get(_THEME, THEMES[0])
    return theme if theme in THEMES else THEMES[0]


def set_theme(request: web.Request, answer: web.Response, theme: str) -> None:
    answer.set_cookie(
        _THEME,
        theme,
        max_age=365 * 86400,
        path="/ui",
        samesite="Strict",
        secure=authentication.is_secure(request),
        httponly=True,
    )
