"""Declarations without effect, and workloads with one place to go.

Whether a policy ever wins, whether an override ever hits and whether a cluster ever gets anything cannot be seen in
one file. All are warnings, each may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitfed.model.base import Body, ObjectKey, Origin, Problem, Severity
from gitfed.model.decisions import PolicyRef
from gitfed.model.declared.policy import Propagation
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.scheduling import match
from gitfed.planning import notes
from gitfed.services import placement as services
from gitfed.views import names


def check(repo: RepoSnapshot, plan: Plan) -> tuple[Problem, ...]:
    return (
        *_shadowed(repo, plan),
        *_dead(repo, plan),
        *_ties(repo, plan),
        *_unreached(repo, plan),
        *_idle_overrides(repo, plan),
        *_single_places(repo, plan),
        *_unselected(repo, plan),
        *_without_effect(repo),
    )


def changed_interpreters(base: RepoSnapshot, head: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Scripts that read kinds otherwise than before: what stands in the files is the same, what it means is not."""
    before = {customization.key: customization for customization in base.interpreters}
    for customization in head.interpreters:
        if before.get(customization.key) == customization:
            continue
        target = customization.spec.target
        read = [
            key
            for key, binding in plan.bindings.items()
            if (binding.api_version, key.kind) == (target.api_version, target.kind)
        ]
        if read:
            what = "changes" if customization.key in before else "is new"
            yield _warning(
                customization.origin,
                f"{customization.kind}/{customization.name} {what}: it reads {_few(read)}",
                "gitfed diff shows what that does",
            )


def _warning(origin: Origin, message: str, hint: str = "") -> Problem:
    return Problem(origin, message, hint, Severity.WARNING)


def _few(keys: Sequence[ObjectKey], most: int = 3) -> str:
    listed = ", ".join(names.shown(key) for key in keys[:most])
    return f"{listed} and {len(keys) - most} more" if len(keys) > most else listed


_RIGHTS = frozenset(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))
"""Of these nothing says that it needs them: what lacks them runs, and is refused what it asks for."""


