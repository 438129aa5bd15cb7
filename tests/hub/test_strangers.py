"""What somebody whom the hub does not know gets of every route that it has: nothing, but for the few that are named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from gitfed.edges import oidc
from gitfed.hub import capabilities
from gitfed.hub.access.authentication import OidcTokens
from gitfed.hub.routes import Route
from gitfed.hub.running import Running
from tests.hub import fleet, issuer
from tests.hub.stage import EVERYWHERE, ask, cluster, staged

OPEN = {
    ("GET", "/livez"): 200,
    ("GET", "/healthz"): 200,
    ("GET", "/readyz"): 503,  # nothing is planned here
    ("GET", "/login/oidc"): 303,  # to the issuer: who is to log in there is nobody here yet
    ("GET", "/agents/v1/authority"): 200,  # a public certificate, which an agent knows by its hash
    ("POST", "/agents/v1/registration"): 400,  # its credential is a token in the body, and this has none
}
"""Everything that is answered without a credential, and how; docs/how-to/hub.md says the same."""


_PARTS = {"name": "pages.css", "cluster:[*]": "*", "cluster:[^/]+": "m1", "path:(?:/.*)?": "/version"}


def _path(route: Route) -> str:
    """One that the route answers."""
    return re.sub(r"\{([^{}]*)\}", lambda part: _PARTS.get(part[1], "pages.css"), route.path)


async def test_a_stranger_gets_401_of_every_route_but_health_and_the_way_to_the_issuer(tmp_path: Path) -> None:
    secret = tmp_path / "hook-secret"
    secret.write_text("nobody guesses this")
    async with issuer.running() as forge:
        options = replace(EVERYWHERE, oidc=forge.settings(), hook_secret_file=secret)
        tokens = [OidcTokens(oidc.Issuer(forge.settings()))]
        async with staged(tmp_path, options=options, tokens=tokens, running=Running(fleet.planned())) as hub:
            routes = [route for one in capabilities.all_of(hub.hub) for route in one.routes]
            assert len(routes) > 40
            answered = {}
            for route in routes:
                for accept in ("*/*", "text/html", "application/json"):
                    status, text, headers = await ask(hub, route.method, _path(route), headers={"Accept": accept})
                    if status != 401:
                        answered[route.method, route.path] = status
                        continue
                    assert "shop" not in text, route
                    assert "Set-Cookie" not in headers, route
            assert answered == OPEN


async def test_the_way_to_the_issuer_tells_nothing_but_its_address(tmp_path: Path) -> None:
    async with issuer.running() as forge:
        options = replace(EVERYWHERE, oidc=forge.settings())
        tokens = [OidcTokens(oidc.Issuer(forge.settings()))]
        async with staged(tmp_path, options=options, tokens=tokens, running=Running(fleet.planned())) as hub:
            status, text, headers = await ask(hub, "GET", "/login/oidc")
            assert (status, text) == (303, "")
            assert headers["Location"].startswith(f"{forge.url}/authorize?")
            for path in ("/login/callback", "/login/callback?code=x&state=y", "/login/token", "/login/token?token=x"):
                assert (await ask(hub, "GET", path))[0] == 401


async def test_a_caller_without_a_right_is_refused_at_every_door_and_route(tmp_path: Path) -> None:
    needs: dict[str, int] = {}
    async with staged(tmp_path, cluster("m1"), options=EVERYWHERE) as hub:
        for route in (route for one in capabilities.all_of(hub.hub) for route in one.routes):
            if route.needs is None and not route.agents:
                continue
            status, text, _ = await ask(hub, route.method, _path(route), token="bob")
            assert status == 403, (route.method, route.path, text)
            assert "shop" not in text, route
            door = (
                route.path.rpartition("/v1alpha1/")[2].partition("{")[0].partition("/")[0] if route.needs else "agents"
            )
            needs[door] = needs.get(door, 0) + 1
    assert {name: needs[name] for name in ("agents", "proxying", "clusters", "search")} == {
        "agents": 5, "proxying": 7, "clusters": 14, "search": 1,
    }, "the doors are among them"  # fmt: skip
