"""x-kubernetes-validations: rules in CEL over an object and its former self.

A schema with rules is read once into ``Node``s: compiled programs where rules stand, and how a JSON value becomes a
CEL value there (formats make timestamps, durations and bytes; field names are escaped; lists know whether they are
sets or maps). Kubernetes: schema/cel.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kubesim import status
from kubesim.crd import cel, paths, ratchet
from kubesim.crd.cel import lexer, types, values
from kubesim.status import FieldError

Schema = Mapping[str, Any]
Convert = Callable[[Any], Any]
UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)
_BLOCKING: Final = frozenset({"Unsupported value", "Required value", "Too long", "Too many", "Type invalid"})
_KEYWORDS: Final = lexer.RESERVED | {"true", "false", "null", "in"}
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_STRING: Final[Schema] = {"type": "string"}
_META: Final[Schema] = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    rule: Mapping[str, Any]
    program: cel.Program
    message: cel.Program | None
    field_path: str


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """``None`` where neither the schema nor anything below has rules."""

    kind: str
    rules: tuple[Compiled, ...]
    convert: Convert
    properties: Mapping[str, Node] = field(default_factory=dict)
    additional: Node | None = None
    items: Node | None = None
    list_keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = field(default_factory=dict)
    all_of: tuple[Node, ...] = ()


def escape(name: str) -> str | None:
    """A field's name as CEL can say it; ``None`` if it cannot."""
    if not name or not re.fullmatch(r"[a-zA-Z_.\-/][a-zA-Z0-9_.\-/]*", name):
        return None
    if name in _KEYWORDS:
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found[0]], name)


def with_meta(schema: Schema) -> Schema:
    """An object's root also has kind, apiVersion and, of its metadata, the names."""
    return {
        **schema,
        "type": "object",
        "properties": {**(schema.get("properties") or {}), "kind": _STRING, "apiVersion": _STRING, "metadata": _META},
    }


def type_of(schema: Schema, *, root: bool = False) -> types.CelType | None:
    """``None``: rules cannot speak of such a value (unknown fields, untyped)."""
    if schema.get("x-kubernetes-int-or-string"):
        return types.DYN
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = with_meta(schema)
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        inner = type_of(items) if isinstance(items, Mapping) else None
        return types.list_of(inner) if inner is not None else None
    if kind == "object":
        return _object_type(schema)
    if kind == "string":
        special = {
            "byte": types.BYTES,
            "duration": types.DURATION,
            "date": types.TIMESTAMP,
            "date-time": types.TIMESTAMP,
        }
        return special.get(schema.get("format") or "", types.STRING)
    return {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}.get(str(kind))


def _object_type(schema: Schema) -> types.CelType | None:
    rest = schema.get("additionalProperties")
    if isinstance(rest, Mapping):
        inner = type_of(rest)
        return types.map_of(inner) if inner is not None else None
    fields = {}
    for name, inner_schema in (schema.get("properties") or {}).items():
        inner, said = type_of(inner_schema), escape(name)
        if inner is not None and said is not None:
            fields[said] = inner
    return types.object_of("object", fields)


def converter(schema: Schema, *, root: bool = False) -> Convert:
    """Makes CEL values of JSON values of this schema."""
    if schema.get("x-kubernetes-int-or-string"):
        return _same
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = with_meta(schema)
    kind = schema.get("type")
    if kind == "array":
        return _list_converter(schema)
    if kind == "object":
        return _object_converter(schema)
    if kind == "number":
        return lambda value: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if kind == "integer":
        return lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
    if kind == "string":
        return {"byte": _to_bytes, "duration": _to_duration, "date": _to_date, "date-time": _to_time}.get(
            schema.get("format") or "", _same
        )
    return _same


def _same(value: Any) -> Any:
    return value


