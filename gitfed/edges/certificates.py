"""The hub's own certificate authority: one key in one folder, and the certificates it signs.

A holder of `ca.key` can call the hub under any name, so the folder is the daemon's alone (0700). A certificate is
either for a server or for a client, never for both: TLS checks that on each side.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gitfed.edges import files
from gitfed.edges.signing_request import SigningRequest
from gitfed.errors import InputError, UsageError
from gitfed.text.values import dataclass

LONGEST_NAME = 64
"""Characters of a common name or an organization (X.520)."""
_AUTHORITY_LIFE = timedelta(days=3650)
_SERVER_LIFE = timedelta(days=90)
_EARLIER = timedelta(minutes=10)
"""Clocks differ: a certificate counts from a little before it was made."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in PEM form."""

    certificate: bytes
    key: bytes = field(repr=False)
    ends: datetime

    def due(self, now: datetime) -> bool:
        """Whether a server's certificate should be made anew: a third of its life is left."""
        return now > self.ends - _SERVER_LIFE / 3


class Authority:
    """`open` it; `certificate` is public."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    @classmethod
    def open(cls, folder: Path, *, now: datetime | None = None) -> Authority:
        """The authority of this folder; made once, when there is none. Raises InputError, UsageError."""
        paths = _paths(folder)
        if not any(path.exists() for path in paths):
            keep(folder, *new_authority(now or datetime.now(UTC)))
        try:
            return check_authority(*(path.read_bytes() for path in paths), where=str(folder))
        except OSError as error:
            raise UsageError(
                f"{error.filename} cannot be read: {error.strerror}", hint="is it another user's?"
            ) from error

    def server(self, names: Iterable[str], *, now: datetime | None = None) -> Pair:
        """For a server that is reached by these host names and addresses."""
        hosts = list(dict.fromkeys(names))
        return self._sign(
            [(NameOID.COMMON_NAME, hosts[0][:LONGEST_NAME])],
            ExtendedKeyUsageOID.SERVER_AUTH,
            _SERVER_LIFE,
            now or datetime.now(UTC),
            alternatives=[_alternative(host) for host in hosts],
        )

    def client(self, name: str, groups: Iterable[str], life: timedelta, *, now: datetime | None = None) -> Pair:
        """For a caller of the hub: its name is the common name, its groups are organizations, as in Kubernetes."""
        subject = [*((NameOID.ORGANIZATION_NAME, group) for group in groups), (NameOID.COMMON_NAME, name)]
        return self._sign(subject, ExtendedKeyUsageOID.CLIENT_AUTH, life, now or datetime.now(UTC))

    def for_request(
        self, request: SigningRequest, name: str, groups: Iterable[str], life: timedelta, *, now: datetime
    ) -> bytes:
        """A client certificate in PEM form, for the key of a request; the name and groups are the caller's choice."""
        subject = [*((NameOID.ORGANIZATION_NAME, group) for group in groups), (NameOID.COMMON_NAME, name)]
        signed = self._certify(request.key, subject, ExtendedKeyUsageOID.CLIENT_AUTH, (now, now + life))
        return signed.public_bytes(serialization.Encoding.PEM)

    def _sign(
        self,
        subject: list[tuple[x509.ObjectIdentifier, str]],
        usage: x509.ObjectIdentifier,
        life: timedelta,
        now: datetime,
        alternatives: list[x509.GeneralName] | None = None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self._certify(key.public_key(), subject, usage, (now, now + life), alternatives)
        return Pair(signed.public_bytes(serialization.Encoding.PEM), _pem(key), now + life)

    def _certify(
        self,
        key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
        subject: list[tuple[x509.ObjectIdentifier, str]],
        usage: x509.ObjectIdentifier,
        span: tuple[datetime, datetime],
        alternatives: list[x509.GeneralName] | None = None,
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(_name(subject))
            .issuer_name(self._certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(span[0] - _EARLIER)
            .not_valid_after(span[1])
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def end_of(certificate: bytes) -> datetime | None:
    """Until when a certificate in PEM form holds; None: it is none."""
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    except ValueError:
        return None


def check_authority(certificate: bytes, key: bytes, *, where: str) -> Authority:
    """The authority of these two, in PEM form. Raises InputError."""
    try:
        read = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, password=None)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where} holds no usable certificate authority", hint="move it away to make one") from error
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != read.public_key():
        raise InputError(f"ca.key and ca.crt in {where} do not belong together", hint="move both away to make new ones")
    return Authority(read, private)


def kept(folder: Path) -> tuple[bytes, bytes] | None:
    """The authority in a folder, as it stands there; None: there is none, or only half of one."""
    try:
        certificate, key = (path.read_bytes() for path in _paths(folder))
    except OSError:
        return None
    return certificate, key


def keep(folder: Path, certificate: bytes, key: bytes) -> None:
    """Raises UsageError."""
    paths = _paths(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The certificate last: a reader that finds it finds the key too.
        files.write_atomically(paths[1], key, durable=True)
        files.write_atomically(paths[0], certificate, durable=True)
    except OSError as error:
        raise UsageError(f"no certificate authority can be made in {folder}: {error.strerror}") from error


def _paths(folder: Path) -> tuple[Path, Path]:
    return folder / "ca.crt", folder / "ca.key"


def new_authority(now: datetime) -> tuple[bytes, bytes]:
    """(certificate, key) of a new one, in PEM form."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name([(NameOID.COMMON_NAME, "gitfed hub")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), _pem(key)


def _name(parts: Iterable[tuple[x509.ObjectIdentifier, str]]) -> x509.Name:
    return x509.Name([x509.NameAttribute(kind, value) for kind, value in parts])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
