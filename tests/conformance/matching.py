"""Which policy takes a template: cases with `template` and `policies` whose expectation names a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.model.base import Digest, Origin, key_of
from gitfed.model.declared.policy import Propagation
from gitfed.model.repo import Manifest
from gitfed.placement.scheduling import match
from tests.conformance import equal


def matches(case: Mapping[str, Any]) -> bool:
    return "policies" in case and "policy" in case.get("expect", {})


def run(case: Mapping[str, Any]) -> list[str]:
    """What differs from the recorded outcome; nothing if it is the same."""
    template = case["template"]
    manifest = Manifest(key_of(template), template["apiVersion"], template, Origin("template.yaml"), Digest(""))
    best = match.best(manifest, [Propagation.read(policy) for policy in case["policies"]]).policy
    got = None
    if best is not None:
        got = {"kind": best.kind, "namespace": best.metadata.namespace or "", "name": best.metadata.name}
        if best.kind == "ClusterPropagationPolicy":
            got["namespace"] = ""
    return equal.differences("policy", got, case["expect"]["policy"])
