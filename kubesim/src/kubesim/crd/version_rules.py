"""Checks what a version of a definition says besides its schema: deprecation, columns, subresources, selectable fields.

``definition`` decides for which versions, and under which path, these are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim import status
from kubesim.crd import paths, simple_path, structural
from kubesim.status import FieldError

Body = dict[str, Any]
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_MOST_SELECTABLE: Final = 8


def deprecation(version: Body, path: str) -> list[FieldError]:
    text = version.get("deprecationWarning")
    if text is None:
        return []
    details = []
    if not version.get("deprecated"):
        details = ["can only be set for deprecated versions"]
    else:
        if len(text.encode()) > 256:
            details.append("must be <= 256 characters long")
        if not text:
            details.append("must not be an empty string")
        for at, char in enumerate(text):
            if not char.isprintable():
                details.append(
                    f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
                )
                break
    return [status.invalid_value(path, text, detail) for detail in details]


def columns(given: list[Body] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for at, column in enumerate(given or ()):
        where = paths.index(path, at)
        if not column.get("name"):
            errors.append(status.required(paths.child(where, "name")))
        kind, detail = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            errors.append(status.required(paths.child(where, "type"), detail))
        elif kind not in _COLUMN_TYPES:
            errors.append(status.invalid_value(paths.child(where, "type"), kind, detail))
        form = column.get("format") or ""
        if form and form not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            errors.append(status.invalid_value(paths.child(where, "format"), form, detail))
        errors += _json_path(column.get("jsonPath") or "", paths.child(where, "JSONPath"))
    return errors


def _json_path(text: str, path: str, under: tuple[str, ...] = (), where: str = "") -> list[FieldError]:
    if not text:
        return [status.required(path)]
    if text[0] != ".":
        return [status.invalid_value(path, text, "must be a simple json path starting with .")]
    if under and not text.startswith(under):
        return [status.invalid_value(path, text, f"should be a json path under {where}")]
    return []


def subresources(value: Body | None, path: str) -> list[FieldError]:
    scale = (value or {}).get("scale")
    if scale is None:
        return []
    errors = _json_path(scale.get("specReplicasPath") or "", f"{path}.scale.specReplicasPath", (".spec.",), ".spec")
    errors += _json_path(
        scale.get("statusReplicasPath") or "", f"{path}.scale.statusReplicasPath", (".status.",), ".status"
    )
    if selector := scale.get("labelSelectorPath"):
        errors += _json_path(
            selector, f"{path}.scale.labelSelectorPath", (".spec.", ".status."), "either .spec or .status"
        )
    return errors


def selectable(given: list[Body], schema: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    if any(schema.get(name) for name in structural.UNSUPPORTED):
        return errors
    for at, one in enumerate(given):
        where, text = paths.child(paths.index(path, at), "jsonPath"), one.get("jsonPath") or ""
        if not text:
            errors.append(status.required(where))
            continue
        try:
            names, found = simple_path.find(schema, text, brackets=False)
        except simple_path.PathError as problem:
            errors.append(status.invalid_value(where, text, f"is an invalid path: {problem}"))
            continue
        if names and names[0] == "metadata":
            errors.append(status.invalid_value(where, text, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            errors.append(status.invalid_value(where, text, _SELECTABLE))
        key = ".".join(names)
        if key in seen:
            errors.append(status.duplicate(where, text))
        seen.add(key)
    if len(seen) > _MOST_SELECTABLE:
        errors.append(status.too_many(path, len(seen), _MOST_SELECTABLE))
    return errors
