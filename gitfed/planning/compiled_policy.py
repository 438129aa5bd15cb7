"""What one policy says about every template that it places, read once.

A policy is a model with many optional members, and thousands of templates have the same one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gitfed.model.base import Body
from gitfed.model.decisions import PolicyRef
from gitfed.model.plan import PropagationTerms
from gitfed.placement.failover import state_preservation
from gitfed.placement.scheduling import match
from gitfed.placement.scheduling.strategy import Form, Strategy
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement, Propagation

_HOW = {how: f"divided by {how.value}" for how in Strategy} | {Strategy.DUPLICATED: "copied to each cluster"}


@dataclass(frozen=True, slots=True)
class Directive:
    policy: Propagation
    ref: PolicyRef
    placement: Placement
    form: Form
    recorded: Body
    """The placement as it is recorded."""
    divides: bool
    """It says how replicas are divided."""
    how: str
    """The same, in words."""
    terms: PropagationTerms
    divided_terms: PropagationTerms
    """The same for a workload whose replicas are divided."""
    injects: bool
    """It has rules for the state that goes with a copy; whether they are followed is a feature gate."""

    @classmethod
    def of(cls, policy: Propagation) -> Directive:
        placement = policy.spec.placement
        form = Form.of(placement)
        terms = PropagationTerms(
            overwrite=policy.spec.conflict_resolution == "Overwrite",
            preserve=bool(policy.spec.preserve_resources_on_deletion),
            propagates_deps=policy.spec.propagate_deps,
            suspended=_suspended(policy),
            stateful=state_preservation.of_cluster(policy) is not None,
        )
        return cls(
            policy=policy,
            ref=match.ref(policy),
            placement=placement,
            form=form,
            recorded=placement.model_dump(mode="json", by_alias=True, exclude_none=True),
            divides=placement.replica_scheduling is not None,
            how=_HOW[form.strategy],
            terms=terms,
            divided_terms=replace(terms, divided=True),
            injects=state_preservation.preserves(policy),
        )

    def terms_of(self, *, divided: bool) -> PropagationTerms:
        return self.divided_terms if divided else self.terms


def _suspended(policy: Propagation) -> frozenset[str] | None:
    """Clusters that get no writes; None: all."""
    suspension = policy.spec.suspension
    if suspension is not None and suspension.dispatching:
        return None
    listed = suspension.dispatching_on_clusters if suspension is not None else None
    return frozenset(listed.cluster_names or ()) if listed is not None else frozenset()
