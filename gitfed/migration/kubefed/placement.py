"""Where KubeFed sends an object: the clusters that its placement names or selects, cut with those of its namespace.

`clusters`, when it is there, wins over `clusterSelector`, and an empty list means none; a selector that is there and
empty means all, one that is missing means none (KubeFed user guide, "Overridden placement"). An object in a namespace
goes nowhere without a FederatedNamespace, and else only where that goes. Both together are one affinity here, which
names clusters *and* selects by labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.model.base import Body
from gitfed.text import selector
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """An affinity. `names` None: not restricted; `labels` and `expressions` must all hold."""

    names: frozenset[str] | None = None
    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    @property
    def is_none(self) -> bool:
        return self.names is not None and not self.names

    def __and__(self, other: Choice) -> Choice:
        if self.names is None or other.names is None:
            names = self.names if other.names is None else other.names
        else:
            names = self.names & other.names
        # One key with two values in `labels` could not be written: the second one becomes an expression.
        labels, expressions = dict(self.labels), [*self.expressions, *other.expressions]
        for key, value in other.labels:
            if labels.setdefault(key, value) != value:
                expressions.append((key, "In", (value,)))
        return Choice(names, tuple(sorted(labels.items())), tuple(sorted(set(expressions))))

    def clusters(self, labels_of: Mapping[str, Mapping[str, str]]) -> list[str]:
        """Names of the clusters that it chooses, sorted."""
        holds = selector.from_body(self.label_selector())
        return sorted(
            name for name, labels in labels_of.items() if (self.names is None or name in self.names) and holds(labels)
        )

    def label_selector(self) -> dict[str, Any]:
        label_selector: dict[str, Any] = {}
        if self.labels:
            label_selector["matchLabels"] = dict(self.labels)
        if self.expressions:
            label_selector["matchExpressions"] = [
                {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
                for key, operator, values in self.expressions
            ]
        return label_selector

    def affinity(self) -> dict[str, Any]:
        """Karmada's ClusterAffinity; {} for all clusters."""
        cluster_affinity: dict[str, Any] = {}
        if self.names is not None:
            cluster_affinity["clusterNames"] = sorted(self.names)
        if self.labels or self.expressions:
            cluster_affinity["labelSelector"] = self.label_selector()
        return cluster_affinity


NOWHERE = Choice(frozenset())
EVERYWHERE = Choice()


def of(federated: Body, *, selector_only: bool = False) -> Choice:
    """What a Federated object's own placement says. `selector_only`: its list of clusters does not count, as for a
    preference with intersectWithClusterSelector. Raises ValueError for one that KubeFed could not read."""
    spec = federated.get("spec")
    placement = spec.get("placement") if isinstance(spec, dict) else None
    if placement is None:
        return NOWHERE
    if not isinstance(placement, dict):
        raise ValueError("spec.placement is not a mapping")
    clusters = placement.get("clusters")
    if clusters is not None and not selector_only:
        if not isinstance(clusters, list):
            raise ValueError("spec.placement.clusters is not a list")
        return Choice(
            frozenset(
                str(cluster.get("name")) for cluster in clusters if isinstance(cluster, dict) and cluster.get("name")
            )
        )
    chosen = placement.get("clusterSelector")
    if chosen is None:
        return NOWHERE
    return _selected(chosen)


def _selected(chosen: object) -> Choice:
    if not isinstance(chosen, dict):
        raise ValueError("spec.placement.clusterSelector is not a mapping")
    labels, expressions = chosen.get("matchLabels") or {}, chosen.get("matchExpressions") or []
    if not isinstance(labels, dict) or not isinstance(expressions, list):
        raise ValueError("spec.placement.clusterSelector cannot be read")
    match_labels = tuple(sorted((str(key), str(value)) for key, value in labels.items()))
    return Choice(None, match_labels, tuple(sorted(_expressions(expressions))))


def _expressions(expressions: Iterable[object]) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    for expression in expressions:
        if not isinstance(expression, dict) or not expression.get("key") or not expression.get("operator"):
            raise ValueError("spec.placement.clusterSelector.matchExpressions cannot be read")
        values = expression.get("values") or ()
        yield str(expression["key"]), str(expression["operator"]), tuple(str(value) for value in values)
