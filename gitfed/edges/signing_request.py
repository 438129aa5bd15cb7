"""Certificate signing requests: an agent makes one, the hub reads one and believes only what it has checked.

Of a request count the key, and that its sender has it. The subject must be the one that is asked for, and extensions
are refused: what a certificate says beyond its subject is for the authority to decide.
"""

from __future__ import annotations

import hashlib
from dataclasses import field

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from gitfed.errors import InputError
from gitfed.text.values import dataclass

LARGEST = 8 << 10
"""Bytes of a request in PEM form; one with an RSA key of 4096 bits has less than 2 KiB."""
_CURVES = ("secp256r1", "secp384r1")
_RSA_BITS = range(3072, 4097)
_KEYS = "EC on P-256 or P-384, or RSA of 3072 to 4096 bits"


@dataclass(frozen=True, slots=True)
class SigningRequest:
    common_name: str
    organizations: tuple[str, ...]
    key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey = field(repr=False)

    @property
    def key_digest(self) -> str:
        return digest_of(self.key)


def read(pem: bytes) -> SigningRequest:
    """Raises InputError, with a sentence for the sender."""
    if len(pem) > LARGEST:
        raise InputError(f"the signing request has more than {LARGEST >> 10} KiB")
    try:
        request = x509.load_pem_x509_csr(pem)
        key = request.public_key()
        signed = request.is_signature_valid
        attributes = list(request.subject)
        extensions = len(request.extensions)
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature) as error:
        raise InputError("this is no certificate signing request in PEM form") from error
    if not _is_strong(key):
        raise InputError("the key of the signing request is not one that is signed", hint=_KEYS)
    assert isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey)
    if not signed:
        raise InputError("the signing request is not signed with its own key")
    if extensions:
        raise InputError("the signing request asks for extensions, such as alternative names")
    allowed = (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)
    if any(attribute.oid not in allowed for attribute in attributes):
        raise InputError("the subject of the signing request has more than a common name and organizations")
    common = [str(attribute.value) for attribute in attributes if attribute.oid == NameOID.COMMON_NAME]
    if len(common) != 1:
        raise InputError("the signing request has not exactly one common name")
    return SigningRequest(
        common[0],
        tuple(str(attribute.value) for attribute in attributes if attribute.oid == NameOID.ORGANIZATION_NAME),
        key,
    )


def new_key() -> bytes:
    """A private key in PEM form."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def make(key: bytes, common_name: str, organization: str) -> bytes:
    """A request in PEM form for the owner of `key` (PEM). Raises InputError when it is no key of ours."""
    try:
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError("this is no private key in PEM form") from error
    if not isinstance(private, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) or not _is_strong(private.public_key()):
        raise InputError("the private key is not one that the hub signs", hint=_KEYS)
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(private, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def digest_of(key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey) -> str:
    """SHA-256 of its SubjectPublicKeyInfo, lower-case hex."""
    content = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(content).hexdigest()


def _is_strong(key: object) -> bool:
    if isinstance(key, rsa.RSAPublicKey):
        return key.key_size in _RSA_BITS
    return isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES
