"""What kinds that run pods from a template have in common: rules of selector and template, and wide cells of tables."""

from __future__ import annotations

from typing import Any, Final

from kubesim.kind import Body, Subresource
from kubesim.kinds import fields, pod_spec, selectors, table
from kubesim.kinds.fields import Errors

STATUS: Final = Subresource(name="status")
SCALE: Final = Subresource(name="scale", kind="Scale", group="autoscaling", version="v1")

UNMATCHED: Final = "`selector` does not match template `labels`"


def template_mismatch(spec: Body, path: str) -> Errors:
    """The template's labels must be selected, unless the selector is empty (which is told elsewhere)."""
    labels = fields.obj(spec, "template", "metadata").get("labels")
    found = spec.get("selector")
    if (found is not None and selectors.is_empty(found)) or selectors.matches(found, labels or {}):
        return []
    return fields.invalid(f"{path}.template.metadata.labels", fields.sorted_map(labels), UNMATCHED)


def always_restarts(spec: Body, path: str, kind: str) -> Errors:
    """Pods of these kinds run until they are deleted."""
    pod = fields.obj(spec, "template", "spec")
    policy = fields.text(pod, "restartPolicy")
    where = f"{path}.template.spec"
    errors = [] if policy == "Always" else fields.unsupported(f"{where}.restartPolicy", policy, "Always")
    if pod.get("activeDeadlineSeconds") is not None:
        errors += fields.forbidden(
            f"{where}.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported"
        )
    return errors


def shown_selector(found: Body | None) -> Body | None:
    """A selector as the server prints it."""
    if found is None:
        return None
    shown: Body = {}
    if labels := fields.sorted_map(found.get("matchLabels")):
        shown["matchLabels"] = labels
    if terms := fields.items(found, "matchExpressions"):
        shown["matchExpressions"] = [fields.ordered(term, "key", "operator", "values") for term in terms]
    return shown


def fixed_selector(new: Body, old: Body) -> Errors:
    """The selector may not change."""
    after, before = fields.obj(new, "spec").get("selector"), fields.obj(old, "spec").get("selector")
    return [] if after == before else fields.invalid("spec.selector", shown_selector(after), "field is immutable")


def selector(spec: Body, kind: str) -> Errors:
    """Complaints about the selector, which must be there and say something."""
    found = spec.get("selector")
    if found is None:
        return fields.required("spec.selector")
    errors = selectors.validate(found, "spec.selector")
    if selectors.is_empty(found):
        errors += fields.invalid("spec.selector", {}, f"empty selector is invalid for {kind}")
    return errors


def template(spec: Body, unsound: str = "invalid label selector") -> Errors:
    """Complaints about the template: that it is not selected, and its own. ``unsound`` is told of a selector that
    cannot select."""
    if not selectors.is_sound(spec.get("selector")):
        return fields.invalid("spec.selector", shown_selector(spec["selector"]), unsound)
    errors = template_mismatch(spec, "spec")
    return errors + pod_spec.validate_template(fields.obj(spec, "template"), "spec.template")


def row_tail(body: Body) -> list[Any]:
    """The wide cells: containers, images, selector."""
    spec = fields.obj(body, "spec")
    return [*table.containers(fields.obj(spec, "template", "spec")), selectors.text(spec.get("selector"))]


def number(body: Body, *path: str) -> int:
    """The number at the path; 0 where there is none."""
    found = fields.obj(body, *path[:-1]).get(path[-1])
    return found if isinstance(found, int) else 0
