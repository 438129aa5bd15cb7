"""Reading a JSON object as a kind, the way Kubernetes reads one into its Go types.

One walk does everything: finds what is wrong (unknown fields, wrong types), and makes of the rest the body that the
server would write. Values that are fine are shared with the input: an untouched part of a patched object stays the
same Python object, which is what makes later comparisons quick.

Order of complaints is that of the input. Of several wrong types Kubernetes tells the first, but a quantity or a time
that cannot be read comes before all of them: there its reading ends.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kubesim import go_words, schema_values
from kubesim.schema_nodes import ANY, LIST, MAP, SCALAR, STRUCT, Node

_DROP: Final = object()
_EMPTY_PATH: Final[tuple[Any, ...]] = ()


class _Key(str):
    """A map's key in a path: Go's complaints about types leave it out."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong with a body, in Kubernetes' words: ``unknown field "spec.foo"``; ``json: cannot unmarshal string
    into Go struct field DeploymentSpec.spec.replicas of type int32``."""

    unknown: list[str] = field(default_factory=list)
    type_errors: list[str] = field(default_factory=list)


def decode(node: Node, body: dict[str, Any]) -> tuple[dict[str, Any], Findings]:
    """``body`` as the server writes it, and what was wrong with it. Wrong and unknown parts are left out."""
    walk = _Walk()
    decoded = walk.custom(node, body) if node.custom else walk.struct(node, body, _EMPTY_PATH, node.name)
    return decoded, Findings(walk.unknown, walk.unreadable + walk.mistypes)


class _Walk:
    """One reading. Paths are pairs (rest, step), written out only in complaints."""

    __slots__ = ("mistypes", "unknown", "unreadable")

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.mistypes: list[str] = []
        self.unreadable: list[str] = []

    def custom(self, root: Node, body: dict[str, Any]) -> dict[str, Any]:
        """Custom objects: metadata by type, unknown fields found, nothing else touched."""
        self._unknown(root, body, _EMPTY_PATH)
        out = body
        if "metadata" in body:
            out = dict(body)
            metadata = root.fields["metadata"]
            new = self.value(metadata, body["metadata"], (_EMPTY_PATH, "metadata"), "")
            out["metadata"] = {} if new is _DROP or new is None else new
        return out

    def _unknown(self, node: Node, value: Any, path: tuple[Any, ...]) -> None:
        """Undeclared fields below ``value``; metadata has its own walk."""
        if isinstance(value, dict):
            for key, inner in value.items():
                if not path and key == "metadata":
                    continue
                child = node.fields.get(key) or node.value
                if child is not None:
                    self._unknown(child, inner, (path, key))
                elif node.shape == STRUCT:
                    self.unknown.append(f'unknown field "{written((path, key))}"')
        elif isinstance(value, list) and node.shape == LIST and node.value is not None:
            for index, item in enumerate(value):
                self._unknown(node.value, item, (path, index))

    def value(self, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
        """One value of any shape; ``_DROP`` if it is of the wrong type. ``owner`` is Go's name of the struct."""
        shape = node.shape
        if value is None:
            return None
        if shape == SCALAR:
            return _SCALARS[node.scalar](self, node, value, path, owner)
        if shape == STRUCT:
            if type(value) is not dict:
                return self.mistyped(node, value, path, owner)
            return self.struct(node, value, path, node.name)
        if shape == LIST:
            return self.items(node, value, path, owner)
        if shape == MAP:
            return self.map(node, value, path, owner)
        if node.value is not None and type(value) is dict:
            return self.struct(node.value, value, path, node.value.name)
        return value

    def struct(self, node: Node, body: dict[str, Any], path: tuple[Any, ...], owner: str) -> dict[str, Any]:
        """A struct: unknown fields dropped, empty ones dropped or filled in as their presence says."""
        out: dict[str, Any] | None = None
        fields, presence = node.fields, node.presence
        for key, value in body.items():
            child = fields.get(key)
            if child is None:
                self.unknown.append(f'unknown field "{written((path, key))}"')
                new = _DROP
            else:
                # The common case first: text needs no walk.
                if type(value) is str and child.scalar == "string":
                    new = value
                else:
                    new = self.value(child, value, (path, key), owner)
                mark = presence[key]
                if new is None:
                    new = _DROP if mark in "*-" else zero(child) if mark == "!" else None
                elif mark == "-" and not new:
                    new = _DROP
            if new is not value:
                if out is None:
                    out = dict(body)
                if new is _DROP:
                    del out[key]
                else:
                    out[key] = new
        for key in node.always:
            if out is None:
                if key in body:
                    continue
                out = dict(body)
            elif key in out:
                continue
            out[key] = None if presence[key] == "?" else zero(fields[key])
        return body if out is None else out

    def items(self, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
        if type(value) is not list:
            return self.mistyped(node, value, path, owner)
        inner = node.value
        if inner is None:
            return value
        out: list[Any] | None = None
        for index, item in enumerate(value):
            new = self.value(inner, item, (path, index), owner)
            if new is None or new is _DROP:
                new = zero(inner)
            if new is not item:
                if out is None:
                    out = list(value)
                out[index] = new
        return value if out is None else out

    def map(self, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
        if type(value) is not dict:
            return self.mistyped(node, value, path, owner)
        inner = node.value
        if inner is None:
            return value
        out: dict[str, Any] | None = None
        for key, item in value.items():
            if type(item) is str and inner.scalar == "string":
                continue
            # Resource lists keep thousandths (Kubernetes: their defaults round up).
            new = self.quantity(item, path, -3) if inner.scalar == "quantity" else None
            if new is None:
                new = self.value(inner, item, (path, _Key(key)), owner)
            if new is None or new is _DROP:
                # Null bytes are stored, and read again, as none.
                new = "" if inner.scalar == "bytes" else zero(inner)
            if new is not item:
                if out is None:
                    out = dict(value)
                out[key] = new
        return value if out is None else out

    def quantity(self, value: Any, path: tuple[Any, ...], finest: int) -> Any:
        if value is None:
            return "0"
        try:
            text = schema_values.quantity(value, finest=finest)
        except ValueError as error:
            self.unreadable.append(str(error))
            return _DROP
        return value if text == value else text

    def spelled(self, value: str, spell: Callable[[str], str], refused: list[str]) -> Any:
        """A value with a spelling of its own, which may be refused."""
        try:
            text = spell(value)
        except ValueError as error:
            refused.append(str(error))
            return _DROP
        return value if text == value else text

    def mistyped(self, node: Node, value: Any, path: tuple[Any, ...], owner: str, shown: str = "") -> Any:
        """Complains of a type as Go does: the struct's name, the path without indices and map keys' structs."""
        self.mistypes.append(_complaint(shown or go_words.json_type(value), path, owner, go_type(node)))
        return _DROP


def _text(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    return value if type(value) is str else walk.mistyped(node, value, path, owner)


def _whole(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    if type(value) is int:
        if -(limit := 1 << (31 if node.scalar == "int32" else 63)) <= value < limit:
            return value
        return walk.mistyped(node, value, path, owner, f"number {value}")
    shown = f"number {value}" if type(value) is float else ""
    return walk.mistyped(node, value, path, owner, shown)


def _float(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    return value if type(value) in (int, float) else walk.mistyped(node, value, path, owner)


def _bool(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    return value if type(value) is bool else walk.mistyped(node, value, path, owner)


def _quantity(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    return walk.quantity(value, path, -9)


def _int_or_string(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    if type(value) is str:
        return value
    if type(value) is int and -(1 << 31) <= value < 1 << 31:
        return value
    shown = f"number {value}" if type(value) in (int, float) else go_words.json_type(value)
    walk.unreadable.append(_complaint(shown, path, owner, "int32"))
    return _DROP


def _time(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    if type(value) is not str:
        walk.unreadable.append(_complaint(go_words.json_type(value), path, owner, "string"))
        return _DROP
    spell = schema_values.micro_time if node.scalar == "microtime" else schema_values.time
    return walk.spelled(value, spell, walk.unreadable)


def _bytes(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    if type(value) is list:
        # Go reads a list of small numbers as bytes, too.
        wrong = [item for item in value if item is not None and not (type(item) is int and 0 <= item < 256)]
        if wrong:
            return walk.mistyped(node, wrong[0], path, owner)
        return base64.b64encode(bytes(item or 0 for item in value)).decode()
    if type(value) is not str:
        return walk.mistyped(node, value, path, owner)
    return walk.spelled(value, schema_values.base64_bytes, walk.mistypes)


def _complaint(shown: str, path: tuple[Any, ...], owner: str, kind: str) -> str:
    return f"json: cannot unmarshal {shown} into Go struct field {owner}.{'.'.join(_names(path))} of type {kind}"


def _as_it_is(walk: _Walk, node: Node, value: Any, path: tuple[Any, ...], owner: str) -> Any:
    return value


_SCALARS: Final[dict[str, Callable[[_Walk, Node, Any, tuple[Any, ...], str], Any]]] = {
    "string": _text,
    "int32": _whole,
    "int64": _whole,
    "float": _float,
    "bool": _bool,
    "quantity": _quantity,
    "intstr": _int_or_string,
    "time": _time,
    "microtime": _time,
    "bytes": _bytes,
    "untyped": _as_it_is,
}

_ZEROES: Final[dict[str, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "float": 0,
    "bool": False,
    "quantity": "0",
    "intstr": 0,
    "bytes": None,
}


def zero(node: Node) -> Any:
    """What Kubernetes writes for a value that was never set."""
    if node.shape == STRUCT:
        return {key: None if node.presence[key] == "?" else zero(node.fields[key]) for key in node.always}
    return _ZEROES.get(node.scalar)


def _steps(path: tuple[Any, ...]) -> list[Any]:
    steps: list[Any] = []
    while path:
        path, step = path
        steps.append(step)
    return steps[::-1]


def _names(path: tuple[Any, ...]) -> list[str]:
    """Names of a path as Go's complaints tell them: no indices, no keys of maps, but structs that hold the fields of
    others."""
    names = [step for step in _steps(path) if type(step) is str]
    return [name for step in names for name in ((_EMBEDDED[step], step) if step in _EMBEDDED else (step,))]


_EMBEDDED: Final = {
    "http": "IngressRuleValue",
    **dict.fromkeys(("exec", "httpGet", "tcpSocket", "grpc"), "ProbeHandler"),
    **dict.fromkeys(("emptyDir", "hostPath", "configMap", "secret", "projected", "downwardAPI"), "VolumeSource"),
    "persistentVolumeClaim": "VolumeSource",
}
"""Field → the embedded struct it belongs to, of those one comes across."""


def written(path: tuple[Any, ...]) -> str:
    """``spec.containers[0].image``."""
    text = ""
    for step in _steps(path):
        text += f"[{step}]" if type(step) is int else f".{step}" if text else step
    return text


def go_type(node: Node) -> str:
    """Go's name of a type, as its decoding errors tell it."""
    if node.shape == STRUCT:
        return f"v1.{node.name}"
    if node.shape == LIST and node.value is not None:
        return f"[]{go_type(node.value)}"
    if node.shape == MAP and node.value is not None:
        return f"map[string]{go_type(node.value)}"
    if node.shape == ANY:
        return "interface {}"
    return {"float": "float64", "bytes": "[]uint8", "time": "v1.Time"}.get(node.scalar, node.scalar)


def duplicate_fields(raw: bytes) -> list[str]:
    """Keys that a JSON object repeats, as strict decoding tells them: ``duplicate field "spec.replicas"``. The text
    has to be valid JSON."""
    repeated = _repeats(json.loads(raw, object_pairs_hook=_Pairs), _EMPTY_PATH)
    return [f'duplicate field "{written(path)}"' for path in repeated]


class _Pairs(list[tuple[str, Any]]):
    """An object as pairs, repeated keys included."""


def _repeats(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, inner in value:
            if key in seen:
                found.append((path, key))
            seen.add(key)
            found += _repeats(inner, (path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _repeats(item, (path, index))
    return found
