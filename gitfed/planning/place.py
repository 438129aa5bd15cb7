"""Where every template of one commit goes, and what is to be said about it.

First each template by itself (`bind`), as far as anything it depends on is another object than in the build before;
then those that share something, one after the other (`contention`). Rendering and comparing begin after this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, cast

from gitfed.model import counting, definition
from gitfed.model.base import Body, ClusterName, Digest, ObjectKey, Origin, Problem, Severity, key_of
from gitfed.model.counting import Count, unheard
from gitfed.model.decisions import Decision, Decisions, PolicyRef
from gitfed.model.fleet import ClusterFacts, FleetSnapshot
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.placement.capacity import quota
from gitfed.placement.capacity.estimate import Capacity
from gitfed.placement.scheduling import cluster, match, priority, rebalance
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.planning import bind, contention, prefetch
from gitfed.planning.context import Binder, PlacementQuery, PlacementResult
from gitfed.services import derived
from gitfed.text import canonical
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.federation import Federation

_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


@dataclass(slots=True)
class PlacementState:
    """What is asked for one template, and from what that follows: the left sides are compared with `is`."""

    manifest: Manifest
    policies: object
    candidates: object
    decision: Decision | None
    before: Decision | None
    asked: PlacementQuery | PlacementResult
    rebalancers: tuple[str, ...] = ()
    standing: object = None
    names: object = None
    broken: str = ""
    bound: PlacementResult | None = None
    """The answer, where it does not depend on other templates."""
    answered: datetime | None = None
    """The time of the build that gave it."""
    last: PlacementResult | None = None
    """The answer that it had when the candidates were others."""
    waits: bool = False
    """Whether the answer depends on what is decided for other templates."""


def candidates(
    repo: RepoSnapshot, fleet: FleetSnapshot
) -> tuple[tuple[Candidate, ...], dict[ClusterName, Capacity | None]]:
    """Declared clusters with what was observed of them, and those that only a facts file declares; and their room.

    The two are kept apart, because a change of room alone concerns only what is placed by room. Facts that neither
    filter nor estimate reads (conditions, times) are dropped: their change recomputes nothing.
    """
    clusters: list[Candidate] = []
    capacities: dict[ClusterName, Capacity | None] = {}
    for name in sorted(repo.clusters.keys() | fleet.clusters.keys()):
        declared, facts = repo.clusters.get(name), fleet.clusters.get(name)
        if declared is None and (facts is None or facts.declared is None):
            continue
        seen = cluster.candidate(declared, facts or ClusterFacts(name, assumed=True))
        capacities[name] = capacity_of(seen, repo.settings)
        clusters.append(replace(seen, facts=None, capacity=None))
    return tuple(clusters), capacities


def capacity_of(candidate: Candidate, settings: Federation) -> Capacity | None:
    """The room of a cluster as far as feature gates let it be looked at."""
    capacity = candidate.capacity
    if capacity is not None and not settings.gate("CustomizedClusterResourceModeling"):
        capacity = replace(capacity, grades={})
    if capacity is not None and not settings.gate("ResourceQuotaEstimate"):
        capacity = replace(capacity, quotas=())
    return capacity


def definitions(repo: RepoSnapshot) -> tuple[Manifest, ...]:
    """The CustomResourceDefinitions of a commit."""
    return tuple(manifest for key, manifest in repo.manifests.items() if key[:2] == _DEFINITION)


def with_definitions(
    clusters: tuple[Candidate, ...], defining: tuple[Manifest, ...], decisions: Decisions, binder: Binder
) -> tuple[Candidate, ...]:
    """The clusters with the kinds that this commit brings there: a definition enables its kind where it is placed.

    Otherwise the first cluster that reports a new kind would get all replicas. `binder` holds `clusters`.
    """
    kinds: dict[ClusterName, set[tuple[str, str]]] = {}
    for manifest in defining:
        asked = bind.ask(manifest, decisions.bindings.get(manifest.key), binder)
        if isinstance(asked, PlacementQuery) and asked.waits:
            continue  # it depends on other templates: the next probe tells
        binding = (asked if isinstance(asked, PlacementResult) else bind.answer(asked, binder)).binding
        defined = definition.read(manifest.body)
        if defined is not None:
            for share in binding.scheduled.shares:
                kinds.setdefault(share.cluster, set()).update(defined.served)
    return tuple(
        replace(candidate, apis=replace(candidate.apis, kinds=candidate.apis.kinds | kinds[candidate.name]))
        if candidate.apis is not None and kinds.get(candidate.name)
        else candidate
        for candidate in clusters
    )


def questions(
    before: Mapping[ObjectKey, PlacementState],
    repo: RepoSnapshot,
    decisions: Decisions,
    binder: Binder,
    count: Count = unheard,
) -> tuple[dict[ObjectKey, PlacementState], list[ObjectKey]]:
    """What is asked for every template, sorted by key: the question of the build before where nothing changed.

    And the keys of those where it is another.
    """
    decided, manifests = decisions.bindings, repo.manifests
    current: dict[ObjectKey, PlacementState | None]
    if before.keys() == manifests.keys():
        current = {
            key: _if_unchanged(question, manifests[key], decided.get(key), binder) for key, question in before.items()
        }
    else:
        current = {
            key: _if_unchanged(before.get(key), manifests[key], decided.get(key), binder) for key in sorted(manifests)
        }
    new = [key for key, question in current.items() if question is None]
    prefetch.placing((repo.manifests[key] for key in new), binder)
    for key in counting.each(new, "objects asked for", count):
        manifest, decision = repo.manifests[key], decided.get(key)
        current[key] = _question(bind.ask(manifest, decision, binder), manifest, decision, binder)
    return cast("dict[ObjectKey, PlacementState]", current), new


def standing(
    asked: Mapping[ObjectKey, PlacementState], decisions: Decisions, binder: Binder
) -> dict[ObjectKey, PlacementState]:
    """The same questions, but that what a gate holds is as it was decided before: what `binder` has as undecided."""
    result = dict(asked)
    for key in binder.undecided:
        if key in asked:
            manifest, decision = asked[key].manifest, decisions.bindings.get(key)
            result[key] = _question(bind.ask(manifest, decision, binder), manifest, decision, binder)
    return result


def waits_for_room(asked: Mapping[ObjectKey, PlacementState]) -> bool:
    """Whether any answer depends on what others take of the clusters' room."""
    return any(
        question.waits and isinstance(question.asked, PlacementQuery) and question.asked.request.needs_room
        for question in asked.values()
    )


