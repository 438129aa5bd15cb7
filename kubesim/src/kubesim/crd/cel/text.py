"""CEL's functions of text, and Kubernetes' named formats (``format.dns1123Label().validate(x)``).

Positions count characters. A position outside the text is an error, as in cel-go's extension, not an empty answer as
in Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kubesim.crd.cel import values
from kubesim.crd.cel.values import ABSENT, CelError, Optional


def _text(*items: Any) -> None:
    if not all(isinstance(item, str) for item in items):
        raise CelError("no such overload")


def contains(value: str, part: str) -> bool:
    _text(value, part)
    return part in value


def starts_with(value: str, part: str) -> bool:
    _text(value, part)
    return value.startswith(part)


def ends_with(value: str, part: str) -> bool:
    _text(value, part)
    return value.endswith(part)


def char_at(value: str, at: int) -> str:
    _text(value)
    if not 0 <= at <= len(value):
        raise CelError(f"index out of range: {at}")
    return value[at : at + 1]


def index_of(value: str, part: str, start: int = 0) -> int:
    _text(value, part)
    if not 0 <= start <= len(value):
        raise CelError(f"index out of range: {start}")
    return value.find(part, start)


def last_index_of(value: str, part: str, end: int | None = None) -> int:
    _text(value, part)
    if end is None:
        return value.rfind(part)
    if not 0 <= end <= len(value):
        raise CelError(f"index out of range: {end}")
    return value.rfind(part, 0, end + len(part))


def join(items: list[Any], separator: str = "") -> str:
    _text(separator, *items)
    return separator.join(items)


def lower_ascii(value: str) -> str:
    _text(value)
    return "".join(char.lower() if char.isascii() else char for char in value)


def upper_ascii(value: str) -> str:
    _text(value)
    return "".join(char.upper() if char.isascii() else char for char in value)


def replace(value: str, old: str, new: str, count: int = -1) -> str:
    _text(value, old, new)
    return value.replace(old, new, count)


def split(value: str, separator: str, limit: int = -1) -> list[str]:
    _text(value, separator)
    if limit == 0:
        return []
    if separator == "":
        return list(value) if limit < 0 or limit >= len(value) else [*value[: limit - 1], value[limit - 1 :]]
    return value.split(separator, limit - 1 if limit > 0 else -1)


def substring(value: str, start: int, end: int | None = None) -> str:
    _text(value)
    last = len(value) if end is None else end
    if not 0 <= start <= len(value):
        raise CelError(f"index out of range: {start}")
    if not 0 <= last <= len(value):
        raise CelError(f"index out of range: {last}")
    if start > last:
        raise CelError(f"invalid substring range. start: {start}, end: {last}")
    return value[start:last]


def trim(value: str) -> str:
    _text(value)
    return value.strip()


_QUOTED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(value: str) -> str:
    _text(value)
    return '"' + "".join(_QUOTED.get(char, char) for char in value) + '"'


_VERB: Final = re.compile(r"%(?:%|(?:\.(\d+))?([a-zA-Z]))")


def format_text(template: str, args: list[Any]) -> str:
    """``"%s has %d".format([a, b])``."""
    _text(template)
    rest = iter(args)

    def one(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        try:
            value = next(rest)
        except StopIteration:
            raise CelError(f"index {len(args)} out of range") from None
        return _verb(found[2], found[1], value)

    return _VERB.sub(one, template)


def _verb(verb: str, precision: str | None, value: Any) -> str:
    number = values.is_number(value)
    if verb == "s":
        return _shown(value)
    if verb == "d" and number:
        return str(int(value)) if not isinstance(value, float) else values.print_double(value)
    if verb == "f" and number:
        return f"{float(value):.{precision or 6}f}"
    if verb == "e" and number:
        number_text, _, power = f"{float(value):.6e}".partition("e")
        return f"{number_text}×10{power.removeprefix('+').translate(_RAISED)}"
    if verb in "xX":
        if number and not isinstance(value, float):
            text = format(int(value), "x")
        elif isinstance(value, str | bytes):
            text = (value.encode() if isinstance(value, str) else value).hex()
        else:
            raise CelError("error during formatting: only integers, byte buffers, and strings can be formatted as hex")
        return text.upper() if verb == "X" else text
    if verb == "o" and number:
        return format(int(value), "o")
    if verb == "b" and (number or isinstance(value, bool)):
        return format(int(value), "b")
    raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')


_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _inside(value: Any) -> str:
    """An element of a list or map, as it would be written in an expression."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f'b"{_shown(value)}"'
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, values.Duration | values.Timestamp):
        return f'{type(value).__name__.lower()}("{_shown(value)}")'
    return _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_inside(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_inside(key)}:{_inside(value[key])}" for key in sorted(value, key=str)) + "}"
    if value is None:
        return "null"
    if isinstance(value, values.Type):
        return value.name
    from kubesim.crd.cel import operators

    return operators.to_string(value)


# Kubernetes: the format library


@dataclass(frozen=True, slots=True)
class NamedFormat:
    pattern: re.Pattern[str]
    limit: int
    complaint: str


_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
    "end with an alphanumeric "
    "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-"
    "9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_DNS_1035: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an "
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-"
    "z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def _format(pattern: str, limit: int, complaint: str) -> NamedFormat:
    return NamedFormat(re.compile(pattern + r"\Z", re.ASCII), limit, complaint)


NAMED: Final[dict[str, NamedFormat]] = {
    "dns1123Label": _format(_LABEL, 63, _DNS_LABEL),
    "dns1123Subdomain": _format(rf"{_LABEL}(\.{_LABEL})*", 253, _SUBDOMAIN),
    "dns1035Label": _format(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, _DNS_1035),
    "qualifiedName": _format(
        rf"({_LABEL}(\.{_LABEL})*/)?{_QUALIFIED}",
        317,
        "name part must consist of alphanumeric characters, '-', '_' or '.'",
    ),
    "dns1123LabelPrefix": _format(r"[a-z0-9]([-a-z0-9]*)?", 63, _DNS_LABEL),
    "dns1123SubdomainPrefix": _format(rf"{_LABEL}(\.{_LABEL})*[-.]?", 253, _SUBDOMAIN),
    "dns1035LabelPrefix": _format(r"[a-z]([-a-z0-9]*)?", 63, _DNS_1035),
    "labelValue": _format(rf"({_QUALIFIED})?", 63, _VALUE),
    "uuid": _format(
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        36,
        "does not match the UUID format",
    ),
    "byte": _format(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", 1 << 30, "invalid base64"),
    "date": _format(r"\d{4}-\d\d-\d\d", 10, "invalid date"),
    "datetime": _format(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", 64, "invalid datetime"),
    "uri": _format(r"(/|[a-zA-Z][a-zA-Z0-9+.-]*://)\S*", 1 << 20, "invalid URI for request"),
}


def validate_format(chosen: Any, value: Any) -> Optional:
    """``optional.none()`` if the text is well-formed, else the complaints."""
    if not isinstance(chosen, NamedFormat) or not isinstance(value, str):
        raise CelError("no such overload")
    complaints = []
    if len(value) > chosen.limit:
        complaints.append(f"must be no more than {chosen.limit} characters")
    if not chosen.pattern.match(value):
        complaints.append(chosen.complaint)
    return Optional(True, complaints) if complaints else ABSENT
