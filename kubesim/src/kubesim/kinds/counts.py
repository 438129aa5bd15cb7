"""Numbers and percentages in specs, and the counts that a status reports."""

from __future__ import annotations

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors


def number_or_percent(value: int | str | None, path: str) -> Errors:
    """A number that is not negative, or a percentage."""
    if isinstance(value, str):
        return fields.invalid(path, value, *formats.percentage(value))
    return fields.non_negative(path, value or 0)


def at_most_all(value: int | str | None, path: str) -> Errors:
    """A percentage must not exceed 100."""
    if isinstance(value, str) and not formats.percentage(value) and int(value[:-1]) > 100:
        return fields.invalid(path, value, "must not be greater than 100%")
    return []


def shown(rolling: Body) -> Body:
    """A rolling update's two limits as Go prints them in complaints."""
    return {"MaxUnavailable": rolling.get("maxUnavailable") or 0, "MaxSurge": rolling.get("maxSurge") or 0}


def is_zero(value: int | str | None) -> bool:
    """Whether a number or percentage is none at all; malformed text counts as none."""
    if isinstance(value, str):
        digits = value.removesuffix("%")
        return not (digits.isdigit() and int(digits))
    return not value


def replicas(status: Body, *keys: str, ready: str = "readyReplicas", ready_name: str = "readyReplicas") -> Errors:
    """Complaints about the counts of a status: none is negative, none of `keys` above all replicas, none available that
    is not ready."""
    errors = fields.joined(
        fields.non_negative(f"status.{key}", status.get(key)) for key in ("observedGeneration", "replicas", *keys)
    )
    errors += fields.joined(
        fields.non_negative(f"status.{key}", status.get(key)) for key in ("terminatingReplicas", "collisionCount")
    )
    total = status.get("replicas") or 0
    for key in keys:
        if key != "unavailableReplicas" and (status.get(key) or 0) > total:
            errors += fields.invalid(f"status.{key}", status.get(key) or 0, "cannot be greater than status.replicas")
    available = status.get("availableReplicas") or 0
    if available > (status.get(ready) or 0):
        errors += fields.invalid("status.availableReplicas", available, f"cannot be greater than {ready_name}")
    return errors


def not_decremented(new: Body, old: Body) -> Errors:
    """The count of hash collisions only grows."""
    before, after = old.get("collisionCount"), new.get("collisionCount")
    if before is not None and (after is None or after < before):
        return fields.invalid("status.collisionCount", after or 0, "cannot be decremented")
    return []
