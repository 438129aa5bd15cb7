"""Holds one value against the type, the enum, and the limits of texts and numbers of its schema's node.

What is inside lists and objects, and branches (allOf, anyOf…), is walked by ``validate``.
"""

from __future__ import annotations

import math
from typing import Any

import orjson

from kubesim import status
from kubesim.crd import formats
from kubesim.crd.cel.values import print_double
from kubesim.crd.constraints import Rule
from kubesim.crd.outcome import Result, pathless
from kubesim.status import FieldError


def _type_of(value: Any) -> tuple[str, str]:
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


def check_type(value: Any, rule: Rule, path: str, result: Result) -> None:
    kind, own_format = _type_of(value)
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


def check_text(value: str, rule: Rule, path: str, result: Result) -> None:
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


def _number_text(value: float) -> str:
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
    return pathless(f"{what} value must be of type {kind} {named} in {path}")


def check_number(value: float, rule: Rule, path: str, result: Result) -> None:
    if complaint := _range_complaint(value, rule, "Checked", path):
        result.add(complaint)
    limits = rule.limits
    if (factor := limits.get("multipleOf")) is not None:
        if complaint := _range_complaint(factor, rule, "MultipleOf", path):
            result.add(complaint)
        # Whole values are divided by the factor's whole part, which may be nothing at all.
        divisor = int(factor) if isinstance(value, int) else factor
        if divisor <= 0:
            detail = f"factor MultipleOf declared for {path} must be positive: {_number_text(divisor)}"
            result.add(status.invalid_value(path, divisor, detail))
        elif _not_multiple(value, divisor):
            detail = f"{path} in body should be a multiple of {_number_text(divisor)}"
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
    return str(int(bound)) if isinstance(value, int) else _number_text(float(bound))


def _not_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int):
        return value % int(factor) != 0
    quotient = value / factor
    return abs(quotient - round(quotient)) > 1e-9


def check_enum(value: Any, rule: Rule, path: str, result: Result) -> None:
    for allowed in rule.enum:
        if isinstance(allowed, bool) == isinstance(value, bool) and allowed == value and allowed is not None:
            return
    result.add(not_in_enum(value, rule, path))


def not_in_enum(value: Any, rule: Rule, path: str) -> FieldError:
    names = [allowed if isinstance(allowed, str) else orjson.dumps(allowed).decode() for allowed in rule.enum]
    return FieldError("Unsupported value", path, "supported values: " + ", ".join(map(status.quote, names)), value)
