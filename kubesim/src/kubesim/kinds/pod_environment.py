"""Complaints about the environment of containers, and about references to a pod's own fields.

Kubernetes: ValidateEnv, ValidateEnvFrom, validateObjectFieldSelector, validateContainerResourceFieldSelector.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats, resources
from kubesim.kinds.fields import Body, Errors

VOLUME_FIELDS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_ENV_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_KNOWN_FIELDS: Final = frozenset(
    {*VOLUME_FIELDS, *_ENV_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
)
_RESOURCES: Final = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_SIZES: Final = ("1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def variables(found: list[Body], path: str) -> Errors:
    """Complaints about `env`."""
    errors: Errors = []
    for at, variable in enumerate(found):
        name = fields.text(variable, "name")
        here = f"{path}[{at}]"
        if name:
            errors += fields.invalid(f"{here}.name", name, *formats.environment_name(name))
        else:
            errors += fields.required(f"{here}.name")
        if (source := variable.get("valueFrom")) is not None:
            errors += _value_from(source, fields.text(variable, "value"), f"{here}.valueFrom")
    return errors


def _value_from(source: Body, value: str, path: str) -> Errors:
    errors: Errors = []
    if (ref := source.get("fieldRef")) is not None:
        errors += field_reference(ref, f"{path}.fieldRef", _ENV_FIELDS)
    if (ref := source.get("resourceFieldRef")) is not None:
        errors += resource_reference(ref, f"{path}.resourceFieldRef", volume=False)
    for key in ("configMapKeyRef", "secretKeyRef"):
        if (ref := source.get(key)) is not None:
            errors += _key_reference(ref, f"{path}.{key}")
    count = sum(source.get(key) is not None for key in _SOURCES)
    if not count:
        names = ", ".join(f"`{key}`" for key in _SOURCES[:-1]) + " or `fileKeyRef`"
        errors += fields.invalid(path, "", f"must specify one of: {names}")
    elif value:
        errors += fields.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        errors += fields.invalid(path, "", "may not have more than one field specified at a time")
    return errors


def _key_reference(ref: Body, path: str) -> Errors:
    name, key = fields.text(ref, "name"), fields.text(ref, "key")
    errors = fields.invalid(f"{path}.name", name, *formats.dns_subdomain(name))
    if not key:
        return errors + fields.required(f"{path}.key")
    return errors + fields.invalid(f"{path}.key", key, *formats.config_key(key))


def field_reference(ref: Body, path: str, allowed: tuple[str, ...]) -> Errors:
    """Complaints about a reference to one of the pod's fields."""
    for key in ("apiVersion", "fieldPath"):
        if not ref.get(key):
            return fields.required(f"{path}.{key}")
    where = fields.text(ref, "fieldPath")
    if ref["apiVersion"] != "v1":
        complaint = f"error converting fieldPath: unsupported pod version: {ref['apiVersion']}"
        return fields.invalid(f"{path}.fieldPath", where, complaint)
    name, bracket, rest = where.partition("['")
    if bracket and rest.endswith("']"):
        subscript = rest[:-2]
        if name == "metadata.annotations":
            return fields.invalid(path, subscript.lower(), *formats.qualified_name(subscript.lower()))
        if name == "metadata.labels":
            return fields.invalid(path, subscript, *formats.qualified_name(subscript))
        return fields.invalid(path, name, "does not support subscript")
    if where == "spec.host":
        where = "spec.nodeName"
    if where not in _KNOWN_FIELDS:
        complaint = f"error converting fieldPath: field label not supported: {where}"
        return fields.invalid(f"{path}.fieldPath", where, complaint)
    return [] if where in allowed else fields.unsupported(f"{path}.fieldPath", where, *allowed)


def resource_reference(ref: Body, path: str, *, volume: bool) -> Errors:
    """Complaints about a reference to an amount that a container requests or is limited to."""
    name = fields.text(ref, "resource")
    huge = name.startswith(("requests.hugepages-", "limits.hugepages-"))
    errors: Errors = []
    if volume and not ref.get("containerName"):
        errors += fields.required(f"{path}.containerName")
    elif not name:
        errors += fields.required(f"{path}.resource")
    elif name not in _RESOURCES and not huge:
        errors += fields.unsupported(f"{path}.resource", name, *_RESOURCES)
    divisor = ref.get("divisor") or "0"
    if not resources.value(divisor):
        return errors
    where = f"{path}.divisor"
    if name.endswith(".cpu") and divisor not in ("1m", "1"):
        errors += fields.invalid(where, name, "only divisor's values 1m and 1 are supported with the cpu resource")
    sized = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name.partition(".")[2])
    sized = "hugepages" if huge else sized
    if sized and divisor not in _SIZES:
        errors += fields.invalid(
            where, name, f"only divisor's values {', '.join(_SIZES)} are supported with the {sized} resource"
        )
    return errors


def sources(found: list[Body], path: str) -> Errors:
    """Complaints about `envFrom`."""
    errors: Errors = []
    for at, source in enumerate(found):
        if prefix := fields.text(source, "prefix"):
            errors += fields.invalid(f"{path}[{at}].prefix", prefix, *formats.environment_name(prefix))
        given = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in given:
            name = fields.text(source[key], "name")
            here = f"{path}[{at}].{key}.name"
            if name:
                errors += fields.invalid(here, name, *formats.generated_prefix(formats.dns_subdomain, name))
            else:
                errors += fields.required(here)
        if not given:
            errors += fields.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            errors += fields.invalid(path, "", "may not have more than one field specified at a time")
    return errors
