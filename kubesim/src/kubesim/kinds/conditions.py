"""Complaints about conditions of a status, for the kinds whose conditions Kubernetes checks.

Kubernetes: ValidateConditions.
"""

from __future__ import annotations

import re
from typing import Final

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors

_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or"
    f" 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)


def validate(conditions: list[Body], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for at, one in enumerate(conditions):
        kind = fields.text(one, "type")
        errors += fields.duplicate(f"{path}[{at}].type", kind) if kind in seen else []
        seen.add(kind)
        errors += _condition(one, kind, f"{path}[{at}]")
    return errors


def _condition(one: Body, kind: str, path: str) -> Errors:
    value, reason = fields.text(one, "status"), fields.text(one, "reason")
    errors = fields.invalid(f"{path}.type", kind, *formats.qualified_name(kind))
    if value not in ("False", "True", "Unknown"):
        errors += fields.unsupported(f"{path}.status", value, "False", "True", "Unknown")
    if (seen := one.get("observedGeneration") or 0) < 0:
        errors += fields.invalid(f"{path}.observedGeneration", seen, "must be greater than or equal to zero")
    errors += [] if one.get("lastTransitionTime") else fields.required(f"{path}.lastTransitionTime")
    if not reason:
        errors += fields.required(f"{path}.reason")
    else:
        errors += [] if re.fullmatch(_REASON, reason) else fields.invalid(f"{path}.reason", reason, _REASON_RULE)
        errors += fields.too_long(f"{path}.reason", 1024) if len(reason) > 1024 else []
    return errors + (fields.too_long(f"{path}.message", 32768) if len(fields.text(one, "message")) > 32768 else [])
