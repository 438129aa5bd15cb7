"""Complaints about what a volume claim asks for, wherever the claim stands: by itself
(`volume_claims`), in a pod or in a StatefulSet.

Kubernetes: ValidatePersistentVolumeClaimSpec.
"""

from __future__ import annotations

from typing import Final

from kubesim.kinds import fields, formats, resources, selectors
from kubesim.kinds.fields import Body, Errors

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def validate_spec(spec: Body, path: str) -> Errors:
    """Complaints about the spec of a volume claim. Kubernetes: ValidatePersistentVolumeClaimSpec."""
    errors: Errors = []
    modes = fields.items(spec, "accessModes")
    if not modes:
        errors += fields.required(f"{path}.accessModes", "at least 1 access mode is required")
    errors += selectors.validate(spec.get("selector"), f"{path}.selector")
    for one in modes:
        if one not in _ACCESS_MODES:
            errors += fields.unsupported(f"{path}.accessModes", one, *_ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        errors += fields.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    storage = fields.obj(spec, "resources", "requests").get("storage")
    if storage is None:
        errors += fields.required(f"{path}.resources[storage]")
    elif resources.value(storage) <= 0:
        errors += fields.invalid(f"{path}.resources[storage]", storage, "must be greater than zero")
    class_name = spec.get("storageClassName")
    if class_name:
        errors += fields.invalid(f"{path}.storageClassName", class_name, *formats.dns_subdomain(class_name))
    volume_mode = spec.get("volumeMode")
    if volume_mode is not None and volume_mode not in ("Block", "Filesystem"):
        errors += fields.unsupported(f"{path}.volumeMode", volume_mode, "Block", "Filesystem")
    for key in ("dataSource", "dataSourceRef"):
        errors += _data_source(spec.get(key), f"{path}.{key}")
    errors += _two_sources(spec, path)
    attributes = spec.get("volumeAttributesClassName")
    if attributes:
        errors += fields.invalid(f"{path}.volumeAttributesClassName", attributes, *formats.dns_subdomain(attributes))
    return errors


def _data_source(source: Body | None, path: str) -> Errors:
    if source is None:
        return []
    errors = fields.joined(fields.required(f"{path}.{key}") for key in ("name", "kind") if not source.get(key))
    if not source.get("apiGroup") and fields.text(source, "kind") != "PersistentVolumeClaim":
        errors += fields.invalid(
            path,
            fields.text(source, "kind"),
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        )
    if group := fields.text(source, "apiGroup"):
        errors += fields.invalid(f"{path}.apiGroup", group, *formats.dns_subdomain(group))
    if namespace := fields.text(source, "namespace"):
        errors += fields.invalid(f"{path}.namespace", namespace, *formats.dns_label(namespace))
    return errors


def _two_sources(spec: Body, path: str) -> Errors:
    # The server quotes the path of the field where the value belongs, and paths print as empty objects.
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return []
    if reference.get("namespace"):
        return fields.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    if any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        return fields.invalid(path, {}, "must match dataSourceRef")
    return []
