"""Objects that an API server takes, and the mistakes that somebody may make in one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

Way = tuple[str | int, ...]

VALUES: tuple[Any, ...] = (
    None, "text", "", 1, 0, -1, 1.5, 2.0, True, {}, [], "1Gi", "80", ["x"], {"a": "b"}, [None], [{}], [1],
    {"a": None}, {"a": 1}, "2026-01-01T00:00:00Z", "aGVsbG8=",
)  # fmt: skip
_LEFT_ALONE = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}

DEFINITION: dict[str, Any] = yaml.safe_load("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [size]
              properties:
                size: {type: integer, minimum: 1, maximum: 10}
                ratio: {type: number}
                enabled: {type: boolean}
                colour: {type: string, enum: [red, blue], default: red}
                name: {type: string, pattern: "^[a-z]+$", maxLength: 5}
                maybe: {type: string, nullable: true}
                port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
                free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: integer}}}
                labels: {type: object, additionalProperties: {type: string}}
                tags: {type: array, items: {type: string}, x-kubernetes-list-type: set, minItems: 1}
                parts:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [id]
                  items: {type: object, required: [id], properties: {id: {type: string}, n: {type: integer}}}
                either:
                  type: object
                  properties: {a: {type: string}, b: {type: string}}
                  oneOf: [{required: [a]}, {required: [b]}]
                template:
                  type: object
                  x-kubernetes-embedded-resource: true
                  x-kubernetes-preserve-unknown-fields: true
            status: {type: object, properties: {ready: {type: boolean}}}
""")
GADGET: dict[str, Any] = yaml.safe_load("""
apiVersion: example.com/v1
kind: Gadget
metadata: {name: one, namespace: default, annotations: {note: x}}
spec:
  size: 3
  ratio: 1.5
  enabled: true
  colour: red
  name: abc
  maybe: x
  port: 80
  free: {known: 1, other: [1]}
  labels: {a: b}
  tags: [a, b]
  parts: [{id: x, n: 1}, {id: y}]
  either: {a: x}
  template: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {y: 1}}
""")


def valid() -> list[dict[str, Any]]:
    """Objects of many kinds."""
    text = Path(__file__).with_name("valid.yaml").read_text()
    return list(yaml.safe_load_all(text))


def made(random: Random, body: dict[str, Any]) -> dict[str, Any]:
    """A copy with one change that may be a mistake."""
    body = copy.deepcopy(body)
    ways = [way for way, _ in _walk(body) if way and way not in _LEFT_ALONE]
    way = random.choice(ways)
    parent = at(body, way[:-1])
    match random.choice(("value", "value", "value", "unknown", "delete", "rename", "double", "null")):
        case "unknown":
            mappings = [one for one, value in _walk(body) if isinstance(value, dict) and one]
            at(body, random.choice(mappings))["unknwon"] = copy.deepcopy(random.choice(VALUES))
        case "delete":
            del parent[way[-1]]
        case "rename" if isinstance(parent, dict):
            parent[f"{way[-1]}x"] = parent.pop(way[-1])
        case "double" | "null" as how if lists := [one for one, value in _walk(body) if isinstance(value, list)]:
            chosen = at(body, random.choice(lists))
            if how == "null" or not chosen:
                chosen.insert(random.randrange(len(chosen) + 1), None)
            else:
                chosen.append(copy.deepcopy(random.choice(chosen)))
        case _:
            parent[way[-1]] = copy.deepcopy(random.choice(VALUES))
    return body


def at(body: Any, way: Way) -> Any:
    for part in way:
        body = body[part]
    return body


def _walk(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    yield way, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from _walk(member, (*way, name))
