"""JSON patch (RFC 6902) as the API server understands it.

Some habits differ from the RFC (Kubernetes: answers of a real server): ``replace`` of a member that is missing adds it,
``copy`` of one that is missing copies null, the whole document can be replaced and tested but nothing else, indices may
count from the end, and which operation failed is never told.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kubesim import go_words
from kubesim.patch.error import PatchError

_OPERATIONS: Final = frozenset({"add", "remove", "replace", "move", "copy", "test"})
_FIELDS: Final = ("op", "path", "from", "value")
_MISSING: Final = object()


def json_patch(body: Any, ops: Any) -> Any:
    """``body`` after all operations, in order. Raises ``PatchError``: ``bad_request`` if ``ops`` is not a list of
    objects, ``unprocessable`` as soon as one operation fails (nothing of it is then done)."""
    if not isinstance(ops, list):
        raise _unreadable(ops, "value of type []handlers.jsonPatchOp")
    for op in ops:
        if op is not None and not isinstance(op, dict):
            raise _unreadable(op, "value of type handlers.jsonPatchOp")
        for key in ("op", "path", "from"):
            value = (op or {}).get(key)
            if value is not None and not isinstance(value, str):
                raise _unreadable(value, f"struct field jsonPatchOp.{key} of type string")
    for op in ops:
        body = _carry_out(body, op or {})
    return body


def unknown_fields(ops: list[Any]) -> list[str]:
    """What strict validation complains of in the operations themselves: ``json patch unknown field "[0].foo"``."""
    return [
        f'json patch unknown field "[{index}].{key}"'
        for index, op in enumerate(ops)
        if isinstance(op, dict)
        for key in op
        if key not in _FIELDS
    ]


def _carry_out(body: Any, op: dict[str, Any]) -> Any:
    name = op.get("op")
    if name not in _OPERATIONS:
        raise _refusal(f"unknown operation {name!r}")
    if name == "move":
        source = _tokens(op, "from")
        value = _existing(body, source)
        return _add(_remove(body, source), _tokens(op, "path"), value)
    if name == "copy":
        value = _get(body, _tokens(op, "from"))
        return _add(body, _tokens(op, "path"), None if value is _MISSING else value)
    if op.get("path") == "":
        return _whole(body, op)
    path = _tokens(op, "path")
    if name == "add":
        return _add(body, path, op.get("value"))
    if name == "remove":
        return _remove(body, path)
    if name == "replace":
        return _replace(body, path, op.get("value"))
    if not _equal(_get(body, path), op.get("value")):
        raise _refusal("testing a value failed")
    return body


def _whole(body: Any, op: dict[str, Any]) -> Any:
    """An operation on the whole document."""
    value = op.get("value")
    if op["op"] == "replace" and isinstance(value, dict | list):
        return value
    if op["op"] == "test" and _equal(body, value):
        return body
    raise _refusal("the whole document can only be replaced or tested")


def _refusal(why: str) -> PatchError:
    return PatchError("unprocessable", why)


def _unreadable(value: Any, into: str) -> PatchError:
    text = f"error decoding patch: json: cannot unmarshal {go_words.json_type(value)} into Go {into}"
    return PatchError("bad_request", text)


def _tokens(op: dict[str, Any], key: str) -> list[str]:
    """A JSON pointer's reference tokens (RFC 6901 §4: ~1 before ~0). Text before the first slash is not looked at."""
    tokens = (op.get(key) or "").split("/")[1:]
    if not tokens:
        raise _refusal(f"an operation lacks its {key}")
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


_INDEX: Final = re.compile(r"[+-]?[0-9]+")


def _index(items: list[Any], token: str, *, inserting: bool = False) -> int:
    """Position a token names; negative ones count from the end, ``-`` is the end of the list (only to add)."""
    if token == "-" and inserting:
        return len(items)
    if not _INDEX.fullmatch(token):
        raise _refusal(f"{token!r} is no index")
    index, limit = int(token), len(items) + inserting
    if index < 0:
        index += limit
    if not 0 <= index < limit:
        raise _refusal(f"index {token} is out of range")
    return index


def _child(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token, _MISSING)
    if isinstance(node, list):
        return node[_index(node, token)]
    return _MISSING


def _get(body: Any, path: list[str]) -> Any:
    """The value at ``path``; ``_MISSING`` if the last step does not exist. The way there has to."""
    for token in path[:-1]:
        body = _child(body, token)
        if not isinstance(body, dict | list):
            raise _refusal("the path does not exist")
    return _child(body, path[-1])


def _existing(body: Any, path: list[str]) -> Any:
    value = _get(body, path)
    if value is _MISSING:
        raise _refusal("the path does not exist")
    return value


def _edit(body: Any, path: list[str], change: Any) -> Any:
    """``body`` with ``change(parent_copy, last_token)`` done at the end of ``path``; copies only the way down."""
    if isinstance(body, dict):
        copy: Any = dict(body)
    elif isinstance(body, list):
        copy = list(body)
    else:
        raise _refusal("the path does not exist")
    token = path[0]
    if len(path) == 1:
        change(copy, token)
    else:
        child = _child(body, token)
        key: Any = _index(copy, token) if isinstance(copy, list) else token
        copy[key] = _edit(child, path[1:], change)
    return copy


def _add(body: Any, path: list[str], value: Any) -> Any:
    def change(parent: Any, token: str) -> None:
        if isinstance(parent, list):
            parent.insert(_index(parent, token, inserting=True), value)
        else:
            parent[token] = value

    return _edit(body, path, change)


def _replace(body: Any, path: list[str], value: Any) -> Any:
    def change(parent: Any, token: str) -> None:
        if isinstance(parent, list):
            parent[_index(parent, token)] = value
        else:
            parent[token] = value

    return _edit(body, path, change)


def _remove(body: Any, path: list[str]) -> Any:
    def change(parent: Any, token: str) -> None:
        if isinstance(parent, list):
            del parent[_index(parent, token)]
        elif token in parent:
            del parent[token]
        else:
            raise _refusal("the path does not exist")

    return _edit(body, path, change)


def _equal(left: Any, right: Any) -> bool:
    """Equality of what is written: ``1`` is neither ``true`` nor ``1.0``. Null also equals what is missing."""
    if left is _MISSING:
        return right is None
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return type(left) is type(right) and bool(left == right)
