"""Refusals: what the API server answers when it does not do what was asked, word for word.

Clients parse these answers (reason, causes, details) and people read them, so every text is made here once. An
``ApiError`` is raised anywhere below the server and becomes the body of an answer, or of a watch's ERROR event, at
its edge. ``FieldError`` is one complaint about one field; a validation returns a list of them, never raises, so that
all are told at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

Body = dict[str, Any]

OMIT: Final = object()
"""As ``bad_value``: the message names no value (Kubernetes: field.omitValueType)."""

REASONS: Final[Mapping[str, str]] = {
    "Not found": "FieldValueNotFound",
    "Required value": "FieldValueRequired",
    "Duplicate value": "FieldValueDuplicate",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Internal error": "InternalError",
    "Type invalid": "FieldValueTypeInvalid",
}
"""Type of a field error → reason of its cause. ``Type invalid`` is *written* "Invalid value": only the cause
differs."""

_VALUELESS: Final = frozenset({"Required value", "Forbidden", "Too long", "Internal error"})


def quote(text: str) -> str:
    """Go's %q: double quotes around, backslash escapes for what does not print."""
    parts = ['"']
    for char in text:
        if char in '"\\':
            parts.append("\\" + char)
        elif char in _ESCAPES:
            parts.append(_ESCAPES[char])
        elif char.isprintable():
            parts.append(char)
        else:
            code = ord(char)
            parts.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    parts.append('"')
    return "".join(parts)


