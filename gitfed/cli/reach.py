"""What a plan shows to be without effect: `validate` says it, nothing is held because of it.

Whether a policy ever wins, whether an override ever hits and whether a cluster ever gets anything cannot be seen in
one file. All are warnings: each may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitfed.model.base import Problem, Severity
from gitfed.model.decisions import PolicyRef
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot


def check(repo: RepoSnapshot, plan: Plan) -> tuple[Problem, ...]:
    return (*_shadowed(repo, plan), *_unreached(repo, plan))


def _shadowed(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """A policy that selects templates and takes none: another one is always better."""
    winners: dict[PolicyRef, set[PolicyRef]] = {}
    taken = set()
    for binding in plan.bindings.values():
        if binding.policy is None:
            continue
        taken.add(binding.policy)
        for loser in binding.losers:
            winners.setdefault(loser, set()).add(binding.policy)
    for policy in repo.propagation:
        ref = PolicyRef(policy.kind, policy.metadata.namespace or "", policy.metadata.name)
        if ref in winners and ref not in taken:
            by = ", ".join(sorted(map(str, winners[ref])))
            yield Problem(
                policy.origin,
                f"{ref} takes nothing: {by} wins everything that it selects",
                hint="raise its priority, or remove it",
                severity=Severity.WARNING,
            )


def _unreached(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """A cluster that no policy sends anything to. Namespaces go everywhere by themselves and do not count."""
    policies = {
        PolicyRef(policy.kind, policy.metadata.namespace or "", policy.metadata.name) for policy in repo.propagation
    }
    placed = [binding for binding in plan.bindings.values() if binding.policy in policies]
    reached = {share.cluster for binding in placed for share in binding.shares}
    if not reached:
        return  # nothing is placed anywhere: not the clusters' fault, and said elsewhere
    for name, cluster in repo.clusters.items():
        if name not in reached:
            yield Problem(cluster.origin, f"no policy sends anything to cluster {name}", severity=Severity.WARNING)
