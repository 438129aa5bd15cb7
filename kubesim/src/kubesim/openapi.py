"""OpenAPI v3 documents, one for each group version: what kinds there are, their fields, and what their addresses
accept.

Clients read them to explain kinds (``kubectl explain``), to know how lists merge when they compute a patch, and to
ask whether the server checks unknown fields itself. Built-in kinds are described from their types, custom ones by the
schema of their definition. Descriptions are left out: the types do not carry any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubesim import crd, schema_nodes
from kubesim.kind import Kind
from kubesim.registry import Registry
from kubesim.schema_nodes import Node

Body = dict[str, Any]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_REF: Final = "#/components/schemas/"
_NAMED: Final[Mapping[str, tuple[str, Body]]] = {
    "time": (f"{_META}.Time", {"type": "string", "format": "date-time"}),
    "microtime": (f"{_META}.MicroTime", {"type": "string", "format": "date-time"}),
    "quantity": ("io.k8s.apimachinery.pkg.api.resource.Quantity", {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    "intstr": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
    ),
}
_PLAIN: Final[Mapping[str, Body]] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
}
_META_TYPES: Final = frozenset(
    [
        "ObjectMeta",
        "ListMeta",
        "OwnerReference",
        "ManagedFieldsEntry",
        "LabelSelector",
        "LabelSelectorRequirement",
        "Condition",
        "DeleteOptions",
        "Preconditions",
        "FieldsV1",
        "GroupVersionKind",
        "GroupVersionResource",
    ]
)
_PATCHES: Final = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_PARAMETERS: Final = {
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"),
    "get": (),
}
_TYPES: Final = {"force": "boolean", "gracePeriodSeconds": "integer", "orphanDependents": "boolean"}


def document(registry: Registry, group: str, version: str) -> Body:
    """The document of ``apis/GROUP/VERSION`` (``api/VERSION`` for the empty group)."""
    kinds = registry.groups().get(group, {}).get(version, [])
    components = _Components(registry)
    paths: Body = {}
    for kind in kinds:
        paths.update(_paths(kind, components.add_kind(kind)))
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.schemas.items())),
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }


def _gvk(kind: Kind) -> Body:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


class _Components:
    """The schemas of one document, each named as the real server names it: by the Go package of the type."""

    def __init__(self, registry: Registry) -> None:
        self.schemas: dict[str, Body] = {}
        self._packages = _packages(registry)
        self._names: dict[int, str] = {}

    def add_kind(self, kind: Kind) -> str:
        custom = crd.schema_of(kind)
        if custom is not None:
            name = ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
            meta = {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"allOf": [_reference(f"{_META}.ObjectMeta")]},
            }
            properties = {**(custom.get("properties") or {}), **meta}
            shown = {**custom, "properties": properties, "x-kubernetes-group-version-kind": [_gvk(kind)]}
            if kind.field_labels:
                shown["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in kind.field_labels]
            self.schemas[name] = shown
            self._add_meta(kind)
            return name
        if kind.schema is None:
            return ""
        name = self._struct(kind.schema, f"{_package(kind.group, kind.version)}.{kind.kind}")
        self.schemas[name] = {**self.schemas[name], "x-kubernetes-group-version-kind": [_gvk(kind)]}
        return name

    def _add_meta(self, kind: Kind) -> None:
        meta = kind.schema.child("metadata") if kind.schema is not None else None
        if meta is not None:
            self._struct(meta, f"{_META}.ObjectMeta")

    def _struct(self, node: Node, name: str = "") -> str:
        known = self._names.get(id(node))
        if known is not None:
            return known
        name = name or self._packages.get(node.name) or f"io.k8s.{node.name}"
        self._names[id(node)] = name
        self.schemas[name] = {"type": "object"}  # before its fields: types may contain themselves
        properties = {
            field: {**_default(inner, node.presence.get(field, "")), **self._field(inner)}
            for field, inner in sorted(node.fields.items())
        }
        shape: Body = {"type": "object", **({"properties": properties} if properties else {})}
        if node.atomic:
            shape["x-kubernetes-map-type"] = "atomic"
        if required := sorted(field for field, mark in node.presence.items() if _is_required(node.fields[field], mark)):
            shape["required"] = required
        self.schemas[name] = shape
        return name

    def _field(self, node: Node) -> Body:
        if node.shape == schema_nodes.STRUCT:
            return {"allOf": [_reference(self._struct(node))], **_patch_marks(node)}
        if node.shape == schema_nodes.MAP:
            atomic = {"x-kubernetes-map-type": "atomic"} if node.atomic else {}
            return {"type": "object", "additionalProperties": self._item(node.value), **atomic}
        if node.shape == schema_nodes.LIST:
            return {"type": "array", "items": self._item(node.value), **_list_marks(node), **_patch_marks(node)}
        if node.scalar in _NAMED:
            return {"allOf": [_reference(self._named(node.scalar))]}
        return dict(_PLAIN.get(node.scalar, {}))

    def _item(self, node: Node | None) -> Body:
        """Inside a list or map, where a reference stands alone."""
        if node is None:
            return {}
        if node.shape == schema_nodes.STRUCT:
            return _reference(self._struct(node))
        return _reference(self._named(node.scalar)) if node.scalar in _NAMED else self._field(node)

    def _named(self, scalar: str) -> str:
        name, shape = _NAMED[scalar]
        self.schemas[name] = shape
        return name


_ZEROS: Final[Mapping[str, Any]] = {"string": "", "int32": 0, "int64": 0, "float": 0, "bool": False}


def _default(node: Node, presence: str) -> Body:
    """What stands there when nothing is said: fields that are always written have their type's zero (Go)."""
    if presence != "!":
        return {}
    if node.shape == schema_nodes.STRUCT:
        return {"default": {}}
    return {"default": _ZEROS[node.scalar]} if node.scalar in _ZEROS else {}


