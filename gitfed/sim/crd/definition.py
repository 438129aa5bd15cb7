"""Checks a whole CustomResourceDefinition, and what an update may change of it.

Kubernetes stores what all versions have in common once for the definition, and complains about it there: paths say
``spec.validation`` as long as all versions have the same schema, ``spec.versions[1].schema`` when they differ. So do
these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from gitfed.sim import status
from gitfed.sim.crd import golang, paths, schemas, simple_path, structural
from gitfed.sim.kinds import formats
from gitfed.sim.status import FieldError

Body = dict[str, Any]
APPROVED: Final = "api-approved.kubernetes.io"
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_MOST_SELECTABLE: Final = 8
_COMMON: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def check(body: Body) -> list[FieldError]:
    """Complaints about a new definition. Its metadata has been checked but for the name."""
    spec, names = body.get("spec") or {}, (body.get("spec") or {}).get("names") or {}
    errors = []
    name = body["metadata"].get("name") or ""
    if name and name != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
        errors.append(status.invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    return errors + _spec(spec) + _rest(body) + _approval(body, None) + _preserve(spec)


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
    return errors + _rest(new) + _approval(new, old) + preserve


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
    errors += _one_of("spec.scope", spec.get("scope") or "", ("Cluster", "Namespaced"))
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
    return errors + _conversion(spec.get("conversion"), "spec.conversion")


def _top(common: Body) -> list[FieldError]:
    errors: list[FieldError] = []
    schema = (common.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        enabled = (common.get("subresources") or {}).get("status") is not None
        errors += schemas.check(schema, "spec.validation.openAPIV3Schema", status_enabled=enabled)
    errors += _subresources(common.get("subresources"), "spec.subresources")
    errors += _columns(common.get("additionalPrinterColumns"), "spec.additionalPrinterColumns")
    selectable = common.get("selectableFields")
    if selectable and schema is not None:
        errors += _selectable(selectable, schema, "spec.selectableFields")
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


def _one_of(path: str, value: str, accepted: tuple[str, ...]) -> list[FieldError]:
    if not value:
        return [status.required(path)]
    return [] if value in accepted else [status.not_supported(path, value, accepted)]


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
    errors = _deprecation(version, paths.child(path, "deprecationWarning"))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        errors += schemas.check(schema, f"{path}.schema.openAPIV3Schema", status_enabled=status_enabled)
    errors += _subresources(version.get("subresources"), paths.child(path, "subresources"))
    errors += _columns(version.get("additionalPrinterColumns"), paths.child(path, "additionalPrinterColumns"))
    selectable = version.get("selectableFields")
    if selectable:
        where = paths.child(path, "selectableFields")
        if schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(status.invalid_value(where, "", detail))
        else:
            errors += _selectable(selectable, schema, where)
    return errors


def _deprecation(version: Body, path: str) -> list[FieldError]:
    text = version.get("deprecationWarning")
    if text is None:
        return []
    details = []
    if not version.get("deprecated"):
        details = ["can only be set for deprecated versions"]
    else:
        if len(text.encode()) > 256:
            details.append("must be <= 256 characters long")
        if not text:
            details.append("must not be an empty string")
        for at, char in enumerate(text):
            if not char.isprintable():
                details.append(
                    f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
                )
                break
    return [status.invalid_value(path, text, detail) for detail in details]


def _columns(columns: list[Body] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for at, column in enumerate(columns or ()):
        where = paths.index(path, at)
        if not column.get("name"):
            errors.append(status.required(paths.child(where, "name")))
        kind, detail = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            errors.append(status.required(paths.child(where, "type"), detail))
        elif kind not in _COLUMN_TYPES:
            errors.append(status.invalid_value(paths.child(where, "type"), kind, detail))
        form = column.get("format") or ""
        if form and form not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            errors.append(status.invalid_value(paths.child(where, "format"), form, detail))
        errors += _json_path(column.get("jsonPath") or "", paths.child(where, "JSONPath"))
    return errors


def _json_path(text: str, path: str, under: tuple[str, ...] = (), where: str = "") -> list[FieldError]:
    if not text:
        return [status.required(path)]
    if text[0] != ".":
        return [status.invalid_value(path, text, "must be a simple json path starting with .")]
    if under and not text.startswith(under):
        return [status.invalid_value(path, text, f"should be a json path under {where}")]
    return []


def _subresources(value: Body | None, path: str) -> list[FieldError]:
    scale = (value or {}).get("scale")
    if scale is None:
        return []
    errors = _json_path(scale.get("specReplicasPath") or "", f"{path}.scale.specReplicasPath", (".spec.",), ".spec")
    errors += _json_path(
        scale.get("statusReplicasPath") or "", f"{path}.scale.statusReplicasPath", (".status.",), ".status"
    )
    if selector := scale.get("labelSelectorPath"):
        errors += _json_path(
            selector, f"{path}.scale.labelSelectorPath", (".spec.", ".status."), "either .spec or .status"
        )
    return errors


def _selectable(selectable: list[Body], schema: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    if any(schema.get(name) for name in structural.UNSUPPORTED):
        return errors
    for at, one in enumerate(selectable):
        where, text = paths.child(paths.index(path, at), "jsonPath"), one.get("jsonPath") or ""
        if not text:
            errors.append(status.required(where))
            continue
        try:
            names, found = simple_path.find(schema, text, brackets=False)
        except simple_path.PathError as problem:
            errors.append(status.invalid_value(where, text, f"is an invalid path: {problem}"))
            continue
        if names and names[0] == "metadata":
            errors.append(status.invalid_value(where, text, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            errors.append(status.invalid_value(where, text, _SELECTABLE))
        key = ".".join(names)
        if key in seen:
            errors.append(status.duplicate(where, text))
        seen.add(key)
    if len(seen) > _MOST_SELECTABLE:
        errors.append(status.too_many(path, len(seen), _MOST_SELECTABLE))
    return errors


def _conversion(conversion: Body | None, path: str) -> list[FieldError]:
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    errors = _one_of(paths.child(path, "strategy"), strategy, ("None", "Webhook"))
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    where = paths.child(path, "webhookClientConfig")
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(status.forbidden_field(where, detail))
        if reviews:
            errors.append(status.forbidden_field(paths.child(path, "conversionReviewVersions"), detail))
        return errors
    if client is None:
        errors.append(status.required(where, "required when strategy is set to Webhook"))
    elif (client.get("url") is None) == (client.get("service") is None):
        errors.append(status.required(where, "exactly one of url or service is required"))
    elif client.get("url") is not None:
        errors += _webhook_url(client["url"], paths.child(where, "url"))
    return errors + _reviews(reviews, paths.child(path, "conversionReviewVersions"))


def _webhook_url(url: str, path: str) -> list[FieldError]:
    parts = urlsplit(url)
    form = "; desired format: https://host[/path]"
    errors = []
    if parts.scheme != "https":
        errors.append(status.invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme{form}"))
    if not parts.netloc:
        errors.append(status.invalid_value(path, parts.netloc, f"host must be specified{form}"))
    if parts.fragment:
        errors.append(status.invalid_value(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(status.invalid_value(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _reviews(versions: list[str], path: str) -> list[FieldError]:
    if not versions:
        return [status.required(path)]
    errors = []
    for at, version in enumerate(versions):
        if version in versions[:at]:
            errors.append(status.invalid_value(paths.index(path, at), version, "duplicate version"))
        else:
            found = formats.dns_1035_label(version)
            errors += [status.invalid_value(paths.index(path, at), version, text) for text in found]
    if not {"v1", "v1beta1"} & set(versions):
        errors.append(status.invalid_value(path, versions, "must include at least one of v1, v1beta1"))
    return errors


def approval(body: Body) -> tuple[str, str]:
    """State of a protected group's approval (``missing``, ``bypassed``, ``approved``, ``invalid``) and what to say;
    empty for other groups."""
    group = (body.get("spec") or {}).get("group") or ""
    if not re.fullmatch(r"(.*\.)?(k8s\.io|kubernetes\.io)", group):
        return "", ""
    text = (body["metadata"].get("annotations") or {}).get(APPROVED) or ""
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    needs = f"protected groups must have approval annotation {status.quote(APPROVED)}"
    if not text:
        return "missing", f"{needs}, {see}"
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {status.quote(text)}"
    parts = urlsplit(text)
    if parts.scheme and parts.netloc:
        return "approved", f"approved in {text}"
    return "invalid", f'{needs} with either a URL or a reason starting with "unapproved", {see}'


def _approval(new: Body, old: Body | None) -> list[FieldError]:
    state, why = approval(new)
    if old is not None and approval(old)[0] == state:
        return []
    path = f"metadata.annotations[{APPROVED}]"
    if state == "missing":
        return [status.required(path, why)]
    if state == "invalid":
        return [status.invalid_value(path, (new["metadata"].get("annotations") or {}).get(APPROVED), why)]
    return []


def _preserve(spec: Body) -> list[FieldError]:
    if not spec.get("preserveUnknownFields"):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [status.invalid_value("spec.preserveUnknownFields", True, detail)]
