"""Where a custom resource keeps its replicas and its selector, and complaints about what stands there.

The words are those of Go's accessors for unstructured objects. Reading and writing the Scale is the server's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim import go_words, status
from kubesim.crd import columns
from kubesim.kind import Scale
from kubesim.status import FieldError

Body = dict[str, Any]
_INT32: Final = 2**31 - 1


def read(value: Mapping[str, Any] | None) -> Scale | None:
    """Of a version's ``subresources.scale``."""
    if value is None:
        return None
    return Scale(
        replicas=_keys(value.get("specReplicasPath")),
        status_replicas=_keys(value.get("statusReplicasPath")),
        selector=_keys(value.get("labelSelectorPath")),
        selector_text=True,
    )


def _keys(path: str | None) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()


class StrangeValue(ValueError):
    """Something on the path is not what it must be. ``str()`` is the accessor's complaint."""


def value_at(value: Any, keys: tuple[str, ...], wanted: type, named: str) -> Any:
    """The value at the path, ``None`` if there is none. Raises ``StrangeValue``."""
    place = "." + ".".join(keys)
    for key in keys:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise StrangeValue(_accessor(place, value, "map[string]interface{}"))
        if key not in value:
            return None
        value = value[key]
    if value is not None and type(value) is not wanted:
        raise StrangeValue(_accessor(place, value, named))
    return value


def _accessor(place: str, value: Any, wanted: str) -> str:
    shown = columns.text(value) if not isinstance(value, list | dict) else go_words.printed(value)
    return f"{place} accessor error: {shown} is of the type {go_words.type_name(value)}, expected {wanted}"


def replica_errors(body: Body, keys: tuple[str, ...]) -> list[FieldError]:
    """Complaints about the number at the path; none where there is none."""
    place = "." + ".".join(keys)
    try:
        value = value_at(body, keys, int, "int64")
    except StrangeValue as problem:
        return [status.invalid_value(place, 0, str(problem))]
    if value is None:
        return []
    if value < 0:
        return [status.invalid_value(place, value, "should be a non-negative integer")]
    return [status.invalid_value(place, value, f"should be less than or equal to {_INT32}")] if value > _INT32 else []
