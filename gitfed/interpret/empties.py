"""What a script's answer meant: empty tables, and whole numbers that Lua could not hold.

Lua has one kind of empty table, so `{}` and `[]` come back alike. Karmada decides by the object that went in
(interpreters §2.5): an empty table becomes a map or a list where that object has an empty one at the same path, list
positions not counted, and disappears elsewhere. Parents that become empty by this stay. We look at the exact place
first, which is right where both kinds stand at one path of a list.

Integers above 2^53 lose digits in Lua. Where the same place of the input held the number that came back, rounded, it
was not changed, and the input's digits are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

_Path: TypeAlias = tuple[str, ...]
_EXACT = 2**53
_FINITE = 2**1000
_GONE: Any = object()


def restored(value: Any, references: Sequence[Any]) -> Any:
    """The answer with its empty tables resolved against the objects that went in, members in order of name.

    An answer that is empty as a whole is returned as `[]`: only the operation knows what it stands for.
    """
    if not value and isinstance(value, list):
        return value
    return _restored(value, (), tuple(references), _Kinds(references))


def edited(body: Mapping[str, Any], edits: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
    """`body` with what a script changed of it (`model.script.Returned.edits`), resolved as `restored` does.

    What was not touched is the same as before, to the object.
    """
    kinds, result, gone = _Kinds(references), body, []
    for path, *value in edits:
        new = _GONE
        if value:
            here = tuple(
                [value_there for reference in references if (value_there := _at(reference, path)) is not _GONE]
            )
            new = _restored(value[0], tuple(name for name in path if isinstance(name, str)), here, kinds)
        if new is _GONE:
            gone.append(path)
        else:
            result = _put(result, path, 0, new)
    for path in sorted(gone, key=lambda path: [(isinstance(name, int), name) for name in path], reverse=True):
        result = _put(result, path, 0, _GONE)  # positions behind a removed one stay right
    return dict(result)


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for name in path:
        if isinstance(name, str):
            value = value.get(name, _GONE) if isinstance(value, Mapping) else _GONE
        else:
            value = value[name] if isinstance(value, list) and name < len(value) else _GONE
        if value is _GONE:
            break
    return value


def _put(value: Any, path: Sequence[str | int], depth: int, new: Any) -> Any:
    """A copy of the way to the place, the rest shared."""
    name = path[depth]
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    if depth + 1 < len(path):
        copy[name] = _put(value[name], path, depth + 1, new)
    elif new is _GONE and isinstance(copy, dict):
        copy.pop(name, None)  # what was added and says nothing was never there
    elif new is _GONE:
        del copy[name]
    else:
        copy[name] = new
    return copy


class _Kinds:
    """The empty maps and lists of the references by path. Found when first needed: most answers hold none."""

    def __init__(self, references: Sequence[Any]) -> None:
        self._references = references
        self._known: dict[_Path, Any] | None = None

    def at(self, path: _Path) -> Any:
        """`{}` or `[]`, anew; `_GONE` if no reference has an empty one there. A map is preferred to a list."""
        if self._known is None:
            self._known = {}
            for reference in self._references:
                for place, empty in _empties(reference, ()):
                    if self._known.get(place) != {}:
                        self._known[place] = empty
        empty = self._known.get(path, _GONE)
        return empty if empty is _GONE else type(empty)()


def _restored(value: Any, path: _Path, here: tuple[Any, ...], kinds: _Kinds) -> Any:
    """`here` are the references' values at exactly this place. Plain members are most of an object: they go fast."""
    kind = type(value)
    if kind is dict:
        members = {}
        for name in sorted(value):
            child = value[name]
            if (type_ := type(child)) is not str and type_ is not bool:
                beside = tuple(
                    [reference[name] for reference in here if isinstance(reference, Mapping) and name in reference]
                )
                if type_ is dict or type_ is list:
                    child = _restored(child, (*path, name), beside, kinds)
                    if child is _GONE:
                        continue
                else:
                    child = _number(child, beside)
            members[name] = child
        return members
    if kind is list:
        if not value:
            exact = next(
                (reference for reference in here if isinstance(reference, dict | list) and not reference), None
            )
            return kinds.at(path) if exact is None else type(exact)()
        items = []
        for i, child in enumerate(value):
            if (type_ := type(child)) is not str and type_ is not bool:
                beside = tuple(
                    [reference[i] for reference in here if isinstance(reference, list) and i < len(reference)]
                )
                child = _restored(child, path, beside, kinds)
                if child is _GONE:
                    continue
            items.append(child)
        return items
    return _number(value, here) if kind is int or kind is float else value


def _number(value: int | float, here: tuple[Any, ...]) -> int | float:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    if abs(value) < _EXACT:
        return value
    given = (reference for reference in here if isinstance(reference, int) and abs(reference) < _FINITE)
    return next((number for number in given if float(number) == float(value)), value)


def _empties(value: Any, path: _Path) -> Iterator[tuple[_Path, Any]]:
    if isinstance(value, Mapping):
        if not value:
            yield path, {}
        for name, child in value.items():
            yield from _empties(child, (*path, name))
    elif isinstance(value, list):
        if not value:
            yield path, []
        for child in value:
            yield from _empties(child, path)
