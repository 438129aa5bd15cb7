"""Checks a whole CustomResourceDefinition, and what an update may change of it.

Names, groups and stored versions are judged here; ``schemas``, ``version_rules``, ``conversion`` and ``approval`` are
asked about the rest.

Kubernetes stores what all versions have in common once for the definition, and complains about it there: paths say
``spec.validation`` as long as all versions have the same schema, ``spec.versions[1].schema`` when they differ. So do
these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim import status
from kubesim.crd import approval, conversion, golang, paths, schemas, version_rules
from kubesim.kinds import fields, formats
from kubesim.status import FieldError

Body = dict[str, Any]
_COMMON: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def check(body: Body) -> list[FieldError]:
    """Complaints about a new definition. Its metadata has been checked but for the name."""
    spec, names = body.get("spec") or {}, (body.get("spec") or {}).get("names") or {}
    errors = []
    name = body["metadata"].get("name") or ""
    if name and name != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
        errors.append(status.invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    return errors + _spec(spec) + _rest(body) + approval.check(body, None) + _preserve(spec)


def check_update(new: Body, old: Body) -> list[FieldError]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors = _spec(spec)
    fixed: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if condition(old, "Established") == "True":
        fixed = [("scope",), ("names", "kind"), *fixed]
    for path in fixed:
        value, former = _at(spec, path), _at(before, path)
        if value != former:
            errors.append(status.immutable("spec." + ".".join(path), value))
    preserve = [] if before.get("preserveUnknownFields") else _preserve(spec)
    return errors + _rest(new) + approval.check(new, old) + preserve


def check_status(new: Body, old: Body) -> list[FieldError]:
    return _names((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def condition(body: Body, kind: str) -> str:
    """``True``, ``False``, ``Unknown``, or empty."""
    for one in (body.get("status") or {}).get("conditions") or ():
        if one.get("type") == kind:
            return str(one.get("status"))
    return ""


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value if value is not None else ""


def _rest(body: Body) -> list[FieldError]:
    accepted = (body.get("status") or {}).get("acceptedNames") or {}
    return _names(accepted, "status.acceptedNames") + _stored(body)


def _stored(body: Body) -> list[FieldError]:
    """Versions that objects may still be stored in must stay."""
    path = "status.storedVersions"
    stored = (body.get("status") or {}).get("storedVersions") or []
    versions = (body.get("spec") or {}).get("versions") or []
    if not stored:
        return [status.invalid_value(path, None, "must have at least one stored version")]
    errors = [
        status.invalid_value(path, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version["name"] not in stored
    ]
    present = {version.get("name") for version in versions}
    for at, name in enumerate(stored):
        if name not in present:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                "spec.versions until a storage "
                f"migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            )
            errors.append(status.invalid_value(paths.index(path, at), name, detail))
    return errors


def _common(versions: list[Body]) -> Body:
    """What all versions share, by name; Kubernetes moves it to the top."""
    common = {}
    for name in _COMMON:
        first = versions[0].get(name) if versions else None
        if first is not None and all(version.get(name) == first for version in versions):
            common[name] = first
    return common


def _spec(spec: Body) -> list[FieldError]:
    errors = _group(spec.get("group") or "")
    errors += fields.one_of("spec.scope", spec.get("scope") or "", "Cluster", "Namespaced")
    versions = spec.get("versions") or []
    common = _common(versions)
    own = [{name: value for name, value in version.items() if name not in common} for version in versions]
    if (common.get("schema") or {}).get("openAPIV3Schema") is None:
        for at, version in enumerate(own):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                errors.append(status.required(f"spec.versions[{at}].schema.openAPIV3Schema"))
    names: list[str] = []
    for at, version in enumerate(own):
        path = f"spec.versions[{at}]"
        name = version.get("name") or ""
        names.append(name)
        errors += _joined(paths.child(path, "name"), name, formats.dns_1035_label(name))
        subresources = common.get("subresources", version.get("subresources")) or {}
        errors += _version(version, path, status_enabled=subresources.get("status") is not None)
    shown = golang.fragment([golang.version(version) for version in own])
    if len(set(names)) < len(names):
        errors.append(status.invalid_value("spec.versions", shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        # Go prints an empty list that was never made as null.
        quoted = shown if spec.get("versions") is not None else None
        errors.append(
            status.invalid_value("spec.versions", quoted, "must have exactly one version marked as storage version")
        )
    if names:
        errors += _joined("spec.version", names[0], formats.dns_1035_label(names[0]))
    wanted = spec.get("names") or {}
    errors += [
        status.required(f"spec.names.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not wanted.get(name)
    ]
    errors += _names(wanted, "spec.names")
    errors += _top(common)
    return errors + conversion.check(spec.get("conversion"), "spec.conversion")


def _top(common: Body) -> list[FieldError]:
    errors: list[FieldError] = []
    schema = (common.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        enabled = (common.get("subresources") or {}).get("status") is not None
        errors += schemas.check(schema, "spec.validation.openAPIV3Schema", status_enabled=enabled)
    errors += version_rules.subresources(common.get("subresources"), "spec.subresources")
    errors += version_rules.columns(common.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    selectable = common.get("selectableFields")
    if selectable and schema is not None:
        errors += version_rules.selectable(selectable, schema, "spec.selectableFields")
    elif selectable:
        detail = "may only be set when validations.schema is included"
        errors.append(status.invalid_value("spec.selectableFields", "", detail))
    return errors


def _group(group: str) -> list[FieldError]:
    if not group:
        return [status.required("spec.group")]
    if found := formats.dns_subdomain(group):
        return _joined("spec.group", group, found)
    return (
        [] if "." in group else [status.invalid_value("spec.group", group, "should be a domain with at least one dot")]
    )


def _joined(path: str, value: str, complaints: list[str], before: str = "") -> list[FieldError]:
    return [status.invalid_value(path, value, before + ",".join(complaints))] if complaints else []


def _names(names: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("plural", "singular"):
        if value := names.get(name):
            errors += _joined(paths.child(path, name), value, formats.dns_1035_label(value))
    for name in ("kind", "listKind"):
        if value := names.get(name):
            complaints = formats.dns_1035_label(value.lower())
            errors += _joined(
                paths.child(path, name), value, complaints, "may have mixed case, but should otherwise match: "
            )
    for at, value in enumerate(names.get("shortNames") or ()):
        errors += _joined(f"{path}.shortNames[{at}]", value, formats.dns_1035_label(value))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        errors.append(status.invalid_value(paths.child(path, "listKind"), names["listKind"], detail))
    for at, value in enumerate(names.get("categories") or ()):
        errors += _joined(f"{path}.categories[{at}]", value, formats.dns_1035_label(value))
    return errors


def _version(version: Body, path: str, *, status_enabled: bool) -> list[FieldError]:
    errors = version_rules.deprecation(version, paths.child(path, "deprecationWarning"))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        errors += schemas.check(schema, f"{path}.schema.openAPIV3Schema", status_enabled=status_enabled)
    errors += version_rules.subresources(version.get("subresources"), paths.child(path, "subresources"))
    errors += version_rules.columns(
        version.get("additionalPrinterColumns"), paths.child(path, "additionalPrinterColumns")
    )
    selectable = version.get("selectableFields")
    if selectable:
        where = paths.child(path, "selectableFields")
        if schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(status.invalid_value(where, "", detail))
        else:
            errors += version_rules.selectable(selectable, schema, where)
    return errors


def _preserve(spec: Body) -> list[FieldError]:
    if not spec.get("preserveUnknownFields"):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [status.invalid_value("spec.preserveUnknownFields", True, detail)]