def _list_converter(schema: Schema) -> Convert:
    items = schema.get("items")
    inner = converter(items) if isinstance(items, Mapping) else _same
    kind, keys = schema.get("x-kubernetes-list-type"), tuple(schema.get("x-kubernetes-list-map-keys") or ())

    def run(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        converted = [inner(item) for item in value]
        if kind == "set":
            return values.SetList(converted)
        return values.MapList(converted, tuple(escape(key) or key for key in keys)) if kind == "map" else converted

    return run


def _object_converter(schema: Schema) -> Convert:
    rest = schema.get("additionalProperties")
    if isinstance(rest, Mapping):
        inner = converter(rest)
        return lambda value: {name: inner(item) for name, item in value.items()} if isinstance(value, dict) else value
    known = {}
    for name, inner_schema in (schema.get("properties") or {}).items():
        said = escape(name)
        if said is not None:
            known[name] = (said, converter(inner_schema))

    def run(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        # A null in a nullable field is the same as no field to CEL.
        return {
            known[name][0]: known[name][1](item) for name, item in value.items() if name in known and item is not None
        }

    return run


def _to_bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return value


def _to_duration(value: Any) -> Any:
    return (values.parse_duration(value) or value) if isinstance(value, str) else value


def _to_time(value: Any) -> Any:
    return (values.parse_time(value) or value) if isinstance(value, str) else value


def _to_date(value: Any) -> Any:
    return (values.parse_time(f"{value}T00:00:00Z") or value) if isinstance(value, str) else value


def read(schema: Schema, *, root: bool = True) -> Node | None:
    """The definition was accepted, so its rules compile; one that does not (an older server took it) is left out."""
    return _read(schema, schema, root=root)


def _read(schema: Schema, typed: Schema, *, root: bool = False) -> Node | None:
    compiled = []
    for rule in schema.get("x-kubernetes-validations") or ():
        try:
            compiled.append(compile_rule(rule, typed, root=root))
        except cel.CompileError:
            continue
    inner_types = typed.get("properties") or {}
    properties = {}
    for name, inner in (schema.get("properties") or {}).items():
        node = _read(inner, inner_types.get(name, {}))
        if node is not None:
            properties[name] = node
    rest, rest_types = schema.get("additionalProperties"), typed.get("additionalProperties")
    additional = _read(rest, rest_types) if isinstance(rest, Mapping) and isinstance(rest_types, Mapping) else None
    items, item_types = schema.get("items"), typed.get("items")
    of_items = _read(items, item_types) if isinstance(items, Mapping) and isinstance(item_types, Mapping) else None
    all_of = tuple(
        node for branch in schema.get("allOf") or () if (node := _read(branch, typed, root=root)) is not None
    )
    if not compiled and not properties and additional is None and of_items is None and not all_of:
        return None
    keys = tuple(typed.get("x-kubernetes-list-map-keys") or ()) if typed.get("x-kubernetes-list-type") == "map" else ()
    fields = (item_types.get("properties") or {}) if isinstance(item_types, Mapping) else {}
    return Node(
        kind=str(typed.get("type") or ("object" if root else "")),
        rules=tuple(compiled),
        convert=converter(typed, root=root),
        properties=properties,
        additional=additional,
        items=of_items,
        list_keys=keys,
        key_defaults={key: fields[key]["default"] for key in keys if "default" in fields.get(key, {})},
        all_of=all_of,
    )


def compile_rule(rule: Mapping[str, Any], typed: Schema, *, root: bool = False) -> Compiled:
    """Raises ``cel.CompileError``."""
    own = type_of(typed, root=root)
    if own is None:
        raise cel.CompileError("failed to convert to declType for CEL validation rules")
    old = types.optional_of(own) if rule.get("optionalOldSelf") else own
    program = cel.compile_rule(rule.get("rule") or "", {"self": own, "oldSelf": old})
    message = rule.get("messageExpression")
    return Compiled(
        rule=rule,
        program=program,
        message=cel.compile_rule(message, {"self": own, "oldSelf": old}) if message else None,
        field_path=_normal(rule.get("fieldPath") or ""),
    )


def _normal(path: str) -> str:
    """``.a['b.c']`` as a field path: ``a[b.c]`` or ``a.b.c``."""
    return re.sub(r"\['((?:[^'\\]|\\.)*)'\]", r".\1", path).lstrip(".")


def blocked(errors: list[FieldError]) -> bool:
    """Complaints that make the object unfit for rules."""
    return any(error.type in _BLOCKING for error in errors)


def unchecked() -> FieldError:
    return status.invalid_value(paths.NIL, None, UNCHECKED)


def run(
    node: Node | None, value: Any, old: Any = None, *, path: str = "", ratcheting: bool = False
) -> list[FieldError]:
    """Complaints of all rules. ``old`` is ``None`` at creation; ``ratcheting`` forgives what did not change since."""
    known = ratchet.Old(old) if old is not None else None
    return _run(node, value, known, known if ratcheting else None, path) if node is not None else []


def _run(node: Node, value: Any, old: ratchet.Old | None, kept: ratchet.Old | None, path: str) -> list[FieldError]:
    if value is None:
        return []
    errors = _expressions(node, value, old, kept, path) if node.rules else []
    for branch in node.all_of:
        errors += _run(branch, value, old, kept, path)
    if isinstance(value, dict):
        for name, inner in value.items():
            child = node.properties.get(name)
            place = paths.child(path, name)
            if child is None and node.additional is not None:
                child, place = node.additional, paths.key(path, name)
            if child is not None:
                errors += _run(child, inner, ratchet.of_field(old, name), ratchet.of_field(kept, name), place)
    elif isinstance(value, list) and node.items is not None:
        for at, item in enumerate(value):
            before = ratchet.of_item(old, item, node.list_keys, node.key_defaults)
            after = ratchet.of_item(kept, item, node.list_keys, node.key_defaults)
            errors += _run(node.items, item, before, after, paths.index(path, at))
    return errors


def _expressions(
    node: Node, value: Any, old: ratchet.Old | None, kept: ratchet.Old | None, path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    current = node.convert(value)
    former = node.convert(old.value) if old is not None and old.value is not None else None
    for compiled in node.rules:
        rule, program = compiled.rule, compiled.program
        variables: dict[str, Any] = {"self": current}
        if rule.get("optionalOldSelf"):
            variables["oldSelf"] = values.Optional(True, former) if former is not None else values.ABSENT
        elif program.uses_old_self:
            if former is None:
                continue
            variables["oldSelf"] = former
        try:
            if program.run(variables) is True:
                continue
        except cel.CelError as problem:
            errors.append(_failed(node, path, str(problem), rule))
            continue
        if not program.uses_old_self and ratchet.unchanged(value, kept):
            continue
        errors.append(_complaint(node, compiled, variables, value, path))
    return errors


def _failed(node: Node, path: str, problem: str, rule: Mapping[str, Any]) -> FieldError:
    what = (rule.get("message") or rule.get("rule") or "").strip()
    if problem.startswith("no such overload"):
        detail = (
            f"'{problem}': call arguments did not match a supported operator, function or macro signature "
            f"for rule: {what}"
        )
    else:
        detail = f"{problem} evaluating rule: {what}"
    return status.invalid_value(paths.shown(path), node.kind, detail)


def _complaint(node: Node, compiled: Compiled, variables: dict[str, Any], value: Any, path: str) -> FieldError:
    rule = compiled.rule
    detail = (
        _message(compiled, variables)
        or (rule.get("message") or "").strip()
        or f"failed rule: {(rule.get('rule') or '').strip()}"
    )
    place = paths.shown(paths.child(path, compiled.field_path) if compiled.field_path else path)
    bad = status.OMIT if node.kind in ("object", "array") else value
    reason = rule.get("reason") or "FieldValueInvalid"
    if reason == "FieldValueForbidden":
        return status.forbidden_field(place, detail)
    if reason == "FieldValueRequired":
        return status.required(place, detail)
    if reason == "FieldValueDuplicate":
        return FieldError("Duplicate value", place, "", bad)
    return FieldError("Invalid value", place, detail, bad)


def _message(compiled: Compiled, variables: dict[str, Any]) -> str:
    """What the messageExpression says, if it works and gives one line."""
    if compiled.message is None:
        return ""
    try:
        text = compiled.message.run(variables)
    except cel.CelError:
        return ""
    shown = text.strip() if isinstance(text, str) else ""
    return "" if "\n" in shown or len(shown) > 5 * 1024 else shown
