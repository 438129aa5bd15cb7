"""JSON pointers (RFC 6901) into plain JSON values, and changes by path-copy.

Nothing here changes a value in place: a change returns a new document that shares every untouched part with the old
one. That is what lets thousands of rendered manifests share one template.

Only the RFC's rules live here. What an override policy may say beyond them (an index of -1) is the business of its
caller, who passes `negative=True`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Pointer: TypeAlias = tuple[str, ...]

_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]*")
_NEGATIVE_INDEX = re.compile(r"-[1-9][0-9]*")


class PointerError(ValueError):
    """The text is no JSON pointer, or it leads nowhere in this document."""


def parse(text: str) -> Pointer:
    """`/metadata/labels/a~1b` → ("metadata", "labels", "a/b"); "" is the whole document."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise PointerError(f"JSON pointer {text!r} must begin with /")
    if _ESCAPE.search(text):
        raise PointerError(f"JSON pointer {text!r}: ~ must be followed by 0 or 1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))


def text(pointer: Pointer) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in pointer)


def dotted(path: Iterable[str | int]) -> str:
    """`spec.placement.spreadConstraints[0]`: a path as people write it, for messages."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def get(document: Any, pointer: Pointer, *, negative: bool = False) -> Any:
    """The value at `pointer`. Raises PointerError when there is none."""
    value = document
    for depth, token in enumerate(pointer):
        value = _child(value, token, pointer[: depth + 1], negative)
    return value


def has(document: Any, pointer: Pointer) -> bool:
    try:
        get(document, pointer)
    except PointerError:
        return False
    return True


def replace(document: Any, pointer: Pointer, value: Any, *, negative: bool = False) -> Any:
    """Sets what is there already. Raises PointerError when it is not."""
    return _edit(document, pointer, 0, "replace", value, negative)


def add(document: Any, pointer: Pointer, value: Any, *, negative: bool = False) -> Any:
    """RFC 6902 `add`: sets a member of an object, inserts into an array before the index, `-` appends."""
    return _edit(document, pointer, 0, "add", value, negative)


def remove(document: Any, pointer: Pointer, *, negative: bool = False) -> Any:
    """Raises PointerError when there is nothing to remove, or for the whole document."""
    if not pointer:
        raise PointerError("the whole document cannot be removed")
    return _edit(document, pointer, 0, "remove", None, negative)


def put(document: Any, pointer: Pointer, value: Any) -> Any:
    """Sets a member, creating the objects on the way. Arrays must be there already."""
    if not pointer:
        return value
    head, rest = pointer[0], pointer[1:]
    if document is None:
        document = {}
    if isinstance(document, Mapping):
        return {**document, head: put(document.get(head), rest, value)}
    if isinstance(document, list):
        index = _index(document, head, pointer, negative=False)
        return [*document[:index], put(document[index], rest, value), *document[index + 1 :]]
    raise PointerError(f"{text((head,))} leads into {_noun(document)}")


def drop(document: Any, pointer: Pointer) -> Any:
    """Like `remove`, but what is not there is fine: the very same document comes back."""
    return remove(document, pointer) if pointer and has(document, pointer) else document


def _edit(value: Any, pointer: Pointer, depth: int, verb: str, new: Any, negative: bool) -> Any:
    if depth == len(pointer):
        return new
    token, way = pointer[depth], pointer[: depth + 1]
    last = depth + 1 == len(pointer)
    if isinstance(value, Mapping):
        if last and verb == "add":
            return {**value, token: new}
        if token not in value:
            raise PointerError(f"{text(way)} does not exist")
        if last and verb == "remove":
            return {key: child for key, child in value.items() if key != token}
        return {**value, token: _edit(value[token], pointer, depth + 1, verb, new, negative)}
    if isinstance(value, list):
        if last and verb == "add":
            index = len(value) if token == "-" else _index([*value, None], token, way, negative=False)  # noqa: S105
            return [*value[:index], new, *value[index:]]
        index = _index(value, token, way, negative)
        if last and verb == "remove":
            return [*value[:index], *value[index + 1 :]]
        return [*value[:index], _edit(value[index], pointer, depth + 1, verb, new, negative), *value[index + 1 :]]
    raise PointerError(f"{text(way)} leads into {_noun(value)}")


def _child(value: Any, token: str, way: Pointer, negative: bool) -> Any:
    if isinstance(value, Mapping):
        if token not in value:
            raise PointerError(f"{text(way)} does not exist")
        return value[token]
    if isinstance(value, list):
        return value[_index(value, token, way, negative)]
    raise PointerError(f"{text(way)} leads into {_noun(value)}")


def _index(value: list[Any], token: str, way: Pointer, negative: bool) -> int:
    if _INDEX.fullmatch(token):
        index = int(token)
    elif negative and _NEGATIVE_INDEX.fullmatch(token):
        index = len(value) + int(token)
    else:
        raise PointerError(f"{text(way)}: {token!r} is no index of a list")
    if not 0 <= index < len(value):
        raise PointerError(f"{text(way)}: the list has {len(value)} elements")
    return index


def _noun(value: Any) -> str:
    if value is None:
        return "null"
    return "text" if isinstance(value, str) else "a number or boolean"
