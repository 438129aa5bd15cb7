"""How far a change reaches: which templates can come out otherwise in two plans from the same facts and decisions.

Two questions. Of two whole plans: whose manifests can differ (`differing`)? Nothing else is rendered, however large the
repository. And before anything is planned: given what stands in the files that changed, which templates of other files
are to be planned too (`further`)? Then a review of one file costs one file. Where templates share something that one of
them can take from another (room, a quota, a group, a namespace that nobody declares, dependencies), the answer is: all
of them. A review of few that is not the whole truth after all shows it by its result (`is_whole`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions, Share
from gitfed.model.declared.policy import Override, Propagation
from gitfed.model.declared.shape import Declared
from gitfed.model.plan import Binding, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement import strategy
from gitfed.render import namespaces

if TYPE_CHECKING:
    from gitfed.change.review import Review

Policy: TypeAlias = Override | Propagation
_Kind = TypeVar("_Kind", bound=Declared)
_PARTS = ("deletions", "deletion percent", "moved replicas")
"""Gates whose value is a part of all there is, or comes with one."""
_READ_BY_OTHERS = (("apiextensions.k8s.io", "CustomResourceDefinition"), ("scheduling.k8s.io", "PriorityClass"))


def differing(base_repo: RepoSnapshot, head_repo: RepoSnapshot, base: Plan, head: Plan) -> Set[ObjectKey]:
    """What is rendered follows from the template, its binding, the overrides that select it, the clusters, the
    interpreter and the name of the federation."""
    one, other = base_repo, head_repo
    everything = base.bindings.keys() | head.bindings.keys()
    if (
        one.settings.metadata.name != other.settings.metadata.name
        or one.clusters != other.clusters
        or (one.interpreters, one.webhooks) != (other.interpreters, other.webhooks)
        or base.clusters != head.clusters
    ):
        return everything
    found = {
        key
        for key in everything
        if one.manifests.get(key) is not other.manifests.get(key)
        or (base.bindings.get(key) is not head.bindings.get(key) and base.bindings.get(key) != head.bindings.get(key))
        or (key not in one.manifests and key not in other.manifests)
    }
    if policies := _unlike(one.overrides, other.overrides):
        versions = {key: binding.api_version for plan in (base, head) for key, binding in plan.bindings.items()}
        found |= _selected(policies, versions)
    return found


def further(base: RepoSnapshot, head: RepoSnapshot, others: Mapping[ObjectKey, str]) -> set[ObjectKey] | None:
    """Which of the templates `others` (key → apiVersion) have to be planned with those of the two snapshots.

    The snapshots hold every file that changed between them or says something about other files' objects; `others` stand
    in files that are the same in both. None: all of them, or more than can be told.
    """
    if (
        (base.settings, base.clusters, base.taint_policies, base.webhooks, base.rebalancers)
        != (head.settings, head.clusters, head.taint_policies, head.webhooks, head.rebalancers)
        or base.quotas or head.quotas
        or _far(base) != _far(head)
        or not (base.complete and head.complete)
    ):  # fmt: skip
        return None
    policies: list[Policy] = [*_unlike(base.propagation, head.propagation), *_unlike(base.overrides, head.overrides)]
    kinds = {
        (one.spec.target.api_version, one.spec.target.kind) for one in _unlike(base.interpreters, head.interpreters)
    }
    found = _selected(policies, others) | {key for key, version in others.items() if (version, key.kind) in kinds}
    changed: list[tuple[ObjectKey, str]] = []
    for key in base.manifests.keys() | head.manifests.keys():
        old, new = base.manifests.get(key), head.manifests.get(key)
        if old is new or old == new:
            continue
        if (old is None or new is None) and _follows(key, head):
            return None
        changed += [(key, one.api_version) for one in (old, new) if one is not None]
    versions = {key: one.api_version for repo in (base, head) for key, one in repo.manifests.items()}
    planned = dict(changed) | {key: versions[key] for key in _selected(policies, versions)}
    planned |= {key: others[key] for key in found}
    own_rules = bool(base.interpreters or base.webhooks or head.interpreters)
    if any(_couples(policy, planned, own_rules) for policy in (*base.propagation, *head.propagation)):
        return None
    return found


def is_whole(review: Review, base: RepoSnapshot, head: RepoSnapshot, decisions: Decisions, *, waited: bool) -> bool:
    """Whether a review of few templates says what one of all would: nothing moves or goes, which limits count as parts
    of everything, no namespace follows its content, no room is taken from others, and nothing is left in a cluster that
    nobody declares. `decisions`: of these few, as recorded; `waited`: one of them took its turn among others."""
    if waited or review.flows or any(one.move for one in review.changes):
        return False
    if any(gate.name in _PARTS and gate.value not in ("0", "0%") for gate in review.gates):
        return False
    before, after = review.base.bindings, review.head.bindings
    spaces = (key for key in before.keys() | after.keys() if namespaces.is_namespace(key) and key not in head.manifests)
    if any(_shares(before, key) != _shares(after, key) for key in spaces):
        return False
    if any(_by_room(policy) for policy in (*base.propagation, *head.propagation)):
        for key, binding in after.items():
            past = decisions.bindings.get(key)
            if binding.replicas is not None and (
                binding.shares != _shares(before, key) or past is None or past.shares != binding.shares
            ):
                return False
    known = set(review.head.clusters)
    return all(share.cluster in known for one in decisions.bindings.values() for share in one.targets)


def may_select(policy: Policy, key: ObjectKey, api_version: str) -> bool:
    """As far as kind, namespace and name tell: labels may come from an override, and of some only the key is known."""
    own = "" if policy.is_cluster_wide else policy.metadata.namespace
    if own and key.namespace != own:
        return False
    wanted = policy.spec.resource_selectors
    return not wanted or any(
        (one.api_version, one.kind) == (api_version, key.kind)
        and one.namespace in (None, "", key.namespace)
        and one.name in (None, "", key.name)
        for one in wanted
    )


def _selected(policies: Sequence[Policy], versions: Mapping[ObjectKey, str]) -> set[ObjectKey]:
    if not policies:
        return set()
    return {key for key, version in versions.items() if any(may_select(one, key, version) for one in policies)}


def _unlike(before: Iterable[_Kind], after: Iterable[_Kind]) -> list[_Kind]:
    """Both versions of what differs, and what only one side has."""
    old, new = {one.key: one for one in before}, {one.key: one for one in after}
    keys = [key for key in sorted(old.keys() | new.keys())
            if old.get(key) is not new.get(key) and old.get(key) != new.get(key)]  # fmt: skip
    return [side[key] for key in keys for side in (old, new) if key in side]


def _far(repo: RepoSnapshot) -> set[object]:
    """What other templates may go by: which namespaces are declared, custom kinds, classes of priority."""
    found: set[object] = set()
    for key, manifest in repo.manifests.items():
        if namespaces.is_namespace(key):
            found.add(key)
        elif key[:2] in _READ_BY_OTHERS:
            found.add((key, manifest.digest))
    return found


def _follows(key: ObjectKey, head: RepoSnapshot) -> bool:
    """Whether its namespace is made where its content goes: all of that counts."""
    return bool(key.namespace) and ObjectKey("", "Namespace", "", key.namespace) not in head.manifests


def _couples(policy: Propagation, planned: Mapping[ObjectKey, str], own_rules: bool) -> bool:
    """Whether by this policy the place of one of these templates depends on others, or theirs on it."""
    if policy.spec.propagate_deps:
        # What a workload refers to stands in its namespace; a rule of the repository's own may look elsewhere.
        own = "" if policy.is_cluster_wide else policy.metadata.namespace
        if planned and (not own or own_rules or any(key.namespace == own for key in planned)):
            return True
    if policy.spec.placement.workload_affinity is None:
        return False
    return any(may_select(policy, key, version) for key, version in planned.items())


def _by_room(policy: Propagation) -> bool:
    return strategy.by_room(policy.spec.placement) or strategy.spreads(policy.spec.placement)


def _shares(bindings: Mapping[ObjectKey, Binding], key: ObjectKey) -> tuple[Share, ...]:
    return bindings[key].shares if key in bindings else ()
