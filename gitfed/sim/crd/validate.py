"""Holds a value against the validations of a schema: types, ranges, patterns, required fields, allOf/anyOf/oneOf/not.

Order, texts and oddities are those of OpenAPI's Go validator, because people and tools read them: "spec.name in body
should match '^[a-z]+$'". A schema is read once into ``Rule`` nodes. Each counts how many of its checks held
(``matches``): of the branches of an anyOf the complaints of the one that fitted best are told. Complaints about
values that an update did not touch are dropped (``ratchet``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from gitfed.sim import status
from gitfed.sim.crd import formats, paths, ratchet, regex
from gitfed.sim.crd.cel.values import print_double
from gitfed.sim.status import FieldError

Schema = Mapping[str, Any]


@dataclass(slots=True)
class Result:
    """Complaints, each with the path inside the value (``None``: of the value as a whole), and how many checks held."""

    errors: list[FieldError] = field(default_factory=list)
    matches: int = 0

    def add(self, error: FieldError) -> None:
        if error not in self.errors:
            self.errors.append(error)

    def merge(self, other: Result) -> None:
        for error in other.errors:
            self.add(error)
        self.matches += other.matches


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    types: tuple[str, ...] = ()
    nullable: bool = False
    format: str = ""
    enum: tuple[Any, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    """maximum, minimum, maxLength… as written."""
    pattern: re.Pattern[str] | None = None
    pattern_text: str = ""
    items: Rule | None = None
    properties: Mapping[str, Rule] = field(default_factory=dict)
    additional: Rule | None = None
    closed: bool = False
    """``additionalProperties: false``."""
    required: tuple[str, ...] = ()
    all_of: tuple[Rule, ...] = ()
    any_of: tuple[Rule, ...] = ()
    one_of: tuple[Rule, ...] = ()
    negated: Rule | None = None
    list_keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = field(default_factory=dict)


_LIMITS: Final = (
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "uniqueItems",
)
_PLAIN_ERROR: Final = "\0"
"""Field of complaints that name no field themselves."""


def read(schema: Schema) -> Rule:
    """The schema must have passed ``structural.check``; patterns compile."""
    types: tuple[str, ...] = (schema["type"],) if schema.get("type") else ()
    if schema.get("x-kubernetes-int-or-string"):
        types = ("integer", "string")
    pattern = schema.get("pattern") or ""
    rest = schema.get("additionalProperties")
    items = schema.get("items")
    of_items = read(items) if isinstance(items, Mapping) else None
    keys = (
        tuple(schema.get("x-kubernetes-list-map-keys") or ()) if schema.get("x-kubernetes-list-type") == "map" else ()
    )
    item_properties = (items.get("properties") or {}) if isinstance(items, Mapping) else {}
    return Rule(
        types=types,
        nullable=bool(schema.get("nullable")),
        format=formats.effective(types, schema.get("format") or ""),
        enum=tuple(schema.get("enum") or ()),
        limits={name: schema[name] for name in _LIMITS if schema.get(name) is not None},
        pattern=_pattern(pattern),
        pattern_text=pattern,
        items=of_items,
        properties={name: read(inner) for name, inner in (schema.get("properties") or {}).items()},
        additional=read(rest) if isinstance(rest, Mapping) else None,
        closed=rest is False,
        required=tuple(schema.get("required") or ()),
        all_of=tuple(map(read, schema.get("allOf") or ())),
        any_of=tuple(map(read, schema.get("anyOf") or ())),
        one_of=tuple(map(read, schema.get("oneOf") or ())),
        negated=read(schema["not"]) if schema.get("not") is not None else None,
        list_keys=keys,
        key_defaults={
            key: item_properties[key]["default"] for key in keys if "default" in item_properties.get(key, {})
        },
    )


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return regex.compile_pattern(text) if text else None
    except regex.RegexError:
        return None


def check(value: Any, rule: Rule, prefix: str = "", old: ratchet.Old | None = None) -> list[FieldError]:
    """Complaints about ``value``. Messages speak of paths inside it; fields have ``prefix`` before them."""
    found: list[FieldError] = []
    for error in _ratcheted(value, rule, "", old).errors:
        where = "" if error.field == _PLAIN_ERROR else error.field.removeprefix(".")
        place = f"{prefix}.{where}" if prefix and where else prefix or where
        found.append(FieldError(error.type, paths.shown(place), error.detail, error.bad_value))
    return found


def _ratcheted(value: Any, rule: Rule, path: str, old: ratchet.Old | None) -> Result:
    result = _run(value, rule, path, old)
    if result.errors and ratchet.unchanged(value, old):
        return Result(matches=result.matches)
    return result


def _run(value: Any, rule: Rule, path: str, old: ratchet.Old | None) -> Result:
    result = Result()
    if value is None:
        _check_null(rule, path, result)
        return result
    if rule.types or rule.format:
        _check_type(value, rule, path, result)
        result.matches += 1
    if rule.any_of or rule.one_of or rule.all_of or rule.negated is not None:
        _check_combined(value, rule, path, old, result)
    result.matches += 2
    if isinstance(value, str):
        _check_text(value, rule, path, result)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, rule, path, result)
        result.matches += 2
    elif isinstance(value, list):
        _check_list(value, rule, path, old, result)
        result.matches += 2
    if rule.enum:
        _check_enum(value, rule, path, result)
    result.matches += 1
    if isinstance(value, dict):
        _check_object(value, rule, path, old, result)
        result.matches += 1
    result.matches += 1
    return result


def _check_null(rule: Rule, path: str, result: Result) -> None:
    if rule.types and not rule.nullable:
        names = ",".join(rule.types)
        result.add(status.type_invalid(path, "null", f'{path} in body must be of type {names}: "null"'))
    else:
        result.matches += 1
    if rule.enum:
        result.add(_not_in_enum(None, rule, path))


def type_of(value: Any) -> tuple[str, str]:
    """JSON's name of the type, and the format that goes with it."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    return ("array", "") if isinstance(value, list) else ("object", "")