def _is_required(node: Node, presence: str) -> bool:
    """Always written without being an object of its own: such fields have no way to be left out."""
    return presence == "?" or (presence == "!" and node.scalar in _ZEROS)


def _reference(name: str) -> Body:
    return {"$ref": _REF + name}


def _list_marks(node: Node) -> Body:
    if node.keys:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(node.keys)}
    return {"x-kubernetes-list-type": "set" if node.unique else "atomic"}


def _patch_marks(node: Node) -> Body:
    """How a strategic merge patch treats the field."""
    strategies = [
        word for word, holds in (("merge", node.merge_key is not None), ("retainKeys", node.retain_keys)) if holds
    ]
    if node.replace:
        strategies.append("replace")
    marks: Body = {"x-kubernetes-patch-strategy": ",".join(strategies)} if strategies else {}
    if node.merge_key:
        marks["x-kubernetes-patch-merge-key"] = node.merge_key
    return marks


def _package(group: str, version: str) -> str:
    """``io.k8s.api.apps.v1``; definitions and the like live elsewhere."""
    if group == "apiextensions.k8s.io":
        return f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}"
    return f"io.k8s.api.{group.split('.')[0] or 'core'}.{version}"


def _packages(registry: Registry) -> dict[str, str]:
    """Go's name of a struct → its whole name. A struct belongs to the first group that uses it, the core group
    first."""
    found = {name: f"{_META}.{name}" for name in _META_TYPES}
    groups = registry.groups()
    for group in sorted(groups, key=lambda name: (name != "", name)):
        for version, kinds in groups[group].items():
            for kind in kinds:
                if kind.schema is not None and not kind.custom:
                    _claim(kind.schema, _package(group, version), found, set())
    return found


def _claim(node: Node, package: str, found: dict[str, str], seen: set[int]) -> None:
    if id(node) in seen:
        return
    seen.add(id(node))
    if node.shape == schema_nodes.STRUCT and node.name:
        # Types of the same name in several groups carry their group before it: CoreV1Event.
        found.setdefault(node.name, f"{package}.{node.name}")
    for inner in _children(node):
        _claim(inner, package, found, seen)


def _children(node: Node) -> Iterable[Node]:
    yield from node.fields.values()
    if node.value is not None:
        yield node.value


def _paths(kind: Kind, name: str) -> Body:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    base = f"{root}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    many = {"list": "get", "create": "post"}
    one = {"get": "get", "update": "put", "patch": "patch", "delete": "delete"}
    paths: Body = {}
    for path, verbs in ((base, many), (f"{base}/{{name}}", one)):
        operations = {
            method: _operation(kind, method, verb, name) for verb, method in verbs.items() if verb in kind.verbs
        }
        if operations:
            paths[path] = operations
    if kind.namespaced and "list" in kind.verbs:
        paths[f"{root}/{kind.plural}"] = {"get": _operation(kind, "get", "list", name)}
    for subresource in kind.subresources:
        methods = {
            method: _operation(kind, method, verb, "") for verb, method in one.items() if verb in subresource.verbs
        }
        if methods:
            paths[f"{base}/{{name}}/{subresource.name}"] = methods
    return paths


def _operation(kind: Kind, method: str, verb: str, name: str) -> Body:
    answer = {"schema": _reference(name)} if name else {}
    operation: Body = {
        "operationId": f"{verb}{kind.version.capitalize()}{kind.kind}",
        "parameters": [
            {"name": parameter, "in": "query", "schema": {"type": _TYPES.get(parameter, "string"), "uniqueItems": True}}
            for parameter in _PARAMETERS[method]
        ],
        "responses": {"200": {"description": "OK", "content": {"application/json": answer}}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": _gvk(kind),
    }
    if method == "patch":
        types = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC)
        operation["requestBody"] = {"content": {one: {"schema": _reference(f"{_META}.Patch")} for one in types}}
    elif method in ("post", "put"):
        operation["requestBody"] = {"content": {"*/*": answer}}
    return operation
