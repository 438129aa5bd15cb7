"""A browser logs in at the issuer: what is sent where, and what does not count."""

from __future__ import annotations

import contextlib
import logging
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yarl

from gitfed.edges import oidc
from gitfed.hub.access.authentication import OidcTokens
from gitfed.hub.login.code_flow import local_path
from tests.hub import issuer
from tests.hub.issuer import Forge
from tests.hub.stage import LOOPBACK, Staged, ask, policy, staged, user

VIEWER = policy("viewer", subjects=[user("ann")], allow=["view"])
_HTML = {"Accept": "text/html"}


@contextlib.asynccontextmanager
async def _hub(tmp_path: Path, **settings: Any) -> AsyncIterator[tuple[Staged, Forge]]:
    async with issuer.running() as forge:
        chosen = forge.settings(**settings)
        options = replace(LOOPBACK, oidc=chosen)
        async with staged(tmp_path, VIEWER, options=options, tokens=[OidcTokens(oidc.Issuer(chosen))]) as hub:
            yield hub, forge


async def _begin(hub: Staged, wanted: str = "/ui/placement") -> tuple[yarl.URL, str]:
    """(the issuer's page that the browser is sent to, the cookie that it keeps)"""
    status, _, headers = await ask(hub, "GET", "/login/oidc", params={"next": wanted})
    assert status == 303
    cookie = headers["Set-Cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Lax", "Max-Age=600", "Path=/"))
    return yarl.URL(headers["Location"]), cookie.partition(";")[0]


async def _at_issuer(page: yarl.URL) -> yarl.URL:
    """Where the issuer sends the browser back to."""
    async with aiohttp.ClientSession() as session, session.get(page, allow_redirects=False) as answer:
        return yarl.URL(answer.headers["Location"])


async def _back(hub: Staged, url: yarl.URL, cookie: str) -> tuple[int, str, Mapping[str, str]]:
    return await ask(hub, "GET", url.path_qs, headers={**_HTML, "Cookie": cookie})


async def test_a_person_logs_in_at_the_issuer_and_sees_the_page_they_wanted(tmp_path: Path) -> None:
    async with _hub(tmp_path) as (hub, _):
        page, cookie = await _begin(hub)
        assert page.query["scope"] == "openid groups"
        assert page.query["redirect_uri"] == f"{hub.url}/login/callback"
        status, text, headers = await _back(hub, await _at_issuer(page), cookie)
        assert status == 200
        assert 'content="0;url=/ui/placement"' in text
        session = next(value for value in headers.getall("Set-Cookie") if "gitfed-session" in value)  # type: ignore[attr-defined]
        assert "HttpOnly" in session
        assert "SameSite=Strict" in session
        found = await ask(hub, "GET", "/ui", headers={**_HTML, "Cookie": session.partition(";")[0]})
        assert found[0] == 200
        assert "ann" in found[1]


async def test_a_login_that_was_begun_in_another_browser_is_not_finished(tmp_path: Path) -> None:
    async with _hub(tmp_path) as (hub, _):
        page, cookie = await _begin(hub)
        back = await _at_issuer(page)
        _, stranger = await _begin(hub)
        for shown in ("", stranger, "gitfed-login=nonsense", "gitfed-login=%5B1%5D"):
            status, text, headers = await _back(hub, back, shown)
            assert (status, "Set-Cookie" in headers) == (401, False)
            assert "This login was begun elsewhere, or too long ago: try again." in text
        assert (await _back(hub, back, cookie))[0] == 200
        assert (await _back(hub, back, cookie))[0] == 401  # a code is good for once


async def test_a_token_that_was_made_for_another_login_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gitfed.audit")
    async with _hub(tmp_path) as (hub, forge):
        for claims in ({"nonce": "another"}, {"nonce": None}, {"aud": "elsewhere"}, {"exp": 1}):
            forge.person = claims
            page, cookie = await _begin(hub)
            status, text, headers = await _back(hub, await _at_issuer(page), cookie)
            assert (status, "Set-Cookie" in headers) == (401, False)
            assert "The issuer&#39;s answer is not accepted: try again." in text
    refused = [vars(one)["error"] for one in caplog.records if one.msg == "login refused"]
    assert refused[0] == "the token was made for another login"
    assert len(refused) == 4


async def test_a_person_whom_the_issuer_turned_away_is_told_so(tmp_path: Path) -> None:
    async with _hub(tmp_path) as (hub, _):
        page, cookie = await _begin(hub)
        back = yarl.URL("/login/callback").with_query(error="access_denied", state=page.query["state"])
        status, text, _ = await _back(hub, back, cookie)
        assert status == 401
        assert "The issuer did not log you in." in text


async def test_an_issuer_that_wants_a_secret_gets_it_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    async with _hub(tmp_path, secret_file=tmp_path / "secret") as (hub, forge):
        forge.secret = "s3cret"
        page, cookie = await _begin(hub)
        assert (await _back(hub, await _at_issuer(page), cookie))[0] == 200
        forge.secret = "another"
        page, cookie = await _begin(hub)
        assert (await _back(hub, await _at_issuer(page), cookie))[0] == 401


async def test_an_issuer_that_is_away_is_asked_no_more_than_now_and_then(tmp_path: Path) -> None:
    async with _hub(tmp_path) as (hub, forge):
        forge.document["issuer"] = "https://elsewhere.example"
        status, text, _ = await ask(hub, "GET", "/login/oidc", headers=_HTML)
        assert status == 503
        assert "The issuer cannot be asked now: try again in a moment." in text
        forge.document["issuer"] = forge.url
        assert (await ask(hub, "GET", "/login/oidc"))[0] == 503


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/ui\\..",
        "/uix",
        "/ui\r\nX: y",
        "javascript:1",
        "",
    ],
)
def test_a_login_leads_to_no_page_but_ours(wanted: str) -> None:
    assert local_path(wanted, "/ui") == "/ui"


def test_a_login_leads_to_the_page_that_was_wanted() -> None:
    assert local_path("/ui/object?of=Deployment.apps%2Fshop%2Fweb", "/ui").startswith("/ui/object?")


@pytest.mark.parametrize(
    "cookie", ["[" * 2000, '["\\ud800","n","v","/ui"]', '["s","n","v","/\\ud800"]', "%FF", '["s",1,2,3]']
)
async def test_a_cookie_that_is_none_of_ours_finishes_no_login(tmp_path: Path, cookie: str) -> None:
    async with _hub(tmp_path) as (hub, _):
        text = urllib.parse.quote(cookie, safe="%")
        url = yarl.URL("/login/callback?code=c&state=s")
        status, _, _ = await _back(hub, url, f"gitfed-login={text}")
        assert status == 401
