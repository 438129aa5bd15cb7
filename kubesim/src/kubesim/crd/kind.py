"""The CustomResourceDefinition itself as a ``Kind``: defaults, what a writer may set, checks, columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from kubesim import schema as schemas
from kubesim import status
from kubesim.crd import definition, formats
from kubesim.kind import READ_WRITE, Context, Kind, Subresource
from kubesim.kinds import table

Body = dict[str, Any]


def definition_kind() -> Kind:
    return Kind(
        group="apiextensions.k8s.io",
        version="v1",
        storage_version="apiextensions.k8s.io/v1beta1",  # not served since 1.22, yet what discovery's hash is made of
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        singular="customresourcedefinition",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        namespaced=False,
        verbs=READ_WRITE,
        subresources=(Subresource(name="status"),),
        schema=schemas.for_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        allow_unconditional_update=False,
        has_generation=True,
        reset_fields={"": (("status",),), "status": (("spec",),)},
        default=_default,
        prepare_create=_prepare_create,
        prepare_update=_prepare_update,
        prepare_status=_prepare_status,
        validate=definition.check,
        validate_update=definition.check_update,
        validate_status=definition.check_status,
        validates_update_alone=True,
        warnings=_warnings,
        delete_returns_object=True,
        columns=table.columns("Name", "Created At:date"),
        row=_row,
    )


def _default(body: Body) -> Body:
    spec = body.get("spec") or {}
    names = spec.get("names") or {}
    kind, filled = names.get("kind") or "", dict(names)
    if not names.get("singular") and kind:
        filled["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        filled["listKind"] = f"{kind}List"
    changed: Body = {}
    if filled != names:
        changed["names"] = filled
    conversion = _default_conversion(spec.get("conversion"))
    if conversion is not spec.get("conversion"):
        changed["conversion"] = conversion
    stored = (body.get("status") or {}).get("storedVersions")
    storage = _storage_version(body)
    if not changed and (stored or not storage):
        return body
    after = {**body, "spec": {**spec, **changed}} if changed else dict(body)
    if not stored and storage:
        after["status"] = {**(body.get("status") or {}), "storedVersions": [storage]}
    return after


def _default_conversion(conversion: Any) -> Any:
    if conversion is None:
        return {"strategy": "None"}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is None or service.get("port") is not None:
        return conversion
    webhook = conversion["webhook"]
    client = {**webhook["clientConfig"], "service": {**service, "port": 443}}
    return {**conversion, "webhook": {**webhook, "clientConfig": client}}


def _storage_version(body: Body) -> str:
    for version in (body.get("spec") or {}).get("versions") or ():
        if version.get("storage"):
            return version.get("name") or ""
    return ""


def _prepare_create(body: Body, ctx: Context) -> Body:
    storage = _storage_version(body)
    stored = [storage] if storage else None
    return {
        **body,
        "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored},
    }


def _prepare_update(new: Body, old: Body, ctx: Context) -> Body:
    kept = old.get("status") or {}
    storage, stored = _storage_version(new), kept.get("storedVersions") or []
    if storage and storage not in stored:
        kept = {**kept, "storedVersions": [*stored, storage]}
    return {**new, "status": kept}


def _prepare_status(new: Body, old: Body) -> Body:
    return {**new, "spec": old.get("spec")}


def _warnings(body: Body, old: Body | None) -> list[str]:
    known = set(_format_warnings(old)) | set(_set_warnings(old)) if old is not None else set()
    return [text for text in [*_format_warnings(body), *_set_warnings(body)] if text not in known]


def _schemas(body: Body) -> Iterator[Mapping[str, Any]]:
    seen: list[Any] = []
    for version in (body.get("spec") or {}).get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        # What all versions share is looked at once.
        if schema is not None and schema not in seen:
            seen.append(schema)
            yield from _all(schema)


def _all(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    for inner in (
        schema.get("items"),
        *(schema.get("allOf") or ()),
        *(schema.get("anyOf") or ()),
        *(schema.get("oneOf") or ()),
    ):
        if isinstance(inner, Mapping):
            yield from _all(inner)
    if isinstance(schema.get("not"), Mapping):
        yield from _all(schema["not"])
    for _, inner in sorted((schema.get("properties") or {}).items()):
        yield from _all(inner)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _all(schema["additionalProperties"])


def _format_warnings(body: Body) -> list[str]:
    found = []
    for schema in _schemas(body):
        name, kind = schema.get("format") or "", schema.get("type") or ""
        if name and not formats.effective((kind,) if kind else (), name):
            found.append(f"unrecognized format {status.quote(name)}")
    return found


def _set_warnings(body: Body) -> list[str]:
    found = set()
    for schema in _schemas(body):
        items = schema.get("items")
        if (
            schema.get("x-kubernetes-list-type") == "set"
            and isinstance(items, Mapping)
            and items.get("type") in ("object", "array")
        ):
            kind = status.quote(items["type"])
            found.add(
                f"x-kubernetes-list-type: set for items of type {kind} is not supported by server-side apply or "
                "CEL validation rules"
            )
    return sorted(found)


def _row(body: Body, now: datetime) -> list[Any]:
    return [table.name(body), body["metadata"].get("creationTimestamp") or ""]
