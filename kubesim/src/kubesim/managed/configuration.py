"""What an apply was sent: whether it may be applied here, and which fields it names.

A configuration is read as it was sent, before defaults and conversion: what its author did not write is not owned.
"""

from __future__ import annotations

import functools
from typing import Any

import orjson

from kubesim import status
from kubesim.managed import checking, typed
from kubesim.managed.fieldset import FieldSet
from kubesim.schema import Schema

Body = dict[str, Any]


def refuse(applied: Body, wanted_version: str, wanted_kind: str) -> None:
    """Refuses what is wrong before the fields are looked at: another kind than the address serves (an empty
    ``wanted_kind`` accepts any), managedFields. Raises ``ApiError`` 400."""
    api_version, kind = _text(applied.get("apiVersion")), _text(applied.get("kind"))
    if api_version != wanted_version or kind != (wanted_kind or kind):
        raise status.bad_request(f"invalid object type: {_group_version(api_version)}, Kind={kind}")
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")


def _text(value: Any) -> str:
    """What is no text counts as none."""
    return value if isinstance(value, str) else ""


def _group_version(api_version: str) -> str:
    return api_version if "/" in api_version else f"/{api_version}"


class _Configurations:
    """Fields of the configurations applied last, by their text: the same one is applied again and again, by resyncs
    and to every cluster of a fleet."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[tuple[Schema, bytes], FieldSet] = {}

    def fields(self, schema: Schema, applied: Body) -> FieldSet:
        """Raises ``ApiError`` if the configuration does not fit its type."""
        key = schema, orjson.dumps(applied)
        found = self._known.pop(key, None)
        if found is None:
            if complaints := checking.complaints(schema, applied):
                raise misfit("patch", applied, complaints)
            found = typed.fields_of(schema, applied)
            if len(self._known) >= self._limit:
                del self._known[next(iter(self._known))]
        self._known[key] = found
        return found


@functools.cache
def _configurations() -> _Configurations:
    return _Configurations(limit=512)


def fields(applied: Body, schema: Schema) -> FieldSet:
    """The fields that a configuration names. Raises ``ApiError`` 500, as Kubernetes does, if it does not fit its
    type."""
    return _configurations().fields(schema, applied)


def misfit(which: str, applied: Body, complaints: list[str]) -> status.ApiError:
    """500: the ``patch`` or the ``live`` object does not fit its type."""
    return status.untyped(f"failed to create typed {which} object ({described(applied)}): {checking.told(complaints)}")


def described(applied: Body) -> str:
    """A configuration as complaints call it: ``namespace/name; group/version, Kind=kind``, as it says itself."""
    metadata = applied.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    where = f"{_text(metadata.get('namespace'))}/{_text(metadata.get('name'))}"
    return f"{where}; {_group_version(applied['apiVersion'])}, Kind={applied['kind']}"
