"""Label selectors of a query: parsed with Kubernetes' own complaints, matched against labels.

``key=value,key!=value,key in (a,b),key notin (a),key,!key,key>1``: all of them have to hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubesim import status

Body = dict[str, Any]

_SPECIAL: Final = "=!(),<>"
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?\Z")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_ALNUM: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_RULE: Final = (
    f"{_ALNUM} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_PREFIX_RULE: Final = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """``operator`` is in, notin, exists, absent, gt or lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        if self.operator == "in":
            return value is not None and value in self.values
        if self.operator == "notin":
            return value is None or value not in self.values
        if self.operator == "exists":
            return value is not None
        if self.operator == "absent":
            return value is None
        if value is None or not re.fullmatch(r"[+-]?\d+", value):
            return False
        return int(value) > int(self.values[0]) if self.operator == "gt" else int(value) < int(self.values[0])


Selector = tuple[Requirement, ...]
"""All of them hold. Empty: everything."""


def matches(selector: Selector, labels: Mapping[str, str] | None) -> bool:
    return all(requirement.holds(labels or {}) for requirement in selector)


def parse_labels(text: str) -> Selector:
    """400 with Kubernetes' text if it does not parse."""
    return _Parser(text).parse()


def _bad(text: str) -> status.ApiError:
    return status.bad_request(text)


def _unreadable(text: str) -> status.ApiError:
    return status.bad_request(f"unable to parse requirement: {text}")


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def parse(self) -> Selector:
        found: list[Requirement] = []
        while True:
            token = self._peek()
            if token == "":
                break
            if token[0] in _SPECIAL and token != "!":
                raise _bad(f"found '{token}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            token = self._next()
            if token == "":
                break
            if token != ",":
                raise _bad(f"found '{token}', expected: ',' or 'end of string'")
            follower = self._peek()
            if follower != "!" and (follower == "" or follower[0] in _SPECIAL):
                raise _bad(f"found '{follower}', expected: identifier after ','")
        # Kubernetes keeps requirements ordered by key; the order does not change the meaning.
        return tuple(found)

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._next()
        key = self._next()
        if key == "" or key[0] in _SPECIAL:
            raise _unreadable(f"found '{key}', expected: identifier")
        _check_key(key)
        if absent:
            return Requirement(key, "absent")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        operator = self._next()
        if operator in ("=", "==", "!="):
            return self._exact(key, operator)
        if operator in ("in", "notin"):
            return Requirement(key, operator, _checked(key, self._set()))
        if operator in (">", "<"):
            return self._exact(key, operator)
        raise _unreadable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def _exact(self, key: str, operator: str) -> Requirement:
        value = self._peek()
        if value in ("", ","):
            value = ""
        elif value[0] in _SPECIAL:
            raise _unreadable(f"found '{value}', expected: identifier")
        else:
            self._next()
        if operator in (">", "<"):
            if not re.fullmatch(r"[+-]?\d+", value) or not -(2**63) <= int(value) < 2**63:
                complaint = "for 'Gt', 'Lt' operators, the value must be an integer"
                raise _unreadable(f"values[0]: Invalid value: {status.quote(value)}: {complaint}")
            return Requirement(key, "gt" if operator == ">" else "lt", _checked(key, (value,)))
        return Requirement(key, "notin" if operator == "!=" else "in", _checked(key, (value,)))

    def _set(self) -> tuple[str, ...]:
        token = self._next()
        if token != "(":
            raise _unreadable(f"found '{token}' expected: '('")
        values: list[str] = []
        token = self._peek()
        if token == ")":
            self._next()
            return ("",)
        while True:
            token = self._next()
            if token == "," or token == ")":
                values.append("")
                if token == ")":
                    return tuple(sorted(set(values)))
                continue
            if token == "" or token[0] in _SPECIAL:
                expected = "',', or identifier" if values else "',', ')' or identifier"
                raise _unreadable(f"found '{token}', expected: {expected}")
            values.append(token)
            token = self._next()
            if token == ")":
                return tuple(sorted(set(values)))
            if token != ",":
                raise _unreadable(f"found '{token}', expected: ',' or ')'")


def _tokens(text: str) -> list[str]:
    found = re.findall(r"==|!=|[=!(),<>]|[^\s=!(),<>]+", text)
    return [str(token) for token in found]


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    complaints: list[str] = []
    if "/" in prefix:
        complaints.append(
            f"a valid label key {_ALNUM} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        )
        raise _invalid_key(key, complaints)
    if slash and not prefix:
        complaints.append("prefix part must be non-empty")
    elif slash and not _PREFIX.match(prefix):
        complaints.append(_PREFIX_RULE)
    if not name:
        complaints.append("name part must be non-empty")
    elif len(name) > 63:
        complaints.append("name part must be no more than 63 bytes")
    if not _NAME.match(name):
        complaints.append("name part " + _NAME_RULE)
    if complaints:
        raise _invalid_key(key, complaints)


def _invalid_key(key: str, complaints: list[str]) -> status.ApiError:
    return _unreadable(f"<nil>: Invalid value: {status.quote(key)}: {'; '.join(complaints)}")


def _checked(key: str, values: tuple[str, ...]) -> tuple[str, ...]:
    for index, value in enumerate(values):
        complaints: list[str] = []
        if len(value) > 63:
            complaints.append("must be no more than 63 bytes")
        if not _VALUE.match(value):
            complaints.append(_VALUE_RULE)
        if complaints:
            raise _unreadable(f"values[{index}][{key}]: Invalid value: {status.quote(value)}: {'; '.join(complaints)}")
    return values
