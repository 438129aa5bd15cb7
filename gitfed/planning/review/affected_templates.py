"""Which templates have to be planned to see what a change does, and whether a review of these is the whole truth.

Given what stands in the files that changed, `further` tells which templates of other files are to be planned too. Then
a review of one file costs one file. Templates that share something are planned together: those that a policy selects,
those of a namespace in which workloads take their dependencies along, keep together or use up a quota. What is a part
of all there is (limits, the namespaces that nobody declares, the room of the clusters) is known of the others where
they were looked at before (`unplanned`); where not, or where more is shared, the answer is: all of them. A review of
few that is not the whole truth after all shows it by its result (`is_whole`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions, Share
from gitfed.model.plan import Binding
from gitfed.model.repo import RepoSnapshot
from gitfed.planning.review import cluster_changes, leftovers, locality
from gitfed.planning.review.affected_objects import Policy, hitting_otherwise, selected, target, unlike
from gitfed.planning.unplanned import UnplannedTemplate
from gitfed.render import namespaces
from gitfed.services import placement as services

if TYPE_CHECKING:
    from gitfed.planning.review.review import Review

_PARTS = ("deletions", "deletion percent", "moved replicas")
"""Gates whose value is a part of all there is, or comes with one."""


def further(
    base: RepoSnapshot,
    head: RepoSnapshot,
    others: Mapping[ObjectKey, str],
    rows: Mapping[ObjectKey, UnplannedTemplate] | None,
) -> set[ObjectKey] | None:
    """Which of the templates `others` (key → apiVersion) have to be planned with those of the two snapshots.

    The snapshots hold every file that changed between them or says something about other files' objects; `others` stand
    in files that are the same in both. `rows`: where the others go, if that is known. None: all of them, or more than
    can be told.
    """
    if not locality.is_local(base, head, rows_known=rows is not None):
        return None
    kinds = {target(rule) for rule in unlike(base.interpreters, head.interpreters)}
    affected = selected(_differing(base, head), others)
    affected |= {key for key, version in others.items() if (version, key.kind) in kinds}
    affected |= {autoscaler.target for repo in (base, head) for autoscaler in repo.autoscalers} & others.keys()
    if rows is not None:
        for change in cluster_changes.of(base.clusters, head.clusters):
            elsewhere = {key: version for key, version in others.items() if change.before.name not in rows[key].where}
            affected |= selected([*cluster_changes.repelled(change, [*base.propagation, *head.propagation])], elsewhere)
    planned = {key: manifest.api_version for repo in (base, head) for key, manifest in repo.manifests.items()}
    changed = {key for key in planned if base.manifests.get(key) != head.manifests.get(key)}
    concerned = {key: planned[key] for key in changed | selected(_differing(base, head), planned)}
    concerned |= {key: others[key] for key in affected}
    together = locality.together(base, head, concerned)
    if together is None:
        return None
    return affected | {key for key in others if key.namespace in together} if together else affected


def is_whole(review: Review, base: RepoSnapshot, head: RepoSnapshot, decisions: Decisions, *, waited: bool) -> bool:
    """Whether a review of few templates says what one of all would.

    `decisions`: of these few, as recorded; `waited`: one of them waited for room. Where the snapshots' scope counts the
    others, these are part of the review, and whoever takes room is among the few.
    """
    clusters = set(review.head.clusters)
    if any(share.cluster not in clusters for decision in decisions.bindings.values() for share in decision.targets):
        return False  # what is left in a cluster that nobody declares is said with its number
    before, after = review.base.bindings, review.head.bindings
    if any(
        requirement.owner not in before and requirement.owner not in after
        for decision in decisions.bindings.values()
        for requirement in decision.ownership.required_by
        if requirement.still_in
    ):
        return False  # it stays for an orphan that is not among the few
    if any(_ceases_to_be_an_orphan(binding, after.get(key)) for key, binding in before.items()):
        return False  # what it needed stayed with it, and may not be among the few
    if base.settings.spec.failover.max_evictions_per_minute is not None and any(
        key not in decisions.bindings or binding.evictions != decisions.bindings[key].failover.evictions
        for plan in (before, after)
        for key, binding in plan.items()
        if binding.evictions
    ):
        return False  # who leaves first depends on all that leave
    if base.scope.counted:
        return True
    if waited or review.flows or any(change.move for change in review.changes):
        return False
    if any(gate.name in _PARTS and gate.value not in ("0", "0%") for gate in review.gates):
        return False
    spaces = (key for key in before.keys() | after.keys() if namespaces.is_namespace(key) and key not in head.manifests)
    if any(_shares(before, key) != _shares(after, key) for key in spaces):
        return False
    if locality.goes_by_room(base, head):
        for key, binding in after.items():
            past = decisions.bindings.get(key)
            if binding.scheduled.replicas is not None and (
                binding.scheduled.shares != _shares(before, key)
                or past is None
                or past.scheduled.shares != binding.scheduled.shares
            ):
                return False
    return True


def _ceases_to_be_an_orphan(was: Binding, will: Binding | None) -> bool:
    if not leftovers.is_orphan(was) or was.decision is None or not was.decision.targets:
        return False
    return will is None or not leftovers.is_orphan(will)


def _differing(base: RepoSnapshot, head: RepoSnapshot) -> list[Policy]:
    """Policies that differ, those that wait for an override which comes or goes (`dependentOverrides`), and those to
    which a cluster that is declared otherwise is another target."""
    overrides = unlike(base.overrides, head.overrides)
    names = {(policy.metadata.namespace, policy.metadata.name) for policy in overrides}
    waiting = [
        policy
        for policy in (*base.propagation, *head.propagation)
        if any((policy.metadata.namespace, name) in names for name in policy.spec.dependent_overrides)
    ]
    clusters = cluster_changes.of(base.clusters, head.clusters)
    policies = [*base.propagation, *head.propagation, *services.policies(head)]
    choosing = cluster_changes.choosing(clusters, policies)
    return [
        *unlike(base.propagation, head.propagation),
        *overrides,
        *waiting,
        *choosing,
        *hitting_otherwise(base, head),
    ]


def _shares(bindings: Mapping[ObjectKey, Binding], key: ObjectKey) -> tuple[Share, ...]:
    return bindings[key].scheduled.shares if key in bindings else ()
