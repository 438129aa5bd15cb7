"""Placements that rely on something odd: they mean something else in Karmada, or less than they seem to say.

Nothing here is a mistake that must be refused; each sentence says what will happen, so that nobody is surprised. What
is odd in the reference and what gitfed does instead is listed on the page "Differences from Karmada".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitfed.placement.scheduling import strategy
from gitfed.placement.scheduling.strategy import Strategy
from gitfed.text import selector

if TYPE_CHECKING:
    from gitfed.model.declared.policy import ClusterAffinity, Placement, SpreadConstraint


def relied_on(placement: Placement) -> list[str]:
    """One sentence for each oddity, in the order in which a placement is read."""
    return [*_selectors(placement), *_constraints(placement), *_weights(placement)]


def _selectors(placement: Placement) -> Iterator[str]:
    """An invalid selector is not refused by the reference: it matches no cluster."""
    affinities: list[ClusterAffinity] = [placement.cluster_affinity] if placement.cluster_affinity else []
    for term in placement.cluster_affinities:
        affinities += [term, *term.overflow_affinities]
    for affinity in affinities:
        if (labels := affinity.label_selector) is None:
            continue
        parts = [(item.key, item.operator, item.values) for item in labels.match_expressions]
        for fault in selector.problems(labels.match_labels, parts):
            yield f"a label selector matches no cluster: {fault}"


def _constraints(placement: Placement) -> Iterator[str]:
    by_field = {item.spread_by_field: item for item in placement.spread_constraints if item.spread_by_field}
    for field, item in by_field.items():
        if field in ("cluster", "region") and not item.max_groups:
            yield f"spreading by {field} without maxGroups has no upper limit; Karmada would select nothing"
        if field in ("zone", "provider"):
            yield f"spreading by {field} only asks that clusters have a {field}: nothing is spread, as in Karmada"
    region, cluster = by_field.get("region"), by_field.get("cluster")
    if region and cluster and 0 < cluster.max_groups < region.min_groups:
        yield (
            f"{region.min_groups} regions need more clusters than maxGroups {cluster.max_groups} allows: "
            "one cluster of each region is used all the same, as in Karmada"
        )
    if by_field:
        yield from _without_effect(placement, by_field.get("cluster"))


def _without_effect(placement: Placement, cluster: SpreadConstraint | None) -> Iterator[str]:
    if strategy.of(placement) is not Strategy.STATIC:
        return
    if not strategy.spreads(placement) and cluster is not None:
        yield "static weights switch spread constraints off: every cluster with a weight is used, as in Karmada"
    elif strategy.spreads(placement):
        yield (
            "an empty weightPreference divides evenly but keeps spread constraints in force, and clusters "
            "are then chosen by their room, as in Karmada; leave weightPreference out to use every cluster"
        )


def _weights(placement: Placement) -> Iterator[str]:
    scheduling = placement.replica_scheduling
    preference = scheduling.weight_preference if scheduling else None
    if scheduling is None or preference is None:
        return
    if scheduling.replica_scheduling_type == "Duplicated":
        yield "weightPreference has no effect: every cluster gets all replicas"
    elif scheduling.replica_division_preference == "Aggregated":
        yield "weightPreference has no effect: Aggregated goes by room"
    elif preference.dynamic_weight and preference.static_weight_list:
        yield "staticWeightList has no effect beside dynamicWeight"
