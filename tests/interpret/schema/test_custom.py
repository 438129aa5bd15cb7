"""What is wrong with an object of a custom kind, by the definition of the repository."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gitfed.edges import catalogue
from gitfed.interpret.schema.check import Schemas
from gitfed.interpret.schema.kubernetes import Kubernetes
from tests.interpret.schema import mistakes

KUBERNETES = Kubernetes(catalogue.kubernetes)
SCHEMAS = Schemas(KUBERNETES, (mistakes.DEFINITION,))


def said(body: dict[str, Any], schemas: Schemas = SCHEMAS) -> list[str]:
    return [f"{fault} ({fault.hint})" if fault.hint else str(fault) for fault in schemas.faults(body, 36)]


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("sise",), 1, "spec.sise: unknown field of spec (did you mean size?)"),
        (("size",), 0, "spec.size: must be at least 1"),
        (("size",), 11, "spec.size: must be at most 10"),
        (("size",), "3", "spec.size: must be a whole number, not text"),
        (("size",), None, "spec.size: must not be null (leave it out)"),
        (("colour",), "green", "spec.colour: must be one of red, blue"),
        (("name",), "ABC", "spec.name: must match ^[a-z]+$"),
        (("name",), "abcdef", "spec.name: must have at most 5 characters"),
        (("port",), True, "spec.port: must be a whole number or text, not true or false"),
        (("tags",), [], "spec.tags: must have at least 1 items"),
        (("tags",), ["a", "a"], "spec.tags[1]: this value is there already, as item 0 (an API server takes it once)"),
        (("parts", 1), {"n": 1}, "spec.parts[1]: id is missing"),
        (("parts", 1, "id"), "x", "spec.parts[1]: id x is there already, as item 0 (an API server takes it once)"),
        (("either",), {"a": "x", "b": "y"}, "spec.either: must fit exactly one of the schema's oneOf, and fits 2"),
        (("template", "metadata", "labels"), 1, "spec.template.metadata.labels: must be a mapping, not a number"),
        (("template",), {"kind": "Pod"}, "spec.template.apiVersion: is missing: this is a whole object"),
    ],
)
def test_a_mistake_is_told_as_the_definition_sees_it(way: mistakes.Way, value: Any, message: str) -> None:
    body = copy.deepcopy(mistakes.GADGET)
    mistakes.at(body["spec"], way[:-1])[way[-1]] = value
    assert said(body) == [message]


def test_what_the_definition_leaves_open_is_open() -> None:
    body = copy.deepcopy(mistakes.GADGET)
    body["spec"] |= {"maybe": None, "colour": None, "free": {"anything": {"goes": 1}}, "size": 3.0}
    assert said(body) == []


def test_what_every_object_has_is_checked_too() -> None:
    body = copy.deepcopy(mistakes.GADGET)
    body["metadata"]["lables"] = {"a": "b"}
    assert said(body) == ["metadata.lables: unknown field of ObjectMeta (did you mean labels?)"]


@pytest.mark.parametrize(
    "change",
    [
        {"versions": [{"name": "v1", "served": True}]},
        {"versions": "v1"},
        {"versions": [{"name": "v1", "served": False, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        {"preserveUnknownFields": True},
        {"names": None},
    ],
)
def test_a_definition_that_says_nothing_of_its_kind_refuses_nothing(change: dict[str, Any]) -> None:
    definition = {**mistakes.DEFINITION, "spec": {**mistakes.DEFINITION["spec"], **change}}
    assert said({**mistakes.GADGET, "spec": {"anything": 1}}, Schemas(KUBERNETES, (definition,))) == []


def test_a_pattern_that_takes_for_ever_elsewhere_ends_at_once() -> None:
    definition = copy.deepcopy(mistakes.DEFINITION)
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["name"] = {"type": "string", "pattern": "^(a+)+$"}
    body = {**mistakes.GADGET, "spec": {**mistakes.GADGET["spec"], "name": "a" * 40 + "!"}}
    assert said(body, Schemas(KUBERNETES, (definition,))) == ["spec.name: must match ^(a+)+$"]
