"""JSON patch (RFC 6902) as the API server understands it.

Two habits differ from the RFC (Kubernetes: recorded answers of a real server): ``replace`` of a member that is missing
adds it, and which operation failed is never told.
"""

from __future__ import annotations

from typing import Any, Final

from gitfed.sim.patch.error import PatchError

_OPERATIONS: Final = frozenset({"add", "remove", "replace", "move", "copy", "test"})
_MISSING: Final = object()


def json_patch(body: Any, ops: Any) -> Any:
    """``body`` after all operations, in order. Raises ``PatchError``: ``bad_request`` if ``ops`` is not a list of
    objects, ``unprocessable`` as soon as one operation fails (nothing of it is then done)."""
    if not isinstance(ops, list):
        raise _unreadable(ops, "[]handlers.jsonPatchOp")
    for op in ops:
        if not isinstance(op, dict):
            raise _unreadable(op, "handlers.jsonPatchOp")
    for op in ops:
        body = _carry_out(body, op)
    return body


def _carry_out(body: Any, op: dict[str, Any]) -> Any:
    name = op.get("op")
    if name not in _OPERATIONS:
        raise _refusal(f"unknown operation {name!r}")
    path = _tokens(op, "path")
    match name:
        case "add":
            return _add(body, path, op.get("value"))
        case "remove":
            return _remove(body, path)
        case "replace":
            return _replace(body, path, op.get("value"))
        case "test":
            if not _equal(_get(body, path), op.get("value")):
                raise _refusal("testing a value failed")
            return body
        case "copy":
            return _add(body, path, _existing(body, _tokens(op, "from")))
        case _:
            source = _tokens(op, "from")
            value = _existing(body, source)
            if path[: len(source)] == source and len(path) > len(source):
                raise _refusal("a value cannot be moved into itself")
            return _add(_remove(body, source), path, value)


def _refusal(why: str) -> PatchError:
    return PatchError("unprocessable", why)


def _unreadable(value: Any, wanted: str) -> PatchError:
    text = f"error decoding patch: json: cannot unmarshal {_json_type(value)} into Go value of type {wanted}"
    return PatchError("bad_request", text)


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


def _tokens(op: dict[str, Any], key: str) -> list[str]:
    """A JSON pointer's reference tokens (RFC 6901 §4: ~1 before ~0)."""
    pointer = op.get(key)
    if not isinstance(pointer, str):
        raise _refusal(f"an operation lacks its {key}")
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise _refusal(f"{pointer!r} is no pointer")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def _index(items: list[Any], token: str, *, inserting: bool = False) -> int:
    """Position a token names; negative ones count from the end, ``-`` is the end of the list (only to add)."""
    if token == "-" and inserting:
        return len(items)
    try:
        index = int(token)
    except ValueError:
        raise _refusal(f"{token!r} is no index") from None
    limit = len(items) + inserting
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
    return _child(body, path[-1]) if path else body


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
    if not path:
        return value

    def change(parent: Any, token: str) -> None:
        if isinstance(parent, list):
            parent.insert(_index(parent, token, inserting=True), value)
        else:
            parent[token] = value

    return _edit(body, path, change)


def _replace(body: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value

    def change(parent: Any, token: str) -> None:
        if isinstance(parent, list):
            parent[_index(parent, token)] = value
        else:
            parent[token] = value

    return _edit(body, path, change)


def _remove(body: Any, path: list[str]) -> Any:
    if not path:
        raise _refusal("the whole document cannot be removed")

    def change(parent: Any, token: str) -> None:
        if isinstance(parent, list):
            del parent[_index(parent, token)]
        elif token in parent:
            del parent[token]
        else:
            raise _refusal("the path does not exist")

    return _edit(body, path, change)


def _equal(left: Any, right: Any) -> bool:
    """JSON equality: ``1`` is not ``true``. A test for null also holds for what is missing."""
    if left is _MISSING:
        return right is None
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
