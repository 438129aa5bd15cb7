"""Objects inside objects: a field marked x-kubernetes-embedded-resource holds a whole object with kind, apiVersion
and metadata.

Its metadata obeys the rules of all metadata, wherever it lies; fields that metadata does not have are dropped and
told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kubesim import schema as schemas
from kubesim import status
from kubesim.crd import paths
from kubesim.kinds import formats, metadata
from kubesim.status import FieldError

_ANY_OBJECT: Final = ("", "v1", "ConfigMap")


class Malformed(ValueError):
    """An embedded object that cannot be read at all. ``str()`` is the complaint with its field."""


def has_any(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    if schema.get("x-kubernetes-embedded-resource"):
        return True
    children = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return any(has_any(child) for child in children)


def coerce(value: Any, schema: Any, unknown: Callable[[str], None], path: str = "") -> Any:
    """Drops what no metadata knows from embedded objects, and writes their metadata as the server does. Raises
    ``Malformed``."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, dict):
        changed = value
        if schema.get("x-kubernetes-embedded-resource"):
            changed = _coerce_resource(value, unknown, path)
        changed = {
            name: coerce(inner, _of(schema, name), unknown, paths.child(path, name)) for name, inner in changed.items()
        }
        return changed if any(changed[name] is not inner for name, inner in value.items()) else value
    if isinstance(value, list):
        items = [coerce(item, schema.get("items"), unknown, paths.index(path, at)) for at, item in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _coerce_resource(value: dict[str, Any], unknown: Callable[[str], None], path: str) -> dict[str, Any]:
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            error = status.invalid_value(paths.child(path, name), value[name], "must be a string")
            raise Malformed(error.message())
    if value.get("metadata") is None:
        return value
    meta, place = value["metadata"], paths.child(path, "metadata")
    node = schemas.for_kind(*_ANY_OBJECT).child("metadata")
    assert node is not None
    if not isinstance(meta, dict):
        what = {str: "string", bool: "bool", list: "array"}.get(type(meta), "number")
        text = f"json: cannot unmarshal {what} into Go value of type v1.ObjectMeta"
        raise Malformed(status.invalid_value(place, meta, text).message())
    converted, findings = node.decode(meta)
    if findings.type_errors:
        raise Malformed(status.invalid_value(place, meta, findings.type_errors[0]).message())
    for text in findings.unknown:
        unknown(f"{place}.{text.removeprefix('unknown field ').strip(chr(34))}")
    return {**value, "metadata": converted} if converted != meta else value


def _of(schema: Mapping[str, Any], name: str) -> Any:
    return (schema.get("properties") or {}).get(name, schema.get("additionalProperties"))


def check(value: Any, schema: Any, path: str = "") -> list[FieldError]:
    """Complaints about the embedded objects in ``value``."""
    if not isinstance(schema, Mapping):
        return []
    errors: list[FieldError] = []
    if isinstance(value, dict):
        if schema.get("x-kubernetes-embedded-resource"):
            errors += _check_resource(value, path)
        properties = schema.get("properties") or {}
        for name, inner in value.items():
            place = paths.child(path, name) if name in properties else paths.key(path, name)
            errors += check(inner, _of(schema, name), place)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            errors += check(item, schema.get("items"), paths.index(path, at))
    return errors


def _check_resource(value: dict[str, Any], path: str) -> list[FieldError]:
    errors = [status.required(paths.child(path, name)) for name in ("apiVersion", "kind") if name not in value]
    if "apiVersion" in value:
        errors += _check_name(
            paths.child(path, "apiVersion"), value["apiVersion"], lambda text: _version_complaints(text)
        )
    if "kind" in value:
        errors += _check_name(paths.child(path, "kind"), value["kind"], _kind_complaints)
    meta = value.get("metadata")
    if isinstance(meta, dict):
        named = {**meta, "name": meta.get("name") or "fakename"}
        found = metadata.validate(
            {"metadata": named}, namespaced=bool(meta.get("namespace")), name_rule="path-segment", builtin=False
        )
        errors += [
            FieldError(error.type, paths.child(path, error.field), error.detail, error.bad_value) for error in found
        ]
    elif "metadata" in value and meta is not None:
        errors.append(
            status.invalid_value(paths.child(path, "metadata"), meta, f"expected object, got {type(meta).__name__}")
        )
    return errors


def _check_name(path: str, value: Any, complaints: Callable[[str], list[str]]) -> list[FieldError]:
    if not isinstance(value, str):
        return [status.invalid_value(path, value, "must be a string")]
    if not value:
        return [status.invalid_value(path, value, "must not be empty")]
    return [status.invalid_value(path, value, text) for text in complaints(value)]


def _version_complaints(text: str) -> list[str]:
    return [f"unexpected GroupVersion string: {text}"] if text.count("/") > 1 else []


def _kind_complaints(text: str) -> list[str]:
    found = formats.dns_1035_label(text.lower())
    return ["may have mixed case, but should otherwise match: " + ",".join(found)] if found else []
