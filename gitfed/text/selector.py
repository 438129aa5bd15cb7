"""Kubernetes label selectors, compiled into a predicate over labels.

An invalid selector (unknown operator, `In` without values, a malformed key) matches nothing, as in the API server's
own clients (Karmada: `LabelSelectorAsSelector`). `problems` says in words why, for whoever validates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from gitfed.errors import UsageError

Labels: TypeAlias = Mapping[str, Any]
Predicate: TypeAlias = Callable[[Labels], bool]
Requirement: TypeAlias = tuple[str, str, Sequence[str]]
"""(key, operator, values)"""

_NAME = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]*)?[A-Za-z0-9]")
_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")


def compile(match_labels: Mapping[str, str], expressions: Iterable[Requirement]) -> Predicate:  # noqa: A001
    """The predicate of one selector. Without labels and expressions it is true of everything."""
    wanted = [(key, "In", (value,)) for key, value in match_labels.items()]
    requirements = [*wanted, *((key, operator, tuple(values)) for key, operator, values in expressions)]
    if any(_fault(*requirement) for requirement in requirements):
        return lambda labels: False

    def holds(labels: Labels) -> bool:
        for key, operator, values in requirements:
            present = key in labels
            if operator == "In":
                if not present or labels[key] not in values:
                    return False
            elif operator == "NotIn":
                if present and labels[key] in values:
                    return False
            elif present is (operator == "DoesNotExist"):
                return False
        return True

    return holds


def from_body(body: Mapping[str, Any]) -> Predicate:
    """From the JSON form `{matchLabels, matchExpressions}`."""
    return compile(*_parts(body))


def from_text(text: str) -> Predicate:
    """From the form of a query, `app=web,tier!=db,env in (a,b),!old`. Raises UsageError."""
    requirements = [_requirement(part.strip()) for part in _COMMA.split(text)] if text.strip() else []
    if fault := next((fault for requirement in requirements if (fault := _fault(*requirement))), ""):
        raise UsageError(fault)
    return compile({}, requirements)


def labels_needed(text: str) -> Mapping[str, str]:
    """Of the form of a query: labels that everything has which it matches."""
    requirements = (_requirement(part.strip()) for part in _COMMA.split(text)) if text.strip() else ()
    return {key: values[0] for key, operator, values in requirements if operator == "In" and len(values) == 1}


_COMMA = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUALITY = re.compile(r"([^\s=!]+)\s*(==?|!=)\s*([^\s=!]*)")


def _requirement(text: str) -> Requirement:
    if match := _SET.fullmatch(text):
        values = [value.strip() for value in match[3].split(",")]
        return match[1], "In" if match[2] == "in" else "NotIn", values
    if match := _EQUALITY.fullmatch(text):
        return match[1], "NotIn" if match[2] == "!=" else "In", [match[3]]
    return (text[1:].strip(), "DoesNotExist", ()) if text.startswith("!") else (text, "Exists", ())


def problems(match_labels: Mapping[str, str], expressions: Iterable[Requirement]) -> list[str]:
    """Why the selector can never match, one sentence for each requirement that is at fault."""
    faults = [_fault(key, "In", (value,)) for key, value in match_labels.items()]
    faults += [_fault(key, operator, tuple(values)) for key, operator, values in expressions]
    return [fault for fault in faults if fault]


def is_key(text: str) -> bool:
    """Whether this may be a label's or an annotation's key."""
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= 253 and _PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= 63 and _NAME.fullmatch(name) is not None


def is_value(text: str) -> bool:
    """Whether this may be a label's value."""
    return text == "" or (len(text) <= 63 and _NAME.fullmatch(text) is not None)


def _parts(body: Mapping[str, Any]) -> tuple[Mapping[str, str], list[Requirement]]:
    expressions = body.get("matchExpressions") or []
    return body.get("matchLabels") or {}, [
        (item.get("key", ""), item.get("operator", ""), item.get("values") or ()) for item in expressions
    ]


def _fault(key: str, operator: str, values: Sequence[str]) -> str:
    if not is_key(key):
        return f"{key!r} is no label key"
    if operator in ("In", "NotIn"):
        if not values:
            return f"{operator} of {key} needs at least one value"
        bad = next((value for value in values if not is_value(value)), None)
        return "" if bad is None else f"{bad!r} is no label value"
    if operator in ("Exists", "DoesNotExist"):
        return f"{operator} of {key} takes no values" if values else ""
    return f"{operator!r} is no operator (In, NotIn, Exists, DoesNotExist)"
