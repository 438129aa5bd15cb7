"""Whether a cluster matches a cluster affinity (Karmada: scheduling §2, policies §4.2).

Exclusion first, then every given part must hold: names, labels, fields. A part that is not given asks for nothing.
Used by placements and, word for word the same, by override rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.match import compiled

if TYPE_CHECKING:
    from gitfed.model.declared.placement import WorkloadAffinity, WorkloadGroup
    from gitfed.model.declared.policy import AffinityTerm, ClusterAffinity, OverflowAffinity, Placement
    from gitfed.model.repo import Manifest

Predicate: TypeAlias = Callable[[Candidate], bool]


class Term(NamedTuple):
    """One of the ordered groups of `clusterAffinities`; the plain `clusterAffinity` is a term without a name."""

    name: str
    matches: Predicate
    overflow: tuple[Predicate, ...] = ()
    """Where replicas go that find no room, in order."""

    def tier(self, candidate: Candidate) -> int | None:
        """0: in the group itself, n: in its n-th overflow; None: in none."""
        for index, matches in enumerate((self.matches, *self.overflow)):
            if matches(candidate):
                return index
        return None


def everywhere(candidate: Candidate) -> bool:
    """The affinity of a placement that has none."""
    return True


def compile(wanted: ClusterAffinity | AffinityTerm | OverflowAffinity | None) -> Predicate:  # noqa: A001
    if wanted is None:
        return everywhere
    excluded = frozenset(wanted.exclude or ())
    names = frozenset(wanted.cluster_names or ())
    parts: list[Predicate] = []
    if excluded:
        parts.append(lambda candidate: candidate.name not in excluded)
    if names:
        parts.append(lambda candidate: candidate.name in names)
    if wanted.label_selector is not None:
        labels = compiled(wanted.label_selector)
        parts.append(lambda candidate: labels(candidate.labels))
    if wanted.field_selector is not None:
        for expression in wanted.field_selector.match_expressions or ():
            parts.append(partial(_field_matches, expression.key, expression.operator, tuple(expression.values or ())))
    if not parts:
        return everywhere
    return lambda candidate: all(part(candidate) for part in parts)


def terms(placement: Placement) -> list[Term]:
    """The groups to try, in order. Never empty."""
    if placement.cluster_affinities:
        return [
            Term(term.affinity_name, compile(term), tuple(compile(item) for item in term.overflow_affinities))
            for term in placement.cluster_affinities
        ]
    return [Term("", compile(placement.cluster_affinity))]


def groups(wanted: WorkloadAffinity, manifest: Manifest) -> tuple[str, str]:
    """(affinity group, anti-affinity group) of a template, `<label key>=<value>`; "" where it does not carry the label.

    Only namespaced templates have groups, and only those of one namespace meet (Karmada: scheduling §2).
    """
    labels = (manifest.body.get("metadata") or {}).get("labels") or {}

    def name(group: WorkloadGroup | None) -> str:
        if group is None or group.group_by_label_key not in labels or not manifest.key.namespace:
            return ""
        return f"{group.group_by_label_key}={labels[group.group_by_label_key]}"

    return name(wanted.affinity), name(wanted.anti_affinity)


def _field_matches(key: str, operator: str, values: Sequence[str], candidate: Candidate) -> bool:
    """`In` needs a value that is listed, `NotIn` that none is: a cluster without the field passes `NotIn`.

    An expression that no API server would accept (values beside `Exists`, none beside `In`) matches nothing; of zones
    it is read as far as it goes (Karmada: ClusterMatches).
    """
    have: Sequence[str]
    match key:
        case "provider":
            have = (candidate.provider,) if candidate.provider else ()
        case "region":
            have = (candidate.region,) if candidate.region else ()
        case "zone":
            have = candidate.zones
        case _:
            return False
    needs_values = operator in ("In", "NotIn")
    if key != "zone" and bool(values) is not needs_values:
        return False
    matches = any(value in values for value in have) if needs_values else bool(have)
    return matches is (operator in ("In", "Exists"))
