"""The pages as a program asks for them: without a script, in bulk, and with what no browser sends."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from gitfed.hub.access.caller import AuthenticationMethod, Caller
from gitfed.hub.pages import annotated, assets, frame, placement
from gitfed.hub.running import Running
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Share
from gitfed.model.plan import Action, Binding, Change
from tests.hub import fleet
from tests.hub.pages.leading import leading
from tests.hub.stage import Passwords, Recorded, Staged, ask, get, policy, snapshot, staged, user
from tests.support import patience

_HTML = {"Accept": "text/html"}
DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


async def _session(hub: Staged) -> tuple[dict[str, str], str]:
    """(headers of a browser that is logged in, its token against forgery)"""
    token = hub.hub.login_tokens.issue(Caller("ann", way=AuthenticationMethod.LOGIN_TOKEN))
    _, _, headers = await ask(hub, "GET", f"/login/token?token={token}")
    value = headers["Set-Cookie"].partition(";")[0]
    session = hub.hub.sessions.find(value.partition("=")[2])
    assert session is not None
    return {**_HTML, "Cookie": value}, session.csrf


async def test_a_form_needs_the_sessions_token_and_leads_back_only_to_a_page_of_ours(tmp_path: Path) -> None:
    async with staged(tmp_path, running=Running(fleet.planned())) as hub:
        headers, csrf = await _session(hub)
        for wrong in ({}, {"csrf": "guess"}):
            status, text, _ = await ask(hub, "POST", "/ui/theme", headers=headers, data={"theme": "dark", **wrong})
            assert status == 403
            assert "The form is too old: load the page again." in text
        for back, target in (("/ui/problems", "/ui/problems"), ("//evil.example", "/ui"), ("/ui\\x", "/ui")):
            form = {"theme": "dark", "csrf": csrf, "back": back}
            status, _, answer = await ask(hub, "POST", "/ui/theme", headers=headers, data=form)
            assert (status, answer["Location"]) == (303, target)
            assert "gitfed-theme=dark" in answer["Set-Cookie"]


async def test_without_a_credential_a_browser_is_told_where_to_sign_in(tmp_path: Path) -> None:
    async with staged(tmp_path, running=Running(fleet.planned())) as hub:
        for path in ("/ui", "/ui/placement", "/ui/object?of=x", "/ui/problems", "/ui/what-if", "/ui/live", "/"):
            status, text, headers = await ask(hub, "GET", path, headers=_HTML)
            assert status == 401
            assert "<h1>Sign in</h1>" in text
            assert "script-src" not in headers["Content-Security-Policy"]
            assert "unsafe" not in headers["Content-Security-Policy"]
            style = text.partition("<style>")[2].partition("</style>")[0]
            digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
            assert f"style-src 'sha256-{digest}'" in headers["Content-Security-Policy"]
            assert ".alone" in style
            assert "/ui/static/" not in text


async def test_who_is_known_gets_the_style_and_may_keep_it(tmp_path: Path) -> None:
    async with staged(tmp_path, running=Running(fleet.planned())) as hub:
        for name in ("pages.css", "pages.js", "icon.svg"):
            assert (await get(hub, assets.address(name)))[0] == 401
            status, _, headers = await ask(hub, "GET", assets.address(name), token="bob")
            assert (status, headers["Cache-Control"]) == (200, "private, max-age=31536000, immutable")
        assert (await get(hub, "/ui/static/secret"))[0] == 401
        assert (await get(hub, "/ui/static/secret", token="bob"))[0] == 404


async def test_a_page_is_formed_once_and_has_each_callers_own_name_and_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    formed: list[object] = []
    matrix = placement._matrix
    monkeypatch.setattr(placement, "_matrix", lambda *given: [matrix(*given), formed.append(given)][0])
    running = Running(fleet.planned(fleet.workload("shop", "web")))
    async with staged(tmp_path, running=running) as hub:
        (ann, token), (again, other) = await _session(hub), await _session(hub)
        pages = [(await ask(hub, "GET", "/ui/placement", headers=headers))[1] for headers in (ann, again)]
        assert token != other
        assert [token in page for page in pages] == [True, False]
        assert [other in page for page in pages] == [False, True]
        assert all('<span class="soft">ann</span>' in page for page in pages)
        assert not any("token-" in page or "name-" in page for page in pages)
        assert len(formed) == 1
        assert "web" in (await get(hub, "/ui/placement", token="bob"))[1]
        assert len(formed) == 2, "who has other rights asks another question"
        running.heard("cycle", None)
        for turn in ("", "x", "9" * 20):
            await ask(hub, "GET", "/ui/placement", headers={**ann, "Gitfed-Turn": turn})
        assert len(formed) == 2
        await ask(hub, "GET", "/ui/placement", headers={**ann, "Gitfed-Turn": "1"})
        assert len(formed) == 3, "its page was told of that turn"


@pytest.mark.parametrize("name", ["<b>", "token-x", "a&b\u202e"])
async def test_what_a_caller_is_called_is_text_on_a_page(tmp_path: Path, name: str) -> None:
    documents = (policy("all", subjects=[user(name)], allow=["view"]), *fleet.CLUSTERS)
    async with staged(
        tmp_path, *documents, names=("ann",), tokens=(Passwords({"odd": Caller(name, way=AuthenticationMethod.OIDC)}),)
    ) as hub:
        found = fleet.planned()
        found.repo = snapshot(*documents)
        hub.hub.running.recorded = found
        status, text = await get(hub, "/ui", token="odd")
        assert status == 200
        assert f'<span class="soft">{escape(frame._clean(name))}</span>' in text


async def test_ten_thousand_workloads_in_a_hundred_clusters_are_one_small_page(tmp_path: Path) -> None:
    async with staged(tmp_path, running=Running(_large())) as hub:
        for path in ("/ui/placement", "/ui/placement?page=200&columns=4", "/ui/placement?q=w77&cluster=eu-1"):
            status, text = await get(hub, path, token="ann")
            assert status == 200
            assert len(text.encode()) <= 300_000, path
        assert "1–50 of 10000 workloads" in (await get(hub, "/ui/placement", token="ann"))[1]


async def test_what_others_use_stays_and_says_so_to_who_may_see_the_fleet(tmp_path: Path) -> None:
    running, places = leading(), (ObjectKey("", "Namespace", "", "lab"), ObjectKey(*DEFINITION, "", "toys.example.com"))
    engine: Any = running.engine
    deletions = tuple(Change("eu-1", key, "v1", Action.DELETE) for key in places)
    gone = Change("eu-2", places[0], "v1", Action.DELETE)
    engine.plan = replace(engine.plan, changes=(*deletions, gone))
    engine.fleet.unfinished.in_use = lambda: {("eu-1", key): "Toy/theirs is still in it" for key in places}
    async with staged(tmp_path, running=running) as hub:
        found = json.loads((await get(hub, "/api/v1/plan", token="ann"))[1])
        assert [(one["cluster"], one["action"], one["reason"], one["reasonCode"]) for one in found["changes"]] == [
            ("eu-1", "keep", "stays: Toy/theirs is still in it", "InUseByOthers"),
            ("eu-1", "keep", "stays: Toy/theirs is still in it", "InUseByOthers"),
            ("eu-2", "delete", "", ""),
        ]
        assert (found["totals"]["keep"], found["totals"]["delete"]) == (2, 1)
        assert json.loads((await get(hub, "/api/v1/orphans", token="ann"))[1])["items"] == [], "it is asked for still"
        page = (await get(hub, "/ui/problems", token="ann"))[1]
        for key in places:
            assert f"{key} in eu-1</h3><p>Stays: Toy/theirs is still in it.</p>" in page
        assert "in eu-2" not in page
        for path in ("/ui/problems", "/api/v1/plan", "/ui/placement?show=attention"):
            status, text = await get(hub, path, token="bob")
            assert (status, "theirs" in text) == (200, False), path
        engine.fleet.unfinished.in_use = dict
        running.heard("cycle", None)
        assert "Nothing that should go is used by others" in (await get(hub, "/ui/problems?again", token="ann"))[1]


async def test_a_page_of_the_placement_looks_at_no_copy_that_it_does_not_show(tmp_path: Path) -> None:
    found, looked_at = _large(), []

    class Shares(tuple[Share, ...]):
        def __iter__(self) -> Iterator[Share]:
            looked_at.append(self)
            return super().__iter__()

    assert found.plan is not None
    bindings = {
        key: replace(one, scheduled=replace(one.scheduled, shares=Shares(one.scheduled.shares)))
        for key, one in found.plan.bindings.items()
    }
    found.plan = replace(found.plan, bindings=bindings)
    async with staged(tmp_path, running=Running(found)) as hub:
        assert (await get(hub, "/ui/placement?show=all", token="ann"))[0] == 200
        assert 0 < len(looked_at) <= 2 * placement.ROWS


async def test_a_plan_that_the_engine_has_dropped_is_not_kept_for_readers(tmp_path: Path) -> None:
    class Bindings(dict[ObjectKey, Binding]):
        """That can be pointed at."""

    found = fleet.planned(fleet.workload("shop", "web", 3))
    assert found.plan is not None
    found.plan = replace(found.plan, bindings=Bindings(found.plan.bindings))
    kept = weakref.ref(found.plan.bindings)
    async with staged(tmp_path, running=Running(found)) as hub:
        for path in ("/ui", "/ui/placement", "/api/v1/clusters", "/api/v1/bindings"):
            assert (await get(hub, path, token="ann"))[0] == 200, path
        found.plan = replace(found.plan, bindings=dict(found.plan.bindings))
        hub.hub.running.heard("cycle", None)
        async with asyncio.timeout(patience.SECONDS):
            while kept() is not None:  # noqa: ASYNC110  a thread that formed an answer may still be on its way out
                await asyncio.sleep(0.01)


def _large() -> Recorded:
    found = fleet.planned(fleet.workload("shop", "web", 200))
    assert found.plan is not None
    names = ("eu-1", "eu-2", "us-1", *(f"cluster-{number:03}" for number in range(97)))
    one = replace(
        found.plan.bindings[ObjectKey("apps", "Deployment", "shop", "web")],
        scheduled=replace(
            found.plan.bindings[ObjectKey("apps", "Deployment", "shop", "web")].scheduled,
            shares=tuple(sorted(Share(name, 2) for name in names)),
        ),
    )
    keys = [ObjectKey("apps", "Deployment", "shop", f"w{number}") for number in range(10_000)]
    found.plan = replace(
        found.plan, bindings={key: replace(one, key=key) for key in keys}, clusters=tuple(sorted(names))
    )
    return found


def test_a_line_comes_from_the_template_or_from_whoever_changed_it() -> None:
    template = {"kind": "X", "spec": {"image": "a:1", "replicas": 4}}
    body = {"kind": "X", "metadata": {"labels": {"gitfed.io/binding": "b"}}, "spec": {"image": "b:1", "replicas": 1}}
    edits: list[annotated.LineOrigin] = [
        {"by": "replicas", "what": "1 of 4", "origin": "x.yaml:1"},
        {"by": "OverridePolicy/shop/eu", "what": "imageOverrider", "origin": "o.yaml:3"},
    ]
    found = {
        one.text.strip(): one.origin for one in annotated.lines(body, template, edits, lambda path: f"x:{len(path)}")
    }
    assert found["kind: X"] == "x:1"
    assert found["spec:"] == "x:1"
    assert found["image: b:1"] == "OverridePolicy/shop/eu (imageOverrider), o.yaml:3"
    assert found["replicas: 1"] == "its share of the replicas: 1 of 4"
    assert found["gitfed.io/binding: b"] == "gitfed: whose it is"


@pytest.mark.parametrize("hostile", ["\u202e", "\x1b[31m", "\x00", "\u200b"])
def test_nothing_hides_in_a_text(hostile: str) -> None:
    assert hostile not in frame.ENVIRONMENT.from_string("{{ text }}").render(text=f"a{hostile}b")
