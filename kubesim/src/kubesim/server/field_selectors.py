"""Field selectors of a query: equality over the few fields that a kind knows (``Kind.field_labels``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kubesim import status
from kubesim.kind import Kind

Body = dict[str, Any]

FieldSelector = tuple[tuple[Callable[[Body], str], bool, str], ...]
"""(reader, equal, value): all of them hold."""


def matches(selector: FieldSelector, body: Body) -> bool:
    return all((read(body) == value) is equal for read, equal, value in selector)


def parse(text: str, kind: Kind) -> tuple[FieldSelector, Mapping[str, str]]:
    """The selector, and the fields it pins to one value (``metadata.name`` makes a list an affair of one object)."""
    found: list[tuple[Callable[[Body], str], bool, str]] = []
    pinned: dict[str, str] = {}
    for term in _split(text):
        label, equal, value = _term(term, text)
        found.append((_reader(label, kind), equal, value))
        if equal:
            pinned[label] = value
    return tuple(found), pinned


def _split(text: str) -> list[str]:
    return [term.replace("\0", "\\,") for term in text.replace("\\,", "\0").split(",") if term]


def _term(term: str, text: str) -> tuple[str, bool, str]:
    found = re.match(r"(.*?)(!=|==|=)(.*)\Z", term, re.DOTALL)
    if found is None:
        raise status.bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    return found[1], found[2] != "!=", _unescaped(found[3])


def _unescaped(value: str) -> str:
    """Without the backslashes before commas, equals signs and themselves: those must be escaped, nothing else may."""
    parts: list[str] = []
    chars = iter(value)
    for char in chars:
        if char == "\\":
            escaped = next(chars, "")
            if not escaped or escaped not in "\\,=":
                raise status.bad_request(f"invalid field selector: invalid escape sequence: \\{escaped}")
            parts.append(escaped)
        elif char in ",=":
            raise status.bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            parts.append(char)
    return "".join(parts)


def _name(body: Body) -> str:
    return str(body["metadata"].get("name", ""))


def _namespace(body: Body) -> str:
    return str(body["metadata"].get("namespace", ""))


def _reader(label: str, kind: Kind) -> Callable[[Body], str]:
    if label == "metadata.name":
        return _name
    if label == "metadata.namespace":
        return _namespace
    reader = kind.field_labels.get(label)
    if reader is not None:
        return reader
    if (kind.group, kind.kind) == ("batch", "Job"):
        raise status.bad_request(f"field label {status.quote(label)} not supported for Job")
    if kind.group == "resource.k8s.io" and kind.field_labels:
        raise status.bad_request(f"field label not supported for {kind.api_version}, Kind={kind.kind}: {label}")
    if kind.field_labels or kind.custom:
        raise status.bad_request(f"field label not supported: {label}")
    text = f'{status.quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    raise status.bad_request(text)
