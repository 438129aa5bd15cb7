"""Holds a value against the validations of a schema: walks lists, objects and the branches of allOf/anyOf/oneOf/not.

Order, texts and oddities are those of OpenAPI's Go validator, because people and tools read them: "spec.name in body
should match '^[a-z]+$'". The schema was read once (``constraints``); single values are ``scalars``' business.
Complaints about values that an update did not touch are dropped (``ratchet``).
"""

from __future__ import annotations

from typing import Any

import orjson

from kubesim import status
from kubesim.crd import paths, ratchet, scalars
from kubesim.crd.constraints import Rule
from kubesim.crd.outcome import PATHLESS, Result, pathless
from kubesim.status import FieldError


def check(value: Any, rule: Rule, prefix: str = "", old: ratchet.Old | None = None) -> list[FieldError]:
    """Complaints about ``value``. Messages speak of paths inside it; fields have ``prefix`` before them."""
    found: list[FieldError] = []
    for error in _ratcheted(value, rule, "", old).errors:
        where = "" if error.field == PATHLESS else error.field.removeprefix(".")
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
        scalars.check_type(value, rule, path, result)
        result.matches += 1
    if rule.any_of or rule.one_of or rule.all_of or rule.negated is not None:
        _check_combined(value, rule, path, old, result)
    result.matches += 2
    if isinstance(value, str):
        scalars.check_text(value, rule, path, result)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        scalars.check_number(value, rule, path, result)
        result.matches += 2
    elif isinstance(value, list):
        _check_list(value, rule, path, old, result)
        result.matches += 2
    if rule.enum:
        scalars.check_enum(value, rule, path, result)
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
        result.add(scalars.not_in_enum(None, rule, path))


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
            result.add(pathless(f"{status.quote(path)} must validate all the schemas (allOf){none}"))
    if rule.negated is not None and not _run(value, rule.negated, path, old).errors:
        result.add(pathless(f"{status.quote(path)} must not validate the schema (not)"))


def _check_any(value: Any, rule: Rule, path: str, old: ratchet.Old | None, result: Result) -> None:
    best: Result | None = None
    for branch in rule.any_of:
        outcome = _run(value, branch, path, old)
        if not outcome.errors:
            result.merge(outcome)
            return
        if best is None or outcome.matches > best.matches:
            best = outcome
    result.add(pathless(f"{status.quote(path)} must validate at least one schema (anyOf)"))
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
    result.add(pathless(f"{status.quote(path)} must validate one and only one schema (oneOf). {how}"))
    if not fitting and best is not None:
        result.merge(best)
