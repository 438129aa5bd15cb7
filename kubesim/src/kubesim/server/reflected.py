"""What an apply came to, read as an object of its kind.

Bodies and other patches are read as JSON by type; the result of an apply is copied field by field instead (Kubernetes:
FromUnstructured). Its numbers are then fitted to the fields: whole ones lose what is too much, 2.0 is 2, 1.5 is
refused; and complaints name the conversion. ``decode`` does the reading; this is asked only when it found fault.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim import managed, status
from kubesim.kind import Kind
from kubesim.schema_nodes import LIST, MAP, SCALAR, STRUCT, Node
from kubesim.server import decode

Body = dict[str, Any]

_BITS: Final = {"int32": 32, "int64": 64}


class _UnfitError(Exception):
    """A number that its field cannot hold; the message is Go's."""


def read(kind: Kind, merged: Body, applied: Body) -> Body:
    """The object, decoded; 500 if that cannot be. ``applied`` is the configuration, which the complaint names."""
    body, wrong, _ = decode.read(kind, merged)
    if not wrong:
        return body
    if kind.custom or kind.schema is None:
        raise status.untyped(wrong[0])
    try:
        body, wrong, _ = decode.read(kind, _fitted(kind.schema, merged))
    except _UnfitError as error:
        wrong = [str(error)]
    if not wrong:
        return body
    kept = "error decoding from json: " if wrong[0].startswith("illegal base64") else ""
    called = f"{kind.group}/{kind.version}, Kind={kind.kind}"
    why = f"unable to convert unstructured object to {called}: {kept}{wrong[0]}"
    raise status.untyped(f"failed to convert new object ({managed.described(applied)}) to proper version: {why}")


def _fitted(node: Node, value: Any) -> Any:
    """``value`` with its whole numbers as their fields hold them. Raises ``_UnfitError``."""
    if node.shape == SCALAR:
        return _number(node.scalar, value) if node.scalar in _BITS else value
    if isinstance(value, dict) and node.shape in (STRUCT, MAP):
        return {
            key: item if (child := node.child(key)) is None else _fitted(child, item) for key, item in value.items()
        }
    if isinstance(value, list) and node.shape == LIST and node.value is not None:
        return [_fitted(node.value, item) for item in value]
    return value


def _number(scalar: str, value: Any) -> Any:
    if isinstance(value, float):
        if not value.is_integer():
            raise _UnfitError(f"cannot convert float64 to {scalar}")
        value = int(value)
    elif isinstance(value, bool) or not isinstance(value, int):
        return value
    half = 1 << (_BITS[scalar] - 1)
    return (value + half) % (2 * half) - half
