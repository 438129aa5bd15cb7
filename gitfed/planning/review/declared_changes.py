"""Why two plans differ: policies, overrides, interpreters, clusters and settings that are declared otherwise.

Field by field, with the objects that each of them concerns and those of them that differ. A limit that a change loosens
is told apart: the review of that change does not go by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from gitfed.model.base import ClusterName, ObjectKey, Origin
from gitfed.model.decisions import PolicyRef
from gitfed.model.declared.access import AccessPolicy
from gitfed.model.declared.autoscaling import CronFederatedHPA
from gitfed.model.declared.cluster import Cluster
from gitfed.model.declared.federated_hpa import FederatedHPA
from gitfed.model.declared.federation import Federation, PlacementTest
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from gitfed.model.declared.notification import Notification
from gitfed.model.declared.policy import (
    ClusterTaintPolicy,
    FederatedResourceQuota,
    Override,
    Propagation,
    WorkloadRebalancer,
)
from gitfed.model.declared.remedy import Remedy
from gitfed.model.declared.search import ResourceRegistry
from gitfed.model.declared.services import MultiClusterIngress, MultiClusterService
from gitfed.model.declared.shape import Declared
from gitfed.model.plan import FieldChange, Plan, RenderedManifest
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.objects import redact
from gitfed.planning.review import affected_objects
from gitfed.planning.review.differing_manifests import DifferingManifests
from gitfed.text import canonical
from gitfed.text.values import dataclass

LIMITS = ("guards", "state")
"""Members of a Federation's spec that a review reads from the base, so that a change cannot loosen its own check."""

PLANNED: frozenset[type[Declared]] = frozenset({
    Cluster, ClusterTaintPolicy, FederatedResourceQuota, Override, Propagation, ResourceInterpreterCustomization,
    ResourceInterpreterWebhookConfiguration, WorkloadRebalancer, CronFederatedHPA, FederatedHPA,
})  # fmt: skip
"""Kinds whose objects a plan shows by what they do: to placement, to manifests, to what waits."""
BESIDE_PLANS: frozenset[type[Declared]] = frozenset(
    {
        AccessPolicy, Federation, MultiClusterIngress, MultiClusterService, Notification, PlacementTest, Remedy,
        ResourceRegistry,
    }
)  # fmt: skip
"""Kinds that may change without any object of a plan changing: who may do what, who is told, what is checked, what is
asked of others, what is kept at hand for searching, whose endpoints go where."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared object (policy, override, interpreter, cluster, settings) that is new, gone or different."""

    key: ObjectKey
    verb: str
    """`new`, `gone` or `changed`."""
    origin: Origin
    """In the head; of the base for one that is gone."""
    fields: tuple[FieldChange, ...] = ()
    """Of one that changed."""
    concerns: tuple[ObjectKey, ...] = ()
    """Objects that it places, changes or explains, in base or head; sorted."""
    differing: tuple[ObjectKey, ...] = ()
    """Those of them whose placement or manifest differs."""


def declared(
    base_repo: RepoSnapshot,
    head_repo: RepoSnapshot,
    plans: tuple[Plan, Plan],
    differing: set[ObjectKey],
    touched: Sequence[ObjectKey],
    manifests: DifferingManifests,
    hidden: redact.Hidden,
) -> Iterator[Declaration]:
    """`plans`: of base and head. `differing`: objects that differ; `touched`: those whose `manifests` can."""
    pairs = _otherwise(base_repo, head_repo)
    concerns = _Concerns(plans, touched, manifests, base_repo.scope.placed) if pairs else None
    for before, after in pairs:
        assert concerns is not None
        declaration = _declaration(before, after, hidden)
        keys = concerns.of(_present(before, after))
        yield replace(declaration, concerns=tuple(sorted(keys)), differing=tuple(sorted(keys & differing)))


def beside_plan(base_repo: RepoSnapshot, head_repo: RepoSnapshot) -> tuple[Declaration, ...]:
    """What is declared otherwise and no object of a plan shows: of `BESIDE_PLANS`, sorted."""
    return otherwise(base_repo, head_repo, BESIDE_PLANS)


def otherwise(
    base_repo: RepoSnapshot, head_repo: RepoSnapshot, kinds: frozenset[type[Declared]] = PLANNED | BESIDE_PLANS
) -> tuple[Declaration, ...]:
    """What is declared otherwise, sorted, without the objects that it concerns: only plans tell these."""
    pairs = [pair for pair in _otherwise(base_repo, head_repo) if type(_present(*pair)) in kinds]
    if not pairs:
        return ()
    manifests = (item for repo in (base_repo, head_repo) for item in repo.manifests.items())
    hidden = redact.Hidden(manifest.body for key, manifest in manifests if key.kind == "Secret" and not key.group)
    return tuple(_declaration(before, after, hidden) for before, after in pairs)


_Sides = tuple[Declared | None, Declared | None]


