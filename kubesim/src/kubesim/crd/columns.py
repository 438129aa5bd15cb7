"""additionalPrinterColumns: values picked out of an object by JSONPath, shown as cells of a table.

The JSONPath here is the dialect of client-go: ``.status.conditions[?(@.type=="Ready")].status``,
``.metadata.labels.example\\.com/x``, ``.spec.items[*].key``, ``['a']``, ``[-1]``. Only the first result makes the
cell. A path that finds nothing gives an empty cell. No more of the dialect is understood than recorded definitions use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from kubesim.crd.cel.values import print_double
from kubesim.kind import Column
from kubesim.kinds import table

Body = dict[str, Any]
Step = Callable[[Any], Iterable[Any]]
_NAME_HELP: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may "
    "allow a client to request the "
    "generation of an appropriate name automatically. Name is primarily intended for creation idempotence and "
    "configuration definition. "
    "Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_PART: Final = re.compile(
    r"""\.(?P<name>(?:\\.|[^.\[\]\\])+)
    |\[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]
    |\[\s*\?\((?P<filter>.*?)\)\s*\]
    |\[\s*(?P<index>\*|-?\d+)\s*\]
    |(?P<end>\.\Z)""",
    re.VERBOSE,
)
_FILTER: Final = re.compile(r"\s*@(?P<path>[^=!<>]*?)\s*(?:(?P<op>==|!=)\s*(?P<value>.+?))?\s*\Z")


class PathError(ValueError):
    """The text is no JSONPath."""


def parse(text: str) -> Step:
    """A function from an object to the values found, in order. Raises ``PathError``."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise PathError(f"unrecognized column definition {text!r}")
        if part["end"] is None:
            steps.append(_step(part))
        at = part.end()

    def run(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [inner for outer in found for inner in step(outer)]
        return found

    return run


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _step(part: re.Match[str]) -> Step:
    if part["name"] is not None:
        return _field(_plain(part["name"]))
    if part["quoted"] is not None:
        return _field(_plain(part["quoted"][1:-1]))
    if part["filter"] is not None:
        return _filter(part["filter"])
    return _children if part["index"] == "*" else _item(int(part["index"]))


def _field(name: str) -> Step:
    if name == "*":
        return _children
    return lambda value: [value[name]] if isinstance(value, Mapping) and name in value else []


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return [value[name] for name in sorted(value)]
    return value if isinstance(value, list) else []


def _item(number: int) -> Step:
    return lambda value: value[number : number + 1 or None] if isinstance(value, list) else []


def _filter(text: str) -> Step:
    found = _FILTER.match(text)
    if found is None:
        raise PathError(f"unrecognized filter {text}")
    path, operator = parse(found["path"]), found["op"]
    wanted = _literal(found["value"]) if operator else None

    def keeps(item: Any) -> bool:
        values = list(path(item))
        if operator is None:
            return bool(values)
        alike = bool(values) and isinstance(values[0], bool) == isinstance(wanted, bool) and values[0] == wanted
        return bool(values) and alike == (operator == "==")

    return lambda value: [item for item in value if keeps(item)] if isinstance(value, list) else []


def _literal(text: str) -> Any:
    if text[:1] in "'\"" and text[-1:] == text[:1]:
        return _plain(text[1:-1])
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def read(definitions: Iterable[Mapping[str, Any]]) -> tuple[tuple[Column, ...], Callable[[Body, datetime], list[Any]]]:
    """Columns and the function that makes a row, the object's name first."""
    columns = [Column(name="Name", type="string", format="name", description=_NAME_HELP)]
    steps: list[tuple[Step, str]] = []
    for one in definitions:
        path = one.get("jsonPath") or ""
        try:
            steps.append((parse(path), one.get("type") or ""))
        except PathError:
            # A path that no longer parses makes an empty column, never a failing list.
            steps.append((lambda value: [], one.get("type") or ""))
        columns.append(
            Column(
                name=one.get("name") or "",
                type=one.get("type") or "",
                format=one.get("format") or "",
                description=one.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
                priority=one.get("priority") or 0,
            )
        )

    def row(body: Body, now: datetime) -> list[Any]:
        return [table.name(body), *(_cell(step, kind, body, now) for step, kind in steps)]

    return tuple(columns), row


def _cell(step: Step, kind: str, body: Body, now: datetime) -> Any:
    results = list(step(body))
    if not results:
        return None
    found = results[0]
    if kind == "string":
        return text(found)
    if found is None:
        return None
    number = isinstance(found, int | float) and not isinstance(found, bool)
    if kind == "integer":
        return int(found) if number else None
    if kind == "number":
        return found if number else None
    if kind == "boolean":
        return found if isinstance(found, bool) else None
    return _date(found, now) if kind == "date" and isinstance(found, str) else None


def _date(value: str, now: datetime) -> str:
    try:
        return table.age(value, now)
    except ValueError:
        return "<invalid>"


def text(value: Any) -> str:
    """As JSONPath prints it: text bare, lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, float):
        return print_double(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