def _unselected(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Workloads and rights that go nowhere. Of other objects that may be meant: they wait for what needs them."""
    unselected = [
        (binding.key, manifest.origin)
        for binding in plan.bindings.values()
        if (manifest := repo.manifests.get(binding.key)) is not None
        and (_runs_pods(manifest.body) or binding.key.kind in _RIGHTS)
        and notes.goes_nowhere(binding)
    ]
    cluster_wide = "a ClusterPropagationPolicy"
    namespaced = f"a PropagationPolicy of its namespace, or {cluster_wide}"
    if unselected and not repo.propagation:
        listed = _few([key for key, _ in unselected])
        yield _warning(unselected[0][1], f"there is no policy, so nothing goes anywhere: {listed}", cluster_wide)
        return
    for key, origin in unselected:
        hint = namespaced if key.namespace else cluster_wide
        yield _warning(origin, f"{names.shown(key)} goes nowhere: no policy selects it", hint)


def _runs_pods(body: Body) -> bool:
    spec = body.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    return body.get("kind") == "Pod" or "jobTemplate" in spec or isinstance(spec.get("template"), Mapping)


def _dead(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """A policy that takes templates and can place none of them. One that is held for what is wrong with a file counts
    as placed: that is told there, and is no fault of the policy."""
    placed: dict[PolicyRef, bool] = {}
    why: dict[PolicyRef, str] = {}
    for binding in plan.bindings.values():
        if binding.scheduled.policy is not None:
            placed[binding.scheduled.policy] = placed.get(binding.scheduled.policy, False) or bool(
                binding.scheduled.shares or binding.held
            )
            if binding.scheduled.condition is not None and not binding.scheduled.condition.status:
                why.setdefault(binding.scheduled.policy, binding.scheduled.condition.message)
    for policy in repo.propagation:
        ref = match.ref(policy)
        if placed.get(ref) is False and ref in why:
            yield _warning(policy.origin, f"{ref} places nothing of what it takes: {why[ref]}")


def _ties(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Policies that select an object equally well, with equal priority: the alphabet decides, which is hardly meant.

    What both select by name is said by `source.lint`, which needs no plan.
    """
    policies = {match.ref(policy): policy for policy in repo.propagation}
    tied: dict[tuple[PolicyRef, PolicyRef], list[ObjectKey]] = {}
    for key, binding in plan.bindings.items():
        policy = policies.get(binding.scheduled.policy) if binding.scheduled.policy is not None else None
        other = policies.get(binding.reasons.losers[0]) if binding.reasons.losers else None
        if policy is None or other is None or other.kind != policy.kind:
            continue
        ranks = {
            (candidate.spec.priority or 0, _precision(candidate, key, binding.api_version))
            for candidate in (policy, other)
        }
        if len(ranks) == 1 and {rank for _, rank in ranks} != {match.BY_NAME}:
            tied.setdefault((match.ref(policy), match.ref(other)), []).append(key)
    for (winner, loser), keys in sorted(tied.items()):
        message = f"{winner} and {loser} select {_few(keys)} equally, and {winner} wins by its name"
        yield _warning(policies[loser].origin, message, "set spec.priority")


def _precision(policy: Propagation, key: ObjectKey, api_version: str) -> int:
    """How precisely a policy that selects an object does so, as far as kind and name tell."""
    return max(
        (
            match.precision(selector.name, selector.label_selector)[0]
            for selector in policy.spec.resource_selectors
            if (selector.api_version, selector.kind) == (api_version, key.kind)
            and selector.name in (None, "", key.name)
        ),
        default=0,
    )


def _idle_overrides(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Override policies that select something that is placed, and change nothing of it anywhere."""
    by = {edit.by for classes in plan.rendered.values() for rendered in classes for edit in rendered.edits}
    kinds = {(binding.api_version, key.kind) for key, binding in plan.bindings.items() if binding.scheduled.shares}
    failed = {problem.origin for problem in plan.problems}
    wrong = {problem.origin.path for problem in plan.problems if problem.severity is Severity.ERROR}
    for override in repo.overrides:
        ref = PolicyRef(override.kind, override.metadata.namespace, override.metadata.name)
        wanted = {(selector.api_version, selector.kind) for selector in override.spec.resource_selectors}
        if (
            str(ref) not in by
            and (not wanted or wanted & kinds)
            and not (override.origin in failed or override.origin.path in wrong)
        ):
            yield _warning(
                override.origin,
                f"{ref} changes nothing: no cluster that it targets gets what it selects, or it is so already",
            )


def _single_places(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """Workloads that one cluster alone can run: when it fails, nothing takes over. Jobs end anyway."""
    if len(plan.clusters) < 2:
        return
    policies = {match.ref(policy): policy for policy in repo.propagation}
    keys_by_policy_and_cluster: dict[tuple[PolicyRef, str], list[ObjectKey]] = {}
    for key, binding in plan.bindings.items():
        if not binding.scheduled.replicas or key.kind in ("Job", "CronJob") or binding.scheduled.policy not in policies:
            continue
        unfit = {rejection.cluster for rejection in binding.reasons.rejections if rejection.barred}
        possible = [name for name in plan.clusters if name not in unfit]
        if len(possible) == 1 and binding.scheduled.shares:
            keys_by_policy_and_cluster.setdefault((binding.scheduled.policy, possible[0]), []).append(key)
    for (ref, cluster), keys in sorted(keys_by_policy_and_cluster.items()):
        message = f"{ref} lets {_few(keys)} run in {cluster} only: when that fails, nothing takes over"
        yield _warning(policies[ref].origin, message, "let a second cluster pass")


def _shadowed(repo: RepoSnapshot, plan: Plan) -> Iterator[Problem]:
    """A policy that selects templates and takes none: another one is always better."""
    winners: dict[PolicyRef, set[PolicyRef]] = {}
    taken = set()
    for binding in plan.bindings.values():
        if binding.scheduled.policy is None:
            continue
        taken.add(binding.scheduled.policy)
        for loser in binding.reasons.losers:
            winners.setdefault(loser, set()).add(binding.scheduled.policy)
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
    policies = {match.ref(policy) for policy in (*repo.propagation, *services.policies(repo))}
    placed = [binding for binding in plan.bindings.values() if binding.scheduled.policy in policies]
    reached = {share.cluster for binding in placed for share in binding.scheduled.shares}
    if not reached:
        return  # nothing is placed anywhere: not the clusters' fault, and said elsewhere
    # Others stand by: what was chosen instead may fail, and then they take over.
    reached |= {
        rejection.cluster for binding in placed for rejection in binding.reasons.rejections if not rejection.barred
    }
    for name, cluster in repo.clusters.items():
        if name not in reached:
            yield Problem(cluster.origin, f"no policy sends anything to cluster {name}", severity=Severity.WARNING)


def _without_effect(repo: RepoSnapshot) -> Iterator[Problem]:
    """A policy for a Namespace that goes everywhere by itself: what the policy says of clusters counts for nothing."""
    for policy in repo.propagation if repo.settings.spec.namespaces.auto_propagate else ():
        for wanted in policy.spec.resource_selectors:
            if (wanted.api_version, wanted.kind) == ("v1", "Namespace") and policy.is_cluster_wide:
                which = f"the Namespace {wanted.name}" if wanted.name else "Namespaces"
                yield _warning(
                    policy.origin,
                    f"{match.ref(policy)} selects {which}, without effect: a Namespace goes to every cluster by itself",
                    "spec.namespaces.autoPropagate: false of the Federation leaves Namespaces to policies",
                )