def _otherwise(base_repo: RepoSnapshot, head_repo: RepoSnapshot) -> list[_Sides]:
    """(before, after) of what is new, gone or different, sorted by key."""
    old, new = (
        {resource.key: resource for resource in _all(base_repo)},
        {resource.key: resource for resource in _all(head_repo)},
    )
    differing = [
        key for key in old.keys() | new.keys() if old.get(key) is not new.get(key) and old.get(key) != new.get(key)
    ]
    return [(old.get(key), new.get(key)) for key in sorted(differing)]


def _present(before: Declared | None, after: Declared | None) -> Declared:
    present = after if after is not None else before
    assert present is not None
    return present


def _declaration(before: Declared | None, after: Declared | None, hidden: redact.Hidden) -> Declaration:
    present = _present(before, after)
    return Declaration(
        key=present.key,
        verb="new" if before is None else "gone" if after is None else "changed",
        origin=present.origin,
        fields=tuple(_fields(before, after, hidden)) if before is not None and after is not None else (),
    )


def _all(repo: RepoSnapshot) -> list[Declared]:
    return [
        repo.settings,
        *repo.clusters.values(),
        *repo.propagation,
        *repo.overrides,
        *repo.quotas,
        *repo.taint_policies,
        *repo.interpreters,
        *repo.webhooks,
        *repo.remedies,
        *repo.rebalancers,
        *repo.autoscalers,
        *repo.tests,
        *repo.access,
        *repo.notifications,
        *repo.multicluster_services,
        *repo.multicluster_ingresses,
        *repo.registries,
    ]


class _Concerns:
    """Which objects a declared object concerns, in either plan; each index is made when it is first asked."""

    def __init__(
        self,
        plans: tuple[Plan, Plan],
        touched: Sequence[ObjectKey],
        manifests: DifferingManifests,
        placed: Mapping[ClusterName, Set[ObjectKey]],
    ) -> None:
        self._plans = plans
        self._touched = touched
        self._manifests = manifests
        self._placed = placed

    def of(self, declared: Declared) -> set[ObjectKey]:
        plans = self._plans
        if isinstance(declared, MultiClusterService):
            return {declared.service}
        if isinstance(declared, Propagation):
            wanted = _ref(declared)
            return {
                key for plan in plans for key, binding in plan.bindings.items() if binding.scheduled.policy == wanted
            }
        if isinstance(declared, Override):
            return self._edited_by(declared)
        if isinstance(declared, ResourceInterpreterCustomization):
            target = (declared.spec.target.api_version, declared.spec.target.kind)
            return {
                key
                for plan in plans
                for key, binding in plan.bindings.items()
                if (binding.api_version, key.kind) == target
            }
        if isinstance(declared, CronFederatedHPA | FederatedHPA):
            return {key for plan in plans for key in plan.bindings if key == declared.target}
        if declared.kind == "Cluster":
            name = declared.metadata.name
            here = {
                key for plan in plans for key, binding in plan.bindings.items() if binding.share_of(name) is not None
            }
            return here | self._placed.get(name, set())
        return set()

    def _edited_by(self, policy: Override) -> set[ObjectKey]:
        """What it edits anywhere. Where its change shows is looked at first: most often that tells already."""
        ref = str(_ref(policy))
        return {
            key
            for key in self._touched
            if any(_edits(ref, classes) for classes in self._manifests.of(key))
            or (self._may_select(policy, key) and any(_edits(ref, plan.rendered.get(key, ())) for plan in self._plans))
        }

    def _may_select(self, policy: Override, key: ObjectKey) -> bool:
        bindings = (plan.bindings.get(key) for plan in self._plans)
        return any(
            affected_objects.may_select(policy, key, binding.api_version) for binding in bindings if binding is not None
        )


def _edits(policy: str, classes: Sequence[RenderedManifest]) -> bool:
    return any(edit.by == policy for rendered in classes for edit in rendered.edits)


def _ref(policy: Propagation | Override) -> PolicyRef:
    return PolicyRef(policy.kind, policy.metadata.namespace, policy.metadata.name)


def _fields(before: Declared, after: Declared, hidden: redact.Hidden) -> Iterator[FieldChange]:
    """What is said differently, spelled as in files; values that a Secret would get are masked."""
    old, new = (redact.declared(side.as_json()) for side in (before, after))
    for change in differences(old, new):
        yield replace(change, before=hidden.value(change.before), after=hidden.value(change.after))
    if old == new:
        # What differs is masked on both sides alike.
        yield FieldChange("/spec", redact.BEFORE, redact.AFTER)


def differences(before: Any, after: Any, pointer: str = "") -> Iterator[FieldChange]:
    """Member by member; lists of equal length item by item, other lists as a whole."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            path = f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"
            if name not in after:
                yield FieldChange(path, before[name], None, absent_after=True)
            elif name not in before:
                yield FieldChange(path, None, after[name], absent_before=True)
            else:
                yield from differences(before[name], after[name], path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{pointer}/{index}")
    elif canonical.dumps(before) != canonical.dumps(after):
        yield FieldChange(pointer, before, after)


def loosened(declared: Declaration) -> tuple[FieldChange, ...]:
    """Changes of limits in a Federation: a review goes by the base's, and a reader must see that they change."""
    if declared.key.kind != "Federation":
        return ()
    return tuple(change for change in declared.fields if change.pointer.split("/")[1:3][-1] in LIMITS)
