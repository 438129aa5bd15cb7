"""Definitions for tests, as short as they can be said."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from kubesim import crd
from kubesim.kind import Context, Kind, Lookup

Body = dict[str, Any]
OPEN: Body = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NOW = "2026-01-01T00:00:00Z"
CONTEXT = Context(now=datetime(2026, 1, 1, tzinfo=UTC), lookup=cast(Lookup, None))


def version(name: str = "v1", schema: Body | None = None, **more: Any) -> Body:
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema or OPEN},
        **more,
    }


def definition(*versions: Body, group: str = "example.com", plural: str = "widgets", **names: Any) -> Body:
    named = {"plural": plural, "singular": "widget", "kind": "Widget", "listKind": "WidgetList", **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": named, "versions": list(versions) or [version()]},
    }


def stored(body: Body) -> Body:
    """As the server has it after a creation."""
    kind = crd.definition_kind()
    return kind.prepare_create(kind.default(body), CONTEXT)


def established(body: Body) -> Body:
    settled = crd.settle(stored(body), [], NOW)
    assert settled is not None
    return settled


def kind_of(schema: Body, **more: Any) -> Kind:
    """The kind of a definition with this one version."""
    (kind,) = crd.custom_kinds(established(definition(version(schema=schema, **more))))
    return kind


def widget(**fields: Any) -> Body:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, **fields}


def with_spec(**properties: Any) -> Body:
    """A schema of an object whose spec has these properties."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