def claiming(
    asked: Mapping[ObjectKey, PlacementState],
    decided: Mapping[ObjectKey, Decision | None],
    facts_taken: datetime | None,
) -> set[ObjectKey]:
    """The templates that take room which the facts do not show (`turns.claims`), given what was decided for them."""
    return {
        key
        for key, question in asked.items()
        if isinstance(question.asked, PlacementQuery)
        and contention.claims(question.asked, decided.get(key), facts_taken)
    }


def answers(
    asked: Mapping[ObjectKey, PlacementState],
    repo: RepoSnapshot,
    binder: Binder,
    room: contention.CapacityLedger,
    facts_taken: datetime | None,
) -> tuple[dict[ObjectKey, PlacementResult], list[Problem], quota.Ledger]:
    """Where every template goes, by key: first what is placed by itself, then what takes turns. And what quotas say."""
    quotas = quota.Ledger.of(repo.quotas if repo.settings.gate("FederatedQuotaEnforcement") else ())
    for question in asked.values():
        _by_itself(question, quotas, binder)
    by_priority = repo.settings.gate("PriorityBasedScheduling") and any(
        policy.spec.schedule_priority is not None for policy in repo.propagation
    )
    in_turn = contention.place(
        [
            contention.Contender(question.asked, question.bound)
            for question in asked.values()
            if isinstance(question.asked, PlacementQuery)
        ],
        binder,
        room,
        quotas,
        (lambda query: priority.of(query.policy, query.manifest.key, repo.manifests)) if by_priority else None,
        facts_taken,
    )
    bounds = {key: question.bound or in_turn[key] for key, question in asked.items()}
    problems = [*_quotas_exceeded(repo, quotas), *_nothing_to_rebalance(repo), *_classes_missing(repo)]
    return bounds, problems, quotas


def assigned_quotas(
    before: dict[ObjectKey, Manifest], repo: RepoSnapshot, clusters: Iterable[ClusterName]
) -> Iterator[tuple[Manifest, PlacementResult, Mapping[ClusterName, Body]]]:
    """The ResourceQuotas that federated quotas assign to single clusters; a template of that name comes first.

    `before` keeps them from build to build, so that what did not change is the same object.
    """
    clusters = tuple(clusters)
    for declared in repo.quotas:
        bodies = quota.assignments(declared, clusters)
        if not bodies:
            continue
        body = next(iter(bodies.values()))
        manifest = Manifest(key_of(body), "v1", body, declared.origin or Origin(""), Digest(canonical.digest(bodies)))
        manifest = before[manifest.key] = before[manifest.key] if before.get(manifest.key) == manifest else manifest
        if manifest.key not in repo.manifests:
            where = tuple(sorted(bodies))
            yield manifest, bind.implied(manifest, where, bind.ASSIGNED, "assigned to single clusters"), bodies


