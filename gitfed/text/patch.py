"""JSON patches (RFC 6902), applied by path-copy and all or nothing.

The document that goes in is never changed, so a patch that fails half way leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.text import pointer
from gitfed.text.values import dataclass


class PatchError(ValueError):
    """An operation cannot be carried out. `index` counts from 0, `path` is its target as written."""

    def __init__(self, message: str, *, index: int, path: str) -> None:
        super().__init__(message)
        self.index = index
        self.path = path


@dataclass(frozen=True, slots=True)
class PatchOperation:
    op: str
    """add, remove, replace, test, move or copy."""
    path: str
    value: Any = None
    source: str = ""
    """`from` of move and copy."""


def read(operations: Iterable[Mapping[str, Any]]) -> tuple[PatchOperation, ...]:
    """Operations from their JSON form."""
    return tuple(
        PatchOperation(item["op"], item["path"], item.get("value"), item.get("from", "")) for item in operations
    )


def apply(document: Any, operations: Iterable[PatchOperation], *, negative: bool = False) -> Any:
    """The document after all operations. Raises PatchError for the first one that fails.

    `negative` lets remove and replace count list elements from the end.
    """
    for index, operation in enumerate(operations):
        try:
            document = _apply(document, operation, negative)
        except pointer.PointerError as error:
            raise PatchError(
                f"cannot {operation.op} {operation.path or 'the whole document'}: {error}",
                index=index,
                path=operation.path,
            ) from error
    return document


def _apply(document: Any, operation: PatchOperation, negative: bool) -> Any:
    path = pointer.parse(operation.path)
    match operation.op:
        case "add":
            return pointer.add(document, path, operation.value, negative=negative)
        case "remove":
            return pointer.remove(document, path, negative=negative)
        case "replace":
            return pointer.replace(document, path, operation.value, negative=negative)
        case "test":
            if not _equal(pointer.get(document, path), operation.value):
                raise pointer.PointerError("the value differs")
            return document
        case "copy":
            return pointer.add(document, path, pointer.get(document, pointer.parse(operation.source)))
        case "move":
            source = pointer.parse(operation.source)
            if path[: len(source)] == source and len(path) > len(source):
                raise pointer.PointerError("a value cannot move into itself")
            value = pointer.get(document, source)
            return pointer.add(pointer.remove(document, source) if source else None, path, value)
        case _:
            raise pointer.PointerError(f"{operation.op!r} is no operation")


def _equal(left: Any, right: Any) -> bool:
    """JSON equality: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
