"""Which templates can come out otherwise in two plans from the same facts and decisions.

Of two plans: whose manifests can differ (`differing`)? Nothing else is rendered, however large the repository. Which
templates have to be planned at all for that is another question (`reach`), and begins with the same: what two commits
declare otherwise, and what that may select.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeAlias, TypeVar

from gitfed.interpret.registry import Operation
from gitfed.model.base import ObjectKey
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.model.declared.policy import Override, Propagation
from gitfed.model.declared.shape import Declared
from gitfed.model.plan import Binding, Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.review import cluster_changes

Policy: TypeAlias = Override | Propagation
_Kind = TypeVar("_Kind", bound=Declared)


def differing(base_repo: RepoSnapshot, head_repo: RepoSnapshot, base: Plan, head: Plan) -> Set[ObjectKey]:
    """What is rendered follows from the template, its binding, the overrides that select it and what they ask of the
    clusters, the interpreter and the name of the federation."""
    everything = base.bindings.keys() | head.bindings.keys()
    if not renders_alike(base_repo, head_repo):
        return everything
    affected = {
        key
        for key in everything
        if base_repo.manifests.get(key) is not head_repo.manifests.get(key)
        or placed_otherwise(base.bindings.get(key), head.bindings.get(key))
        or (key not in base_repo.manifests and key not in head_repo.manifests)
    }
    policies = [*unlike(base_repo.overrides, head_repo.overrides), *hitting_otherwise(base_repo, head_repo)]
    kinds = kinds_of_scripts(base_repo, head_repo)
    if policies or kinds:
        versions = {key: binding.api_version for plan in (base, head) for key, binding in plan.bindings.items()}
        affected |= selected(policies, versions)
        affected |= {key for key, version in versions.items() if (version, key.kind) in kinds}
    return affected


def renders_alike(base: RepoSnapshot, head: RepoSnapshot) -> bool:
    """Whether what both have in common for all manifests is the same: the federation's name, and webhooks."""
    return base.settings.metadata.name == head.settings.metadata.name and base.webhooks == head.webhooks


def kinds_of_scripts(base: RepoSnapshot, head: RepoSnapshot) -> set[tuple[str, str]]:
    """(apiVersion, kind) whose manifests, or their meaning beside what a cluster has, a script makes otherwise.

    Scripts that say how many replicas there are, or what they need, show in the bindings; those about status and health
    in no manifest.
    """
    old, new = _scripts(base.interpreters), _scripts(head.interpreters)
    return {place[:2] for place in old.keys() | new.keys() if old.get(place) != new.get(place)}


def _scripts(rules: Iterable[ResourceInterpreterCustomization]) -> dict[tuple[str, str, Operation], list[str]]:
    """By (apiVersion, kind, operation): every script, in the order in which one is chosen."""
    scripts: dict[tuple[str, str, Operation], list[str]] = {}
    for rule in sorted(rules, key=lambda rule: rule.metadata.name):
        for operation in (Operation.REVISE, Operation.RETAIN):
            if text := rule.script(operation.value):
                scripts.setdefault((*target(rule), operation), []).append(text)
    return scripts


def hitting_otherwise(base: RepoSnapshot, head: RepoSnapshot) -> list[Override]:
    """Overrides that some clusters are another target to: these are declared otherwise."""
    clusters = cluster_changes.of(base.clusters, head.clusters) if base.clusters is not head.clusters else []
    return [
        *cluster_changes.overriding(clusters, base.overrides),
        *cluster_changes.overriding(clusters, head.overrides),
    ]


def target(rule: ResourceInterpreterCustomization) -> tuple[str, str]:
    """(apiVersion, kind) of what a customization explains."""
    return rule.spec.target.api_version, rule.spec.target.kind


def placed_otherwise(before: Binding | None, after: Binding | None) -> bool:
    """Why a cluster was not chosen is in no manifest."""
    if before is after or before is None or after is None:
        return before is not after
    return (
        before != after
        and replace(before, reasons=replace(before.reasons, rejections=after.reasons.rejections)) != after
    )


def may_select(policy: Policy, key: ObjectKey, api_version: str) -> bool:
    """As far as kind, namespace and name tell: labels may come from an override, and of some only the key is known."""
    own = "" if policy.is_cluster_wide else policy.metadata.namespace
    if own and key.namespace != own:
        return False
    wanted = policy.spec.resource_selectors
    return not wanted or any(
        (selector.api_version, selector.kind) == (api_version, key.kind)
        and selector.namespace in (None, "", key.namespace)
        and selector.name in (None, "", key.name)
        for selector in wanted
    )


def selected(policies: Sequence[Policy], versions: Mapping[ObjectKey, str]) -> set[ObjectKey]:
    if not policies:
        return set()
    own: dict[str, list[Policy]] = {}
    for policy in policies:
        own.setdefault("" if policy.is_cluster_wide else policy.metadata.namespace, []).append(policy)
    wide = own.pop("", [])
    return {
        key
        for key, version in versions.items()
        if any(may_select(policy, key, version) for policy in wide)
        or (key.namespace in own and any(may_select(policy, key, version) for policy in own[key.namespace]))
    }


def unlike(before: Iterable[_Kind], after: Iterable[_Kind]) -> list[_Kind]:
    """Both versions of what differs, and what only one side has."""
    old, new = {policy.key: policy for policy in before}, {policy.key: policy for policy in after}
    keys = [
        key
        for key in sorted(old.keys() | new.keys())
        if old.get(key) is not new.get(key) and old.get(key) != new.get(key)
    ]
    return [side[key] for key in keys for side in (old, new) if key in side]
