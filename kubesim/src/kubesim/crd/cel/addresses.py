"""Times, quantities, versions, URLs and addresses: the types that CEL and Kubernetes add to those of JSON."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from kubesim.crd.cel import values
from kubesim.crd.cel.operators import no_overload
from kubesim.crd.cel.values import CelError, Cidr, Duration, Ip, Quantity, Semver, Timestamp, Url


def in_zone(value: Any, zone: str) -> datetime:
    if not isinstance(value, Timestamp):
        raise no_overload()
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


def time_part(part: Callable[[datetime], int], of_duration: Callable[[int], int] | None = None) -> values.Function:
    def run(value: Any, zone: str = "") -> int:
        if isinstance(value, Duration) and of_duration is not None:
            return of_duration(value.ns)
        return part(in_zone(value, zone))

    return run


def to_quantity(value: Any) -> Quantity:
    if isinstance(value, str) and (found := values.parse_quantity(value)) is not None:
        return found
    if isinstance(value, str):
        raise CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    raise no_overload()


def as_integer(value: Quantity) -> int:
    if value.amount != int(value.amount) or not values.MIN_INT <= value.amount <= values.MAX_INT:
        raise CelError("cannot convert value to integer")
    return int(value.amount)


def with_quantity(left: Quantity, right: Any, sign: int) -> Quantity:
    amount = right.amount if isinstance(right, Quantity) else Decimal(_need_int(right))
    return Quantity(left.amount + sign * amount)


def _need_int(value: Any) -> int:
    if type(value) is not int:
        raise no_overload()
    return int(value)


def to_semver(value: Any, loosely: bool = False) -> Semver:
    """``loosely`` allows a leading v, missing parts and leading zeros."""
    if not isinstance(value, str):
        raise no_overload()
    text = value
    if loosely:
        numbers, mark, rest = text.removeprefix("v").partition("-")
        parts = [part.lstrip("0") or "0" for part in numbers.split(".")]
        text = ".".join([*parts, *["0"] * (3 - len(parts))]) + mark + rest
    found = values.parse_semver(text)
    if found is None:
        raise CelError("No Major.Minor.Patch elements found")
    return found


def to_url(value: Any) -> Url:
    if not isinstance(value, str):
        raise no_overload()
    try:
        parts = urlsplit(value)
    except ValueError as problem:
        raise CelError(f"URL parse error during conversion from string: {problem}") from problem
    if not (parts.scheme and parts.netloc) and not value.startswith("/"):
        raise CelError(f'URL parse error during conversion from string: parse "{value}": invalid URI for request')
    return Url(value, parts.scheme, parts.netloc.rsplit("@", 1)[-1], parts.path, parts.query)


def hostname(url: Url) -> str:
    host = urlsplit(f"//{url.host}").hostname or ""
    return f"[{host}]" if ":" in host else host


def to_ip(value: Any) -> Ip:
    if isinstance(value, Cidr):
        return Ip(value.interface.ip)
    if not isinstance(value, str):
        raise no_overload()
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
        raise no_overload()
    try:
        if "/" not in value:
            raise ValueError("no '/'")
        return Cidr(ipaddress.ip_interface(value))
    except ValueError as problem:
        raise CelError(
            f'network address parse error during conversion from string: netip.ParsePrefix("{value}"): {problem}'
        ) from problem


def contains_ip(cidr: Cidr, address: Any) -> bool:
    return (to_ip(address) if isinstance(address, str) else address).address in cidr.interface.network


def contains_cidr(cidr: Cidr, other: Any) -> bool:
    inner = (to_cidr(other) if isinstance(other, str) else other).interface.network
    outer = cidr.interface.network
    return outer.version == inner.version and outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def parses(convert: Callable[..., Any]) -> Callable[..., bool]:
    def run(value: Any, *more: Any) -> bool:
        try:
            convert(value, *more)
        except CelError as problem:
            if str(problem) == "no such overload":
                raise
            return False
        return True

    return run


LINK_LOCAL_MULTICAST: Final[dict[int, Any]] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}
