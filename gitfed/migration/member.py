"""Live objects of one cluster as files: templates, and policies that leave everything where it is."""

from __future__ import annotations

from collections.abc import Iterable

from gitfed.migration import layout, template
from gitfed.migration.report import Code, Finding, Imported, sorted_findings, subject
from gitfed.model.base import Body, ClusterName
from gitfed.model.keys import SKIP_LABEL

POLICY = "policy.karmada.io/v1alpha1"
BY_POLICY = {SKIP_LABEL: "true"}
"""A namespace with this label goes where a policy says, instead of everywhere."""
SECRET_HINT = "encrypt it, or have the cluster fetch it; --with-secrets writes it all the same"  # noqa: S105


def convert(bodies: Iterable[Body], cluster: ClusterName, *, folder: str = "", with_secrets: bool = False) -> Imported:
    """Every object of `cluster` that a person or a tool applied, and what was left out.

    The policies say `conflictResolution: Overwrite`: the objects are there, and gitfed is to take them over.
    """
    templates, findings = templates_of(bodies, with_secrets=with_secrets)
    return Imported(layout.files([*templates, *policies(templates, cluster)], folder), sorted_findings(findings))


def templates_of(bodies: Iterable[Body], *, with_secrets: bool) -> tuple[list[Body], list[Finding]]:
    templates: list[Body] = []
    findings: list[Finding] = []
    for body in bodies:
        code = template.why_not(body)
        if code is None and body["kind"] == "Secret" and not with_secrets:
            code = Code.SECRET
        if code is None:
            made = template.of(body)
            if made["kind"] == "Namespace" and made["apiVersion"] == "v1":
                made["metadata"].setdefault("labels", {}).update(BY_POLICY)
            templates.append(made)
        elif code is Code.SECRET:
            message = "the values of a Secret do not belong into Git"
            findings.append(Finding(code, subject(body), message, SECRET_HINT))
        else:
            message = "a controller makes it from others" if code is Code.GENERATED else "every cluster has its own"
            findings.append(Finding(code, subject(body), message))
    return templates, findings


def policies(templates: Iterable[Body], cluster: ClusterName, name: str = "") -> list[Body]:
    """One policy for each namespace and one for what has none, that place these templates on `cluster` alone."""
    selectors: dict[str, list[Body]] = {}
    for body in templates:
        metadata = body["metadata"]
        selector = {"apiVersion": body["apiVersion"], "kind": body["kind"], "name": metadata["name"]}
        selectors.setdefault(str(metadata.get("namespace") or ""), []).append(selector)
    return [
        {
            "apiVersion": POLICY,
            "kind": "PropagationPolicy" if namespace else "ClusterPropagationPolicy",
            "metadata": {"name": name or f"in-{cluster}", **({"namespace": namespace} if namespace else {})},
            "spec": {
                "conflictResolution": "Overwrite",
                "placement": {"clusterAffinity": {"clusterNames": [cluster]}},
                "resourceSelectors": sorted(selected, key=lambda selector: (selector["kind"], selector["name"])),
            },
        }
        for namespace, selected in sorted(selectors.items())
    ]
