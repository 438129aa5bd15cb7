"""Strategic merge patch: like a merge patch, but lists merge by the keys their type names.

Directives steer it (Kubernetes: strategic merge patch): ``$patch`` (replace, delete, merge) in a map or as an item of a
list; ``$retainKeys`` keeps only some members of a map; ``$deleteFromPrimitiveList/x`` takes scalars from a list;
``$setElementOrder/x`` orders one. The order of a merged list is: what the patch names in the patch's order, the rest
where it was as far as that allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubesim.go_words import json_type, printed
from kubesim.patch.error import PatchError
from kubesim.schema_nodes import LIST, MAP, STRUCT, Node

Body = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def strategic_merge(body: Body, patch: Any, schema: Node) -> Body:
    """``body`` with ``patch`` merged in. Neither is changed. Raises ``PatchError``: ``bad_request`` for directives of
    the wrong form, ``internal`` for items without their key, unknown directives and lists that do not go together."""
    if not isinstance(patch, dict):
        text = f"json: cannot unmarshal {json_type(patch)} into Go value of type map[string]interface {{}}"
        raise PatchError("bad_request", text)
    return _merge_map(body, patch, schema)


def _child(node: Node | None, key: str) -> Node | None:
    return (node.fields.get(key) or node.value) if node is not None else None


def _merge_map(original: Body, patch: Body, node: Node | None) -> Body:
    if _DIRECTIVE in patch:
        match patch[_DIRECTIVE]:
            case "replace":
                return {key: value for key, value in patch.items() if key != _DIRECTIVE}
            case "delete":
                return {}
            case other:
                raise PatchError("internal", f"unknown patch type: {printed(other)} in map: {printed(patch)}")
    merged = _retained(original, patch)
    if merged is original:
        merged = dict(original)
    ordered = {key.removeprefix(_ORDER) for key in patch if key.startswith(_ORDER)}
    for name in ordered:
        _merge_ordered(merged, patch, name, _child(node, name))
    for key, value in patch.items():
        if key == _RETAIN or key.startswith(_ORDER) or key in ordered:
            continue
        if key.startswith(_DELETE):
            _delete_scalars(merged, key.removeprefix(_DELETE), value)
        elif value is None:
            merged.pop(key, None)
        elif key not in merged or type(merged[key]) is not type(value):
            cleaned = _without_directives(value)
            if cleaned is not _GONE:
                merged[key] = cleaned
        elif isinstance(value, dict):
            child = _child(node, key)
            replaced = child is not None and child.replace
            merged[key] = value if replaced else _merge_map(merged[key], value, child)
        elif isinstance(value, list):
            merged[key] = _merge_list(merged[key], value, _child(node, key))
        else:
            merged[key] = value
    return merged


def _retained(original: Body, patch: Body) -> Body:
    """What ``$retainKeys`` leaves of the original. The patch may name no other key."""
    if _RETAIN not in patch:
        return original
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise PatchError("bad_request", "invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and key not in keys and not key.startswith((_RETAIN, _DELETE, _ORDER)):
            raise PatchError("bad_request", "invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _delete_scalars(merged: Body, key: str, unwanted: Any) -> None:
    if not isinstance(unwanted, list):
        raise PatchError("bad_request", "invalid patch format of primitive list")
    if isinstance(merged.get(key), list):
        merged[key] = [item for item in merged[key] if item not in unwanted]


_GONE: Final = object()


def _without_directives(value: Any) -> Any:
    """A part of the patch that has nothing to merge with: nulls go, and maps that say what to do with a map. Other
    directives stay, as fields that are unknown (Kubernetes)."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _GONE
        cleaned = {key: _without_directives(inner) for key, inner in value.items() if inner is not None}
        return {key: inner for key, inner in cleaned.items() if inner is not _GONE}
    if isinstance(value, list):
        return [cleaned for item in value if (cleaned := _without_directives(item)) is not _GONE]
    return value


def _merge_list(original: list[Any], patch: list[Any], node: Node | None) -> list[Any]:
    if node is None or node.shape != LIST or node.merge_key is None:
        return patch
    if not original and not patch:
        return original
    if not _are_maps(original, patch):
        merged = list(dict.fromkeys([*original, *patch]))
        return _in_order(merged, patch, original, _itself)
    key = node.merge_key
    kept, items = _special_items(original, patch, key)
    merged = _merge_items(kept, items, key, node.value)
    return _in_order(merged, items, kept, lambda item: _key_of(item, key))


def _are_maps(original: list[Any], patch: list[Any]) -> bool:
    """Whether a list's items are maps; all have to be of one type."""
    kinds = {type(item) for item in (*original, *patch)}
    if list in kinds:
        raise PatchError("unprocessable", "lists of lists are not supported")
    if dict in kinds and len(kinds) > 1:
        raise PatchError("internal", "list element types are not identical: map[string]interface {} and others")
    return dict in kinds


def _itself(item: Any) -> Any:
    return item


