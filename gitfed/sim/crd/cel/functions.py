"""What CEL rules may call: the standard functions and those that Kubernetes adds.

``GLOBAL`` holds functions and operators by name, ``METHODS`` those called on a value (its first argument). A function
that gets a value it has no overload for raises ``TypeError`` or ``CelError``; the evaluator says ``no such overload``
then.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from gitfed.sim.crd import regex
from gitfed.sim.crd.cel import text, values
from gitfed.sim.crd.cel.values import ABSENT, CelError, Cidr, Duration, Ip, Optional, Quantity, Timestamp, Uint, Url


def _overload() -> CelError:
    return CelError("no such overload")


def _int(value: Any) -> bool:
    return type(value) is int


# operators


def add(left: Any, right: Any) -> Any:
    if _int(left) and _int(right):
        return values.checked(left + right)
    if type(left) is type(right):
        if isinstance(left, Uint):
            return values.checked_uint(int(left) + int(right))
        if isinstance(left, float | str | bytes):
            return left + right
        if isinstance(left, Duration):
            return Duration(left.ns + right.ns)
    if isinstance(left, list) and isinstance(right, list):
        return values.join(left, right)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return _shift(left, right.ns)
    if isinstance(left, Duration) and isinstance(right, Timestamp):
        return _shift(right, left.ns)
    raise _overload()


def _shift(moment: Timestamp, ns: int) -> Timestamp:
    try:
        return Timestamp(moment.at + timedelta(microseconds=ns / 1000))
    except OverflowError as problem:
        raise CelError("timestamp overflow") from problem


def subtract(left: Any, right: Any) -> Any:
    if _int(left) and _int(right):
        return values.checked(left - right)
    if isinstance(left, Uint) and isinstance(right, Uint):
        return values.checked_uint(int(left) - int(right))
    if isinstance(left, float) and isinstance(right, float):
        return left - right
    if isinstance(left, Timestamp):
        if isinstance(right, Timestamp):
            return Duration(round((left.at - right.at) / timedelta(microseconds=1)) * 1000)
        if isinstance(right, Duration):
            return _shift(left, -right.ns)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(left.ns - right.ns)
    raise _overload()


def multiply(left: Any, right: Any) -> Any:
    if _int(left) and _int(right):
        return values.checked(left * right)
    if isinstance(left, Uint) and isinstance(right, Uint):
        return values.checked_uint(int(left) * int(right))
    if isinstance(left, float) and isinstance(right, float):
        return left * right
    raise _overload()


def divide(left: Any, right: Any) -> Any:
    if isinstance(left, float) and isinstance(right, float):
        if right == 0:
            return float("nan") if left == 0 else float("inf") * (1 if left > 0 else -1)
        return left / right
    if type(left) is not type(right) or not isinstance(left, int) or isinstance(left, bool):
        raise _overload()
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    if isinstance(left, Uint):
        return Uint(quotient)
    return values.checked(quotient if (left < 0) == (right < 0) else -quotient)


def modulo(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or not isinstance(left, int) or isinstance(left, bool):
        raise _overload()
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return Uint(rest) if isinstance(left, Uint) else (-rest if left < 0 else rest)


def negate(value: Any) -> Any:
    if _int(value):
        return values.checked(-value)
    if isinstance(value, float):
        return -value
    if isinstance(value, Duration):
        return Duration(-value.ns)
    raise _overload()


def invert(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _overload()
    return not value


def _comparable(left: Any, right: Any) -> bool:
    if values.is_number(left) and values.is_number(right):
        return True
    return type(left) is type(right) and isinstance(left, str | bytes | bool | Timestamp | Duration)


def _compare(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def run(left: Any, right: Any) -> bool:
        if not _comparable(left, right):
            raise _overload()
        return test(left, right)

    return run


def contained(item: Any, holder: Any) -> bool:
    if isinstance(holder, list):
        return any(values.equal(item, other) for other in holder)
    if isinstance(holder, dict):
        return any(values.equal(item, key) for key in holder)
    raise _overload()


def index(holder: Any, key: Any) -> Any:
    if isinstance(holder, Optional):
        return optional_index(holder, key)
    if isinstance(holder, list):
        if isinstance(key, bool) or not values.is_number(key) or (isinstance(key, float) and not key.is_integer()):
            raise _overload()
        if not 0 <= key < len(holder):
            raise CelError(f"index out of bounds: {int(key)}")
        return holder[int(key)]
    if isinstance(holder, dict):
        for known, value in holder.items() if not isinstance(key, str) else ():
            if values.equal(known, key):
                return value
        if isinstance(key, str) and key in holder:
            return holder[key]
        raise CelError(f"no such key: {to_string(key)}")
    raise _overload()


def optional_index(holder: Any, key: Any) -> Optional:
    inner = holder if isinstance(holder, Optional) else Optional(True, holder)
    if not inner.present:
        return ABSENT
    try:
        return Optional(True, index(inner.value, key))
    except CelError as problem:
        if str(problem).startswith(("no such key", "index out")):
            return ABSENT
        raise


# conversions


def size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise _overload()


def to_int(value: Any) -> int:
    if isinstance(value, bool):
        raise _overload()
    if isinstance(value, int):
        return values.checked(int(value))
    if isinstance(value, float):
        if value != value or not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d+", value) and values.MIN_INT <= int(value) <= values.MAX_INT:
            return int(value)
        raise CelError("type conversion error from 'string' to 'int'")
    if isinstance(value, Timestamp):
        return int(value.at.timestamp())
    if isinstance(value, Duration):
        return value.ns
    raise _overload()


def to_uint(value: Any) -> Uint:
    if isinstance(value, bool):
        raise _overload()
    if isinstance(value, int | float):
        return values.checked_uint(int(value))
    if isinstance(value, str) and value.isdigit():
        return values.checked_uint(int(value))
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'uint'")


def to_double(value: Any) -> float:
    if values.is_number(value):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError as problem:
            raise CelError("type conversion error from 'string' to 'double'") from problem
    raise _overload()


def to_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return values.print_double(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as problem:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from problem
    if isinstance(value, Timestamp):
        return values.print_time(value)
    if isinstance(value, Duration):
        return values.print_duration(value)
    if isinstance(value, Ip):
        return str(value.address)
    if isinstance(value, Cidr):
        return str(value.interface)
    if isinstance(value, Url):
        return value.text
    raise _overload()


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'bool'")


def to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise _overload()


def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if _int(value):
        return Timestamp(datetime.fromtimestamp(value, UTC))
    if isinstance(value, str) and (moment := values.parse_time(value)) is not None:
        return moment
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'google.protobuf.Timestamp'")


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if _int(value):
        return Duration(value)
    if isinstance(value, str) and (length := values.parse_duration(value)) is not None:
        return length
    raise CelError(f"type conversion error from '{values.type_name(value)}' to 'google.protobuf.Duration'")


# times


def _in_zone(value: Any, zone: str) -> datetime:
    if not isinstance(value, Timestamp):
        raise _overload()
    if zone in ("", "UTC"):
        return value.at
    shift = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", zone)
    if shift is None:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # rare; costs the import of the zone database

        try:
            return value.at.astimezone(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError) as problem:
            raise CelError(f"unknown time zone {zone}") from problem
    return value.at + timedelta(hours=int(shift[2]), minutes=int(shift[3])) * (-1 if shift[1] == "-" else 1)


def _time_part(part: Callable[[datetime], int], of_duration: Callable[[int], int] | None = None) -> values.Function:
    def run(value: Any, zone: str = "") -> int:
        if isinstance(value, Duration) and of_duration is not None:
            return of_duration(value.ns)
        return part(_in_zone(value, zone))

    return run


# Kubernetes: quantity


def to_quantity(value: Any) -> Quantity:
    if isinstance(value, str) and (found := values.parse_quantity(value)) is not None:
        return found
    if isinstance(value, str):
        raise CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    raise _overload()


def _as_integer(value: Quantity) -> int:
    if value.amount != int(value.amount) or not values.MIN_INT <= value.amount <= values.MAX_INT:
        raise CelError("cannot convert value to integer")
    return int(value.amount)


def _with_quantity(left: Quantity, right: Any, sign: int) -> Quantity:
    amount = right.amount if isinstance(right, Quantity) else Decimal(_need_int(right))
    return Quantity(left.amount + sign * amount)


def _need_int(value: Any) -> int:
    if not _int(value):
        raise _overload()
    return int(value)


# addresses


def to_url(value: Any) -> Url:
    if not isinstance(value, str):
        raise _overload()
    try:
        parts = urlsplit(value)
    except ValueError as problem:
        raise CelError(f"URL parse error during conversion from string: {problem}") from problem
    if not (parts.scheme and parts.netloc) and not value.startswith("/"):
        raise CelError(f'URL parse error during conversion from string: parse "{value}": invalid URI for request')
    return Url(value, parts.scheme, parts.netloc.rsplit("@", 1)[-1], parts.path, parts.query)


def _hostname(url: Url) -> str:
    host = urlsplit(f"//{url.host}").hostname or ""
    return f"[{host}]" if ":" in host else host


def to_ip(value: Any) -> Ip:
    if isinstance(value, Cidr):
        return Ip(value.interface.ip)
    if not isinstance(value, str):
        raise _overload()
    try:
        address = ipaddress.ip_address(value)
    except ValueError as problem:
        raise CelError(
            f'IP Address "{value}" parse error during conversion from string: ParseAddr("{value}"): unable to parse IP'
        ) from problem
    if "%" in value:
        raise CelError(f'IP address "{value}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise CelError(f'IPv4-mapped IPv6 address "{value}" is not allowed')
    return Ip(address)


def to_cidr(value: Any) -> Cidr:
    if not isinstance(value, str):
        raise _overload()
    try:
        if "/" not in value:
            raise ValueError("no '/'")
        return Cidr(ipaddress.ip_interface(value))
    except ValueError as problem:
        raise CelError(
            f'network address parse error during conversion from string: netip.ParsePrefix("{value}"): {problem}'
        ) from problem


def _contains_ip(cidr: Cidr, address: Any) -> bool:
    return (to_ip(address) if isinstance(address, str) else address).address in cidr.interface.network


def _contains_cidr(cidr: Cidr, other: Any) -> bool:
    inner = (to_cidr(other) if isinstance(other, str) else other).interface.network
    outer = cidr.interface.network
    return outer.version == inner.version and outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def _parses(convert: Callable[[Any], Any]) -> Callable[[Any], bool]:
    def run(value: Any) -> bool:
        try:
            convert(value)
        except CelError as problem:
            if str(problem) == "no such overload":
                raise
            return False
        return True

    return run


# lists


def _ordered(items: list[Any], test: Callable[[Any, Any], bool]) -> bool:
    return all(test(one, other) for one, other in zip(items, items[1:], strict=False))


def _best(items: list[Any], test: Callable[[Any, Any], bool], name: str) -> Any:
    if not items:
        raise CelError(f"{name} called on empty list")
    best = items[0]
    for item in items[1:]:
        if test(item, best):
            best = item
    return best


def _total(items: list[Any]) -> Any:
    if not items:
        return 0
    total = items[0]
    for item in items[1:]:
        total = add(total, item)
    return total


def _position(items: Any, wanted: Any, *, last: bool) -> int:
    found = [at for at, item in enumerate(items) if values.equal(item, wanted)]
    return -1 if not found else found[-1] if last else found[0]


def index_of(holder: Any, wanted: Any, start: int | None = None) -> int:
    if isinstance(holder, list):
        return _position(holder, wanted, last=False)
    return text.index_of(holder, wanted, start or 0)


def last_index_of(holder: Any, wanted: Any, start: int | None = None) -> int:
    if isinstance(holder, list):
        return _position(holder, wanted, last=True)
    return text.last_index_of(holder, wanted, start)


def _distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if not contained(item, kept):
            kept.append(item)
    return kept


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    flat: list[Any] = []
    for item in items:
        flat.extend(_flatten(item, depth - 1) if isinstance(item, list) and depth > 0 else [item])
    return flat


def _sorted(items: list[Any]) -> list[Any]:
    if items and not all(_comparable(items[0], item) for item in items):
        raise CelError("list elements must have the same type")
    return sorted(items)


def _reversed(value: Any) -> Any:
    return value[::-1] if isinstance(value, str) else list(reversed(value))


def _needs_list(function: values.Function) -> values.Function:
    def run(items: Any, *args: Any) -> Any:
        if not isinstance(items, list):
            raise _overload()
        return function(items, *args)

    return run


# optional values


def _zero(value: Any) -> bool:
    return value is None or (not isinstance(value, Timestamp | Duration | Quantity) and not value)


def _value(value: Optional) -> Any:
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.value


# regular expressions


def _pattern(pattern: Any) -> re.Pattern[str]:
    try:
        return regex.compile_pattern(pattern)
    except regex.RegexError as problem:
        raise CelError(str(problem)) from problem


def matches(value: str, pattern: str) -> bool:
    return _pattern(pattern).search(value) is not None


def _find(value: str, pattern: str) -> str:
    found = _pattern(pattern).search(value)
    return found[0] if found else ""


def _find_all(value: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in _pattern(pattern).finditer(value)]
    return found if limit < 0 else found[:limit]


_LESS: Final = _compare(lambda left, right: left < right)
_LESS_EQUAL: Final = _compare(lambda left, right: left <= right)
_GREATER: Final = _compare(lambda left, right: left > right)
_GREATER_EQUAL: Final = _compare(lambda left, right: left >= right)

GLOBAL: Final[dict[str, values.Function]] = {
    "_+_": add, "_-_": subtract, "_*_": multiply, "_/_": divide, "_%_": modulo, "-_": negate, "!_": invert,
    "_==_": values.equal, "_!=_": lambda left, right: not values.equal(left, right),
    "_<_": _LESS, "_<=_": _LESS_EQUAL, "_>_": _GREATER, "_>=_": _GREATER_EQUAL,
    "@in": contained, "_[_]": index, "_[?_]": optional_index,
    "size": size, "int": to_int, "uint": to_uint, "double": to_double, "string": to_string, "bool": to_bool, "bytes": to_bytes,
    "timestamp": to_timestamp, "duration": to_duration, "dyn": lambda value: value,
    "type": lambda value: values.Type(values.type_name(value)), "matches": matches,
    "quantity": to_quantity, "isQuantity": _parses(to_quantity), "url": to_url, "isURL": _parses(to_url),
    "ip": to_ip, "isIP": _parses(to_ip), "ip.isCanonical": lambda value: str(to_ip(value).address) == value,
    "cidr": to_cidr, "isCIDR": _parses(to_cidr),
    "optional.of": lambda value: Optional(True, value), "optional.none": lambda: ABSENT,
    "optional.ofNonZeroValue": lambda value: ABSENT if _zero(value) else Optional(True, value),
    "sets.contains": lambda left, right: all(contained(item, left) for item in right),
    "sets.equivalent": lambda left, right: all(contained(item, left) for item in right) and all(contained(item, right) for item in left),
    "sets.intersects": lambda left, right: any(contained(item, left) for item in right),
    "lists.range": lambda count: list(range(count)),
    "strings.quote": text.quote,
    "format.named": lambda name: Optional(True, text.NAMED[name]) if name in text.NAMED else ABSENT,
    **{f"format.{name}": (lambda name: lambda: text.NAMED[name])(name) for name in text.NAMED},
}  # fmt: skip

METHODS: Final[dict[str, values.Function]] = {
    "size": size, "matches": matches, "find": _find, "findAll": _find_all,
    "contains": text.contains, "startsWith": text.starts_with, "endsWith": text.ends_with,
    "charAt": text.char_at, "indexOf": index_of, "lastIndexOf": last_index_of, "join": text.join, "lowerAscii": text.lower_ascii,
    "upperAscii": text.upper_ascii, "replace": text.replace, "split": text.split, "substring": text.substring,
    "trim": text.trim, "format": text.format_text, "reverse": _reversed,
    "isSorted": _needs_list(lambda items: _ordered(items, _LESS_EQUAL)), "sum": _needs_list(_total),
    "min": _needs_list(lambda items: _best(items, _LESS, "min")), "max": _needs_list(lambda items: _best(items, _GREATER, "max")),
    "distinct": _needs_list(_distinct), "slice": _needs_list(_slice), "flatten": _needs_list(_flatten), "sort": _needs_list(_sorted),
    "first": _needs_list(lambda items: Optional(True, items[0]) if items else ABSENT),
    "last": _needs_list(lambda items: Optional(True, items[-1]) if items else ABSENT),
    "getFullYear": _time_part(lambda at: at.year), "getMonth": _time_part(lambda at: at.month - 1),
    "getDate": _time_part(lambda at: at.day), "getDayOfMonth": _time_part(lambda at: at.day - 1),
    "getDayOfWeek": _time_part(lambda at: (at.weekday() + 1) % 7), "getDayOfYear": _time_part(lambda at: at.timetuple().tm_yday - 1),
    "getHours": _time_part(lambda at: at.hour, lambda ns: int(ns / 3_600_000_000_000)),
    "getMinutes": _time_part(lambda at: at.minute, lambda ns: int(ns / 60_000_000_000)),
    "getSeconds": _time_part(lambda at: at.second, lambda ns: int(ns / 1_000_000_000)),
    "getMilliseconds": _time_part(lambda at: at.microsecond // 1000, lambda ns: int(ns / 1_000_000)),
    "sign": lambda value: (value.amount > 0) - (value.amount < 0),
    "isInteger": lambda value: bool(value.amount == int(value.amount) and values.MIN_INT <= value.amount <= values.MAX_INT),
    "asInteger": _as_integer, "asApproximateFloat": lambda value: float(value.amount),
    "add": lambda value, other: _with_quantity(value, other, 1), "sub": lambda value, other: _with_quantity(value, other, -1),
    "isGreaterThan": lambda value, other: value > other, "isLessThan": lambda value, other: value < other,
    "compareTo": lambda value, other: (value > other) - (value < other),
    "getScheme": lambda url: url.scheme, "getHost": lambda url: url.host, "getHostname": _hostname,
    "getPort": lambda url: str(urlsplit(f"//{url.host}").port or ""), "getEscapedPath": lambda url: url.path,
    "getQuery": lambda url: parse_qs(url.query, keep_blank_values=True),
    "family": lambda ip: ip.address.version, "isUnspecified": lambda ip: ip.address.is_unspecified,
    "isLoopback": lambda ip: ip.address.is_loopback,
    "isLinkLocalMulticast": lambda ip: ip.address in _LINK_LOCAL_MULTICAST[ip.address.version],
    "isLinkLocalUnicast": lambda ip: ip.address.is_link_local,
    "isGlobalUnicast": lambda ip: not (ip.address.is_unspecified or ip.address.is_loopback or ip.address.is_multicast or ip.address.is_link_local),
    "containsIP": _contains_ip, "containsCIDR": _contains_cidr, "ip": to_ip, "prefixLength": lambda cidr: cidr.interface.network.prefixlen,
    "masked": lambda cidr: Cidr(ipaddress.ip_interface(str(cidr.interface.network))),
    "hasValue": lambda value: value.present, "value": _value,
    "or": lambda value, other: value if value.present else other, "orValue": lambda value, other: value.value if value.present else other,
    "validate": text.validate_format,
}  # fmt: skip

_LINK_LOCAL_MULTICAST: Final[dict[int, Any]] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}
