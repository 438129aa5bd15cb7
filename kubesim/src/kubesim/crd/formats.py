"""The formats of strings that schemas may ask for (``format: date-time``).

Kubernetes knows those of OpenAPI's Go library and ignores every other name. Names are compared without hyphens
(``date-time`` is ``datetime``).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from email.utils import parseaddr
from typing import Final
from urllib.parse import urlsplit

from kubesim.crd.cel import values


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern + r"\Z")
    return lambda text: compiled.match(text) is not None


_UUID: Final = r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12})"
_ANY: Final = "[0-9a-f]{4}"
_VARIANT: Final = "[89ab][0-9a-f]{3}"
_HOST: Final = re.compile(
    r"([a-zA-Z0-9\u00a1-\uffff]((-?[a-zA-Z0-9\u00a1-\uffff]{0,62})?)|"
    r"([a-zA-Z0-9\u00a1-\uffff](([a-zA-Z0-9\-\u00a1-\uffff]{0,61}[a-zA-Z0-9\u00a1-\uffff])?)(\.)){1,}([a-zA-"
    r"Z\u00a1-\uffff]){2,63})\Z"
)
_DATE_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z")
_SCALA: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)")
_SCALA_UNITS: Final = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")


def _hostname(text: str) -> bool:
    return bool(_HOST.match(text)) and len(text) <= 255 and all(len(part) <= 63 for part in text.split("."))


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    if any(char <= " " or char == "\x7f" for char in text):
        return False
    return bool(text.startswith("/") or re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text)) and parts.geturl() != ""


def _email(text: str) -> bool:
    _, address = parseaddr(text)
    return bool(re.fullmatch(r"[^@\s]+@[^@\s]+", address)) and text.count("@") == 1


def _address(kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> Callable[[str], bool]:
    def run(text: str) -> bool:
        # Go's old parser lets leading zeros pass: 010.0.0.1.
        plain = re.sub(r"(^|\.)0+(?=\d)", r"\1", text) if "." in text else text
        try:
            kind(plain)
        except ValueError:
            return False
        return True

    return run


def _cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isdigit():
        return False
    return (_address(ipaddress.IPv4Address)(address) and int(bits) <= 32) or (
        _address(ipaddress.IPv6Address)(address) and int(bits) <= 128
    )


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"\d{9}[\dX]", digits):
        return False
    return sum((at + 1) * (10 if char == "X" else int(char)) for at, char in enumerate(digits)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    return (
        bool(re.fullmatch(r"\d{13}", digits))
        and sum(int(char) * (1, 3)[at % 2] for at, char in enumerate(digits)) % 10 == 0
    )


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _matches(
        r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-"
        r"5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})"
    )(digits):
        return False
    doubled = [int(char) * (2 if at % 2 else 1) for at, char in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _date(text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _date(parts[0]):
        return False
    clock = _DATE_TIME.match(parts[1])
    return clock is not None and int(clock[1]) < 24 and int(clock[2]) < 60 and int(clock[3]) < 60


def _duration(text: str) -> bool:
    if values.parse_duration(text) is not None:
        return True
    for found in _SCALA.finditer(text):
        unit = found[2].lower()
        if any(unit in variants or unit.startswith(variants[-1]) for variants in _SCALA_UNITS):
            return True
    return False


def _long_name(text: str) -> bool:
    return len(text) <= 253 and all(_LABEL.match(part) for part in text.split("."))


_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _uri,
    "email": _email,
    "hostname": _hostname,
    "ipv4": _address(ipaddress.IPv4Address),
    "ipv6": _address(ipaddress.IPv6Address),
    "cidr": _cidr,
    "mac": _matches(
        "(?:[0-9A-Fa-f]{2}[:-]){5}(?:[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){2}|[0-9A-Fa-f]{2})|(?:[0-9A-Fa-"
        "f]{4}[.]){2,3}[0-9A-Fa-f]{4}"
    ),
    "uuid": _matches(_UUID % (_ANY, _ANY)),
    "uuid3": _matches(_UUID % ("3[0-9a-f]{3}", _ANY)),
    "uuid4": _matches(_UUID % ("4[0-9a-f]{3}", _VARIANT)),
    "uuid5": _matches(_UUID % ("5[0-9a-f]{3}", _VARIANT)),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(r"rgb\(\s*(%s)\s*,\s*(%s)\s*,\s*(%s)\s*\)" % ((r"0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5]",) * 3)),
    "byte": _matches("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
    "k8sshortname": lambda text: len(text) <= 63 and bool(_LABEL.match(text)),
    "k8slongname": _long_name,
}


def effective(types: tuple[str, ...], name: str) -> str:
    """The format as far as the server looks at it for values of these types; empty: it ignores it."""
    only = types[0] if len(types) == 1 else ""
    if only in ("", "string"):
        return name if name.replace("-", "") in _FORMATS else ""
    if only == "integer":
        return name if name in ("int32", "int64") else ""
    if only == "number":
        return name if name in ("float", "double") else ""
    return ""


def known(name: str) -> bool:
    return name.replace("-", "") in _FORMATS


def holds(name: str, text: str) -> bool:
    """``name`` must be ``known``."""
    return _FORMATS[name.replace("-", "")](text)
