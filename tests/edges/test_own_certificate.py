"""A certificate is read as `cryptography` reads it, and what is none is an error."""

from __future__ import annotations

import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from gitfed.edges import certificate_pins, own_certificate, signing_process, signing_request
from gitfed.edges.certificates import Authority
from gitfed.errors import InputError

_KEY = ec.generate_private_key(ec.SECP256R1())
_RSA = rsa.generate_private_key(65537, 3072)
_BEGINS = datetime(2026, 1, 1, tzinfo=UTC)
_WORD = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=60)
_MOMENT = st.integers(-631152000, 4102444800).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
"""From 1950 to 2100: a time is written in one of two ways."""


def _signed(names: list[tuple[x509.ObjectIdentifier, str]], begins: datetime, key: ec.EllipticCurvePrivateKey) -> bytes:
    subject = x509.Name([x509.NameAttribute(*name) for name in names])
    made = x509.CertificateBuilder(
        subject, subject, key.public_key(), 1, begins, begins + timedelta(days=30)
    ).sign(key, hashes.SHA256())  # fmt: skip
    return made.public_bytes(serialization.Encoding.PEM)


@given(_WORD, st.lists(_WORD, max_size=3), _MOMENT, st.sampled_from([_KEY, _RSA]))
def test_what_it_says_is_what_cryptography_reads(
    name: str, groups: list[str], begins: datetime, key: ec.EllipticCurvePrivateKey
) -> None:
    names = [(NameOID.COMMON_NAME, name), *((NameOID.ORGANIZATION_NAME, one) for one in groups)]
    pem = _signed([(NameOID.COUNTRY_NAME, "DE"), *names], begins, key)
    found, theirs = own_certificate.read(b"a word before it\n" + pem), certificate_pins.read(pem)
    assert (found.common_name, found.key) == (theirs.common_name, theirs.key) == (name, theirs.key)
    assert (found.begins, found.ends) == (theirs.begins, theirs.ends)
    assert found.organizations == tuple(groups)


def test_a_certificate_of_the_hub_is_read(tmp_path: Path) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    pair = Authority.open(tmp_path).client("ann", ["a", "b"], timedelta(days=10), now=now)
    found = own_certificate.read(pair.certificate)
    assert (found.common_name, found.organizations) == ("ann", ("a", "b"))
    assert found.ends == now + timedelta(days=10)


def test_two_common_names_are_none() -> None:
    pem = _signed([(NameOID.COMMON_NAME, "a"), (NameOID.COMMON_NAME, "b")], _BEGINS, _KEY)
    assert own_certificate.read(pem).common_name == ""


_WHOLE = ssl.PEM_cert_to_DER_cert(_signed([(NameOID.COMMON_NAME, "a")], _BEGINS, _KEY).decode())


@given(st.integers(0, len(_WHOLE) - 8), st.integers(0, 255), st.booleans())
def test_a_certificate_that_is_broken_raises_nothing_unforeseen(at: int, byte: int, cut: bool) -> None:
    broken = _WHOLE[:at] if cut else _WHOLE[:at] + bytes([byte]) + _WHOLE[at + 1 :]
    pem = b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(broken) + b"\n-----END CERTIFICATE-----\n"
    try:
        found = own_certificate.read(pem)
    except InputError:
        return
    assert not cut
    assert found.begins.tzinfo is UTC


@pytest.mark.parametrize("text", [b"", b"x", b"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"])
def test_what_is_no_certificate_is_an_error(text: bytes) -> None:
    with pytest.raises(InputError, match=r"^this is no certificate in PEM form$"):
        own_certificate.read(text)
    with pytest.raises(InputError, match=r"^this is no certificate signing request in PEM form$"):
        own_certificate.key_of_request(text)


def test_a_request_is_made_in_a_process_of_its_own() -> None:
    key = signing_request.new_key()
    made = signing_process.request(key, "system:gitfed:agent:edge-1", "system:gitfed:agents")
    found = signing_request.read(made)
    assert (found.common_name, found.organizations) == ("system:gitfed:agent:edge-1", ("system:gitfed:agents",))
    assert found.key_digest == own_certificate.key_of_request(made)
    with pytest.raises(InputError, match=r"^this is no private key in PEM form$"):
        signing_process.request(b"no key", "n", "o")
