"""ResourceQuotas: what they may say, what an object uses, and whether a creation fits.

`charge` is what admission calls before it stores a creation: it answers the quotas with what they then count, or
raises. Only what a quota's *status* lists is limited: it is the side that the quota controller vouches for.

Kubernetes: ValidateResourceQuota, the ResourceQuota admission plugin, pkg/quota/v1/evaluator/core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kubesim import quantity, status
from kubesim.kind import Body, Kind, Subresource
from kubesim.kinds import fields, pod_defaults, preparation, qos, resource_rules, resources, table
from kubesim.kinds.fields import Errors

_POD_SCOPES: Final = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)
_SCOPES: Final = (*_POD_SCOPES, "VolumeAttributesClass")
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_STANDARD: Final = frozenset(
    {
        *_COMPUTE,
        *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE),
        "requests.storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "persistentvolumeclaims",
        "configmaps",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_EXISTING: Final = frozenset(
    {"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity"}
)
"""Scopes that a selector can only ask for, not compare with values."""
_CONFLICTS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
# Kinds of the core group that old quotas count by their bare name.
_COUNTED: Final = (
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)


def _default(body: Body) -> Body:
    def side(found: Body) -> Body:
        for key in ("hard", "used"):
            amounts = found.get(key)
            if amounts and (rounded := resources.rounded(amounts)) is not amounts:
                found = {**found, key: rounded}
        return found

    return pod_defaults.within(pod_defaults.within(body, "spec", side), "status", side)


def _amounts(found: Body, path: str) -> Errors:
    errors: Errors = []
    for name, value in sorted(found.items()):
        here = f"{path}[{name}]"
        errors += _name(name, here) + resource_rules.amount(name, value, here)
    return errors


def _name(name: str, path: str) -> Errors:
    errors = resource_rules.resource_name(name, path)
    huge = name.startswith(("hugepages-", "requests.hugepages-"))
    if "/" not in name and name not in _STANDARD and not huge:
        errors += fields.invalid(path, name, "must be a standard resource for quota")
    return errors


def _validate(body: Body) -> Errors:
    spec = fields.obj(body, "spec")
    return _amounts(fields.obj(spec, "hard"), "spec.hard") + _scopes(spec) + _selector(spec)


def _applies(scope: str, name: str) -> bool:
    """Whether a scope means anything for a resource; one that does not exist is complained of elsewhere."""
    if scope not in _SCOPES:
        return True
    if scope in ("BestEffort",):
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    computed = ("cpu", "memory")
    return name in {"pods", *computed, *(f"{side}.{one}" for side in ("requests", "limits") for one in computed)}


def _scopes(spec: Body) -> Errors:
    given, hard = fields.items(spec, "scopes"), sorted(fields.obj(spec, "hard"))
    errors: Errors = []
    for scope in given:
        if scope not in _SCOPES:
            errors += fields.invalid("spec.scopes", given, "unsupported scope")
        for name in hard:
            if name in _STANDARD and not _applies(scope, name):
                errors += fields.invalid("spec.scopes", given, "unsupported scope applied to resource")
    for pair in _CONFLICTS:
        errors += fields.invalid("spec.scopes", given, "conflicting scopes") if pair <= set(given) else []
    return errors


def _selector(spec: Body) -> Errors:
    found = fields.obj(spec, "scopeSelector")
    path = "spec.scopeSelector.matchExpressions"
    errors: Errors = []
    for term in fields.items(found, "matchExpressions"):
        scope, operator, values = (
            fields.text(term, "scopeName"),
            fields.text(term, "operator"),
            fields.items(term, "values"),
        )
        if scope not in _SCOPES:
            errors += fields.invalid(f"{path}.scopeName", scope, "unsupported scope")
        for name in sorted(fields.obj(spec, "hard")):
            if name in _STANDARD and not _applies(scope, name):
                errors += fields.invalid(path, _shown(found), "unsupported scope applied to resource")
        if scope in _EXISTING and operator != "Exists":
            text = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating,"
                " ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or"
                " ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            errors += fields.invalid(f"{path}.operator", operator, text)
        if operator in ("In", "NotIn"):
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors += [] if values else fields.required(f"{path}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors += fields.invalid(f"{path}.values", values, text) if values else []
        else:
            errors += fields.invalid(f"{path}.operator", operator, "not a valid selector operator")
    return errors


def _shown(selector: Body) -> Body:
    """A selector of scopes as Go prints it in complaints."""
    terms = [
        {key[0].upper() + key[1:]: term.get(key) for key in ("scopeName", "operator", "values")}
        for term in fields.items(selector, "matchExpressions")
    ]
    return {"MatchExpressions": terms}


def _validate_update(new: Body, old: Body) -> Errors:
    after, before = fields.items(new, "spec", "scopes"), fields.items(old, "spec", "scopes")
    return [] if set(after) == set(before) else fields.invalid("spec.scopes", after or None, "field is immutable")


def _validate_status(new: Body, old: Body) -> Errors:
    found = fields.obj(new, "status")
    return _amounts(fields.obj(found, "hard"), "status.hard") + _amounts(fields.obj(found, "used"), "status.used")


def _row(body: Body, now: Any) -> list[Any]:
    found = fields.obj(body, "status")
    used = fields.obj(found, "used")
    cells: dict[bool, list[str]] = {True: [], False: []}
    for name, hard in sorted(fields.obj(found, "hard").items()):
        cells[name.startswith("limits.")].append(f"{name}: {used.get(name, '0')}/{hard}")
    return [table.name(body), ", ".join(cells[False]), ", ".join(cells[True]), table.created(body, now)]


QUOTA: Final = Kind(
    group="",
    version="v1",
    kind="ResourceQuota",
    plural="resourcequotas",
    short_names=("quota",),
    subresources=(Subresource(name="status"),),
    default=_default,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    delete_returns_object=True,
    columns=table.columns("Name", "Request", "Limit", "Age"),
    row=_row,
    **preparation.keeping({}, generation=False),
)


def usage(resource: str, body: Body) -> Body:
    """What one object of a resource (`pods`, `deployments.apps`) uses, by names of quotas."""
    used: Body = {f"count/{resource}": "1"}
    if resource in _COUNTED:
        used[resource] = "1"
    spec = fields.obj(body, "spec")
    if resource == "pods" and fields.obj(body, "status").get("phase") not in ("Failed", "Succeeded"):
        used |= _compute(resources.of_pod_in_all(spec, "requests"), resources.of_pod_in_all(spec, "limits"))
    elif resource == "services":
        used |= _service(spec)
    elif resource == "persistentvolumeclaims":
        used |= _claim(spec)
    return used


def _compute(requests: Body, limits: Body) -> Body:
    used: Body = {"pods": "1"}
    for name, amount in requests.items():
        used[f"requests.{name}"] = amount
        if name in _COMPUTE or name.startswith("hugepages-"):
            used[name] = amount
    return used | {f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTE}


def _service(spec: Body) -> Body:
    kind, ports = spec.get("type"), fields.items(spec, "ports")
    nodes = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        nodes = sum(bool(port.get("nodePort")) for port in ports)
    return {"services.nodeports": str(nodes), "services.loadbalancers": "1" if kind == "LoadBalancer" else "0"}


def _claim(spec: Body) -> Body:
    name = fields.text(spec, "storageClassName")
    size = fields.obj(spec, "resources", "requests").get("storage")
    used: Body = {} if size is None else {"requests.storage": size}
    if name:
        used[f"{name}.storageclass.storage.k8s.io/persistentvolumeclaims"] = "1"
        if size is not None:
            used[f"{name}.storageclass.storage.k8s.io/requests.storage"] = size
    return used


def _in_scope(quota: Body, resource: str, body: Body) -> bool:
    spec = fields.obj(quota, "spec")
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in fields.items(spec, "scopes")]
    terms += fields.items(spec, "scopeSelector", "matchExpressions")
    if not terms:
        return True
    return resource == "pods" and all(_matches(term, fields.obj(body, "spec")) for term in terms)


def _matches(term: Body, spec: Body) -> bool:
    checks: dict[str, Callable[[], bool]] = {
        "Terminating": lambda: spec.get("activeDeadlineSeconds") is not None,
        "NotTerminating": lambda: spec.get("activeDeadlineSeconds") is None,
        "BestEffort": lambda: qos.of(spec) == "BestEffort",
        "NotBestEffort": lambda: qos.of(spec) != "BestEffort",
    }
    scope = fields.text(term, "scopeName")
    if scope in checks:
        return checks[scope]()
    if scope != "PriorityClass":
        return False
    name, values = fields.text(spec, "priorityClassName"), fields.items(term, "values")
    operator = term.get("operator")
    if operator == "In":
        return name in values
    if operator == "NotIn":
        return name not in values
    return bool(name) == (operator == "Exists")


def _missing(hard: Iterable[str], body: Body) -> str:
    """Limited resources that containers do not ask for: `cpu for: web; memory for: web`."""
    spec = fields.obj(body, "spec")
    if fields.obj(spec, "resources"):
        return ""
    lacking: dict[str, set[str]] = {}
    wanted = {name for name in hard if name in _STANDARD and name.rpartition(".")[2] in _COMPUTE}
    for container in (*fields.items(spec, "containers"), *fields.items(spec, "initContainers")):
        found = fields.obj(container, "resources")
        has = _compute(fields.obj(found, "requests"), fields.obj(found, "limits"))
        for name in wanted - has.keys():
            lacking.setdefault(name, set()).add(fields.text(container, "name"))
    return "; ".join(f"{name} for: {','.join(sorted(names))}" for name, names in sorted(lacking.items()))


def charge(quotas: Iterable[Body], group: str, plural: str, body: Body, old: Body | None = None) -> list[Body]:
    """The quotas whose count changes, with `status.used` raised by this object.

    For an update `old` is what it replaces; only growth is refused. Raises `ApiError` 403 with what was asked, used and
    limited.
    """
    resource = status.resource_name(group, plural)
    used = usage(resource, body)
    before = usage(resource, old) if old is not None else {}
    name = table.name(body)
    changed = []
    for quota in sorted(quotas, key=table.name):
        found = fields.obj(quota, "status")
        hard, counted = fields.obj(found, "hard"), fields.obj(found, "used")
        if not _in_scope(quota, resource, body):
            continue
        if plural == "pods" and not group and old is None and (lacking := _missing(hard, body)):
            text = f"failed quota: {table.name(quota)}: must specify {lacking}"
            raise status.forbidden(group, plural, name, text)
        delta = {key: _minus(used[key], before.get(key, "0")) for key in sorted(used) if key in hard}
        delta = {key: amount for key, amount in delta.items() if resources.value(amount)}
        if not delta:
            continue
        after = {key: str(quantity.parse(counted.get(key, "0")) + quantity.parse(delta[key])) for key in delta}
        beyond = [key for key in delta if _grows_past(delta[key], after[key], hard[key])]
        if beyond:
            asked, taken, limited = (
                ",".join(f"{key}={source.get(key, '0')}" for key in beyond) for source in (delta, counted, hard)
            )
            text = f"exceeded quota: {table.name(quota)}, requested: {asked}, used: {taken}, limited: {limited}"
            raise status.forbidden(group, plural, name, text)
        changed.append({**quota, "status": {**found, "used": {**counted, **after}}})
    return changed


def _minus(left: str, right: str) -> str:
    difference = quantity.parse(left) - quantity.parse(right)
    return str(difference)


def _grows_past(delta: str, after: str, hard: str) -> bool:
    return resources.value(delta) > 0 and resources.value(after) > resources.value(hard)
