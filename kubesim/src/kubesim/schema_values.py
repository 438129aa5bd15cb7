"""Canonical spellings of the values Kubernetes reads in several: quantities, times, bytes.

Each function takes a parsed JSON value and returns the spelling the server writes, or raises ``ValueError`` with the
text Kubernetes tells.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from datetime import UTC, datetime
from typing import Any, Final

_QUANTITY: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?\d+)", re.ASCII)
_SUFFIXED: Final = re.compile(r"[+-]?\d*(?:\.\d*)?[eEinumkKMGTP]*[+-]?\d*", re.ASCII)
"""What has the form of a quantity, though its suffix may be none."""
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BAD_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BAD_SUFFIX: Final = "unable to parse quantity's suffix"


def quantity(value: Any, *, finest: int = -9) -> str:
    """The canonical form of a quantity: ``1000m`` is ``1``, ``1024Mi`` is ``1Gi``, ``0.5`` is ``500m``.

    ``finest`` is the smallest power of ten that is kept; what is finer is rounded up (Kubernetes: resource lists keep
    thousandths). Raises ``ValueError``.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(_BAD_QUANTITY)
    return _quantity(str(value).strip(), finest)


@functools.lru_cache(maxsize=4096)
def _quantity(text: str, finest: int) -> str:
    match = _QUANTITY.fullmatch(text)
    if match is None or not text:
        raise ValueError(_BAD_SUFFIX if text and _SUFFIXED.fullmatch(text) else _BAD_QUANTITY)
    sign, whole, part, suffix = match[1], match[2], match[3] or "", match[4]
    number, power = int(whole + part or "0"), -len(part)
    if number == 0:
        return "0"
    if suffix in _BINARY[1:]:
        number <<= 10 * _BINARY.index(suffix)
        number = -(-number // 10**-power) if power < 0 and number % 10**-power else number // 10**-power
        if number >= 1024:
            return ("-" if sign == "-" else "") + _binary(number)
        power, style = 0, ""
    elif suffix[:1] in ("e", "E") and suffix not in _DECIMAL:
        power, style = power + int(suffix[1:]), "e"
    else:
        power, style = power + _DECIMAL[suffix], ""
    return ("-" if sign == "-" else "") + _decimal(number, power, style, finest)


def _binary(number: int) -> str:
    steps = 0
    while number % 1024 == 0 and steps < len(_BINARY) - 1:
        number //= 1024
        steps += 1
    return f"{number}{_BINARY[steps]}"


def _decimal(number: int, power: int, style: str, finest: int) -> str:
    """Mantissa without trailing zeros, exponent a multiple of three."""
    if power < finest:
        divisor = 10 ** (finest - power)
        number, power = -(-number // divisor), finest
    while number % 10 == 0:
        number //= 10
        power += 1
    while power % 3 or power > 18:
        number *= 10
        power -= 1
    if style:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_SUFFIXES[power]}"


_TIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)",
)


def time(value: str) -> str:
    """A time in whole seconds, UTC: ``2020-01-01T01:00:00.5+01:00`` is ``2020-01-01T00:00:00Z``."""
    match = _TIME.fullmatch(value)
    if match is None:
        raise ValueError(_bad_time(value, "2006-01-02T15:04:05Z07:00"))
    if match[4] == "Z" and not match[3]:
        _parse(value, match, "2006-01-02T15:04:05Z07:00")
        return value
    moment = _parse(value, match, "2006-01-02T15:04:05Z07:00")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(value: str) -> str:
    """A time with exactly six decimals, UTC. Other numbers of decimals are refused."""
    layout = "2006-01-02T15:04:05.000000Z07:00"
    match = _TIME.fullmatch(value)
    if match is None or len(match[3] or "") != 7:
        raise ValueError(_bad_time(value, layout))
    return _parse(value, match, layout).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + match[3][1:] + "Z"


def _parse(value: str, match: re.Match[str], layout: str) -> datetime:
    zone = "+00:00" if match[4] == "Z" else match[4]
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}")
    except ValueError:
        raise ValueError(f'parsing time "{value}": value out of range') from None


def _bad_time(value: str, layout: str) -> str:
    """Go names the first part of the layout that does not fit, and what is left of the text there."""
    rest = value
    micro = ((r"\.\d{6}", ".000000"),) if ".000000" in layout else ((r"(\.\d+)?", ""),)
    for pattern, part in (*_DATE_AND_TIME, *micro, (r"Z|[+-]\d\d:\d\d", "Z07:00")):
        match = re.match(pattern, rest)
        if match is None:
            return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"'
        rest = rest[match.end() :]
    return f'parsing time "{value}": extra text: "{rest}"'


_DATE_AND_TIME: Final = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d\d", "01"),
    ("-", "-"),
    (r"\d\d", "02"),
    ("T", "T"),
    (r"\d\d", "15"),
    (":", ":"),
    (r"\d\d", "04"),
    (":", ":"),
    (r"\d\d", "05"),
)


def base64_bytes(value: str) -> str:
    """Bytes in standard base64. Line breaks inside are dropped."""
    text = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"illegal base64 data at input byte {_bad_byte(value)}") from None
    return text


def _bad_byte(value: str) -> int:
    """Where Go's decoder stops: at the first foreign character, else where padding is missing or wrong."""
    for position, char in enumerate(value):
        if not (char.isascii() and (char.isalnum() or char in "+/\r\n")):
            return position
    return len(value) - len(value) % 4 if len(value) % 4 else len(value)
