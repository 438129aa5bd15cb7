"""AccessPolicy: who may see, reach and operate which part of the fleet. Reviewed in Git like everything else.

A policy only ever adds rights. Nobody has a right that no policy gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from gitfed.model.declared import names
from gitfed.model.declared.placement import ClusterAffinity
from gitfed.model.declared.shape import Declared, Finding, Part, Required, Text, warning

MASTERS = "system:masters"
"""The group that no API server asks for a permission."""
_LONGEST_PATTERN = 63


class Subject(Part):
    """Who: as the hub's authentication names them."""

    kind: Literal["User", "Group", "ServiceAccount"]
    name: Required
    namespace: Text = ""
    """Of a ServiceAccount."""


class AccessPolicySpec(Part):
    subjects: Annotated[tuple[Subject, ...], Field(min_length=1)]
    clusters: ClusterAffinity | None = None
    """Omitted: every cluster."""
    namespaces: Annotated[tuple[Required, ...], Field(min_length=1)] | None = None
    """Names, or patterns with `*` and `?`. Omitted: every namespace, and what is in none."""
    allow: Annotated[tuple[Literal["view", "proxy", "operate"], ...], Field(min_length=1)]
    """view: metrics, pages, API, search · proxy: reach members · operate: suspend, resume, reconcile, approve."""


class AccessPolicy(Declared):
    kind: Literal["AccessPolicy"]
    spec: AccessPolicySpec

    def findings(self) -> Iterator[Finding]:
        for i, subject in enumerate(self.spec.subjects):
            where = ("spec", "subjects", i)
            if (subject.kind, subject.name) == ("Group", MASTERS):
                hint = "name a group of people: a cluster lets this one do anything, whatever its RBAC says"
                yield Finding((*where, "name"), f"no policy can be about the group {MASTERS}", hint)
            if subject.kind == "ServiceAccount" and not subject.namespace:
                yield Finding(
                    where, f"the ServiceAccount {subject.name} has no namespace", "namespace: the one it is in"
                )
            if subject.kind != "ServiceAccount" and subject.namespace:
                yield Finding((*where, "namespace"), f"a {subject.kind} has no namespace", "only a ServiceAccount does")
        if self.spec.clusters is not None:
            yield from self.spec.clusters.findings(("spec", "clusters"))
        for i, pattern in enumerate(self.spec.namespaces or ()):
            plain = pattern.replace("*", "a").replace("?", "a")
            if len(pattern) > _LONGEST_PATTERN or names.why_not_dns_label(plain, _LONGEST_PATTERN):
                yield warning(
                    ("spec", "namespaces", i),
                    f"no namespace can match {pattern[:_LONGEST_PATTERN]}",
                    "a namespace's name, in which * stands for any characters and ? for one",
                )
