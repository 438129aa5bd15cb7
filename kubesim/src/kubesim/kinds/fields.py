"""Short words for complaints about fields, and for reading bodies whose parts may be missing.

A validation is a list of `FieldError`s in the order in which Kubernetes tells them, so the modules beside this one are
written as concatenations of small lists. Stored bodies are JSON: a missing object, an absent list and a null mean the
same to a rule, which is what `obj`, `items` and `text` are for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubesim import status
from kubesim.status import FieldError

Body = dict[str, Any]
Errors = list[FieldError]

NEGATIVE = "must be greater than or equal to 0"


def obj(body: Mapping[str, Any] | None, *path: str) -> Body:
    """The object at the path; empty where there is none."""
    here: Any = body
    for key in path:
        here = here.get(key) if here else None
    return here or {}


def items(body: Mapping[str, Any] | None, *path: str) -> list[Any]:
    """The list at the path; empty where there is none."""
    found: Any = obj(body, *path[:-1]).get(path[-1])
    return found or []


def text(body: Mapping[str, Any] | None, key: str) -> str:
    """The text under the key; empty where there is none."""
    return (body or {}).get(key) or ""


def required(path: str, detail: str = "") -> Errors:
    return [FieldError("Required value", path, detail)]


def invalid(path: str, value: Any, *details: str) -> Errors:
    """One complaint for each detail; none without details, so that checks can be handed over as they are."""
    return [FieldError("Invalid value", path, detail, value) for detail in details]


def forbidden(path: str, detail: str) -> Errors:
    return [FieldError("Forbidden", path, detail)]


def duplicate(path: str, value: Any) -> Errors:
    return [FieldError("Duplicate value", path, "", value)]


def not_found(path: str, value: Any) -> Errors:
    return [FieldError("Not found", path, "", value)]


def too_long(path: str, limit: int) -> Errors:
    return [status.too_long(path, limit)]


def too_many(path: str, actual: int, limit: int) -> Errors:
    return [status.too_many(path, actual, limit)]


def unsupported(path: str, value: Any, *supported: str) -> Errors:
    """Names are told in the order given: Kubernetes sorts some of its lists and not others."""
    return [status.not_supported(path, value, supported)]


def one_of(path: str, value: Any, *supported: str) -> Errors:
    """Unless the value is one of these: required if empty, unsupported otherwise."""
    if value in supported:
        return []
    return unsupported(path, value, *supported) if value else required(path)


def unchanged(path: str, new: Any, old: Any) -> Errors:
    """The field may not change; nothing and null are the same."""
    if new == old or (not new and not old and new in (None, "", {}, []) and old in (None, "", {}, [])):
        return []
    return invalid(path, new, "field is immutable")


def non_negative(path: str, value: int | None) -> Errors:
    return invalid(path, value, NEGATIVE) if value is not None and value < 0 else []


def positive(path: str, value: int | None) -> Errors:
    return invalid(path, value, "must be greater than 0") if value is not None and value <= 0 else []


def ordered(value: Mapping[str, Any] | None, *keys: str) -> Body:
    """The value with its keys in this order, as Go prints the fields of a struct; others follow."""
    value = value or {}
    first = {key: value[key] for key in keys if key in value}
    return {**first, **{key: value[key] for key in value if key not in first}}


def sorted_map(value: Mapping[str, Any] | None) -> Body | None:
    """A map as Go prints it; ``None``, printed ``null``, where there is nothing."""
    return {key: value[key] for key in sorted(value)} if value else None


def with_path(body: Body, path: Sequence[str], value: Any) -> Body:
    """The body with one value set; shares everything else."""
    head, *rest = path
    inner = with_path(obj(body, head), rest, value) if rest else value
    return {**body, head: inner}


def without(body: Body, *keys: str) -> Body:
    """The body without these keys; the same object if it has none of them."""
    return {key: value for key, value in body.items() if key not in keys} if any(key in body for key in keys) else body


def carry(new: Body, old: Body, *keys: str) -> Body:
    """The new body with these keys as in the old one, present or not."""
    kept = {key: old[key] for key in keys if key in old}
    if all(new.get(key) is kept.get(key) and (key in new) == (key in kept) for key in keys):
        return new
    merged = without(new, *(key for key in keys if key not in kept))
    return {**merged, **kept}


def joined(errors: Iterable[Errors]) -> Errors:
    return [error for part in errors for error in part]
