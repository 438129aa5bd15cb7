"""Whether an answer of a server is the recorded one: status, headers, body, and what of them may be passed over.

Exact, message texts included. What is let through, each because it names the recording server's insides and not its
behaviour: the order of keys, descriptions, build details of the version, and the tail of a message
that quotes Go.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from tests.conformance.placeholders import Table, match_text

_IGNORED_KEYS: Final = frozenset({"description", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion"})
_GO_TAILS: Final = (
    "json: cannot unmarshal",
    "&value.valueUnstructured{",
    "map[",
    "patch: Invalid value:",
    'in scheme "',
)
_HEADERS: Final = ("Warning", "Content-Encoding")
_LINE: Final = re.compile(r"\bline \d+")


def differences(
    expected: dict[str, Any], status: int, headers: dict[str, list[str]], text: str, table: Table
) -> list[str]:
    """Binds in ``table`` as it goes; work on a copy if the attempt may fail."""
    found: list[str] = []
    if status != expected["status"]:
        found.append(f"status: expected {expected['status']}, got {status}: {text[:300]}")
    if "headers" in expected:
        found += _headers(expected["headers"], headers, table)
    if "text" in expected and not match_text(expected["text"], text, table):
        found.append(f"text: expected {expected['text']!r}, got {text!r}")
    for part in expected.get("text_contains", ()):
        if part not in text:
            found.append(f"text: {part!r} is missing in {text!r}")
    if {"body", "contains", "select"} & expected.keys():
        try:
            body = json.loads(text)
        except ValueError:
            return [*found, f"body: no JSON but {text[:200]!r}"]
        if "body" in expected:
            found += equal(expected["body"], body, table, "")
        if "contains" in expected:
            found += contains(expected["contains"], body, table, "")
        for path, value in expected.get("select", {}).items():
            found += equal(value, select(body, path), table, path)
    return found


def _headers(expected: dict[str, Any], actual: dict[str, list[str]], table: Table) -> list[str]:
    found: list[str] = []
    for name in {*expected, *_HEADERS}:
        wanted = expected.get(name, [])
        wanted = wanted if isinstance(wanted, list) else [wanted]
        got = actual.get(name.lower(), [])
        fits = len(wanted) == len(got) and all(
            match_text(_LINE.sub("line N", one), _LINE.sub("line N", other), table)
            for one, other in zip(wanted, got, strict=True)
        )
        if not fits:
            found.append(f"header {name}: expected {wanted}, got {got}")
    return found


def _text_fits(expected: str, actual: str, table: Table, path: str) -> bool:
    if match_text(expected, actual, table):
        return True
    if not path.endswith("message"):
        return False
    expected, actual = _LINE.sub("line N", expected), _LINE.sub("line N", actual)
    for mark in _GO_TAILS:
        if mark in expected and mark in actual:
            expected, actual = (text[: text.index(mark) + len(mark)] for text in (expected, actual))
    return match_text(expected, actual, table)


def equal(expected: Any, actual: Any, table: Table, path: str) -> list[str]:
    """Placeholders bound, everything else the same; ``path`` leads the complaint."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found: list[str] = []
        for key in sorted({*expected, *actual}, key=lambda key: (key not in expected, key)):
            here = f"{path}.{key}"
            if key not in actual:
                found.append(f"{here}: missing, expected {_short(expected[key])}")
            elif key not in expected:
                found.append(f"{here}: not expected, got {_short(actual[key])}")
            elif key == "message" and expected.get("field") == "patch":
                continue
            elif key not in _IGNORED_KEYS:
                found += equal(expected[key], actual[key], table, here)
        return found
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return [f"{path}: expected {_short(expected)}, got {_short(actual)}"]
        return [
            line
            for index, (one, other) in enumerate(zip(expected, actual, strict=True))
            for line in equal(one, other, table, f"{path}[{index}]")
        ]
    if isinstance(expected, str):
        if isinstance(actual, str) and _text_fits(expected, actual, table, path):
            return []
        if isinstance(actual, int) and expected.startswith("<nodePort:") and match_text(expected, str(actual), table):
            return []
    elif type(expected) is type(actual) and expected == actual:
        return []
    return [f"{path}: expected {_short(expected)}, got {_short(actual)}"]


def contains(expected: Any, actual: Any, table: Table, path: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        found: list[str] = []
        for key, value in expected.items():
            if key in _IGNORED_KEYS:
                continue
            if key not in actual:
                found.append(f"{path}.{key}: missing, expected {_short(value)}")
            else:
                found += contains(value, actual[key], table, f"{path}.{key}")
        return found
    if isinstance(expected, list) and isinstance(actual, list):
        return [
            f"{path}[{index}]: nothing there contains {_short(value)}"
            for index, value in enumerate(expected)
            if not _some_contains(value, actual, table)
        ]
    return equal(expected, actual, table, path)


def _some_contains(value: Any, items: list[Any], table: Table) -> bool:
    for item in items:
        attempt = dict(table)
        if not contains(value, item, attempt, ""):
            table.update(attempt)
            return True
    return False


def select(body: Any, path: str) -> Any:
    """``a.b`` goes down, ``a[*].b`` makes a list; what is not there is ``None``."""
    head, _, rest = path.partition(".")
    each = head.endswith("[*]")
    value = body.get(head.removesuffix("[*]")) if isinstance(body, dict) else None
    if not each:
        return select(value, rest) if rest else value
    return [select(item, rest) if rest else item for item in value] if isinstance(value, list) else None


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:399] + "…"
