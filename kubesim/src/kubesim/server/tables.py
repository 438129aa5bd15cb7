"""What an answer may look like instead of the object itself: its metadata alone, or a row of a table.

The forms and their rows; which one a client asked for is read in ``forms``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from kubesim import status
from kubesim.kind import Column, Kind
from kubesim.kinds import table as cells_of

Body = dict[str, Any]

META: Final = "meta.k8s.io"
_GENERATION: Final = "deprecated.daemonset.template.generation"
_PLAIN_COLUMNS: Final = (Column("Name", "string", "name"), Column("Created At", "date"))
_CUSTOM_COLUMNS: Final = (Column("Name", "string", "name"), Column("Age", "date"))


@dataclass(frozen=True, slots=True)
class Form:
    """``shape`` is "" for the object itself; ``version`` that of meta.k8s.io. ``include`` is a table's
    includeObject."""

    shape: str = ""
    version: str = "v1"
    yaml: bool = False
    include: str = "Metadata"
    pretty: bool = False

    @property
    def media_type(self) -> str:
        return "application/yaml" if self.yaml else "application/json"


PLAIN: Final = Form()


def partial(body: Body, version: str = "v1") -> Body:
    metadata = body["metadata"]
    if body.get("kind") == "DaemonSet" and _GENERATION in (metadata.get("annotations") or {}):
        # Written for old clients only, and only into the whole object.
        kept = {key: value for key, value in metadata["annotations"].items() if key != _GENERATION}
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        metadata |= {"annotations": kept} if kept else {}
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{META}/{version}", "metadata": metadata}


def check_include(include: str) -> None:
    if include not in ("", "Metadata", "Object", "None"):
        text = f"includeObject: Invalid value: {status.quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
        raise status.bad_request(f"Unable to convert to Table as requested: {text}")


def columns(kind: Kind) -> tuple[Column, ...]:
    return kind.columns or (_CUSTOM_COLUMNS if kind.custom else _PLAIN_COLUMNS)


def table(
    bodies: Sequence[Body], kind: Kind, form: Form, now: datetime, metadata: Body, *, headed: bool = True
) -> Body:
    """A Table. Without ``headed`` it leaves out its columns, as events of a watch after the first do."""
    check_include(form.include)
    definitions = [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns(kind)
    ]
    return {
        "kind": "Table",
        "apiVersion": f"{META}/{form.version}",
        "metadata": metadata,
        "columnDefinitions": definitions if headed else None,
        # Kinds without columns of their own write no rows as null.
        "rows": [_row(body, kind, form, now) for body in bodies] or (None if _is_plain(kind) else []),
    }


def _is_plain(kind: Kind) -> bool:
    return [column.name for column in columns(kind)] == [column.name for column in _PLAIN_COLUMNS]


def _completed(reason: str, message: str) -> Body:
    return {"type": "Completed", "status": "True", "reason": reason, "message": message}


_DONE: Final = {
    "Succeeded": _completed("Succeeded", "The pod has completed successfully."),
    "Failed": _completed("Failed", "The pod failed."),
}
"""Phases of Pods whose rows say that nothing more will come of them."""


def _row(body: Body, kind: Kind, form: Form, now: datetime) -> Body:
    if kind.row is not None:
        cells = kind.row(body, now)
    else:
        created = body["metadata"].get("creationTimestamp")
        cells = [body["metadata"].get("name", ""), cells_of.age(created, now) if kind.custom else created]
    shown: Body | None = None
    if form.include == "Object":
        shown = body
    elif form.include == "Metadata":
        shown = partial(body, form.version)
    row: Body = {"cells": cells, "object": shown}
    done = _DONE.get((body.get("status") or {}).get("phase", "")) if kind.storage_key == "pods" else None
    return row if done is None else {"cells": cells, "conditions": [done], "object": shown}
