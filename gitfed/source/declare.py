"""From a model's complaints to problems: where it stands, in our words, with a suggestion.

pydantic knows *what* is wrong with a value and the path to it; the file's text knows where that path stands. All
mistakes of an object are reported at once: those of the schema, and, as far as the rest of the object can be used,
those between fields.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from gitfed.model.base import Origin, Problem, Severity
from gitfed.model.declared.shape import Declared
from gitfed.text import nearest, pointer

Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = Callable[[Path], Origin]
"""Where a path of the document stands in its file."""


def read(model: type[Declared], body: Mapping[str, Any], place: Place) -> tuple[Declared | None, list[Problem]]:
    """The declared object, or None if it cannot be used, and everything that is wrong with it."""
    body = _without_nulls(body)
    problems: list[Problem] = []
    try:
        declared = model.read(body)
    except ValidationError as error:
        details = [detail for detail in error.errors(include_url=False) if not _is_echo(detail)]
        problems = [_problem(model, detail, place) for detail in details]
        unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
        if len(unknown) == len(details):
            # Unknown members hide nothing: look at the rest of the object, too.
            with_known = _without(body, unknown)
            try:
                problems += _findings(model.read(with_known), place)
            except ValidationError:
                return None, problems
        return None, problems
    problems = _findings(declared, place)
    if any(problem.severity is Severity.ERROR for problem in problems):
        return None, problems
    return declared.at(place(())), problems


def _is_echo(detail: Any) -> bool:
    """A list whose items were all refused is reported as too short as well."""
    return detail["type"] == "too_short" and bool(detail.get("input"))


def _findings(declared: Declared, place: Place) -> list[Problem]:
    return [Problem(place(f.path), f.message, f.hint, f.severity) for f in declared.findings()]


def _problem(model: type[BaseModel], detail: Any, place: Place) -> Problem:
    path: Path = detail["loc"]
    origin = place(path)
    name = pointer.dotted(path)
    kind = detail["type"]
    context = detail.get("ctx", {})
    value = detail.get("input")
    hint = ""
    match kind:
        case "missing":
            message = f"{name} is required"
        case "extra_forbidden":
            message = f"unknown field {path[-1]}"
            hint = nearest.did_you_mean(str(path[-1]), _fields_at(model, path[:-1]))
        case "string_type":
            message = f"{name} must be text"
            hint = f'write "{_json(value)}"' if isinstance(value, bool | int | float) else ""
        case "bool_type" | "bool_parsing":
            message = f"{name} must be true or false"
        case "int_type" | "int_from_float" | "int_parsing":
            # YAML and JSON readers know whole numbers of 64 bits; larger ones come as floating point.
            large = isinstance(value, float) and abs(value) >= 2**63
            message = f"{name} is too large" if large else f"{name} must be a whole number"
        case "literal_error":
            message = f"{name} must be {_choices(context['expected'])}, not {_json(value)}"
        case "greater_than_equal":
            message = f"{name} is {value}, it must be at least {context['ge']}"
        case "less_than_equal":
            message = f"{name} is {value}, it must be at most {context['le']}"
        case "too_short" | "string_too_short":
            message = f"{name} must not be empty"
        case "string_too_long":
            message = f"{name} has {len(value)} characters, at most {context['max_length']} are allowed"
        case "model_type" | "dict_type" | "model_attributes_type" | "mapping_type":
            message = f"{name or 'the document'} must be a mapping"
        case "tuple_type" | "list_type":
            message = f"{name} must be a list"
        case "value_error":
            message = f"{name} {context['error']}"
        case "string_pattern_mismatch":
            message = f"{name} must look like {context['pattern']}"
        case _:
            message = f"{name}: {detail['msg']}"
    return Problem(origin, message, hint)


def _choices(expected: str) -> str:
    """`'', 'a' or 'b'` → `empty, a or b`"""
    return expected.replace("''", "empty").replace("'", "")


def _json(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """The members that are known at a path, as spelled in files."""
    here: Any = model
    for part in path:
        if isinstance(part, int):
            continue
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            return []
        fields = {field.alias or name: field.annotation for name, field in here.model_fields.items()}
        here = _inner(fields.get(part))
    if not (isinstance(here, type) and issubclass(here, BaseModel)):
        return []
    return [field.alias or name for name, field in here.model_fields.items()]


def _inner(annotation: Any) -> Any:
    """The model inside `X | None`, `tuple[X, ...]`, `Annotated[X, …]`."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _inner(typing.get_args(annotation)[0])
    if origin in (tuple, typing.Union, types.UnionType):
        arguments = [a for a in typing.get_args(annotation) if a not in (type(None), Ellipsis)]
        return _inner(arguments[0])
    return annotation


def _without_nulls(value: Any) -> Any:
    """Members that are null count as absent (Kubernetes). `value` members hold any JSON and are left as they are."""
    if isinstance(value, Mapping):
        return {
            key: member if key == "value" else _without_nulls(member)
            for key, member in value.items()
            if member is not None
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _without(value: Any, paths: Iterable[Path]) -> Any:
    for path in paths:
        value = _removed(value, path)
    return value


def _removed(value: Any, path: Path) -> Any:
    if isinstance(value, Mapping):
        if len(path) == 1:
            return {key: member for key, member in value.items() if key != path[0]}
        return {key: _removed(member, path[1:]) if key == path[0] else member for key, member in value.items()}
    return [_removed(item, path[1:]) if i == path[0] else item for i, item in enumerate(value)]
