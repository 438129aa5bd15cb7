"""Complaints about where a pod may run: affinity, tolerations, spread constraints, node selectors.

Kubernetes: validateAffinity, ValidateTolerations, validateTopologySpreadConstraints.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats, selectors
from kubesim.kinds.fields import Body, Errors

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def affinity(found: Body | None, path: str) -> Errors:
    """Complaints about `affinity`."""
    errors: Errors = []
    if node := fields.obj(found, "nodeAffinity"):
        here = f"{path}.nodeAffinity"
        if (required := node.get(_REQUIRED)) is not None:
            errors += node_selector(required, f"{here}.{_REQUIRED}")
        for at, term in enumerate(fields.items(node, _PREFERRED)):
            where = f"{here}.{_PREFERRED}[{at}]"
            errors += _weight(term, where)
            errors += _node_term(fields.obj(term, "preference"), f"{where}.preference", values=False)
    for key in ("podAffinity", "podAntiAffinity"):
        part = fields.obj(found, key)
        for at, term in enumerate(fields.items(part, _REQUIRED)):
            errors += _pod_term(term, f"{path}.{key}.{_REQUIRED}[{at}]")
        for at, term in enumerate(fields.items(part, _PREFERRED)):
            where = f"{path}.{key}.{_PREFERRED}[{at}]"
            errors += _weight(term, where)
            errors += _pod_term(fields.obj(term, "podAffinityTerm"), f"{where}.podAffinityTerm")
    return errors


def _weight(term: Body, path: str) -> Errors:
    weight = term.get("weight") or 0
    return [] if 0 < weight <= 100 else fields.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def node_selector(found: Body, path: str) -> Errors:
    """Complaints about a node selector (terms of which one must match)."""
    terms = fields.items(found, "nodeSelectorTerms")
    if not terms:
        return fields.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    return fields.joined(
        _node_term(term, f"{path}.nodeSelectorTerms[{at}]", values=True) for at, term in enumerate(terms)
    )


def _node_term(term: Body, path: str, *, values: bool) -> Errors:
    errors: Errors = []
    for at, rule in enumerate(fields.items(term, "matchExpressions")):
        errors += _node_rule(rule, f"{path}.matchExpressions[{at}]", check_values=values)
    for at, rule in enumerate(fields.items(term, "matchFields")):
        errors += _node_field(rule, f"{path}.matchFields[{at}]")
    return errors


def _node_rule(rule: Body, path: str, *, check_values: bool) -> Errors:
    operator, values, key = fields.text(rule, "operator"), fields.items(rule, "values"), fields.text(rule, "key")
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors += fields.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors += fields.forbidden(
                f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors += fields.required(
                f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
            )
    else:
        errors += fields.invalid(f"{path}.operator", operator, "not a valid selector operator")
    errors += fields.invalid(f"{path}.key", key, *formats.qualified_name(key))
    if check_values:
        for at, value in enumerate(values):
            errors += fields.invalid(f"{path}.values[{at}]", value, *formats.label_value(value))
    return errors


def _node_field(rule: Body, path: str) -> Errors:
    operator, values, key = fields.text(rule, "operator"), fields.items(rule, "values"), fields.text(rule, "key")
    errors: Errors = []
    if operator not in ("In", "NotIn"):
        errors += fields.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        errors += fields.required(
            f"{path}.values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        )
    if key != "metadata.name":
        return errors + fields.invalid(f"{path}.key", key, "not a valid field selector key")
    for at, value in enumerate(values):
        errors += fields.invalid(f"{path}.values[{at}]", value, *formats.dns_subdomain(value))
    return errors


def _pod_term(term: Body, path: str) -> Errors:
    errors = selectors.validate(term.get("labelSelector"), f"{path}.labelSelector")
    errors += selectors.validate(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in fields.items(term, "namespaces"):
        errors += fields.invalid(f"{path}.namespace", name, *formats.dns_label(name))
    for key in ("matchLabelKeys", "mismatchLabelKeys"):
        errors += _label_keys(term, path, key)
    topology = fields.text(term, "topologyKey")
    errors += [] if topology else fields.required(f"{path}.topologyKey", "can not be empty")
    return errors + fields.invalid(f"{path}.topologyKey", topology, *formats.qualified_name(topology))


def _label_keys(term: Body, path: str, key: str) -> Errors:
    names = fields.items(term, key)
    if not names:
        return []
    errors: Errors = []
    if term.get("labelSelector") is None:
        errors += fields.forbidden(f"{path}.{key}", "must not be specified when labelSelector is not set")
    for at, name in enumerate(names):
        errors += fields.invalid(f"{path}.{key}[{at}]", name, *formats.qualified_name(name))
    return errors


def tolerations(found: list[Body], path: str) -> Errors:
    """Complaints about `tolerations`."""
    errors: Errors = []
    for at, one in enumerate(found):
        here = f"{path}[{at}]"
        key, operator, value = (fields.text(one, name) for name in ("key", "operator", "value"))
        effect = fields.text(one, "effect")
        errors += fields.invalid(f"{here}.key", key, *formats.qualified_name(key)) if key else []
        if not key and operator != "Exists":
            errors += fields.invalid(
                f"{here}.operator",
                operator,
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        if one.get("tolerationSeconds") is not None and effect != "NoExecute":
            errors += fields.invalid(
                f"{here}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
            )
        if operator in ("", "Equal"):
            if complaints := formats.label_value(value):
                errors += fields.invalid(f"{here}.operator", value, ";".join(complaints))
        elif operator == "Exists":
            if value:
                errors += fields.invalid(f"{here}.operator", value, "value must be empty when `operator` is 'Exists'")
        elif operator in ("Lt", "Gt"):
            errors += fields.unsupported(f"{here}.operator", operator, "Equal", "Exists", "Lt", "Gt")
        else:
            errors += fields.unsupported(f"{here}.operator", operator, "Equal", "Exists")
        if effect and effect not in EFFECTS:
            errors += fields.unsupported(f"{here}.effect", effect, *EFFECTS)
    return errors


def spread(constraints: list[Body], path: str) -> Errors:
    """Complaints about `topologySpreadConstraints`."""
    errors: Errors = []
    for at, one in enumerate(constraints):
        here = f"{path}[{at}]"
        skew, action = one.get("maxSkew") or 0, fields.text(one, "whenUnsatisfiable")
        topology = fields.text(one, "topologyKey")
        errors += fields.invalid(f"{here}.maxSkew", skew, "must be greater than zero") if skew <= 0 else []
        errors += [] if topology else fields.required(f"{here}.topologyKey", "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            errors += fields.unsupported(f"{here}.whenUnsatisfiable", action, "DoNotSchedule", "ScheduleAnyway")
        later = {
            (fields.text(other, "topologyKey"), fields.text(other, "whenUnsatisfiable"))
            for other in constraints[at + 1 :]
        }
        if (topology, action) in later:
            errors += fields.duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{topology}, {action}}}")
        if (domains := one.get("minDomains")) is not None:
            errors += fields.invalid(f"{here}.minDomains", domains, "must be greater than zero") if domains <= 0 else []
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                errors += fields.invalid(f"{here}.minDomains", domains, text)
        for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if (policy := one.get(key)) is not None and policy not in ("Honor", "Ignore"):
                errors += fields.unsupported(f"{here}.{key}", policy, "Honor", "Ignore")
        errors += _label_keys(one, here, "matchLabelKeys")
        errors += selectors.validate(one.get("labelSelector"), f"{here}.labelSelector")
    return errors
