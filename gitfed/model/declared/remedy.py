"""Karmada's Remedy: what is asked of the outside for a cluster whose conditions say that something is wrong there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from gitfed.model.declared.shape import Declared, Finding, Part, Required, warning


class ClusterNames(Part):
    cluster_names: tuple[Required, ...] = ()


class ConditionRequirement(Part):
    condition_type: Required
    operator: Literal["Equal", "NotEqual"]
    condition_status: Required


class DecisionMatch(Part):
    cluster_condition_match: ConditionRequirement | None = None


class RemedySpec(Part):
    cluster_affinity: ClusterNames | None = None
    """None: every cluster."""
    decision_matches: tuple[DecisionMatch, ...] = ()
    """One of them is enough; none: the actions are always asked for."""
    actions: tuple[Literal["TrafficControl"], ...] = ()


class Remedy(Declared):
    kind: Literal["Remedy"]
    spec: RemedySpec

    def findings(self) -> Iterator[Finding]:
        affinity = self.spec.cluster_affinity
        if affinity is not None and not affinity.cluster_names:
            yield warning(("spec", "clusterAffinity"), "no cluster is named: nothing is asked for anywhere")
        for i, match in enumerate(self.spec.decision_matches):
            if match.cluster_condition_match is None:
                yield warning(("spec", "decisionMatches", i), "no clusterConditionMatch: it matches nothing")
        if not self.spec.actions:
            yield warning(("spec",), "no actions: nothing is asked for")