def _check_type(value: Any, rule: Rule, path: str, result: Result) -> None:
    kind, own_format = type_of(value)
    whole = isinstance(value, float) and value.is_integer() and "integer" in rule.types
    fits = kind in rule.types or whole or (kind == "integer" and "number" in rule.types)
    texty = isinstance(value, str | list)
    if not texty and rule.format and not fits and own_format != rule.format:
        detail = f"{path} in body must be of type {rule.format}: {status.quote(own_format)}"
        result.add(status.type_invalid(path, own_format, detail))
        return
    if texty and rule.format and not {"number", "integer"} & set(rule.types):
        result.matches += 1
        return
    if not fits:
        detail = f"{path} in body must be of type {','.join(rule.types)}: {status.quote(kind)}"
        result.add(status.type_invalid(path, kind, detail))
        return
    result.matches += 1


def _check_text(value: str, rule: Rule, path: str, result: Result) -> None:
    limits = rule.limits
    if "maxLength" in limits and len(value) > limits["maxLength"]:
        result.add(status.too_long(path, int(limits["maxLength"])))
    elif "minLength" in limits and len(value) < limits["minLength"]:
        result.add(
            status.invalid_value(
                path, value, f"{path} in body should be at least {int(limits['minLength'])} chars long"
            )
        )
    elif rule.pattern is not None and rule.pattern.search(value) is None:
        result.add(status.invalid_value(path, value, f"{path} in body should match '{rule.pattern_text}'"))
    result.matches += 1
    if rule.format and formats.known(rule.format):
        if not formats.holds(rule.format, value):
            detail = f"{path} in body must be of type {rule.format}: {status.quote(value)}"
            result.add(status.type_invalid(path, value, detail))
        result.matches += 1


def number_text(value: float) -> str:
    """Go's ``%v``."""
    return print_double(value) if isinstance(value, float) else str(value)


def _range_complaint(value: float, rule: Rule, what: str, path: str) -> FieldError | None:
    if rule.types == ("integer",):
        least, most = (-(2**31), 2**31 - 1) if rule.format == "int32" else (-(2**63), 2**63 - 1)
        if math.isfinite(value) and value == int(value) and least <= value <= most:
            return None
        kind = "integer"
    elif rule.types == ("number",) and rule.format == "float":
        if abs(value) <= 3.4028234663852886e38:
            return None
        kind = "number"
    else:
        return None
    named = f"with format {rule.format}" if rule.format else "(default format)"
    return status.invalid_value(_PLAIN_ERROR, "", f"{what} value must be of type {kind} {named} in {path}")


def _check_number(value: float, rule: Rule, path: str, result: Result) -> None:
    if complaint := _range_complaint(value, rule, "Checked", path):
        result.add(complaint)
    limits = rule.limits
    if (factor := limits.get("multipleOf")) is not None:
        if complaint := _range_complaint(factor, rule, "MultipleOf", path):
            result.add(complaint)
        # Whole values are divided by the factor's whole part, which may be nothing at all.
        divisor = int(factor) if isinstance(value, int) else factor
        if divisor <= 0:
            detail = f"factor MultipleOf declared for {path} must be positive: {number_text(divisor)}"
            result.add(status.invalid_value(path, divisor, detail))
        elif _not_multiple(value, divisor):
            detail = f"{path} in body should be a multiple of {number_text(divisor)}"
            result.add(status.invalid_value(path, value, detail))
    for name, word, exclusive in (("minimum", "greater", "exclusiveMinimum"), ("maximum", "less", "exclusiveMaximum")):
        bound = limits.get(name)
        if bound is None:
            continue
        if complaint := _range_complaint(bound, rule, f"{name.capitalize()} boundary", path):
            result.add(complaint)
        strict = limits.get(exclusive) is True
        beyond = value < bound if name == "minimum" else value > bound
        if beyond or (strict and value == bound):
            than = "than" if strict else "than or equal to"
            result.add(
                status.invalid_value(path, value, f"{path} in body should be {word} {than} {_bound(bound, value)}")
            )


