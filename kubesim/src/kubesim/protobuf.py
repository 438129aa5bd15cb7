"""Objects in Kubernetes' binary form, as some clients send them (``kubectl create namespace``), turned into JSON.

Only reading: answers are JSON, which every client accepts. Numbers and types of fields come from a table
(``protobuf_data.json``): kind → message, message → field number → [JSON name, type]. Types are scalars, ``#Message``,
``@special``, with ``[]`` or ``{}`` before them for lists and maps with text keys. A field without a name is inlined:
its members belong to the object around it.
"""

from __future__ import annotations

import base64
import functools
import importlib.resources
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

Body = dict[str, Any]

PREFIX: Final = b"k8s\x00"
MEDIA: Final = "application/vnd.kubernetes.protobuf"


class ProtobufError(ValueError):
    """The bytes are no object that the table knows."""


def decode(data: bytes) -> Body:
    """The object with its kind and apiVersion. Raises ``ProtobufError``."""
    if not data.startswith(PREFIX):
        raise ProtobufError("no Kubernetes object: the prefix is missing")
    kind = version = ""
    raw = b""
    for number, value in _fields(data[len(PREFIX) :]):
        if number == 1:
            for inner, text in _fields(_bytes(value)):
                if inner == 1:
                    version = _text(text)
                elif inner == 2:
                    kind = _text(text)
        elif number == 2:
            raw = _bytes(value)
    table = _table()
    message = table["kinds"].get(f"{version}/{kind}") or table["kinds"].get(
        f"v1/{kind}" if kind == "DeleteOptions" else ""
    )
    if message is None:
        raise ProtobufError(f"no kind {kind} is registered for version {version}")
    return {"apiVersion": version, "kind": kind, **_message(message, raw)}


@functools.cache
def _table() -> Any:
    return orjson.loads(importlib.resources.files("kubesim").joinpath("protobuf_data.json").read_bytes())


# the wire


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("unexpected end of a number")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value): whole numbers for varints, bytes for everything else."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == 0:
            value, at = _varint(data, at)
        else:
            if wire == 2:
                size, at = _varint(data, at)
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
            else:
                raise ProtobufError(f"unknown wire type {wire}")
            if at + size > len(data):
                raise ProtobufError("unexpected end of a field")
            value = data[at : at + size]
            at += size
        yield number, value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number where bytes belong")
    return value


def _int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ProtobufError("bytes where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode("utf-8", "replace")


# messages


def _message(name: str, data: bytes) -> Body:
    fields = _table()["messages"][name]
    body: Body = {}
    for number, value in _fields(data):
        known = fields.get(str(number))
        if known is None:
            continue  # newer than the table
        field, kind = known
        if not field:
            body |= _message(kind[1:], _bytes(value))
        elif kind.startswith("[]"):
            body.setdefault(field, []).append(_value(kind[2:], value))
        elif kind.startswith("{}"):
            key, inner = _entry(kind[2:], _bytes(value))
            body.setdefault(field, {})[key] = inner
        else:
            body[field] = _value(kind, value)
    return body


def _entry(kind: str, data: bytes) -> tuple[str, Any]:
    key, raw = "", None
    for number, value in _fields(data):
        if number == 1:
            key = _text(value)
        else:
            raw = value
    if raw is not None:
        return key, _value(kind, raw)
    # An entry may leave out a value that is empty.
    return key, _value(kind, 0 if kind in ("int32", "int64", "bool") else b"")


def _value(kind: str, value: int | bytes) -> Any:
    if kind.startswith("#"):
        return _message(kind[1:], _bytes(value))
    if kind.startswith("@"):
        return _SPECIAL[kind[1:]](_bytes(value))
    if kind == "string":
        return _text(value)
    if kind == "bool":
        return _int(value) != 0
    if kind == "bytes":
        return base64.b64encode(_bytes(value)).decode()
    if kind in ("double", "float"):
        return struct.unpack("<d" if kind == "double" else "<f", _bytes(value))[0]
    return _int(value)


def _time(data: bytes, digits: int) -> str | None:
    parts = dict(_fields(data))
    if not parts:
        return None
    seconds, nanos = _int(parts.get(1, 0)), _int(parts.get(2, 0))
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    fraction = f".{nanos // 1000:06d}" if digits else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _int_or_string(data: bytes) -> int | str:
    parts = dict(_fields(data))
    return _text(parts.get(3, b"")) if parts.get(1) == 1 else _int(parts.get(2, 0))


def _first_text(data: bytes) -> str:
    return next((_text(value) for number, value in _fields(data) if number == 1), "")


def _raw(data: bytes) -> Any:
    """JSON inside."""
    inner = next((_bytes(value) for number, value in _fields(data) if number == 1), b"")
    try:
        return orjson.loads(inner) if inner else None
    except orjson.JSONDecodeError as problem:
        raise ProtobufError(str(problem)) from problem


def _items(data: bytes) -> list[str]:
    return [_text(value) for _, value in _fields(data)]


def _schema_or(plain: int, kind: str) -> Callable[[bytes], Any]:
    """A JSON schema, or what may stand in its place; both have a field number."""

    def read(data: bytes) -> Any:
        found: Any = [] if kind != "bool" else False
        for number, value in _fields(data):
            if number != plain:
                return _message("JSONSchemaProps", _bytes(value))
            if kind == "bool":
                found = _int(value) != 0
            else:
                found.append(_text(value) if kind == "text" else _message("JSONSchemaProps", _bytes(value)))
        return found

    return read


_SPECIAL: Final[dict[str, Callable[[bytes], Any]]] = {
    "time": lambda data: _time(data, 0),
    "microtime": lambda data: _time(data, 6),
    "quantity": _first_text,
    "intstr": _int_or_string,
    "raw": _raw,
    "items": _items,
    "orArray": _schema_or(2, "schemas"),
    "orBool": _schema_or(1, "bool"),
    "orStrings": _schema_or(2, "text"),
}
