"""Which signing requests the hub signs."""

from __future__ import annotations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from gitfed.edges import signing_request
from gitfed.errors import InputError

_SUBJECT = [(NameOID.ORGANIZATION_NAME, "o"), (NameOID.COMMON_NAME, "n")]
_KEYS = "EC on P-256 or P-384, or RSA of 3072 to 4096 bits"


def _request(key: object = None, subject: object = None, names: bool = False) -> bytes:
    parts = [x509.NameAttribute(kind, value) for kind, value in subject or _SUBJECT]  # type: ignore[attr-defined]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("hub.example")]), critical=False)
    key = key or ec.generate_private_key(ec.SECP256R1())
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM)  # type: ignore[arg-type]


def test_what_an_agent_makes_is_read() -> None:
    found = signing_request.read(signing_request.make(signing_request.new_key(), "n", "o"))
    assert (found.common_name, found.organizations) == ("n", ("o",))
    assert len(found.key_digest) == 64


@pytest.mark.parametrize("bits", [3072, 4096])
def test_rsa_keys_of_these_sizes_are_taken(bits: int) -> None:
    assert signing_request.read(_request(rsa.generate_private_key(65537, bits))).common_name == "n"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (rsa.generate_private_key(65537, 2048), "a short RSA key"),
        (ec.generate_private_key(ec.SECP256K1()), "another curve"),
        (ed25519.Ed25519PrivateKey.generate(), "another kind of key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_keys_are_refused(key: object, name: str) -> None:
    with pytest.raises(InputError) as refused:
        signing_request.read(_request(key))
    assert refused.value.message == "the key of the signing request is not one that is signed", name
    assert refused.value.hint == _KEYS


def test_a_request_for_alternative_names_is_refused() -> None:
    with pytest.raises(InputError, match=r"^the signing request asks for extensions, such as alternative names$"):
        signing_request.read(_request(names=True))


def test_a_subject_with_more_than_it_needs_is_refused() -> None:
    more = [*_SUBJECT, (NameOID.ORGANIZATIONAL_UNIT_NAME, "u")]
    with pytest.raises(InputError, match="has more than a common name and organizations"):
        signing_request.read(_request(subject=more))
    twice = [*_SUBJECT, (NameOID.COMMON_NAME, "m")]
    with pytest.raises(InputError, match=r"^the signing request has not exactly one common name$"):
        signing_request.read(_request(subject=twice))


def test_a_request_that_somebody_else_signed_is_refused() -> None:
    whole = x509.load_pem_x509_csr(_request()).public_bytes(serialization.Encoding.DER)
    wrong = whole[:-1] + bytes([whole[-1] ^ 1])
    pem = x509.load_der_x509_csr(wrong).public_bytes(serialization.Encoding.PEM)
    with pytest.raises(InputError, match=r"^the signing request is not signed with its own key$"):
        signing_request.read(pem)


@pytest.mark.parametrize("content", [b"", b"nothing", b"-----BEGIN CERTIFICATE REQUEST-----\n", b"x" * 9000])
def test_what_is_no_request_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match=r"^(this is no certificate|the signing request has more than 8 KiB)"):
        signing_request.read(content)
