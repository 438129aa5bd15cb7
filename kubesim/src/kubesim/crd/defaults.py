"""Checks the defaults in a schema: they must hold against the schema they stand in, and have no fields that would be
pruned.

Only for schemas whose shape was found good (``structural``); where a default may stand at all is ``schemas``' question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim import status
from kubesim.crd import constraints, paths, rules, shape, structural, validate
from kubesim.status import FieldError

Schema = Mapping[str, Any]


def check(schema: Schema, path: str, *, root: bool = False, in_meta: bool = False) -> list[FieldError]:
    """Defaults must hold against their own schema, and have no fields that would be pruned."""
    errors: list[FieldError] = []
    is_resource = root or bool(schema.get("x-kubernetes-embedded-resource"))
    in_meta = in_meta and not is_resource
    if schema.get("default") is not None:
        errors += _one(schema, paths.child(path, "default"), in_meta=in_meta)
    if isinstance(schema.get("items"), Mapping):
        errors += check(schema["items"], paths.child(path, "items"), in_meta=in_meta)
    for name, inner in structural.fields(schema, "properties").items():
        inside = in_meta or (is_resource and name in shape.META)
        errors += check(inner, paths.key(paths.child(path, "properties"), name), in_meta=inside)
    return errors


def _one(schema: Schema, path: str, *, in_meta: bool) -> list[FieldError]:
    value = schema["default"]
    errors: list[FieldError] = []
    if not in_meta:
        is_resource = bool(schema.get("x-kubernetes-embedded-resource"))
        if shape.prune(value, shape.read(schema, root=is_resource)) != value:
            errors.append(status.invalid_value(path, value, "must not have unknown fields"))
    if found := validate.check(value, constraints.read(schema), path):
        return errors + found
    return errors + rules.run(rules.read(schema, root=False), value, value, path=path)
