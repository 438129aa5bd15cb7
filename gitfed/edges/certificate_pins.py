"""What a certificate says to its holder: until when, for which key; and pins of authorities.

A pin is kubeadm's: `sha256:` and the lower-case hex digest of the SubjectPublicKeyInfo of an authority's certificate.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from gitfed.errors import InputError
from gitfed.text.values import dataclass

_PIN = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Certificate:
    serial: str
    """Upper-case hex without leading zeros beyond a whole byte, as TLS tells it."""
    common_name: str
    key: str
    """SHA-256 of its SubjectPublicKeyInfo, lower-case hex."""
    begins: datetime
    ends: datetime


def read(pem: bytes) -> Certificate:
    """The first certificate of a PEM text. Raises InputError."""
    certificates = _all(pem)
    if not certificates:
        raise InputError("this holds no certificate in PEM form")
    common = certificates[0].subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return Certificate(
        serial_text(certificates[0].serial_number),
        str(common[0].value) if common else "",
        _digest(certificates[0]),
        certificates[0].not_valid_before_utc,
        certificates[0].not_valid_after_utc,
    )


def serial_text(number: int) -> str:
    text = f"{number:X}"
    return text if len(text) % 2 == 0 else f"0{text}"


def pins(pem: bytes) -> tuple[str, ...]:
    """Of each certificate in a PEM text. Raises InputError."""
    return tuple(f"sha256:{_digest(certificate)}" for certificate in _all(pem))


def pinned(pem: bytes, wanted: Iterable[str]) -> bytes:
    """Those certificates of a PEM text that one of the pins is of, in PEM form; b"": none. Raises InputError."""
    allowed = list(wanted)
    return b"".join(
        certificate.public_bytes(serialization.Encoding.PEM)
        for certificate in _all(pem)
        if any(hmac.compare_digest(f"sha256:{_digest(certificate)}", pin) for pin in allowed)
    )


def last(pem: bytes) -> bytes:
    """The last certificate of a chain, the nearest to its authority. Raises InputError."""
    certificates = _all(pem)
    if not certificates:
        raise InputError("this holds no certificate in PEM form")
    return certificates[-1].public_bytes(serialization.Encoding.PEM)


def why_not_a_pin(text: str) -> str:
    """ "" for a pin."""
    if _PIN.fullmatch(text):
        return ""
    return "is no pin of an authority: sha256: and 64 lower-case hex digits"


def _all(pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError("this holds no certificate in PEM form") from error


def _digest(certificate: x509.Certificate) -> str:
    content = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(content).hexdigest()
