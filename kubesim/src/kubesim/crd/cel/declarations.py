"""Which functions there are for which types, one overload a line: ``target.name(arguments) result``.

``A`` and ``B`` stand for any type, the same one wherever they appear in a line. The macros and operators are the
checker's own business.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kubesim.crd.cel.types import CelType

_TABLE: Final = """
size(string) int
size(bytes) int
size(list(A)) int
size(map(A,B)) int
string.size() int
bytes.size() int
list(A).size() int
map(A,B).size() int
int(int) int
int(uint) int
int(double) int
int(string) int
int(timestamp) int
int(duration) int
uint(uint) uint
uint(int) uint
uint(double) uint
uint(string) uint
double(double) double
double(int) double
double(uint) double
double(string) double
string(string) string
string(bool) string
string(bytes) string
string(double) string
string(int) string
string(uint) string
string(duration) string
string(timestamp) string
string(net.IP) string
string(net.CIDR) string
bool(bool) bool
bool(string) bool
bytes(bytes) bytes
bytes(string) bytes
timestamp(timestamp) timestamp
timestamp(string) timestamp
timestamp(int) timestamp
duration(duration) duration
duration(string) duration
duration(int) duration
dyn(A) dyn
type(A) type
matches(string,string) bool
string.matches(string) bool
string.contains(string) bool
string.startsWith(string) bool
string.endsWith(string) bool
string.charAt(int) string
string.indexOf(string) int
string.indexOf(string,int) int
string.lastIndexOf(string) int
string.lastIndexOf(string,int) int
list(string).join() string
list(string).join(string) string
string.lowerAscii() string
string.upperAscii() string
string.replace(string,string) string
string.replace(string,string,int) string
string.split(string) list(string)
string.split(string,int) list(string)
string.substring(int) string
string.substring(int,int) string
string.trim() string
string.format(list(dyn)) string
strings.quote(string) string
string.find(string) string
string.findAll(string) list(string)
string.findAll(string,int) list(string)
timestamp.getFullYear() int
timestamp.getFullYear(string) int
timestamp.getMonth() int
timestamp.getMonth(string) int
timestamp.getDate() int
timestamp.getDate(string) int
timestamp.getDayOfMonth() int
timestamp.getDayOfMonth(string) int
timestamp.getDayOfWeek() int
timestamp.getDayOfWeek(string) int
timestamp.getDayOfYear() int
timestamp.getDayOfYear(string) int
timestamp.getHours() int
timestamp.getHours(string) int
timestamp.getMinutes() int
timestamp.getMinutes(string) int
timestamp.getSeconds() int
timestamp.getSeconds(string) int
timestamp.getMilliseconds() int
timestamp.getMilliseconds(string) int
duration.getHours() int
duration.getMinutes() int
duration.getSeconds() int
duration.getMilliseconds() int
list(A).isSorted() bool
list(A).sum() A
list(A).min() A
list(A).max() A
list(A).indexOf(A) int
list(A).lastIndexOf(A) int
list(A).slice(int,int) list(A)
list(list(A)).flatten() list(A)
list(dyn).flatten(int) list(dyn)
list(A).sort() list(A)
list(A).distinct() list(A)
list(A).reverse() list(A)
list(A).first() optional_type(A)
list(A).last() optional_type(A)
lists.range(int) list(int)
sets.contains(list(A),list(A)) bool
sets.equivalent(list(A),list(A)) bool
sets.intersects(list(A),list(A)) bool
optional.of(A) optional_type(A)
optional.ofNonZeroValue(A) optional_type(A)
optional.none() optional_type(A)
optional_type(A).hasValue() bool
optional_type(A).value() A
optional_type(A).or(optional_type(A)) optional_type(A)
optional_type(A).orValue(A) A
quantity(string) kubernetes.Quantity
isQuantity(string) bool
sign(kubernetes.Quantity) int
kubernetes.Quantity.isInteger() bool
kubernetes.Quantity.asInteger() int
kubernetes.Quantity.asApproximateFloat() double
kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) bool
kubernetes.Quantity.isLessThan(kubernetes.Quantity) bool
kubernetes.Quantity.compareTo(kubernetes.Quantity) int
kubernetes.Quantity.add(kubernetes.Quantity) kubernetes.Quantity
kubernetes.Quantity.add(int) kubernetes.Quantity
kubernetes.Quantity.sub(kubernetes.Quantity) kubernetes.Quantity
kubernetes.Quantity.sub(int) kubernetes.Quantity
semver(string) kubernetes.Semver
semver(string,bool) kubernetes.Semver
isSemver(string) bool
isSemver(string,bool) bool
kubernetes.Semver.isGreaterThan(kubernetes.Semver) bool
kubernetes.Semver.isLessThan(kubernetes.Semver) bool
kubernetes.Semver.compareTo(kubernetes.Semver) int
kubernetes.Semver.major() int
kubernetes.Semver.minor() int
kubernetes.Semver.patch() int
url(string) kubernetes.URL
isURL(string) bool
kubernetes.URL.getScheme() string
kubernetes.URL.getHost() string
kubernetes.URL.getHostname() string
kubernetes.URL.getPort() string
kubernetes.URL.getEscapedPath() string
kubernetes.URL.getQuery() map(string,list(string))
ip(string) net.IP
isIP(string) bool
ip.isCanonical(string) bool
net.IP.family() int
net.IP.isUnspecified() bool
net.IP.isLoopback() bool
net.IP.isLinkLocalMulticast() bool
net.IP.isLinkLocalUnicast() bool
net.IP.isGlobalUnicast() bool
cidr(string) net.CIDR
isCIDR(string) bool
net.CIDR.containsIP(string) bool
net.CIDR.containsIP(net.IP) bool
net.CIDR.containsCIDR(string) bool
net.CIDR.containsCIDR(net.CIDR) bool
net.CIDR.ip() net.IP
net.CIDR.prefixLength() int
net.CIDR.masked() net.CIDR
format.named(string) optional_type(kubernetes.NamedFormat)
format.dns1123Label() kubernetes.NamedFormat
format.dns1123Subdomain() kubernetes.NamedFormat
format.dns1035Label() kubernetes.NamedFormat
format.qualifiedName() kubernetes.NamedFormat
format.dns1123LabelPrefix() kubernetes.NamedFormat
format.dns1123SubdomainPrefix() kubernetes.NamedFormat
format.dns1035LabelPrefix() kubernetes.NamedFormat
format.labelValue() kubernetes.NamedFormat
format.uri() kubernetes.NamedFormat
format.uuid() kubernetes.NamedFormat
format.byte() kubernetes.NamedFormat
format.date() kubernetes.NamedFormat
format.datetime() kubernetes.NamedFormat
kubernetes.NamedFormat.validate(string) optional_type(list(string))
"""
_SPACES: Final = ("strings", "lists", "sets", "optional", "format", "ip")
"""What looks like a target but is part of a function's name."""
_LINE: Final = re.compile(r"(?:(?P<target>.+)\.)?(?P<name>\w+)\((?P<args>.*)\) (?P<result>\S+)\Z")


