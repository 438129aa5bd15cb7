"""Complaints about references to other objects by kind and name. Whether they exist is not asked."""

from __future__ import annotations

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors


def kind_and_name(ref: Body, path: str) -> Errors:
    """Both must be there, and be good for a URL's path."""
    errors: Errors = []
    for key in ("kind", "name"):
        value = fields.text(ref, key)
        if value:
            errors += fields.invalid(f"{path}.{key}", value, *formats.path_segment(value))
        else:
            errors += fields.required(f"{path}.{key}")
    return errors
