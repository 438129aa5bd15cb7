"""What reference pages say of a model's field: its type, its default, and the structures inside it."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from datetime import timedelta

from pydantic import BaseModel

_NAMES: dict[object, str] = {bool: "true or false", int: "number", str: "text", timedelta: "duration"}


def type_text(annotation: object, structure: Callable[[type[BaseModel]], str] = lambda model: model.__name__) -> str:
    """In words; `structure` says how a model of our own is written."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_text(arguments[0], structure)
    if origin in (typing.Union, types.UnionType):
        return type_text(next(one for one in arguments if one is not type(None)), structure)
    if origin is typing.Literal:
        return " or ".join(f"`{one}`" if one else "empty" for one in arguments)
    if origin is tuple:
        return f"list of {type_text(arguments[0], structure)}"
    if origin is dict:
        return "map"
    if annotation is typing.Any:
        return "any value"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return structure(annotation)
    return _NAMES.get(annotation, str(annotation))


def default_text(value: object) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, timedelta):
        minutes, seconds = divmod(int(value.total_seconds()), 60)
        return f"`{minutes}m`" if minutes and not seconds else f"`{int(value.total_seconds())}s`"
    if isinstance(value, tuple):
        return " ".join(f"`{one}`" for one in value) or "none"
    if isinstance(value, dict):
        return "none" if not value else str(value)
    return f"`{value}`"


def structures(annotation: object) -> Iterator[type[BaseModel]]:
    """The models that a value of this type is made of, directly."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from structures(argument)
