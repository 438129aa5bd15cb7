"""Complaints about names and amounts of resources: of containers, and as far as they are shared, of quotas and ranges.

Kubernetes: ValidateContainerResourceRequirements, validateResourceName, ValidateResourceQuantityValue.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats, resources
from kubesim.kinds.fields import Body, Errors
from kubesim.status import FieldError

_STANDARD: Final = frozenset(
    {"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage"}
    | {"limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services"}
    | {"replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage"}
    | {"services.nodeports", "services.loadbalancers"}
)
_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def overcommits(name: str) -> bool:
    """Whether a limit may be above the request: Kubernetes' own resources except huge pages."""
    native = "/" not in name or "kubernetes.io/" in name
    return native and not is_huge_page(name)


def resource_name(name: str, path: str) -> Errors:
    """Complaints about the name of any resource."""
    errors = fields.invalid(path, name, *formats.qualified_name(name))
    if (
        not errors
        and "/" not in name
        and name not in _STANDARD
        and not name.startswith(("hugepages-", "requests.hugepages-"))
    ):
        errors = fields.invalid(path, name, "must be a standard resource type or fully qualified")
    return errors


def container_resource(name: str, path: str) -> Errors:
    """Complaints about the name of a resource of a container."""
    errors = resource_name(name, path)
    if "/" not in name:
        if name not in _CONTAINER and not is_huge_page(name):
            errors += fields.invalid(path, name, "must be a standard resource for containers")
    elif "kubernetes.io/" not in name and name.startswith("requests."):
        errors += fields.invalid(path, name, "doesn't follow extended resource name standard")
    return errors


def _pages(name: str, value: str, path: str) -> Errors:
    """Huge pages come whole."""
    if not is_huge_page(name):
        return []
    try:
        size = resources.value(name.removeprefix("hugepages-"))
    except ValueError:
        return []
    if size > 0 and resources.value(value) > 0 and not resources.value(value) % size:
        return []
    return fields.invalid(path, value, f"{value} is not positive integer multiple of {name}")


def amount(name: str, value: str, path: str) -> Errors:
    """Complaints about an amount: never negative, and whole for what cannot be divided."""
    number = resources.value(value)
    errors = fields.invalid(path, value, fields.NEGATIVE) if number < 0 else []
    whole = name in _COUNTED or ("/" in name and "kubernetes.io/" not in name and not name.startswith("requests."))
    if whole and number.denominator != 1:
        errors += fields.invalid(path, value, "must be an integer")
    return errors


_COUNTED: Final = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"}
    | {"services.nodeports", "services.loadbalancers"}
)


def requirements(found: Body, path: str, *, claims: frozenset[str] = frozenset()) -> Errors:
    """Complaints about `resources` of a container. Kubernetes: ValidateContainerResourceRequirements."""
    errors: Errors = []
    limits, requests = fields.obj(found, "limits"), fields.obj(found, "requests")
    for name, value in sorted(limits.items()):
        errors += container_resource(name, f"{path}.limits[{name}]")
        errors += amount(name, value, f"{path}.limits[{name}]") + _pages(name, value, f"{path}.limits[{name}]")
    for name, value in sorted(requests.items()):
        errors += container_resource(name, f"{path}.requests[{name}]")
        errors += amount(name, value, f"{path}.requests[{name}]")
        limit = limits.get(name)
        if limit is None:
            if not overcommits(name):
                errors += fields.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif resources.value(value) != resources.value(limit) and not overcommits(name):
            errors += fields.invalid(f"{path}.requests", value, f"must be equal to {name} limit of {limit}")
        elif resources.value(value) > resources.value(limit):
            errors += fields.invalid(
                f"{path}.requests", value, f"must be less than or equal to {name} limit of {limit}"
            )
        errors += _pages(name, value, f"{path}.requests[{name}]")
    names = {*limits, *requests}
    if any(map(is_huge_page, names)) and not names & {"cpu", "memory"}:
        errors += fields.forbidden(path, "HugePages require cpu or memory")
    seen: set[str] = set()
    for at, claim in enumerate(fields.items(found, "claims")):
        name = fields.text(claim, "name")
        here = f"{path}.claims[{at}]"
        if not name:
            errors += fields.required(here)
            continue
        if name in seen:
            errors += fields.duplicate(here, name)
        seen.add(name)
        if name not in claims:
            known = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            errors.append(FieldError("Not found", here, detail, name))
    return errors
