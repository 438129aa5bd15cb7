"""What is dropped from a template, and what is kept of the object in the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, Unknown
from gitfed.render import irrelevant_fields
from tests.conformance import equal


def matches(case: Mapping[str, Any]) -> bool:
    return "kind" in case and case.get("operation") in ("Prune", "Retain")


def run(case: Mapping[str, Any]) -> list[str]:
    expect = case["expect"]
    if case["operation"] == "Prune":
        return equal.differences(
            "object", equal.plain(irrelevant_fields.strip(case["desired"])), equal.plain(expect["object"])
        )
    result = Interpreter([Native()]).retain(case["desired"], case["observed"])
    if isinstance(result, Unknown):
        return [] if equal.is_error(expect) else [f"failed: {result.reason}"]
    if equal.is_error(expect):
        return [f"should have failed: {expect['message']}"]
    return equal.differences("object", equal.plain(result.value), equal.plain(expect["object"]))