_ESCAPES: Final = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def plain(value: Any) -> str:
    """A value as field errors print it: numbers and booleans bare, text quoted, everything else as Go's JSON.

    Keys stay as they come: Go prints structs in the order of their declaration, which only the caller knows.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if not value.is_integer() else str(int(value))
    text = orjson.dumps(value).decode()
    # Go's encoder escapes these three so that JSON can stand in HTML.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@dataclass(frozen=True, slots=True)
class FieldError:
    """One complaint about one field.

    ``type`` is a key of ``REASONS`` ("Invalid value"); ``field`` the path as people write it
    (``spec.containers[0].name``); ``bad_value`` any JSON value, or ``OMIT``.
    """

    type: str
    field: str
    detail: str = ""
    bad_value: Any = OMIT

    def text(self) -> str:
        """Without the field: ``Invalid value: "x": must not contain dots`` (Kubernetes: field.Error.ErrorBody)."""
        name = "Invalid value" if self.type == "Type invalid" else self.type
        shown = name
        if self.type not in _VALUELESS and self.bad_value is not OMIT:
            shown = f"{name}: {plain(self.bad_value)}"
        return f"{shown}: {self.detail}" if self.detail else shown

    def message(self) -> str:
        """With the field: ``metadata.name: Invalid value: …``."""
        return f"{self.field}: {self.text()}"

    def cause(self) -> Body:
        """The entry of ``details.causes``."""
        return {"reason": REASONS[self.type], "message": self.text(), "field": self.field}


def required(path: str, detail: str = "") -> FieldError:
    return FieldError("Required value", path, detail)


def invalid_value(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("Invalid value", path, detail, value)


def type_invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("Type invalid", path, detail, value)


def forbidden_field(path: str, detail: str) -> FieldError:
    return FieldError("Forbidden", path, detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError("Duplicate value", path, "", value)


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    """``supported`` is told in the order given: some validations sort their set first, others do not."""
    names = ", ".join(quote(name) for name in supported)
    return FieldError("Unsupported value", path, f"supported values: {names}" if names else "", value)


def too_long(path: str, limit: int) -> FieldError:
    """``limit`` in bytes."""
    return FieldError("Too long", path, f"may not be more than {limit} bytes")


def too_many(path: str, actual: int, limit: int) -> FieldError:
    return FieldError("Too many", path, f"must have at most {limit} items", actual)


def immutable(path: str, value: Any) -> FieldError:
    """The usual complaint about a field that changed but must not."""
    return FieldError("Invalid value", path, "field is immutable", value)


def aggregate(errors: Iterable[FieldError]) -> str:
    """Several complaints in one text: repeated ones once, brackets around more than one."""
    texts = list(dict.fromkeys(error.message() for error in errors))
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"


@dataclass(eq=False)
class ApiError(Exception):
    """A refusal: HTTP status, machine-readable reason, text for people, and details.

    ``reason`` is empty for Kubernetes' untyped errors (500). ``details`` holds any of name, group, kind (a *resource*
    in most answers), uid, causes, retryAfterSeconds; ``None`` leaves the key out of the body. ``metadata`` is that of
    the answer (an expired continue token is told a fresh one there).
    """

    code: int
    reason: str
    message: str
    details: Body | None = None
    metadata: Body = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    def body(self) -> Body:
        """The ``Status`` object, keys in the server's order."""
        body: Body = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def resource_name(group: str, resource: str) -> str:
    """``deployments.apps``; the core group has no suffix."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str) -> Body:
    """Only what is known: absent is not the same as empty in an answer."""
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def not_found(group: str, resource: str, name: str) -> ApiError:
    text = f"{resource_name(group, resource)} {quote(name)} not found"
    return ApiError(404, "NotFound", text, _details(group, resource, name))


def path_not_found() -> ApiError:
    """No such address."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(group: str, resource: str, name: str) -> ApiError:
    text = f"{resource_name(group, resource)} {quote(name)} already exists"
    return ApiError(409, "AlreadyExists", text, _details(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> ApiError:
    text = f"Operation cannot be fulfilled on {resource_name(group, resource)} {quote(name)}: {why}"
    return ApiError(409, "Conflict", text, _details(group, resource, name))


MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"
"""The usual ``why`` of ``conflict``: an optimistic lock failed."""


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422. ``kind`` is the Kind (``Deployment``), not the resource."""
    text = f"{resource_name(group, kind)} {quote(name)} is invalid"
    if errors:
        text = f"{text}: {aggregate(errors)}"
    details = _details(group, kind, name)
    if errors:
        details["causes"] = [error.cause() for error in errors]
    return ApiError(422, "Invalid", text, details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str, causes: Sequence[Body] = ()) -> ApiError:
    """403. Without a name the text speaks of the resource as a whole."""
    what = resource_name(group, resource)
    text = f"{what} {quote(name)} is forbidden: {why}" if name else f"{what} is forbidden: {why}"
    details = _details(group, resource, name)
    if causes:
        details["causes"] = list(causes)
    return ApiError(403, "Forbidden", text, details)


def gone(message: str, metadata: Body | None = None) -> ApiError:
    """410: the version asked for is no longer kept."""
    return ApiError(410, "Expired", message, None, metadata or {})


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiError(415, "UnsupportedMediaType", text)


def not_acceptable(accepted: Sequence[str]) -> ApiError:
    return ApiError(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def method_not_allowed() -> ApiError:
    """405 of an address that does not know the verb."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def internal(message: str) -> ApiError:
    """500 with a reason; the text gets Kubernetes' usual beginning."""
    causes = [{"message": message}]
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": causes})


def untyped(message: str) -> ApiError:
    """500 without a reason: what Kubernetes makes of an error it did not expect."""
    return ApiError(500, "", message)


def too_large(limit: int) -> ApiError:
    """``limit`` in bytes."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def timeout(message: str, retry_after_seconds: int, causes: Sequence[Body] = ()) -> ApiError:
    details: Body = {"retryAfterSeconds": retry_after_seconds}
    if causes:
        details = {"causes": list(causes), "retryAfterSeconds": retry_after_seconds}
    return ApiError(504, "Timeout", f"Timeout: {message}", details)


def too_many_requests(message: str, retry_after_seconds: int, causes: Sequence[Body] = ()) -> ApiError:
    """429; a delay of zero is not told."""
    details: Body = {}
    if causes:
        details["causes"] = list(causes)
    if retry_after_seconds:
        details["retryAfterSeconds"] = retry_after_seconds
    return ApiError(429, "TooManyRequests", message, details)
