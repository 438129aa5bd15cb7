"""Turns each served version of a definition into a ``Kind``: everything the pipeline needs to serve its objects.

What the version declares is read here; ``face`` does the work on objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubesim import schema as schemas
from kubesim import status
from kubesim.crd import columns, definition
from kubesim.crd.face import Face
from kubesim.kind import READ_WRITE, Kind, Subresource
from kubesim.kinds import formats

Body = dict[str, Any]
_OPEN: Final[Mapping[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def kinds(body: Body) -> list[Kind]:
    """One for each served version, the preferred one first; none before the definition is established."""
    if definition.condition(body, "Established") != "True":
        return []
    spec, names = body["spec"], body["status"]["acceptedNames"]
    faces: dict[str, Face] = {}
    for version in spec["versions"]:
        openapi = (version.get("schema") or {}).get("openAPIV3Schema") or _OPEN
        subresources = version.get("subresources") or {}
        faces[version["name"]] = Face(spec["group"], version["name"], names["kind"], openapi, subresources, faces)
    served = [version for version in spec["versions"] if version.get("served")]
    return [_kind(body, version, faces) for version in sorted(served, key=lambda one: version_rank(one["name"]))]


def schema_of(kind: Kind) -> Mapping[str, Any] | None:
    """The schema that a custom kind was defined with; ``None`` for built-in kinds."""
    face = getattr(kind.default, "__self__", None)
    return face.openapi if isinstance(face, Face) else None


def version_rank(name: str) -> tuple[Any, ...]:
    """Sorts versions as Kubernetes prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then all others by name."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", name)
    if found is None:
        return (1, name)
    return (0, {None: 0, "beta": 1, "alpha": 2}[found[2]], -int(found[1]), -int(found[3] or 0))


def _kind(body: Body, version: Body, faces: Mapping[str, Face]) -> Kind:
    spec, names = body["spec"], body["status"]["acceptedNames"]
    group, name = spec["group"], version["name"]
    subresources = version.get("subresources") or {}
    face = faces[name]
    stored = next(one["name"] for one in spec["versions"] if one.get("storage"))
    shown_columns, row = (
        columns.read(version["additionalPrinterColumns"]) if version.get("additionalPrinterColumns") else ((), None)
    )
    return Kind(
        group=group,
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or "",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        namespaced=spec.get("scope") == "Namespaced",
        verbs=READ_WRITE,
        subresources=_subresources(subresources),
        scale=face.scale,
        schema=schemas.from_openapi(face.openapi),
        custom=True,
        list_kind=names.get("listKind") or "",
        deprecated=_deprecation(spec, version, names["kind"]),
        storage=f"{spec['names']['plural']}.{group}",
        storage_version=f"{group}/{stored}",
        to_storage=faces[stored].accept,
        from_storage=face.present,
        allow_unconditional_update=False,
        has_generation=True,
        generation_moves=face.moves_generation,
        reset_fields=_reset_fields(subresources),
        decode=face.decode,
        default=face.default,
        prepare_create=face.prepare_create,
        prepare_update=face.prepare_update,
        prepare_status=_prepare_status,
        validate=face.validate,
        validate_update=face.validate_update,
        validate_status=face.validate_status,
        validates_update_alone=True,
        warnings=_warnings,
        field_labels={
            one["jsonPath"].removeprefix("."): _label(one["jsonPath"]) for one in version.get("selectableFields") or ()
        },
        columns=shown_columns,
        row=row,
    )


def _subresources(value: Mapping[str, Any]) -> tuple[Subresource, ...]:
    found = []
    if value.get("status") is not None:
        found.append(Subresource(name="status"))
    if value.get("scale") is not None:
        found.append(Subresource(name="scale", kind="Scale", group="autoscaling", version="v1"))
    return tuple(found)


def _reset_fields(value: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], ...]]:
    if value.get("status") is None:
        return {}
    return {"": (("status",),), "status": (("metadata",), ("spec",))}


def _deprecation(spec: Body, version: Body, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, name = spec["group"], version["name"]
    better = [one["name"] for one in spec["versions"] if one.get("served") and not one.get("deprecated")]
    better = [one for one in better if version_rank(one) < version_rank(name)]
    text = f"{group}/{name} {kind} is deprecated"
    return f"{text}; use {group}/{min(better, key=version_rank)} {kind}" if better else text


def _label(path: str) -> Callable[[Body], str]:
    step = columns.parse(path)

    def run(body: Body) -> str:
        found = next(iter(step(body)), None)
        if isinstance(found, bool):
            return "true" if found else "false"
        return "" if found is None else columns.text(found)

    return run


def _prepare_status(new: Body, old: Body) -> Body:
    """Only status is taken, and who wrote it."""
    meta = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
    if "managedFields" in new["metadata"]:
        meta["managedFields"] = new["metadata"]["managedFields"]
    kept = {key: value for key, value in old.items() if key != "status"}
    return {**kept, "metadata": meta, **({"status": new["status"]} if "status" in new else {})}


def _warnings(body: Body, old: Body | None) -> list[str]:
    before = set((old or {}).get("metadata", {}).get("finalizers") or ())
    found = []
    for name in sorted(set(body["metadata"].get("finalizers") or ()) - before):
        place = f"metadata.finalizers: {status.quote(name)}"
        found += [f"{place}: {text}" for text in formats.qualified_name(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            found.append(
                f"{place}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with "
                "other finalizer writers"
            )
    return found
