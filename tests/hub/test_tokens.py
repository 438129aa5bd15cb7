"""Bearer tokens: of an OpenID Connect issuer, and of the cluster around the pod."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gitfed.edges import oidc
from gitfed.edges.kube import token_review
from gitfed.errors import IdentityError, IdentityUnreachable, UsageError
from gitfed.hub.access.authentication import OidcTokens, ReviewedTokens
from gitfed.hub.access.caller import AuthenticationMethod, Caller
from tests.hub import issuer
from tests.hub.issuer import Forge
from tests.hub.stage import get, policy, staged, user


async def _said(forge: Forge, token: str, **settings: Any) -> oidc.OidcIdentity | str:
    try:
        return await oidc.Issuer(forge.settings(**settings)).identity(token)
    except IdentityError as error:
        return error.message


async def test_a_token_says_name_and_groups() -> None:
    async with issuer.running() as forge:
        assert await _said(forge, forge.token()) == oidc.OidcIdentity("ann", ("platform",))
        mail = forge.token(email="ann@example.com", roles="admins")
        claims = {"username_claim": "email", "groups_claim": "roles"}
        assert await _said(forge, mail, **claims) == oidc.OidcIdentity("ann@example.com", ("admins",))


async def test_a_forged_or_foreign_token_is_refused() -> None:
    now = int(time.time())
    shared = base64.urlsafe_b64decode("c2VjcmV0") + b"-" * 32
    async with issuer.running() as forge:
        cases: Mapping[str, str] = {
            forge.token(key=issuer.OTHER): "the token is not accepted: its signature is not the issuer's",
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
    async with issuer.running() as forge:
        pem = issuer.KEY.public_key().public_bytes(
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
    async with issuer.running() as forge:
        token = forge.token(**claims) if claims["sub"] != 1 else forge.token(name=1)
        said = await _said(forge, token, **({"username_claim": "name"} if claims["sub"] == 1 else {}))
        assert isinstance(said, str)
        assert "is no name that a person can have" in said


async def test_groups_of_kubernetes_are_not_an_issuers_to_give() -> None:
    async with issuer.running() as forge:
        token = forge.token(groups=["system:masters", "platform", 7, ""])
        assert await _said(forge, token) == oidc.OidcIdentity("ann", ("platform",))


async def test_an_address_that_was_never_verified_is_nobodys() -> None:
    async with issuer.running() as forge:
        token = forge.token(email="ann@example.com", email_verified=False)
        assert await _said(forge, token, username_claim="email") == "the e-mail address was never verified"


async def test_a_new_key_of_the_issuer_is_found_and_strangers_cannot_hammer_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with issuer.running() as forge:
        asked = oidc.Issuer(forge.settings())
        for number in range(5):
            with pytest.raises(IdentityError):
                await asked.identity(forge.token(kid=f"guess-{number}"))
        assert forge.asked == 1
        forge.keys["k2"] = rsa.generate_private_key(65537, 2048)
        monkeypatch.setattr(oidc, "_AGAIN", 0.0)
        found = await asked.identity(forge.token(key=forge.keys["k2"], kid="k2", algorithm="RS256"))
        assert found.name == "ann"


async def test_an_issuer_that_gives_no_answer_is_not_the_callers_fault() -> None:
    async with issuer.running() as forge:
        token = forge.token()
        forge.document["issuer"] = "https://elsewhere.example"
        asked = oidc.Issuer(forge.settings())
        with pytest.raises(IdentityUnreachable):
            await asked.identity(token)


@pytest.mark.parametrize("host", ["169.254.169.254", "[::ffff:169.254.169.254]", "metadata.example.com"])
async def test_keys_are_not_fetched_from_where_a_cloud_keeps_credentials(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def resolved(self: Any, name: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        asked.append(name)
        place = "169.254.169.254" if name == "metadata.example.com" else "127.0.0.1"
        return [{"hostname": name, "host": place, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}]

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", resolved)
    async with issuer.running() as forge:
        forge.document["jwks_uri"] = f"https://{host}/keys"
        asking = oidc.Issuer(forge.settings())
        with pytest.raises(IdentityUnreachable, match="a link-local or metadata address, which is not contacted"):
            await asking.identity(forge.token())
    assert ("metadata.example.com" in asked) == (host == "metadata.example.com")


def test_keys_are_not_fetched_without_tls() -> None:
    for address in ("http://issuer.example", "issuer.example", "file:///etc/passwd", ""):
        with pytest.raises(UsageError):
            oidc.Issuer(oidc.OidcSettings(address, "gitfed"))


async def test_a_token_of_the_issuer_opens_the_hub(tmp_path: Path) -> None:
    async with issuer.running() as forge:
        tokens = OidcTokens(oidc.Issuer(forge.settings()))
        viewers = policy("viewers", subjects=[user("ann")], allow=["view"])
        async with staged(tmp_path, viewers, tokens=[tokens]) as hub:
            assert (await get(hub, "/metrics", token=forge.token()))[0] == 200
            assert (await get(hub, "/metrics", token=forge.token(key=issuer.OTHER)))[0] == 401
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
    good = Caller(
        "system:serviceaccount:monitoring:prometheus", ("system:serviceaccounts",), AuthenticationMethod.TOKEN_REVIEW
    )
    for _ in range(3):
        assert await tokens.caller("good") == good
        with pytest.raises(IdentityError):
            await tokens.caller("bad")
    assert host.asked == ["good", "bad"]