def _bound(bound: float, value: float) -> str:
    return str(int(bound)) if isinstance(value, int) else number_text(float(bound))


def _not_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return value % int(factor) != 0
    quotient = value / factor
    return abs(quotient - round(quotient)) > 1e-9


def _check_list(value: list[Any], rule: Rule, path: str, old: ratchet.Old | None, result: Result) -> None:
    if rule.items is not None:
        for at, item in enumerate(value):
            counterpart = ratchet.of_item(old, item, rule.list_keys, rule.key_defaults)
            result.merge(_ratcheted(item, rule.items, f"{path}[{at}]", counterpart))
    limits, size = rule.limits, len(value)
    if "minItems" in limits and size < limits["minItems"]:
        result.add(
            status.invalid_value(path, size, f"{path} in body should have at least {int(limits['minItems'])} items")
        )
    if "maxItems" in limits and size > limits["maxItems"]:
        result.add(status.too_many(path, size, int(limits["maxItems"])))
    if limits.get("uniqueItems") and len({orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in value}) < size:
        result.add(status.invalid_value(path, "", f"{path} in body shouldn't contain duplicates"))


def _check_enum(value: Any, rule: Rule, path: str, result: Result) -> None:
    for allowed in rule.enum:
        if isinstance(allowed, bool) == isinstance(value, bool) and allowed == value and allowed is not None:
            return
    result.add(_not_in_enum(value, rule, path))


def _not_in_enum(value: Any, rule: Rule, path: str) -> FieldError:
    names = [allowed if isinstance(allowed, str) else orjson.dumps(allowed).decode() for allowed in rule.enum]
    return FieldError("Unsupported value", path, "supported values: " + ", ".join(map(status.quote, names)), value)


def _check_object(value: dict[str, Any], rule: Rule, path: str, old: ratchet.Old | None, result: Result) -> None:
    limits, size = rule.limits, len(value)
    if "minProperties" in limits and size < limits["minProperties"]:
        result.add(
            status.invalid_value(
                path, size, f"{path} in body should have at least {int(limits['minProperties'])} properties"
            )
        )
    if "maxProperties" in limits and size > limits["maxProperties"]:
        result.add(status.too_many(path, size, int(limits["maxProperties"])))
    for name, inner in value.items():
        known = rule.properties.get(name)
        if known is None and rule.closed:
            result.add(status.invalid_value(path, name, f"{path}.{name} in body is a forbidden property"))
        elif known is None and rule.additional is not None:
            result.merge(_ratcheted(inner, rule.additional, f"{path}.{name}", ratchet.of_field(old, name)))
    for name, known in rule.properties.items():
        if name in value:
            counterpart = None if not path and name in ("kind", "apiVersion") else ratchet.of_field(old, name)
            result.merge(_ratcheted(value[name], known, paths.child(path, name), counterpart))
    for name in rule.required:
        if name not in value:
            result.add(status.required(f"{path}.{name}"))


def _check_combined(value: Any, rule: Rule, path: str, old: ratchet.Old | None, result: Result) -> None:
    if rule.any_of:
        _check_any(value, rule, path, old, result)
    if rule.one_of:
        _check_one(value, rule, path, old, result)
    if rule.all_of:
        held = 0
        for branch in rule.all_of:
            outcome = _run(value, branch, path, old)
            held += not outcome.errors
            result.merge(outcome)
        if held < len(rule.all_of):
            none = "" if held else ". None validated"
            result.add(_whole(f"{status.quote(path)} must validate all the schemas (allOf){none}"))
    if rule.negated is not None and not _run(value, rule.negated, path, old).errors:
        result.add(_whole(f"{status.quote(path)} must not validate the schema (not)"))


def _whole(detail: str) -> FieldError:
    return status.invalid_value(_PLAIN_ERROR, "", detail)


def _check_any(value: Any, rule: Rule, path: str, old: ratchet.Old | None, result: Result) -> None:
    best: Result | None = None
    for branch in rule.any_of:
        outcome = _run(value, branch, path, old)
        if not outcome.errors:
            result.merge(outcome)
            return
        if best is None or outcome.matches > best.matches:
            best = outcome
    result.add(_whole(f"{status.quote(path)} must validate at least one schema (anyOf)"))
    if best is not None:
        result.merge(best)


def _check_one(value: Any, rule: Rule, path: str, old: ratchet.Old | None, result: Result) -> None:
    best: Result | None = None
    fitting: list[Result] = []
    for branch in rule.one_of:
        outcome = _run(value, branch, path, old)
        if not outcome.errors:
            fitting.append(outcome)
        elif not fitting and (best is None or outcome.matches > best.matches):
            best = outcome
    if len(fitting) == 1:
        result.merge(fitting[0])
        return
    how = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
    result.add(_whole(f"{status.quote(path)} must validate one and only one schema (oneOf). {how}"))
    if not fitting and best is not None:
        result.merge(best)
