"""Which propagation policy takes a template (Karmada: policies, matching).

Every commit is judged afresh: the best policy wins, whoever had the template before. Policies are indexed by what
their selectors name (kind, and where given namespace and name), so that a lookup touches only selectors that could
match, however many policies there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gitfed.model.decisions import PolicyRef
from gitfed.text import selector
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import LabelSelector, Propagation
    from gitfed.model.repo import Manifest

ANY = 1
BY_LABEL = 2
BY_NAME = 3
"""Implicit priorities: how precisely a selector names a template."""


@dataclass(frozen=True, slots=True)
class Match:
    policy: Propagation | None
    losers: tuple[PolicyRef, ...] = ()
    """The other policies that select the template, the next best first."""


class _Entry(NamedTuple):
    policy: Propagation
    implicit: int
    labels: selector.Predicate | None


_Table: TypeAlias = dict[tuple[str, str], dict[tuple[str, str], list[_Entry]]]
"""By apiVersion and kind, then by namespace and name, "" where a selector names everything."""


class Index:
    """All policies of one commit, ready for `best`."""

    def __init__(self, policies: Iterable[Propagation], claims: Iterable[Propagation] = ()) -> None:
        """`claims`: policies for one object each, which come before all others (a MultiClusterService)."""
        self._namespaced: _Table = {}
        self._cluster: _Table = {}
        self._claims = {
            (selector.api_version, selector.kind, selector.namespace or "", selector.name or ""): policy
            for policy in claims
            for selector in policy.spec.resource_selectors
        }
        for policy in policies:
            own = policy.metadata.namespace if policy.kind == "PropagationPolicy" else ""
            table = self._namespaced if own else self._cluster
            for wanted in policy.spec.resource_selectors:
                if own and wanted.namespace not in (None, "", own):
                    continue  # admission refuses it; a policy never reaches out of its namespace
                places = table.setdefault((wanted.api_version, wanted.kind), {})
                entry = _Entry(policy, *precision(wanted.name, wanted.label_selector))
                places.setdefault((own or wanted.namespace or "", wanted.name or ""), []).append(entry)

    def best(self, manifest: Manifest) -> Match:
        """A policy of the template's namespace beats any cluster-wide one, whatever the priorities (§2.4)."""
        ranked = [*self._ranked(self._namespaced, manifest), *self._ranked(self._cluster, manifest)]
        if self._claims and (claim := self._claims.get((manifest.api_version, *manifest.key[1:]))) is not None:
            ranked.insert(0, claim)
        if not ranked:
            return Match(None)
        return Match(ranked[0], tuple(ref(policy) for policy in ranked[1:]))

    def _ranked(self, table: _Table, manifest: Manifest) -> list[Propagation]:
        _, kind, namespace, name = manifest.key
        places = table.get((manifest.api_version, kind))
        if places is None:
            return []
        entries = [
            entry
            for place in {(namespace, name), (namespace, ""), ("", name), ("", "")}
            for entry in places.get(place, ())
        ]
        labels: selector.Labels = (manifest.body.get("metadata") or {}).get("labels") or {}
        scores: dict[tuple[str, str], tuple[int, Propagation]] = {}
        for entry in entries:
            if entry.labels is not None and not entry.labels(labels):
                continue
            identity = (entry.policy.metadata.namespace or "", entry.policy.metadata.name)
            best = scores.get(identity)
            if best is None or best[0] < entry.implicit:
                scores[identity] = (entry.implicit, entry.policy)
        if len(scores) < 2:
            return [policy for _, policy in scores.values()]
        order = sorted(scores.values(), key=lambda item: (-_priority(item[1]), -item[0], item[1].metadata.name))
        return [policy for _, policy in order]


def best(manifest: Manifest, policies: Iterable[Propagation]) -> Match:
    """For one template; with many of them keep a `Index`."""
    return Index(policies).best(manifest)


def ref(policy: Propagation) -> PolicyRef:
    return PolicyRef(policy.kind, policy.metadata.namespace or "", policy.metadata.name)


def precision(name: str | None, labels: LabelSelector | None) -> tuple[int, selector.Predicate | None]:
    """Implicit priority of a selector that matches, and what the labels must fulfil (a name makes them irrelevant)."""
    if name:
        return BY_NAME, None
    if labels is None:
        return ANY, None
    return BY_LABEL, compiled(labels)


def compiled(labels: LabelSelector) -> selector.Predicate:
    return selector.compile(
        labels.match_labels or {},
        [(item.key, item.operator, item.values or ()) for item in labels.match_expressions or ()],
    )


def _priority(policy: Propagation) -> int:
    return policy.spec.priority or 0
