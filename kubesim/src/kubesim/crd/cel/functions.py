"""What CEL rules may call: the standard functions and those that Kubernetes adds.

``GLOBAL`` holds functions and operators by name, ``METHODS`` those called on a value (its first argument). A function
that gets a value it has no overload for raises ``TypeError`` or ``CelError``; the evaluator says ``no such overload``
then.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from kubesim.crd import regex
from kubesim.crd.cel import addresses, lists, operators, text, values
from kubesim.crd.cel.values import ABSENT, CelError, Cidr, Duration, Optional, Quantity, Timestamp


def _constant(value: Any) -> values.Function:
    return lambda: value


def _zero(value: Any) -> bool:
    return value is None or (not isinstance(value, Timestamp | Duration | Quantity) and not value)


def _value(value: Optional) -> Any:
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.value


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


GLOBAL: Final[dict[str, values.Function]] = {
    "_+_": operators.add,
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.modulo,
    "-_": operators.negate,
    "!_": operators.invert,
    "_==_": values.equal,
    "_!=_": lambda left, right: not values.equal(left, right),
    "_<_": operators.less,
    "_<=_": operators.less_equal,
    "_>_": operators.greater,
    "_>=_": operators.greater_equal,
    "@in": operators.contained,
    "_[_]": operators.index,
    "_[?_]": operators.optional_index,
    "size": operators.size,
    "int": operators.to_int,
    "uint": operators.to_uint,
    "double": operators.to_double,
    "string": operators.to_string,
    "bool": operators.to_bool,
    "bytes": operators.to_bytes,
    "timestamp": operators.to_timestamp,
    "duration": operators.to_duration,
    "dyn": lambda value: value,
    "type": lambda value: values.Type(values.type_name(value)),
    "matches": matches,
    "quantity": addresses.to_quantity,
    "sign": lambda value: (value.amount > 0) - (value.amount < 0),
    "semver": addresses.to_semver,
    "isSemver": addresses.parses(addresses.to_semver),
    "isQuantity": addresses.parses(addresses.to_quantity),
    "url": addresses.to_url,
    "isURL": addresses.parses(addresses.to_url),
    "ip": addresses.to_ip,
    "isIP": addresses.parses(addresses.to_ip),
    "ip.isCanonical": lambda value: str(addresses.to_ip(value).address) == value,
    "cidr": addresses.to_cidr,
    "isCIDR": addresses.parses(addresses.to_cidr),
    "optional.of": lambda value: Optional(True, value),
    "optional.none": lambda: ABSENT,
    "optional.ofNonZeroValue": lambda value: ABSENT if _zero(value) else Optional(True, value),
    "sets.contains": lambda left, right: all(operators.contained(item, left) for item in right),
    "sets.equivalent": lambda left, right: (
        all(operators.contained(item, left) for item in right)
        and all(operators.contained(item, right) for item in left)
    ),
    "sets.intersects": lambda left, right: any(operators.contained(item, left) for item in right),
    "lists.range": lambda count: list(range(count)),
    "strings.quote": text.quote,
    "format.named": lambda name: Optional(True, text.NAMED[name]) if name in text.NAMED else ABSENT,
    **{f"format.{name}": _constant(named) for name, named in text.NAMED.items()},
}

METHODS: Final[dict[str, values.Function]] = {
    "size": operators.size,
    "matches": matches,
    "find": _find,
    "findAll": _find_all,
    "contains": text.contains,
    "startsWith": text.starts_with,
    "endsWith": text.ends_with,
    "charAt": text.char_at,
    "indexOf": lists.index_of,
    "lastIndexOf": lists.last_index_of,
    "join": text.join,
    "lowerAscii": text.lower_ascii,
    "upperAscii": text.upper_ascii,
    "replace": text.replace,
    "split": text.split,
    "substring": text.substring,
    "trim": text.trim,
    "format": text.format_text,
    "reverse": lists.backwards,
    "isSorted": lists.of_list(lambda items: lists.ordered(items, operators.less_equal)),
    "sum": lists.of_list(lists.total),
    "min": lists.of_list(lambda items: lists.best(items, operators.less, "min")),
    "max": lists.of_list(lambda items: lists.best(items, operators.greater, "max")),
    "distinct": lists.of_list(lists.distinct),
    "slice": lists.of_list(lists.cut),
    "flatten": lists.of_list(lists.flatten),
    "sort": lists.of_list(lists.in_order),
    "first": lists.of_list(lambda items: Optional(True, items[0]) if items else ABSENT),
    "last": lists.of_list(lambda items: Optional(True, items[-1]) if items else ABSENT),
    "getFullYear": addresses.time_part(lambda at: at.year),
    "getMonth": addresses.time_part(lambda at: at.month - 1),
    "getDate": addresses.time_part(lambda at: at.day),
    "getDayOfMonth": addresses.time_part(lambda at: at.day - 1),
    "getDayOfWeek": addresses.time_part(lambda at: (at.weekday() + 1) % 7),
    "getDayOfYear": addresses.time_part(lambda at: at.timetuple().tm_yday - 1),
    "getHours": addresses.time_part(lambda at: at.hour, lambda ns: int(ns / 3_600_000_000_000)),
    "getMinutes": addresses.time_part(lambda at: at.minute, lambda ns: int(ns / 60_000_000_000)),
    "getSeconds": addresses.time_part(lambda at: at.second, lambda ns: int(ns / 1_000_000_000)),
    "getMilliseconds": addresses.time_part(lambda at: at.microsecond // 1000, lambda ns: int(ns / 1_000_000)),
    "major": lambda value: value.major,
    "minor": lambda value: value.minor,
    "patch": lambda value: value.patch,
    "isInteger": lambda value: bool(
        value.amount == int(value.amount) and values.MIN_INT <= value.amount <= values.MAX_INT
    ),
    "asInteger": addresses.as_integer,
    "asApproximateFloat": lambda value: float(value.amount),
    "add": lambda value, other: addresses.with_quantity(value, other, 1),
    "sub": lambda value, other: addresses.with_quantity(value, other, -1),
    "isGreaterThan": lambda value, other: value > other,
    "isLessThan": lambda value, other: value < other,
    "compareTo": lambda value, other: (value > other) - (value < other),
    "getScheme": lambda url: url.scheme,
    "getHost": lambda url: url.host,
    "getHostname": addresses.hostname,
    "getPort": lambda url: str(urlsplit(f"//{url.host}").port or ""),
    "getEscapedPath": lambda url: url.path,
    "getQuery": lambda url: parse_qs(url.query, keep_blank_values=True),
    "family": lambda ip: ip.address.version,
    "isUnspecified": lambda ip: ip.address.is_unspecified,
    "isLoopback": lambda ip: ip.address.is_loopback,
    "isLinkLocalMulticast": lambda ip: ip.address in addresses.LINK_LOCAL_MULTICAST[ip.address.version],
    "isLinkLocalUnicast": lambda ip: ip.address.is_link_local,
    "isGlobalUnicast": lambda ip: (
        not (ip.address.is_unspecified or ip.address.is_loopback or ip.address.is_multicast or ip.address.is_link_local)
    ),
    "containsIP": addresses.contains_ip,
    "containsCIDR": addresses.contains_cidr,
    "ip": addresses.to_ip,
    "prefixLength": lambda cidr: cidr.interface.network.prefixlen,
    "masked": lambda cidr: Cidr(ipaddress.ip_interface(str(cidr.interface.network))),
    "hasValue": lambda value: value.present,
    "value": _value,
    "or": lambda value, other: value if value.present else other,
    "orValue": lambda value, other: value.value if value.present else other,
    "validate": text.validate_format,
}
