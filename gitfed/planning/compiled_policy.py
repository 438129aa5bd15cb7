"""What one policy says about every template that it places, read once.

A policy is a model with many optional members, and thousands of templates have the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitfed.model.base import Body, ClusterName
from gitfed.model.decisions import PolicyRef
from gitfed.placement.failover import state_preservation
from gitfed.placement.scheduling import match
from gitfed.placement.scheduling.strategy import Form, Strategy

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
    overwrite: bool
    preserve: bool
    suspended: frozenset[ClusterName] | None
    """Clusters that get no writes; None: all."""
    propagates_deps: bool
    stateful: bool
    """What copies say of their state is written down, for the day that a cluster fails."""
    injects: bool
    """It has rules for the state that goes with a copy; whether they are followed is a feature gate."""

    @classmethod
    def of(cls, policy: Propagation) -> Directive:
        placement = policy.spec.placement
        form = Form.of(placement)
        return cls(
            policy=policy,
            ref=match.ref(policy),
            placement=placement,
            form=form,
            recorded=placement.model_dump(mode="json", by_alias=True, exclude_none=True),
            divides=placement.replica_scheduling is not None,
            how=_HOW[form.strategy],
            overwrite=policy.spec.conflict_resolution == "Overwrite",
            preserve=bool(policy.spec.preserve_resources_on_deletion),
            suspended=_suspended(policy),
            propagates_deps=policy.spec.propagate_deps,
            stateful=state_preservation.of_cluster(policy) is not None,
            injects=state_preservation.preserves(policy),
        )


def _suspended(policy: Propagation) -> frozenset[str] | None:
    """Clusters that get no writes; None: all."""
    suspension = policy.spec.suspension
    if suspension is not None and suspension.dispatching:
        return None
    listed = suspension.dispatching_on_clusters if suspension is not None else None
    return frozenset(listed.cluster_names or ()) if listed is not None else frozenset()
