"""Tokens of service accounts are signed with RSA, and only ours are believed."""

from __future__ import annotations

import base64

import orjson
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kubesim.server.tokens import Signer


@pytest.fixture(scope="module")
def signer() -> Signer:
    found = Signer()
    found.sign({})
    return found


def raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_token_carries_its_claims_back(signer: Signer) -> None:
    token = signer.sign({"sub": "me", "exp": 5})
    assert orjson.loads(raw(token.split(".")[0]))["alg"] == "RS256"
    assert signer.claims(token) == {"sub": "me", "exp": 5}


def test_another_implementation_accepts_the_signature(signer: Signer) -> None:
    token = signer.sign({"sub": "me"})
    text, _, signature = token.rpartition(".")
    modulus, _ = signer._pair()
    key = rsa.RSAPublicNumbers(65537, modulus).public_key()
    key.verify(raw(signature), text.encode(), padding.PKCS1v15(), hashes.SHA256())


def test_a_changed_or_foreign_token_is_nobodys(signer: Signer) -> None:
    header, claims, signature = signer.sign({"sub": "me"}).split(".")
    other = base64.urlsafe_b64encode(b'{"sub":"you"}').rstrip(b"=").decode()
    assert signer.claims(f"{header}.{other}.{signature}") is None
    assert signer.claims(f"{header}.{claims}.{signature[:-4]}AAAA") is None
    assert signer.claims("admintoken") is None
    assert signer.claims("a.b.c") is None
    assert signer.claims("a.b.\N{SNOWMAN}") is None
