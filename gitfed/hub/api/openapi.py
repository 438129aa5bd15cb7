"""The OpenAPI 3.1 description of `/api/v1`, made of the types that form the answers."""

from __future__ import annotations

import functools
from typing import Any

from aiohttp import web
from pydantic import TypeAdapter

import gitfed
from gitfed.hub import refusal
from gitfed.hub.answers import query
from gitfed.hub.answers.desk import FormedAnswer
from gitfed.hub.api import operations, reading, resources
from gitfed.hub.api.operations import OrderEndpoint
from gitfed.hub.api.resources import Parameter, Resource
from gitfed.views import happening, ordered, written

_REFUSALS = {
    "400": "A parameter is wrong.",
    "401": "There is no credential, or the hub knows no user by it.",
    "403": "No AccessPolicy gives the right.",
    "404": "It is not there, or not for this caller.",
    "406": "The client takes no JSON.",
    "429": "Too many requests of this caller at a time.",
    "503": "Nothing was planned yet, or too much is asked for at a time.",
}


_EVENTS = (
    happening.PlanEvent, happening.ResultEvent, happening.ClusterEvent, happening.SourceEvent, happening.EndEvent,
)  # fmt: skip
_OF_ORDERS = {
    "409": "The state branch is written all the time by others.",
    "413": "The body is too large.",
    "415": "The body is no JSON, as its Content-Type says.",
}


@functools.cache
def document() -> dict[str, Any]:
    """Plain JSON values."""
    bodies = [operation.body for operation in operations.ALL]
    answers = [resource.answer for resource in resources.ALL]
    schemas, references = _schemas([*answers, *bodies, *_EVENTS, ordered.OrderView, refusal.ProblemDetails])
    refused, order = references.pop(), references.pop()
    del references[-len(_EVENTS) :]
    paths: dict[str, Any] = {}
    for resource, answer in zip(resources.ALL, references, strict=False):
        paths[resources.PREFIX + resource.path] = {"get": _operation(resource, answer, refused)}
    for operation, body in zip(operations.ALL, references[len(answers) :], strict=True):
        paths[f"{resources.PREFIX}/{operation.name}"] = {"post": _post(operation, body, order, refused)}
    paths[f"{resources.PREFIX}/events"] = {"get": _events(refused)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gitfed",
            "version": gitfed.__version__,
            "summary": "A fleet of Kubernetes clusters, kept equal to a Git repository.",
            "description": "Answers hold what the caller's AccessPolicies let them see, and nothing else.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "the hub that this was read from"}],
        "security": [{"certificate": []}, {"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "certificate": {"type": "mutualTLS", "description": "A client certificate of the hub's authority."},
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-gitfed"},
            },
        },
    }


async def handle(request: web.Request) -> web.StreamResponse:
    return reading.sent(request, _written(), reading.JSON)


@functools.cache
def _written() -> FormedAnswer:
    return FormedAnswer.of(written.json_bytes(document()))


def _schemas(types: list[Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(schemas by name, a reference for each of `types`)"""
    inputs = [(str(number), "serialization", TypeAdapter(type_)) for number, type_ in enumerate(types)]
    schema_of, definitions = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas = definitions.get("$defs", {})
    references = []
    for number, type_ in enumerate(types):
        schema = schema_of[str(number), "serialization"]
        if "$ref" not in schema and "anyOf" not in schema:
            schemas[type_.__name__] = schema
            schema = {"$ref": f"#/components/schemas/{type_.__name__}"}
        references.append(schema)
    return dict(sorted(schemas.items())), references


def _operation(resource: Resource, answer: dict[str, Any], refused: dict[str, Any]) -> dict[str, Any]:
    parameters = [_parameter(parameter) for parameter in resource.parameters]
    if "{object}" in resource.path:
        described = {"description": resources.OBJECT.meaning, "schema": {"type": "string"}}
        parameters.insert(0, {"name": "object", "in": "path", "required": True, **described})
    whose = " For callers who may view the whole fleet." if resource.whole_fleet else ""
    return {
        "operationId": resource.name,
        "summary": resource.summary.rstrip("."),
        "description": resource.summary + whose,
        "parameters": parameters,
        "responses": {
            "200": {
                "description": resource.summary,
                "headers": {"ETag": {"schema": {"type": "string"}, "description": "For `If-None-Match`."}},
                "content": {reading.JSON: {"schema": answer}},
            },
            "304": {"description": "The client has it already (`If-None-Match`)."},
            **_refusals(_REFUSALS, refused),
        },
    }


def _post(
    operation: OrderEndpoint, body: dict[str, Any], order: dict[str, Any], refused: dict[str, Any]
) -> dict[str, Any]:
    token = {
        "name": "X-CSRF-Token",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "Of the session, for a caller who has one.",
    }
    return {
        "operationId": operation.name,
        "summary": operation.summary.rstrip("."),
        "description": (
            f"{operation.summary} It stands on the state branch then, with the caller's name; the daemon follows."
        ),
        "parameters": [token],
        "requestBody": {"required": True, "content": {reading.JSON: {"schema": body}}},
        "responses": {
            "202": {"description": "The order was taken.", "content": {reading.JSON: {"schema": order}}},
            **_refusals(_REFUSALS | _OF_ORDERS, refused),
        },
    }


def _events(refused: dict[str, Any]) -> dict[str, Any]:
    last = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "The id of the last event that the client has: it goes on after that.",
    }
    text = (
        "Events. `plan`: what was read may have changed (PlanEvent) · `result`: a change was carried "
        "out, or failed (ResultEvent) · `cluster` (ClusterEvent) · `source` (SourceEvent) · `resync`: some were lost, "
        "read anew · `end`: the last event of a stream that the hub ends (EndEvent). Lists have no watch of their own: "
        "what a list shows depends on the whole plan and on the caller, so an event says no more than that it is time "
        "to look. To follow one, begin the stream, read the list, and read it again with `If-None-Match` after `plan`, "
        "`result`, `cluster`, `resync` and every connection: then nothing is missed (`gitfed get --watch` does so)."
    )
    return {
        "operationId": "watch",
        "summary": "What happens, as it happens",
        "description": text,
        "parameters": [last, *map(_parameter, (resources.NAMESPACE, resources.CLUSTER))],
        "responses": {
            "200": {"description": "A stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            **_refusals(_REFUSALS, refused),
        },
    }


def _refusals(why: dict[str, str], refused: dict[str, Any]) -> dict[str, Any]:
    content = {refusal.CONTENT_TYPE: {"schema": refused}}
    return {status: {"description": text, "content": content} for status, text in sorted(why.items())}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": parameter.kind}
    if parameter.name == "limit":
        schema |= {"minimum": 1, "maximum": query.MOST, "default": query.USUAL}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.many:
        schema = {"type": "array", "items": schema}
    shown = {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": parameter.meaning,
        "schema": schema,
    }
    return shown | (
        {"example": [parameter.example] if parameter.many else parameter.example} if parameter.example else {}
    )
