"""What a structural schema does to an object before anybody looks at it: prune, drop nulls, fill in defaults.

All three walk object and schema together and give back the same object if nothing changed, else one that shares what
did not change. Schemas are read once into ``Shape`` nodes that know only what these walks need (Kubernetes:
structural schemas).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Schema = Mapping[str, Any]
_MISSING: Final = object()
META: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    properties: Mapping[str, Shape] = field(default_factory=dict)
    additional: Shape | None = None
    """Of values under names that ``properties`` lacks."""
    any_additional: bool = False
    """``additionalProperties: true``."""
    items: Shape | None = None
    default: Any = _MISSING
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False
    defaults_inside: bool = False
    """Whether this node's fields or items, at any depth, have defaults: most branches need no walk."""

    @property
    def has_default(self) -> bool:
        return self.default is not _MISSING

    def of_field(self, name: str) -> Shape | None:
        return self.properties.get(name, self.additional)


def read(schema: Schema, *, root: bool = True) -> Shape:
    """``root``: metadata, kind and apiVersion are known without being mentioned, as in an embedded resource."""
    properties = {name: read(inner, root=False) for name, inner in (schema.get("properties") or {}).items()}
    rest = schema.get("additionalProperties")
    additional = read(rest, root=False) if isinstance(rest, Mapping) else None
    items = schema.get("items")
    of_items = read(items, root=False) if isinstance(items, Mapping) else None
    children = [*properties.values(), *(node for node in (additional, of_items) if node is not None)]
    return Shape(
        properties=properties,
        additional=additional,
        any_additional=rest is True,
        items=of_items,
        default=schema["default"] if schema.get("default") is not None else _MISSING,
        nullable=bool(schema.get("nullable")),
        preserve=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=root or bool(schema.get("x-kubernetes-embedded-resource")),
        defaults_inside=any(node.has_default or node.defaults_inside for node in children),
    )


def prune(value: Any, shape: Shape | None, unknown: Callable[[str], None] = lambda path: None, path: str = "") -> Any:
    """Drops fields that the schema does not know. ``unknown`` is told the path of each."""
    if shape is not None and shape.preserve:
        return _keep(value, shape, unknown, path)
    if isinstance(value, dict):
        if shape is None:
            for name in value:
                unknown(_join(path, name))
            return {} if value else value
        return _replaced(value, lambda name, inner: _prune_field(name, inner, shape, unknown, path))
    if isinstance(value, list):
        inner_shape = shape.items if shape is not None else None
        return _mapped(value, lambda at, inner: prune(inner, inner_shape, unknown, f"{path}[{at}]"))
    return value


def _keep(value: Any, shape: Shape | None, unknown: Callable[[str], None], path: str) -> Any:
    """Where unknown fields are preserved, known ones are still pruned inside."""
    if shape is None:
        return value
    if isinstance(value, list):
        return _mapped(value, lambda at, inner: _keep(inner, shape.items, unknown, f"{path}[{at}]"))
    if not isinstance(value, dict):
        return value

    def one(name: str, inner: Any) -> Any:
        known = shape.of_field(name)
        if (shape.embedded and name in META) or (known is None and not shape.any_additional):
            return inner
        return prune(inner, known, unknown, _join(path, name))

    return _replaced(value, one)


def _prune_field(name: str, inner: Any, shape: Shape, unknown: Callable[[str], None], path: str) -> Any:
    if shape.embedded and name in META:
        return inner
    known = shape.of_field(name)
    if known is None and not shape.any_additional:
        if name not in META or path:
            unknown(_join(path, name))
        return _MISSING
    return prune(inner, known, unknown, _join(path, name))


def drop_nulls(value: Any, shape: Shape | None) -> Any:
    """Takes out nulls that are neither allowed nor replaced by a default. Where no schema speaks, nulls stay."""
    if isinstance(value, dict):

        def one(name: str, inner: Any) -> Any:
            known = shape.of_field(name) if shape is not None else None
            if inner is None:
                gone = known is not None and not known.nullable and not known.has_default
                return _MISSING if gone else None
            return drop_nulls(inner, known)

        return _replaced(value, one)
    if isinstance(value, list):
        return _mapped(value, lambda _, inner: drop_nulls(inner, shape.items if shape is not None else None))
    return value


def settle_numbers(value: Any) -> Any:
    """Numbers as the store keeps them: 1.0 is 1, and what is too large for 64 bits is a floating one."""
    if isinstance(value, dict):
        return _replaced(value, lambda _, inner: settle_numbers(inner))
    if isinstance(value, list):
        return _mapped(value, lambda _, inner: settle_numbers(inner))
    if type(value) is float and value.is_integer() and abs(value) < _WIDEST:
        return int(value)
    return float(value) if type(value) is int and not -_WIDEST <= value < _WIDEST else value


_WIDEST: Final = 1 << 63


def fill(value: Any, shape: Shape | None) -> Any:
    """Puts defaults where a field is absent, or null without being nullable."""
    if shape is None or not shape.defaults_inside:
        return value
    if isinstance(value, dict):
        return _fill_object(value, shape)
    if isinstance(value, list) and shape.items is not None:
        items = shape.items
        return _mapped(value, lambda _, inner: fill(items.default if _replaceable(inner, items) else inner, items))
    return value


def _fill_object(value: dict[str, Any], shape: Shape) -> dict[str, Any]:
    added = {
        name: known.default
        for name, known in shape.properties.items()
        if known.has_default and (name not in value or _replaceable(value[name], known))
    }
    whole = {**value, **added} if added else value

    def one(name: str, inner: Any) -> Any:
        known = shape.of_field(name)
        if known is None:
            return inner
        return fill(known.default if name not in shape.properties and _replaceable(inner, known) else inner, known)

    return _replaced(whole, one)


def _replaceable(value: Any, shape: Shape) -> bool:
    return value is None and not shape.nullable and shape.has_default


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _replaced(value: dict[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    result: dict[str, Any] | None = None
    for name, inner in value.items():
        changed = change(name, inner)
        if changed is not inner:
            if result is None:
                result = dict(value)
            if changed is _MISSING:
                del result[name]
            else:
                result[name] = changed
    return value if result is None else result


def _mapped(value: list[Any], change: Callable[[int, Any], Any]) -> list[Any]:
    changed = [change(at, inner) for at, inner in enumerate(value)]
    return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
