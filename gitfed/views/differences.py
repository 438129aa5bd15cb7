"""What differs: a field, or a declared object with its fields."""

from __future__ import annotations

from typing import Any, NotRequired

from gitfed.model.plan import FieldChange
from gitfed.planning.review import declared_changes
from gitfed.planning.review.declared_changes import Declaration
from gitfed.views.value import View


class FieldView(View):
    """One field that differs. A side without the field has no member, which is not the same as null."""

    path: str
    """JSON pointer."""
    before: NotRequired[Any]
    after: NotRequired[Any]


class DeclarationView(View):
    """A declared object that is new, gone or different."""

    kind: str
    namespace: str
    name: str
    change: str
    """new, gone or changed."""
    origin: str
    """`FILE:LINE:COLUMN`; of one that is gone where it stood."""
    fields: list[FieldView]
    """What is said differently, of one that changed."""
    concerns: list[str]
    """Objects that it places, changes or explains."""
    differing: list[str]
    """Those of them whose placement or manifest differs."""
    limits: bool
    """Limits of the fleet change."""


def field(part: FieldChange) -> FieldView:
    shown: FieldView = {"path": part.pointer}
    if not part.absent_before:
        shown["before"] = part.before
    if not part.absent_after:
        shown["after"] = part.after
    return shown


def declaration(declared: Declaration) -> DeclarationView:
    return {
        "kind": declared.key.kind,
        "namespace": declared.key.namespace,
        "name": declared.key.name,
        "change": declared.verb,
        "origin": str(declared.origin),
        "fields": [field(part) for part in declared.fields],
        "concerns": [str(key) for key in declared.concerns],
        "differing": [str(key) for key in declared.differing],
        "limits": bool(declared_changes.loosened(declared)),
    }