def _key_of(item: Any, key: str) -> Any:
    if key not in item:
        raise PatchError("internal", f"map: {printed(item)} does not contain declared merge key: {key}")
    return item[key]


def _special_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carries out items that are directives: what is left of the original, and the patch's ordinary items."""
    items: list[Any] = []
    replaced = False
    for item in patch:
        match item.get(_DIRECTIVE, _GONE):
            case value if value is _GONE:
                items.append(item)
            case "delete":
                unwanted = _key_of(item, key)
                original = [ours for ours in original if _key_of(ours, key) != unwanted]
            case "replace":
                replaced = True
            case "merge":
                raise PatchError("internal", "merging lists cannot yet be specified in the patch")
            case other:
                raise PatchError("internal", f"unknown patch type: {printed(other)} in map: {printed(item)}")
    return (items, []) if replaced else (original, items)


def _merge_items(original: list[Any], items: list[Any], key: str, node: Node | None) -> list[Any]:
    merged = list(original)
    for item in items:
        wanted = _key_of(item, key)
        for index, ours in enumerate(merged):
            if _key_of(ours, key) == wanted:
                merged[index] = _merge_map(ours, item, node)
                break
        else:
            merged.append(item)
    return merged


def _in_order(merged: list[Any], named: list[Any], live: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """``merged`` with the named items in their order and the others between them by their live order."""
    wanted, places = [key(item) for item in named], [key(item) for item in live]
    mine = sorted((item for item in merged if key(item) in wanted), key=lambda item: wanted.index(key(item)))
    rest = [item for item in merged if key(item) not in wanted]
    rest.sort(key=lambda item: places.index(key(item)) if key(item) in places else -1)
    out: list[Any] = []
    while rest and mine:
        left, right = key(rest[0]), key(mine[0])
        first = left in places and right in places and places.index(left) < places.index(right)
        out.append(rest.pop(0) if first else mine.pop(0))
    return [*out, *rest, *mine]


def _merge_ordered(merged: Body, patch: Body, name: str, node: Node | None) -> None:
    """A list whose order the patch tells beside its changes."""
    order, changes, original = patch[_ORDER + name], patch.get(name), merged.get(name)
    if not isinstance(order, list) or not isinstance(changes or [], list):
        raise PatchError("bad_request", "invalid patch format of setElementOrder list")
    if changes is None and original is None:
        return
    if original is None:
        result = _without_directives(changes)
    elif changes is None:
        result = original
    else:
        result = _merge_list(original, changes, node)
    merge_key = (node.merge_key or "") if node is not None else ""
    key: Callable[[Any], Any] = (lambda item: _key_of(item, merge_key)) if merge_key else _itself
    _check_order(changes or [], order, key)
    merged[name] = _in_order(result, order, original or [], key)


def _check_order(changes: list[Any], order: list[Any], key: Callable[[Any], Any]) -> None:
    """What the patch changes has to be in the order list, in the same order; deletions need not."""
    wanted = [key(item) for item in order]
    places = [
        wanted.index(key(item)) if key(item) in wanted else -1
        for item in changes
        if not (isinstance(item, dict) and _DIRECTIVE in item)
    ]
    if -1 in places or places != sorted(places):
        text = (
            f"The order in patch list:\n{printed(changes)}\n doesn't match $setElementOrder list:\n{printed(order)}\n"
        )
        raise PatchError("internal", text)


def misfit(node: Node, value: Any) -> str:
    """Why a merged body cannot become an object again, or "" (Kubernetes tells this for strategic patches otherwise
    than for bodies): ``unrecognized type: int32``, ``cannot restore slice from map``."""
    if value is None or node.shape not in _CONTAINERS:
        return "" if value is None else _scalar_misfit(node.scalar, value)
    wanted, word = _CONTAINERS[node.shape]
    if _kind(value) != wanted:
        separator = ": " if node.shape == STRUCT else " "
        return f"cannot restore {word} from{separator}{_kind(value)}"
    if isinstance(value, dict):
        parts = [(_child(node, key), inner) for key, inner in value.items()]
    else:
        parts = [(node.value, item) for item in value]
    found = (misfit(child, inner) for child, inner in parts if child is not None)
    return next((text for text in found if text), "")


_CONTAINERS: Final[dict[int, tuple[str, str]]] = {
    STRUCT: ("map", "struct"),
    MAP: ("map", "map"),
    LIST: ("slice", "slice"),
}


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "map" if isinstance(value, dict) else "slice"
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "int64" if isinstance(value, int) else "float64"


def _scalar_misfit(scalar: str, value: Any) -> str:
    kind = _kind(value)
    if scalar == "string" and kind != "string":
        return f"cannot convert {kind} to string" if kind == "int64" else "unrecognized type: string"
    if scalar in ("int32", "int64") and kind != "int64":
        return f"unrecognized type: {scalar}"
    return "unrecognized type: bool" if scalar == "bool" and kind != "bool" else ""
