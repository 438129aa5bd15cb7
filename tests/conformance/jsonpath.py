"""Values taken from a status by the JSONPath of a `statePreservation` rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.text import jsonpath


def matches(case: Mapping[str, Any]) -> bool:
    return "jsonPath" in case


def run(case: Mapping[str, Any]) -> list[str]:
    expect = case["expect"]
    try:
        value = jsonpath.label_value(case["jsonPath"], case["status"])
    except jsonpath.JsonPathError as error:
        return [] if expect.get("error") else [f"expected {expect['value']!r}", f"actual   error: {error}"]
    if expect.get("error"):
        return [f"expected error: {expect['message']}", f"actual   {value!r}"]
    return [] if value == expect["value"] else [f"expected {expect['value']!r}", f"actual   {value!r}"]
