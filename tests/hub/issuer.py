"""An OpenID Connect issuer on this machine: its keys, its tokens, and its login page."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import yarl
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

from gitfed.edges import oidc

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())


class Forge:
    """An issuer on this machine. `keys` are those that it publishes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: dict[str, Any] = {"k1": KEY}
        self.document: dict[str, Any] = {
            "issuer": url,
            "jwks_uri": f"{url}/keys",
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "scopes_supported": ["openid", "groups", "email"],
        }
        self.asked = 0
        self.person: dict[str, Any] = {}
        """Claims of who logs in."""
        self.secret = ""
        """What the client has to show."""
        self.codes: dict[str, dict[str, str]] = {}
        """What was asked for, by code."""

    def token(self, *, key: Any = KEY, kid: str = "k1", algorithm: str = "ES256", **claims: Any) -> str:
        now = int(time.time())
        usual = {"iss": self.url, "aud": "gitfed", "sub": "ann", "groups": ["platform"], "iat": now, "exp": now + 600}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(given, key, algorithm=algorithm, headers={"kid": kid})

    def settings(self, **more: Any) -> oidc.OidcSettings:
        return oidc.OidcSettings(self.url, "gitfed", **more)


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[Forge]:
    forge = Forge("")

    async def discover(request: web.Request) -> web.StreamResponse:
        return web.json_response(forge.document)

    async def keys(request: web.Request) -> web.StreamResponse:
        forge.asked += 1
        made = []
        for name, key in forge.keys.items():
            public = key.public_key()
            kind: Any = (
                jwt.algorithms.ECAlgorithm
                if isinstance(key, ec.EllipticCurvePrivateKey)
                else jwt.algorithms.RSAAlgorithm
            )
            made.append({**json.loads(kind.to_jwk(public)), "kid": name, "use": "sig"})
        return web.json_response({"keys": [*made, {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"}]})

    async def authorize(request: web.Request) -> web.StreamResponse:
        """As after a person has logged in."""
        asked = dict(request.query)
        code = secrets.token_urlsafe()
        forge.codes[code] = asked
        back = yarl.URL(asked["redirect_uri"]).with_query(code=code, state=asked["state"])
        return web.Response(status=302, headers={"Location": str(back)})

    async def token(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        asked = forge.codes.pop(str(form["code"]), {})
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        right = (
            form["grant_type"] == "authorization_code"
            and asked.get("code_challenge_method") == "S256"
            and asked.get("code_challenge") == challenge
            and (form["client_id"], form["redirect_uri"]) == (asked["client_id"], asked["redirect_uri"])
            and form.get("client_secret", "") == forge.secret
        )
        if not right:
            return web.json_response({"error": "invalid_grant"}, status=400)
        return web.json_response({"id_token": forge.token(**{"nonce": asked["nonce"], **forge.person})})

    app = web.Application()
    app.router.add_get("/authorize", authorize)
    app.router.add_post("/token", token)
    app.router.add_get("/.well-known/openid-configuration", discover)
    app.router.add_get("/keys", keys)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    forge.__init__(f"http://127.0.0.1:{runner.addresses[0][1]}")  # type: ignore[misc]
    try:
        yield forge
    finally:
        await runner.cleanup()
