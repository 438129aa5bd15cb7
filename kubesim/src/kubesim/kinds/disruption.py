"""PodDisruptionBudgets: how many pods may be away by somebody's wish. Kubernetes: pkg/apis/policy/validation."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubesim.kind import Body, Kind, Subresource
from kubesim.kinds import conditions, counts, fields, preparation, selectors, table, workloads
from kubesim.kinds.fields import Errors

_EVICTION: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _validate(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    low, high, policy = (spec.get(key) for key in ("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"))
    errors: Errors = []
    if low is not None and high is not None:
        shown = {
            "MinAvailable": low,
            "Selector": workloads.shown_selector(spec.get("selector")),
            "MaxUnavailable": high,
            "UnhealthyPodEvictionPolicy": policy,
        }
        errors += fields.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for key, value in (("minAvailable", low), ("maxUnavailable", high)):
        if value is not None:
            errors += counts.number_or_percent(value, f"spec.{key}") + counts.at_most_all(value, f"spec.{key}")
    errors += selectors.validate(spec.get("selector"), "spec.selector")
    if policy is not None and policy not in _EVICTION:
        errors += fields.unsupported("spec.unhealthyPodEvictionPolicy", policy, *_EVICTION)
    return errors


def _validate_status(new: Body, old: Body) -> Errors:
    found = fields.obj(new, "status")
    errors = conditions.validate(fields.items(found, "conditions"), "status.conditions")
    return errors + fields.joined(fields.non_negative(f"status.{key}", found.get(key)) for key in _COUNTS)


def _row(body: Body, now: datetime) -> list[Any]:
    spec = fields.obj(body, "spec")
    limits = ["N/A" if spec.get(key) is None else str(spec[key]) for key in ("minAvailable", "maxUnavailable")]
    allowed = fields.obj(body, "status").get("disruptionsAllowed") or 0
    return [table.name(body), *limits, allowed, table.created(body, now)]


BUDGET: Final = Kind(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    short_names=("pdb",),
    subresources=(Subresource(name="status"),),
    allow_unconditional_update=False,
    validate=_validate,
    validate_status=_validate_status,
    columns=table.columns("Name", "Min Available", "Max Unavailable", "Allowed Disruptions:integer", "Age"),
    row=_row,
    **preparation.keeping(dict.fromkeys(_COUNTS, 0)),
)
