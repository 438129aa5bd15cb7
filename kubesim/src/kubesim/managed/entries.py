"""managedFields as stored, and as the tracking of owners wants them.

Stored: a list of entries, one for each manager, operation, version and subresource, in a fixed order. Inside: a table
from that identity to fields and time. Appliers have one identity for all versions (an apply in a new version goes on
where the old one stopped), updaters one for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kubesim import status
from kubesim.managed import fieldset
from kubesim.managed.fieldset import FieldSet

Body = dict[str, Any]

APPLY: Final = "Apply"
UPDATE: Final = "Update"

Identity = tuple[str, str, str, str]
"""Manager, operation, apiVersion (of updaters; empty for appliers), subresource."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one manager owns: fields, in the version it wrote them, and when it last changed something (RFC 3339; empty
    if that was never told)."""

    fields: FieldSet
    api_version: str
    time: str = ""


Managed = dict[Identity, Entry]


def identity(manager: str, operation: str, api_version: str, subresource: str) -> Identity:
    return manager, operation, "" if operation == APPLY else api_version, subresource


def read(stored: Iterable[Body] | None) -> Managed:
    """The table of a stored list, whose entries this package wrote."""
    managed: Managed = {}
    for entry in stored or ():
        operation, api_version = entry["operation"], entry["apiVersion"]
        who = identity(entry.get("manager", ""), operation, api_version, entry.get("subresource", ""))
        managed[who] = Entry(entry.get("fieldsV1") or {}, api_version, entry.get("time") or "")
    return managed


def decode(sent: Any) -> Managed:
    """The table of a list that a client sent. Raises ``ValueError`` if it is not understood as a whole."""
    managed: Managed = {}
    for entry in sent:
        operation, api_version = entry.get("operation"), entry.get("apiVersion")
        if operation not in (APPLY, UPDATE):
            raise ValueError("invalid operation")
        if not api_version:
            raise ValueError("apiVersion must not be empty")
        if entry.get("fieldsType") != "FieldsV1":
            raise ValueError("unsupported type of fields")
        who = identity(entry.get("manager", ""), operation, api_version, entry.get("subresource", ""))
        managed[who] = Entry(fieldset.canonical(entry.get("fieldsV1") or {}), api_version, entry.get("time") or "")
    return managed


def encode(managed: Managed) -> list[Body]:
    """The list to store: appliers first, then by time, manager, version and subresource; those without a time come
    before all others."""
    return encode_all(managed.items())


def encode_all(owners: Iterable[tuple[Identity, Entry]]) -> list[Body]:
    """``encode`` of owners of whom some may have the same identity."""
    encoded = [_entry(who, entry) for who, entry in owners]
    encoded.sort(key=_place)
    return encoded


def _entry(who: Identity, entry: Entry) -> Body:
    manager, operation, _, subresource = who
    out: Body = {"manager": manager} if manager else {}
    out |= {"operation": operation, "apiVersion": entry.api_version}
    if entry.time:
        out["time"] = entry.time
    out |= {"fieldsType": "FieldsV1", "fieldsV1": entry.fields}
    if subresource:
        out["subresource"] = subresource
    return out


def _place(entry: Body) -> tuple[str, str, str, str, str]:
    manager, subresource = entry.get("manager", ""), entry.get("subresource", "")
    return entry["operation"], entry.get("time", ""), manager, entry["apiVersion"], subresource


def described(who: Identity) -> str:
    """A manager as a conflict tells it: ``"ctl" with subresource "status" using apps/v1``."""
    manager, operation, api_version, subresource = who
    text = status.quote(manager)
    if subresource:
        text = f"{text} with subresource {status.quote(subresource)}"
    return f"{text} using {api_version}" if operation == UPDATE else text


def order(who: Identity) -> str:
    """Kubernetes sorts managers by the JSON of their identity."""
    manager, operation, api_version, subresource = who
    fields = {"manager": manager, "operation": operation, "apiVersion": api_version, "subresource": subresource}
    return orjson.dumps({key: value for key, value in fields.items() if value}).decode()


def stored_list(body: Body | None) -> list[Body] | None:
    """managedFields of a body; ``None`` if it has none."""
    metadata = (body or {}).get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return found if isinstance(found, list) else None


def bare(body: Body) -> Body:
    """``body`` without managedFields; itself if it has none."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return body
    return {**body, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def put(body: Body, managed: Managed) -> Body:
    """``body`` with these managers; without the field if there are none."""
    body = bare(body)
    if not managed:
        return body
    return {**body, "metadata": {**(body.get("metadata") or {}), "managedFields": encode(managed)}}


def invalid(stored: Iterable[Body]) -> list[status.FieldError]:
    """What object validation finds wrong in managedFields."""
    errors: list[status.FieldError] = []
    for index, entry in enumerate(stored):
        path = f"metadata.managedFields[{index}]"
        manager = entry.get("manager", "")
        if len(manager.encode()) > 128:
            errors.append(status.too_long(f"{path}.manager", 128))
        for position, char in enumerate(manager):
            if not char.isprintable():
                text = f"invalid character U+{ord(char):04X} (at position {position})"
                errors.append(status.invalid_value(f"{path}.manager", manager, text))
                break
        if len(entry.get("subresource", "")) > 256:
            errors.append(status.too_long(f"{path}.subresource", 256))
    return errors
