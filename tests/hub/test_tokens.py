"""Bearer tokens: of an OpenID Connect issuer, and of the cluster around the pod."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from gitfed.edges import oidc
from gitfed.edges.kube import token_review
from gitfed.errors import IdentityError, IdentityUnreachable, UsageError
from gitfed.hub.access.authentication import OidcTokens, ReviewedTokens
from gitfed.hub.access.caller import Caller, Way
from tests.hub.stage import get, policy, staged, user

_KEY = ec.generate_private_key(ec.SECP256R1())
_OTHER = ec.generate_private_key(ec.SECP256R1())


class Forge:
    """An issuer on this machine. `keys` are those that it publishes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: dict[str, Any] = {"k1": _KEY}
        self.document: dict[str, Any] = {"issuer": url, "jwks_uri": f"{url}/keys"}
        self.asked = 0

    def token(self, *, key: Any = _KEY, kid: str = "k1", algorithm: str = "ES256", **claims: Any) -> str:
        now = int(time.time())
        usual = {"iss": self.url, "aud": "gitfed", "sub": "ann", "groups": ["platform"], "iat": now, "exp": now + 600}
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(given, key, algorithm=algorithm, headers={"kid": kid})

    def settings(self, **more: Any) -> oidc.Settings:
        return oidc.Settings(self.url, "gitfed", **more)


@contextlib.asynccontextmanager
async def _issuer() -> AsyncIterator[Forge]:
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

    app = web.Application()
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


async def _said(forge: Forge, token: str, **settings: Any) -> oidc.Identity | str:
    with contextlib.ExitStack():
        issuer = oidc.Issuer(forge.settings(**settings))
        try:
            return await issuer.identity(token)
        except IdentityError as error:
            return error.message
        finally:
            await issuer.close()


async def test_a_token_says_name_and_groups() -> None:
    async with _issuer() as forge:
        assert await _said(forge, forge.token()) == oidc.Identity("ann", ("platform",))
        mail = forge.token(email="ann@example.com", roles="admins")
        claims = {"username_claim": "email", "groups_claim": "roles"}
        assert await _said(forge, mail, **claims) == oidc.Identity("ann@example.com", ("admins",))


async def test_a_forged_or_foreign_token_is_refused() -> None:
    now = int(time.time())
    shared = base64.urlsafe_b64decode("c2VjcmV0") + b"-" * 32
    async with _issuer() as forge:
        cases: Mapping[str, str] = {
            forge.token(key=_OTHER): "the token is not accepted: its signature is not the issuer's",
            forge.token(aud="elsewhere"): "the token is not accepted: it was issued for another audience",
            forge.token(aud=None): "the token is not accepted: it lacks the claim aud",
            forge.token(iss="https://elsewhere.example"): "the token is not accepted: it was issued by somebody else",
            forge.token(exp=now - 61): "the token is not accepted: it has expired",
            forge.token(exp=None): "the token is not accepted: it lacks the claim exp",
            forge.token(nbf=now + 600): "the token is not accepted: it is not valid yet",
            forge.token(kid="unknown"): "the issuer knows no key 'unknown'",
            forge.token(key=shared, kid="shared", algorithm="HS256"): "the algorithm 'HS256' is not accepted",
            forge.token(key=None, algorithm="none"): "the algorithm 'none' is not accepted",
            "a.b.c": "it is no token",
        }
        for token, told in cases.items():
            said = await _said(forge, token)
            assert isinstance(said, str), token
            assert said.startswith(told)


async def test_a_public_key_is_no_shared_secret() -> None:
    """The usual confusion: a token signed by HMAC with the issuer's public key."""
    async with _issuer() as forge:
        pem = _KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"k1"}').rstrip(b"=")
        body = forge.token().split(".")[1].encode()
        import hashlib
        import hmac

        mac = base64.urlsafe_b64encode(hmac.new(pem, head + b"." + body, hashlib.sha256).digest()).rstrip(b"=")
        assert await _said(forge, b".".join((head, body, mac)).decode()) == "the algorithm 'HS256' is not accepted"


