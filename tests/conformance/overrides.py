"""The manifest of one cluster after all override policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.documents import facts
from gitfed.model.declared.policy import Override
from gitfed.placement.scheduling import cluster
from gitfed.render import override
from gitfed.text import pointer, yaml
from tests.conformance import equal


def matches(case: Mapping[str, Any]) -> bool:
    return "cluster" in case and "policies" in case


def run(case: Mapping[str, Any]) -> list[str]:
    candidate = cluster.candidate(None, facts.from_document(case["cluster"]))
    index = override.Overrides([Override.read(policy) for policy in case["policies"]])
    expect = case["expect"]
    try:
        result = index.apply(case["template"], candidate)
    except override.OverrideError as error:
        return [] if equal.is_error(expect) else [f"failed: {error}"]
    if equal.is_error(expect):
        return [f"should have failed: {expect['message']}"]
    applied: dict[str, list[str]] = {"ClusterOverridePolicy": [], "OverridePolicy": []}
    for policy in result.applied:
        applied[policy.kind].append(policy.name)
    got, wanted = equal.plain(result.body), equal.plain(expect["manifest"])
    for path in case.get("yamlText", ()):
        place = pointer.parse(path)
        got, wanted = _read(got, place), _read(wanted, place)
    return equal.differences("applied", applied, expect["applied"]) + equal.differences("manifest", got, wanted)


def _read(document: Any, place: pointer.Pointer) -> Any:
    """The document with the YAML text at `place` replaced by what it says; unchanged where an override removed it."""
    if not pointer.has(document, place):
        return document
    return pointer.replace(document, place, yaml.load_one_lenient(pointer.get(document, place)))
