"""Label selectors as they stand in specs: what is wrong with one, what it matches, how people read it.

Selectors of requests (`?labelSelector=`) are text and belong to the server. Kubernetes: ValidateLabelSelector,
FormatLabelSelector.
"""

from __future__ import annotations

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors

_VALUES_REQUIRED = "must be specified when `operator` is 'In' or 'NotIn'"
_VALUES_FORBIDDEN = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


def validate(selector: Body | None, path: str) -> Errors:
    """Complaints about a selector; an absent one is fine."""
    if not selector:
        return []
    errors: Errors = []
    for key, value in sorted(fields.obj(selector, "matchLabels").items()):
        errors += fields.invalid(f"{path}.matchLabels", key, *formats.qualified_name(key))
        errors += fields.invalid(f"{path}.matchLabels", value, *formats.label_value(value or ""))
    for at, term in enumerate(fields.items(selector, "matchExpressions")):
        errors += _term(term, f"{path}.matchExpressions[{at}]")
    return errors


def _term(term: Body, path: str) -> Errors:
    operator, values, key = fields.text(term, "operator"), fields.items(term, "values"), fields.text(term, "key")
    errors: Errors = []
    if operator in ("In", "NotIn"):
        errors += [] if values else fields.required(f"{path}.values", _VALUES_REQUIRED)
    elif operator in ("Exists", "DoesNotExist"):
        errors += fields.forbidden(f"{path}.values", _VALUES_FORBIDDEN) if values else []
    else:
        errors += fields.invalid(f"{path}.operator", operator, "not a valid selector operator")
    errors += fields.invalid(f"{path}.key", key, *formats.qualified_name(key))
    for at, value in enumerate(values):
        errors += fields.invalid(f"{path}.values[{at}]", value, *formats.label_value(value))
    return errors


def is_sound(selector: Body | None) -> bool:
    """Whether it can be matched against anything at all."""
    return not validate(selector, "")


def is_empty(selector: Body | None) -> bool:
    """Whether the selector says nothing (and so, where it counts, matches everything)."""
    return not fields.obj(selector, "matchLabels") and not fields.items(selector, "matchExpressions")


def matches(selector: Body | None, labels: Body) -> bool:
    """Whether the labels are selected: nothing by an absent selector, everything by an empty one."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in fields.obj(selector, "matchLabels").items()):
        return False
    return all(_matches(term, labels) for term in fields.items(selector, "matchExpressions"))


def _matches(term: Body, labels: Body) -> bool:
    key, operator, values = fields.text(term, "key"), term.get("operator"), fields.items(term, "values")
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return labels.get(key) not in values
    return (key in labels) == (operator == "Exists")


def text(selector: Body | None) -> str:
    """The selector on one line, `<none>` for an empty one: `app=web,tier in (a,b),!old`."""
    parts = {key: f"{key}={value}" for key, value in fields.obj(selector, "matchLabels").items()}
    found = [(key, parts[key]) for key in parts]
    for term in fields.items(selector, "matchExpressions"):
        key, values = fields.text(term, "key"), ",".join(sorted(fields.items(term, "values")))
        shown = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        found.append((key, shown.get(term.get("operator") or "", key)))
    return ",".join(part for _, part in sorted(found, key=lambda pair: pair[0])) or "<none>"


def labels_text(labels: Body | None, empty: str = "<none>") -> str:
    """A plain map of labels on one line, sorted."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or empty
