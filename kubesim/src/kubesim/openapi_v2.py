"""The OpenAPI v2 (Swagger) document: all kinds in one, made from the documents of version 3.

For tools that know nothing newer. It says less: no defaults, no alternatives, and a reference has its marks beside it.
As JSON alone; the binary form that old versions of client-go insist on is not spoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesim import openapi
from kubesim.registry import Registry

Body = dict[str, Any]

_UNSAID: Final = frozenset({"default", "nullable", "oneOf", "anyOf", "not", "x-kubernetes-selectable-fields"})
_STRINGS: Final = (
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
)


def document(registry: Registry, version: str) -> Body:
    definitions: Body = {}
    paths: Body = {}
    for group, versions in registry.groups().items():
        for one in versions:
            found = openapi.document(registry, group, one)
            definitions |= {name: _schema(shape) for name, shape in found["components"]["schemas"].items()}
            paths |= {path: _path(operations) for path, operations in found["paths"].items()}
    for name in _STRINGS:
        if name in definitions:
            definitions[name]["type"] = "string"
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": paths,
        "definitions": dict(sorted(definitions.items())),
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    }


def _schema(shape: Mapping[str, Any]) -> Body:
    result: Body = {}
    for name, value in shape.items():
        if name == "allOf" and len(value) == 1:
            result |= _schema(value[0])
        elif name == "$ref":
            result[name] = value.replace("#/components/schemas/", "#/definitions/")
        elif name == "properties":
            result[name] = {field: _schema(inner) for field, inner in value.items()}
        elif name in ("items", "additionalProperties") and isinstance(value, dict):
            result[name] = _schema(value)
        elif name not in _UNSAID and name != "allOf":
            result[name] = value
    return result


def _path(operations: Mapping[str, Body]) -> Body:
    return {method: _operation(told) for method, told in operations.items()}


def _operation(told: Body) -> Body:
    body = (told.get("requestBody") or {}).get("content") or {}
    parameters = [
        {**{name: value for name, value in one.items() if name != "schema"}, **one["schema"]}
        for one in told["parameters"]
    ]
    for content in list(body.values())[:1]:
        parameters.insert(0, {"name": "body", "in": "body", "required": True, "schema": _reference(content)})
    (answer,) = told["responses"]["200"]["content"].values()
    return {
        "operationId": told["operationId"],
        "consumes": list(body) or ["*/*"],
        "produces": ["application/json", "application/yaml"],
        "parameters": parameters,
        "responses": {"200": {"description": "OK", **({"schema": _reference(answer)} if answer else {})}},
        **{name: value for name, value in told.items() if name.startswith("x-")},
    }


def _reference(content: Body) -> Body:
    """What goes in or out, as a schema; anything where nothing is said."""
    schema = _schema(content.get("schema") or {})
    return {"type": "object"} if schema.get("$ref", "").endswith(".Patch") else schema
