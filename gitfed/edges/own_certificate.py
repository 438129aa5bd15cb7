"""What an agent's certificate says, read without `cryptography`: that takes 7 MB in every cluster, for a few bytes.

Only for certificates that the reader uses itself: nothing here decides whom to trust. A server that is shown a
certificate reads it with `certificate_pins`. DER is X.690 (tag, length, value); the order of the fields is RFC 5280
§4.1, and that of a signing request RFC 2986 §4.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from datetime import UTC, datetime

from gitfed.errors import InputError
from gitfed.text.values import dataclass

_SEQUENCE, _SET, _OBJECT_IDENTIFIER, _VERSION = 0x30, 0x31, 0x06, 0xA0
_TEXTS = (0x0C, 0x13, 0x16)
"""UTF8String, PrintableString, IA5String: each of them is UTF-8."""
_UTC_TIME, _GENERALIZED_TIME = 0x17, 0x18
_COMMON_NAME, _ORGANIZATION = bytes((0x55, 4, 3)), bytes((0x55, 4, 10))
_PEM = "-----BEGIN {0}-----([A-Za-z0-9+/=\\s]+)-----END {0}-----"
_CERTIFICATE, _REQUEST = (re.compile(_PEM.format(label)) for label in ("CERTIFICATE", "CERTIFICATE REQUEST"))


@dataclass(frozen=True, slots=True)
class OwnCertificate:
    common_name: str
    """"" without exactly one."""
    organizations: tuple[str, ...]
    begins: datetime
    ends: datetime
    key: str
    """SHA-256 of its SubjectPublicKeyInfo, lower-case hex."""


def read(pem: bytes) -> OwnCertificate:
    """The first certificate of a PEM text. Raises InputError."""
    try:
        fields = _fields_of(pem, _CERTIFICATE)
        if fields[0].tag == _VERSION:  # the first version has none
            fields = fields[1:]
        _serial, _algorithm, _issuer, validity, subject, key = fields[:6]
        begins, ends = validity.inside()
        names = list(_names(subject))
        common = [value for kind, value in names if kind == _COMMON_NAME]
        return OwnCertificate(
            common[0] if len(common) == 1 else "",
            tuple(value for kind, value in names if kind == _ORGANIZATION),
            _moment(begins),
            _moment(ends),
            hashlib.sha256(key.whole).hexdigest(),
        )
    except (ValueError, IndexError) as error:
        raise InputError("this is no certificate in PEM form") from error


def key_of_request(pem: bytes) -> str:
    """As `OwnCertificate.key`, of a signing request that we made ourselves. Raises InputError."""
    try:
        _version, _subject, key = _fields_of(pem, _REQUEST)[:3]
    except (ValueError, IndexError) as error:
        raise InputError("this is no certificate signing request in PEM form") from error
    return hashlib.sha256(key.whole).hexdigest()


@dataclass(frozen=True, slots=True)
class _Element:
    tag: int
    value: bytes
    whole: bytes

    def inside(self) -> list[_Element]:
        """Raises ValueError."""
        if self.tag not in {_SEQUENCE, _SET}:
            raise ValueError("it holds no elements")
        return _elements(self.value)


def _fields_of(pem: bytes, kind: re.Pattern[str]) -> list[_Element]:
    """Those of the part that is signed. Raises ValueError."""
    match = kind.search(pem.decode("ascii", "replace"))
    if match is None:
        raise ValueError("no such part")
    try:
        content = base64.b64decode("".join(match[1].split()), validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error
    (outermost,) = _elements(content)
    return outermost.inside()[0].inside()


def _elements(content: bytes) -> list[_Element]:
    """Raises ValueError, IndexError."""
    elements, at = [], 0
    while at < len(content):
        tag, length, begins = content[at], content[at + 1], at + 2
        if length >= 0x80:
            begins += length & 0x7F
            length = int.from_bytes(content[at + 2 : begins], "big")
        end = begins + length
        if end > len(content):
            raise ValueError("it is cut short")
        elements.append(_Element(tag, content[begins:end], content[at:end]))
        at = end
    return elements


def _names(subject: _Element) -> list[tuple[bytes, str]]:
    """Raises ValueError."""
    names = []
    for group in subject.inside():
        for attribute in group.inside():
            kind, value = attribute.inside()
            if kind.tag != _OBJECT_IDENTIFIER:
                raise ValueError("an attribute without a kind")
            if kind.value in {_COMMON_NAME, _ORGANIZATION}:
                if value.tag not in _TEXTS:
                    raise ValueError("a name in another alphabet")
                names.append((kind.value, value.value.decode()))
    return names


def _moment(element: _Element) -> datetime:
    """Raises ValueError."""
    if element.tag not in {_UTC_TIME, _GENERALIZED_TIME}:
        raise ValueError("no time")
    text = element.value.decode("ascii")
    if element.tag == _UTC_TIME:  # two digits of the year: from 1950 to 2049 (RFC 5280 §4.1.2.5.1)
        text = ("19" if text[:2] >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