@pytest.mark.parametrize(
    "claims", [{"sub": "system:admin"}, {"sub": ""}, {"sub": 1}, {"sub": None}, {"sub": "a\nb"}, {"sub": "x" * 300}]
)
async def test_a_name_that_nobody_can_have_is_refused(claims: dict[str, Any]) -> None:
    async with _issuer() as forge:
        token = forge.token(**claims) if claims["sub"] != 1 else forge.token(name=1)
        said = await _said(forge, token, **({"username_claim": "name"} if claims["sub"] == 1 else {}))
        assert isinstance(said, str)
        assert "is no name that a person can have" in said


async def test_groups_of_kubernetes_are_not_an_issuers_to_give() -> None:
    async with _issuer() as forge:
        token = forge.token(groups=["system:masters", "platform", 7, ""])
        assert await _said(forge, token) == oidc.Identity("ann", ("platform",))


async def test_an_address_that_was_never_verified_is_nobodys() -> None:
    async with _issuer() as forge:
        token = forge.token(email="ann@example.com", email_verified=False)
        assert await _said(forge, token, username_claim="email") == "the e-mail address was never verified"


async def test_a_new_key_of_the_issuer_is_found_and_strangers_cannot_hammer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _issuer() as forge:
        issuer = oidc.Issuer(forge.settings())
        for number in range(5):
            with pytest.raises(IdentityError):
                await issuer.identity(forge.token(kid=f"guess-{number}"))
        assert forge.asked == 1
        forge.keys["k2"] = rsa.generate_private_key(65537, 2048)
        monkeypatch.setattr(oidc, "_AGAIN", 0.0)
        found = await issuer.identity(forge.token(key=forge.keys["k2"], kid="k2", algorithm="RS256"))
        assert found.name == "ann"
        await issuer.close()


async def test_an_issuer_that_gives_no_answer_is_not_the_callers_fault() -> None:
    async with _issuer() as forge:
        token = forge.token()
        forge.document["issuer"] = "https://elsewhere.example"
        issuer = oidc.Issuer(forge.settings())
        with pytest.raises(IdentityUnreachable):
            await issuer.identity(token)
        await issuer.close()


def test_keys_are_not_fetched_without_tls() -> None:
    for address in ("http://issuer.example", "issuer.example", "file:///etc/passwd", ""):
        with pytest.raises(UsageError):
            oidc.Issuer(oidc.Settings(address, "gitfed"))


async def test_a_token_of_the_issuer_opens_the_hub(tmp_path: Path) -> None:
    async with _issuer() as forge:
        tokens = OidcTokens(oidc.Issuer(forge.settings()))
        viewers = policy("viewers", subjects=[user("ann")], allow=["view"])
        async with staged(tmp_path, viewers, tokens=[tokens]) as hub:
            assert (await get(hub, "/metrics", token=forge.token()))[0] == 200
            assert (await get(hub, "/metrics", token=forge.token(key=_OTHER)))[0] == 401
            forge.document["jwks_uri"] = "http://127.0.0.1:1/"
            tokens.issuer._keys = oidc._Keys()
            unknown = (503, "who you are cannot be found out now\n")
            assert await get(hub, "/metrics", token=forge.token()) == unknown


class HostCluster:
    """A session whose API server knows one token."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def json(self, method: str, path: str, *, body: Any, timeout: float) -> dict[str, Any]:
        assert (method, path) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
        token = body["spec"]["token"]
        self.asked.append(token)
        if token != "good":
            return {"status": {"authenticated": False}}
        who = {"username": "system:serviceaccount:monitoring:prometheus", "groups": ["system:serviceaccounts"]}
        return {"status": {"authenticated": True, "user": who}}

    async def close(self) -> None:
        pass


async def test_the_cluster_around_the_pod_says_whose_a_token_is() -> None:
    host: Any = HostCluster()
    name, groups = await token_review.review(host, "good")
    assert (name, groups) == ("system:serviceaccount:monitoring:prometheus", ("system:serviceaccounts",))
    with pytest.raises(IdentityError, match="the host cluster does not know the token"):
        await token_review.review(host, "bad")


async def test_the_cluster_is_asked_once_for_a_token_also_for_a_wrong_one() -> None:
    host: Any = HostCluster()
    tokens = ReviewedTokens(host)
    good = Caller("system:serviceaccount:monitoring:prometheus", ("system:serviceaccounts",), Way.TOKEN_REVIEW)
    for _ in range(3):
        assert await tokens.caller("good") == good
        with pytest.raises(IdentityError):
            await tokens.caller("bad")
    assert host.asked == ["good", "bad"]