@dataclass(frozen=True, slots=True)
class Overload:
    args: tuple[CelType, ...]
    """The target first, for a method."""
    result: CelType


@functools.cache
def functions() -> dict[str, list[Overload]]:
    """Global functions, ``sets.contains`` under its whole name."""
    return {name: found for name, method, found in _grouped() if not method}


@functools.cache
def methods() -> dict[str, list[Overload]]:
    return {name: found for name, method, found in _grouped() if method}


def _grouped() -> Iterator[tuple[str, bool, list[Overload]]]:
    grouped: dict[tuple[str, bool], list[Overload]] = {}
    for line in _TABLE.split("\n"):
        if not line:
            continue
        part = _LINE.match(line)
        assert part is not None, line
        target, name, args = part["target"], part["name"], _types(part["args"])
        if target in _SPACES:
            name, target = f"{target}.{name}", None
        if target:
            args = [*_types(target), *args]
        grouped.setdefault((name, bool(target)), []).append(Overload(tuple(args), _types(part["result"])[0]))
    for (name, method), found in grouped.items():
        yield name, method, found


def _types(text: str) -> list[CelType]:
    """``list(A),int`` as types."""
    found, depth, start = [], 0, 0
    for at, char in enumerate(f"{text},"):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            if part := text[start:at]:
                name, opened, inner = part.partition("(")
                found.append(CelType(name, tuple(_types(inner[:-1])) if opened else ()))
            start = at + 1
    return found


def resolve(overloads: list[Overload], args: list[CelType]) -> CelType | None:
    """The type of the result, ``None`` if no overload takes these types. Where several do, what they agree on."""
    results = []
    for overload in overloads:
        bound: dict[str, CelType] = {}
        if len(overload.args) == len(args) and all(
            _fits(want, have, bound) for want, have in zip(overload.args, args, strict=True)
        ):
            results.append(_filled(overload.result, bound))
    if not results:
        return None
    return results[0] if all(one == results[0] for one in results) else CelType("dyn")


def _fits(wanted: CelType, given: CelType, bound: dict[str, CelType]) -> bool:
    if given.name == "dyn" or wanted.name == "dyn":
        return True
    if wanted.name in ("A", "B"):
        known = bound.setdefault(wanted.name, given)
        return known.name == "dyn" or _fits(known, given, {})
    if wanted.name != given.name:
        return False
    return all(_fits(inner, other, bound) for inner, other in zip(wanted.params, given.params, strict=False))


def _filled(kind: CelType, bound: dict[str, CelType]) -> CelType:
    if kind.name in ("A", "B"):
        return bound.get(kind.name, CelType("dyn"))
    return CelType(kind.name, tuple(_filled(inner, bound) for inner in kind.params), kind.fields)
