"""The values of CEL in Python, and the two things CEL does differently with them: equality and numbers of 64 bits.

int, float, str, bytes, bool, ``None``, list and dict stand for themselves (a ``bool`` is never an int here, whatever
Python thinks). What JSON has no word for is a small class: ``Uint``, ``Timestamp``, ``Duration``, ``Quantity``,
``Type``, ``Optional``, ``Url``, ``Ip``, ``Cidr``. An evaluation that fails raises ``CelError`` with cel-go's text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1


class CelError(ValueError):
    """An evaluation went wrong: no such key, division by zero, no such overload…"""


class Uint(int):
    """An unsigned integer. Equal to an int of the same value, but no overload takes both."""


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    at: datetime


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """Nanoseconds."""

    ns: int


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Type:
    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    present: bool
    value: Any = None


@dataclass(frozen=True, slots=True)
class Url:
    text: str
    scheme: str
    host: str
    """With the port."""
    path: str
    query: str


@dataclass(frozen=True, slots=True)
class Ip:
    address: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Cidr:
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True, order=True)
class Semver:
    """``before`` is what precedes the release of the same numbers (``rc.1``), in a form that sorts; empty parts
    last."""

    major: int
    minor: int
    patch: int
    before: tuple[tuple[int, int, str], ...] = ()


class SetList(list[Any]):
    """A list whose order does not matter (x-kubernetes-list-type: set): equality and ``+`` know that."""


class MapList(list[Any]):
    """A list keyed by fields of its items (x-kubernetes-list-type: map)."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key(self, item: Any) -> str:
        return repr([item.get(name) for name in self.keys]) if isinstance(item, dict) else repr(item)


ABSENT: Final = Optional(False)

_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    SetList: "list",
    MapList: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Quantity: "kubernetes.Quantity",
    Type: "type",
    Optional: "optional_type",
    Url: "kubernetes.URL",
    Ip: "net.IP",
    Cidr: "net.CIDR",
    Semver: "kubernetes.Semver",
}


def type_name(value: Any) -> str:
    return _NAMES.get(type(value), "dyn")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """CEL's ``==``: numbers of all types by value, different types unequal, lists and maps by content."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        return _lists_equal(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(key in right and equal(value, right[key]) for key, value in left.items())
    return type(left) is type(right) and bool(left == right)


def _lists_equal(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList) or isinstance(right, SetList):
        return all(any(equal(one, other) for other in right) for one in left)
    if isinstance(left, MapList):
        others = {left.key(item): item for item in right}
        return all(left.key(item) in others and equal(item, others[left.key(item)]) for item in left)
    return all(equal(one, other) for one, other in zip(left, right, strict=True))


def join(left: list[Any], right: list[Any]) -> list[Any]:
    """``+`` of lists: a union for sets, a merge by key for keyed lists."""
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not any(equal(item, kept) for kept in left))])
    if isinstance(left, MapList):
        merged = {left.key(item): item for item in left}
        for item in right:
            merged[left.key(item)] = item
        return MapList(list(merged.values()), left.keys)
    return [*left, *right]


def checked(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value <= MAX_UINT:
        raise CelError("unsigned integer overflow")
    return Uint(value)


# Kubernetes: resource.Quantity
_QUANTITY: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d+))?\Z")
_SUFFIX: Final[dict[str, Decimal]] = {
    **{name: Decimal(1024) ** (power + 1) for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))},
    **{
        name: Decimal(1000) ** power
        for power, name in ((-3, "n"), (-2, "u"), (-1, "m"), (1, "k"), (2, "M"), (3, "G"), (4, "T"), (5, "P"), (6, "E"))
    },
}


def parse_quantity(text: str) -> Quantity | None:
    found = _QUANTITY.match(text)
    if found is None:
        return None
    try:
        amount = Decimal(found[1])
    except InvalidOperation:
        return None
    if found[2]:
        amount *= _SUFFIX[found[2]]
    elif found[3]:
        amount *= Decimal(10) ** int(found[3])
    return Quantity(amount)


_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?\Z"
)


def parse_semver(text: str) -> Semver | None:
    found = _SEMVER.match(text)
    if found is None:
        return None
    # A release follows all its candidates; numbers are lower than words.
    parts = (
        [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in found[4].split(".")]
        if found[4]
        else [(2, 0, "")]
    )
    return Semver(int(found[1]), int(found[2]), int(found[3]), tuple(parts))


_TIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)\Z")


def parse_time(text: str) -> Timestamp | None:
    """RFC 3339. Parts of a second below the microsecond are cut."""
    found = _TIME.match(text)
    if found is None:
        return None
    zone = found[8]
    shift = timedelta()
    if zone != "Z":
        shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * (-1 if zone[0] == "-" else 1)
    try:
        year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
        micros = int((found[7] or "0")[:6].ljust(6, "0"))
        moment = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
        return Timestamp(moment - shift)
    except (ValueError, OverflowError):
        return None


def print_time(value: Timestamp) -> str:
    text = value.at.strftime("%Y-%m-%dT%H:%M:%S")
    if value.at.microsecond:
        text += f".{value.at.microsecond:06d}".rstrip("0")
    return text + "Z"


_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse_duration(text: str) -> Duration | None:
    """Go: time.ParseDuration."""
    body, sign = text, 1
    if body[:1] in ("+", "-"):
        sign = -1 if body[0] == "-" else 1
        body = body[1:]
    if body == "0":
        return Duration(0)
    total, at = Decimal(0), 0
    while at < len(body):
        part = _DURATION.match(body, at)
        if part is None:
            return None
        total += Decimal(part[1]) * _UNITS[part[2]]
        at = part.end()
    if not body or abs(total) > MAX_INT:
        return None
    return Duration(sign * int(total))


def print_duration(value: Duration) -> str:
    """CEL prints durations in seconds: ``90s``."""
    seconds = Decimal(value.ns) / 10**9
    text = format(seconds.normalize(), "f")
    return f"{text}s"


def print_double(value: float) -> str:
    """Go: strconv.FormatFloat(v, 'g', -1, 64)."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "0"
    exponent = Decimal(repr(value)).adjusted()
    if exponent < -4 or exponent >= 21:
        digits = Decimal(repr(value)).normalize()
        sign, numbers, _ = digits.as_tuple()
        text = "".join(map(str, numbers))
        mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
        return f"{'-' if sign else ''}{mantissa}e{'+' if exponent >= 0 else '-'}{abs(exponent):02d}"
    return format(Decimal(repr(value)).normalize(), "f")


Function = Callable[..., Any]
