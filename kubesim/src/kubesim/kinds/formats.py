"""The small grammars of Kubernetes' field values: names, keys, ports, percentages.

Every function takes the value and answers what is wrong with it, as a list of complaints in Kubernetes' own words; an
empty list means that it is fine. They know nothing of fields or objects: `fields.py` turns a complaint into an error at
a path. Two families of length complaints exist on purpose, because the server has two: label keys and values speak of
bytes, everything older speaks of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Check = Callable[[str], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_UNDERSCORED = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY_NAME})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_ENV_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_PERCENT = "[0-9]+%"
_HEADER = "[-A-Za-z0-9]+"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"

_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character"
)

_patterns = {
    text: re.compile(text)
    for text in (
        _LABEL,
        _SUBDOMAIN,
        _LABEL_1035,
        _UNDERSCORED_SUBDOMAIN,
        _WILDCARD,
        _KEY_NAME,
        _LABEL_VALUE,
        _CONFIG_KEY,
        _ENV_NAME,
        _PERCENT,
        _HEADER,
        _C_IDENTIFIER,
    )
}


def _fits(pattern: str, value: str) -> bool:
    return _patterns[pattern].fullmatch(value) is not None


def _rule(text: str, pattern: str, *examples: str) -> str:
    if not examples:
        return f"{text} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def _too_long(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(value.encode()) > limit else []


def dns_label(value: str) -> list[str]:
    """A lowercase RFC 1123 label of at most 63 characters."""
    found = _too_long(value, 63)
    if _fits(_LABEL, value):
        return found
    if _fits(_SUBDOMAIN, value):
        return [*found, "must not contain dots"]
    text = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
        " and must start and end with an alphanumeric character"
    )
    return [*found, _rule(text, _LABEL, "my-name", "123-abc")]


def dns_subdomain(value: str) -> list[str]:
    """A lowercase RFC 1123 subdomain of at most 253 characters."""
    found = _too_long(value, 253)
    if not _fits(_SUBDOMAIN, value):
        found.append(_rule(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return found


def dns_subdomain_underscored(value: str) -> list[str]:
    """A subdomain whose labels may hold underscores, as in DNS search lists."""
    found = _too_long(value, 253)
    if not _fits(_UNDERSCORED_SUBDOMAIN, value):
        text = _SUBDOMAIN_RULE.replace("characters, '-'", "characters, '_', '-'")
        found.append(_rule(text, _UNDERSCORED_SUBDOMAIN, "example.com"))
    return found


def dns_1035_label(value: str) -> list[str]:
    """A label that begins with a letter."""
    found = _too_long(value, 63)
    if not _fits(_LABEL_1035, value):
        text = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
            " character, and end with an alphanumeric character"
        )
        found.append(_rule(text, _LABEL_1035, "my-name", "abc-123"))
    return found


def wildcard_subdomain(value: str) -> list[str]:
    """`*.` and a subdomain."""
    found = _too_long(value, 253)
    if not _fits(_WILDCARD, value):
        text = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist"
            " of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        found.append(_rule(text, _WILDCARD, "*.example.com"))
    return found


def qualified_name(value: str) -> list[str]:
    """A label key: an optional DNS prefix with a slash, and a name of at most 63 bytes."""
    found: list[str] = []
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        whole = _rule(f"a valid label key {_KEY_RULE}", _KEY_NAME, "MyName", "my.name", "123-abc")
        return [f"{whole} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        found += [
            f"prefix part {complaint}".replace("253 characters", "253 bytes") for complaint in dns_subdomain(prefix)
        ]
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        found.append("name part must be no more than 63 bytes")
    if not _fits(_KEY_NAME, name):
        found.append("name part " + _rule(_KEY_RULE, _KEY_NAME, "MyName", "my.name", "123-abc"))
    return found


def label_value(value: str) -> list[str]:
    """A label's value: empty, or at most 63 bytes of letters, digits, `-`, `_` and `.`."""
    found = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if not _fits(_LABEL_VALUE, value):
        text = f"a valid label must be an empty string or {_KEY_RULE.removeprefix('must ')}"
        found.append(_rule(text, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return found


def config_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret, which may become the name of a file."""
    found = _too_long(value, 253)
    if not _fits(_CONFIG_KEY, value):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(_rule(text, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return found + _not_a_directory(value)


def _not_a_directory(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def environment_name(value: str) -> list[str]:
    """A name of an environment variable: any printable ASCII but `=`."""
    if not value:
        return ["environment variable name must be non-empty"]
    if any(not 0x20 <= ord(letter) < 0x7F or letter == "=" for letter in value):
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []


def header_name(value: str) -> list[str]:
    """A name of an HTTP header."""
    if _fits(_HEADER, value):
        return []
    text = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [_rule(text, _HEADER, "X-Header-Name")]


def port_number(value: int) -> list[str]:
    """A port between 1 and 65535."""
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def port_name(value: str) -> list[str]:
    """An IANA service name."""
    found = _too_long(value, 15)
    if not re.fullmatch("[-a-z0-9]+", value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value and "-" in (value[0], value[-1]):
        found.append("must not begin or end with a hyphen")
    return found


def percentage(value: str) -> list[str]:
    """A whole number followed by `%`."""
    if _fits(_PERCENT, value):
        return []
    text = "a valid percent string must be a numeric string followed by an ending '%'"
    return [_rule(text, _PERCENT, "1%", "93%")]


def user_or_group(value: int) -> list[str]:
    """A numeric user or group."""
    return [] if 0 <= value <= 2147483647 else ["must be between 0 and 2147483647, inclusive"]


def path_segment(value: str) -> list[str]:
    """A name that can stand in an address; the only rule for names of roles and their kin."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def generated_prefix(check: Check, value: str) -> list[str]:
    """Complaints about a `generateName`: as of a name, but a dash may end it because five letters will follow."""
    if len(value) > 1 and value.endswith("-"):
        value = value[:-2] + "a"
    return check(value)