def derived_services(
    before: dict[ObjectKey, Manifest], repo: RepoSnapshot, bounds: Mapping[ObjectKey, PlacementResult]
) -> Iterator[tuple[Manifest, PlacementResult]]:
    """The Services behind ServiceImports, where these go; a template of that name comes first.

    `before` keeps them from build to build, so that what did not change is the same object.
    """
    for imported in derived.imports(repo.manifests):
        manifest = derived.service(imported)
        if manifest is None or manifest.key in repo.manifests or imported.key not in bounds:
            continue
        manifest = before[manifest.key] = before[manifest.key] if before.get(manifest.key) == manifest else manifest
        binding = bounds[imported.key].binding
        by = PolicyRef(imported.key.kind, imported.key.namespace, imported.key.name)
        where = tuple(share.cluster for share in binding.scheduled.shares)
        bound = bind.implied(manifest, where, by, "where its ServiceImport goes")
        as_import = replace(
            bound.binding,
            terms=replace(
                bound.binding.terms,
                overwrite=binding.terms.overwrite,
                preserve=binding.terms.preserve,
                suspended=binding.terms.suspended,
            ),
        )
        yield manifest, replace(bound, binding=as_import)


def _if_unchanged(
    question: PlacementState | None, manifest: Manifest, decision: Decision | None, binder: Binder
) -> PlacementState | None:
    """The question of the build before, or the same of clusters that are otherwise now; None where it is another."""
    if (
        question is None
        or question.manifest is not manifest
        or question.policies is not binder.policies
        or question.decision is not decision
        or (question.before is not binder.before.get(manifest.key) if binder.before else question.before is not None)
        or (
            question.rebalancers != binder.rebalancers.get(manifest.key, ())
            if binder.rebalancers
            else question.rebalancers
        )
        or question.standing is not binder.standing
        or (question.broken != binder.broken.get(manifest.key, "") if binder.broken else question.broken)
        or (
            question.asked.ask_again
            if isinstance(question.asked, PlacementResult)
            else _is_triggered(question.asked, decision)
        )
    ):
        return None
    if question.candidates is binder.candidates:
        return question
    if question.names is not binder.names:
        return None
    # What is asked depends on which clusters there are, only the answer on how they are.
    question.candidates = binder.candidates
    question.last, question.bound = question.bound or question.last, None
    return question


def _is_triggered(asked: PlacementQuery, recorded: Decision | None) -> bool:
    """Whether a rebalancer asks for it that was not served in the build before, because a gate holds the move: its
    question bears the time of its build."""
    return asked.decision is not recorded and asked.request.fresh and asked.before is None


def _question(
    asked: PlacementQuery | PlacementResult, manifest: Manifest, decision: Decision | None, binder: Binder
) -> PlacementState:
    before, rebalancers = binder.before.get(manifest.key), binder.rebalancers.get(manifest.key, ())
    return PlacementState(
        manifest,
        binder.policies,
        binder.candidates,
        decision,
        before,
        asked,
        rebalancers,
        binder.standing,
        binder.names,
        binder.broken.get(manifest.key, ""),
        waits=isinstance(asked, PlacementQuery) and asked.waits,
    )


def _by_itself(question: PlacementState, quotas: quota.Ledger, binder: Binder) -> None:
    """Settle what does not depend on others; whether a quota counts may change from commit to commit."""
    asked = question.asked
    if isinstance(asked, PlacementResult):
        question.bound = asked
    elif question.waits or (
        asked.request.is_workload and not asked.stands and quotas.covers(question.manifest.key.namespace)
    ):
        question.bound = None
    elif question.bound is None or (asked.decides(question.bound) and question.answered != binder.now):
        question.bound, question.answered = bind.answer(asked, binder, last=question.last), binder.now


def _quotas_exceeded(repo: RepoSnapshot, quotas: quota.Ledger) -> Iterator[Problem]:
    origins = {f"{quota.metadata.namespace or ''}/{quota.metadata.name}": quota.origin for quota in repo.quotas}
    for state in quotas.states():
        for resource in state.exceeded():
            used, limit = quota.in_words(resource, state.used[resource], state.overall[resource])
            message = f"FederatedResourceQuota({state.name}) is exceeded for resource {resource}: "
            message += f"used {used}, limit {limit}."
            yield Problem(origins[state.name] or Origin(""), message, severity=Severity.WARNING)


def _nothing_to_rebalance(repo: RepoSnapshot) -> Iterator[Problem]:
    for rebalancer in repo.rebalancers:
        for key in rebalance.workloads(rebalancer):
            if key not in repo.manifests:
                message = f"WorkloadRebalancer/{rebalancer.metadata.name}: there is no {key}"
                yield Problem(rebalancer.origin or Origin(""), message, "nothing is placed anew", Severity.WARNING)


def _classes_missing(repo: RepoSnapshot) -> Iterator[Problem]:
    for policy in repo.propagation:
        wanted = policy.spec.schedule_priority
        if wanted is not None and priority.value(policy, repo.manifests) is None:
            message = f"{match.ref(policy)}: no PriorityClass {wanted.priority_class_name}: it counts as 0"
            yield Problem(policy.origin or Origin(""), message, "add it to the repository", Severity.WARNING)
