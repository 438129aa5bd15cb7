"""What travels with a workload: the objects that it refers to (`propagateDeps`; Karmada: policies §3.3).

A workload whose policy says so takes along the configuration, secrets, accounts and claims that its interpreter finds
in it, to every cluster of its own. An object that has a policy too goes to both: one binding, the union of the
clusters. One that has none goes where it is needed, and leaves when nobody needs it there any more, but never before
the last copy of those that needed it has left the cluster. Dependencies have no dependencies, as in the reference.

The binding remembers who needs it, and in which clusters a copy may still run that refers to it although nothing asks
for it there any more (`requiredBy`; Karmada has the first half). A workload *lets go* of it, in one cluster, when its
copy there is gone, or is as its template says and healthy: until then the Pods of the version before may start anew.
The copy of an orphan stays as it was, so it keeps what it was running with, and nothing that it had let go before. The
last entry is kept as long as no policy places the object, even if it names no cluster: it tells an object that came
only as a dependency, and has to go again, from an orphan, which stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from gitfed.interpret.registry import Interpretation, Interpreter, Result
from gitfed.model.base import Body, ClusterName, ObjectKey, Problem, Severity, group_of
from gitfed.model.decisions import Decision, Decisions, Dependent, Share
from gitfed.model.fleet import Health, LiveObject, LiveState
from gitfed.model.plan import Binding, Change, RenderedManifest
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.planning import bind, prefetch
from gitfed.planning.context import Binder, PlacementResult
from gitfed.text import selector

Memory: TypeAlias = dict[ObjectKey, tuple[Manifest, Interpreter, Result[tuple[Body, ...]]]]
"""What the interpreter found in a template: asked once."""
_Needs: TypeAlias = dict[ObjectKey, dict[ObjectKey, tuple[ClusterName, ...]]]
"""Who needs an object, and where."""


def attach(
    bounds: dict[ObjectKey, PlacementResult],
    repo: RepoSnapshot,
    binder: Binder,
    decisions: Decisions,
    live: LiveState | None,
    memory: Memory,
) -> dict[ObjectKey, PlacementResult]:
    """The bounds, with what is needed elsewhere going there too. What is undecided stays where it was needed before."""
    interpreter = binder.interpreter
    owners = {key: bound for key, bound in bounds.items() if bound.binding.terms.propagates_deps and key.namespace}
    remembered = {
        key: decision
        for key, decision in decisions.bindings.items()
        if decision.ownership.required_by and key in bounds
    }
    if not owners and not remembered:
        return bounds
    for gone in memory.keys() - owners.keys():
        del memory[gone]
    needs: _Needs = {}
    answered = dict(bounds)
    prefetch.attaching(
        (repo.manifests[key] for key in owners if not _is_known(repo.manifests[key], interpreter, memory)), interpreter
    )
    for key, bound in owners.items():
        references = _references(repo.manifests[key], interpreter, memory)
        where = tuple(share.cluster for share in bound.binding.scheduled.shares)
        if isinstance(references, Interpretation):
            wanted = _keys(references.value, key, repo)
        else:
            # Nobody knows what it needs: what it needed before stays with it.
            wanted = {
                k
                for k, decision in remembered.items()
                if any(r.owner == key and r.clusters for r in decision.ownership.required_by)
            }
            problem = Problem(
                bound.binding.origin,
                f"{key}: its dependencies are unknown: {references.reason}",
                "those that it had stay with it",
                Severity.WARNING,
                references.cause,
            )
            answered[key] = replace(bound, problems=(*bound.problems, problem))
        for dependency in wanted:
            if dependency != key and dependency in bounds:
                needs.setdefault(dependency, {})[key] = where
    for key in needs.keys() | remembered.keys():
        needed = needs.get(key, {})
        if key in binder.undecided and key in remembered:
            needed = {
                requirement.owner: requirement.clusters
                for requirement in remembered[key].ownership.required_by
                if requirement.clusters
            }
        answered[key] = _attached(answered[key], decisions.bindings.get(key), needed, answered, live)
    return answered


def _references(manifest: Manifest, interpreter: Interpreter, memory: Memory) -> Result[tuple[Body, ...]]:
    if not _is_known(manifest, interpreter, memory):
        memory[manifest.key] = (manifest, interpreter, interpreter.dependencies(manifest.body))
    return memory[manifest.key][2]


def _is_known(manifest: Manifest, interpreter: Interpreter, memory: Memory) -> bool:
    cached = memory.get(manifest.key)
    return cached is not None and cached[0] is manifest and cached[1] is interpreter


def _keys(references: Iterable[Body], owner: ObjectKey, repo: RepoSnapshot) -> set[ObjectKey]:
    """The objects of the repository that references mean. One that is not there yet is found when it is."""
    keys: set[ObjectKey] = set()
    for reference in references:
        group, kind = group_of(str(reference.get("apiVersion") or "")), str(reference.get("kind") or "")
        space, name = str(reference.get("namespace") or ""), reference.get("name")
        if name:
            named = ObjectKey(group, kind, space, str(name))
            # A rule may leave out the namespace of an object beside the workload.
            if named not in repo.manifests and not space:
                named = ObjectKey(group, kind, owner.namespace, str(name))
            if named in repo.manifests:
                keys.add(named)
        elif isinstance(reference.get("labelSelector"), Mapping):
            matches = selector.from_body(reference["labelSelector"])
            keys.update(
                key
                for key, manifest in repo.manifests.items()
                if key[:3] == (group, kind, space) and matches((manifest.body["metadata"].get("labels")) or {})
            )
    return keys


def _attached(
    bound: PlacementResult,
    previous: Decision | None,
    needed: Mapping[ObjectKey, tuple[ClusterName, ...]],
    bounds: Mapping[ObjectKey, PlacementResult],
    live: LiveState | None,
) -> PlacementResult:
    binding = bound.binding
    placed = binding.scheduled.policy is not None
    if binding.scheduled.policy == bind.EVERYWHERE:
        return bound
    remembered = _remembered(previous.ownership.required_by if previous is not None else (), needed, bounds, live)
    required = _essential(remembered, keep_one=not placed)
    decision = binding.decision or previous or Decision(binding.key, binding.api_version)
    if decision.ownership.required_by != required:
        decision = replace(decision, ownership=replace(decision.ownership, required_by=required))
    here = binding.scheduled.clusters
    more = {name for clusters in needed.values() for name in clusters} - here
    shares = binding.scheduled.shares
    if more:
        shares = tuple(sorted((*shares, *(Share(name) for name in more))))
    owners = ", ".join(str(owner) for owner in sorted(needed))
    if placed:
        why = f"{binding.reasons.why}; needed by {owners}" if more else binding.reasons.why
        return replace(
            bound,
            binding=replace(
                binding,
                scheduled=replace(binding.scheduled, shares=shares),
                decision=decision,
                reasons=replace(binding.reasons, why=why),
            ),
        )
    # It has no policy: those that need it say how it is to be treated.
    overwriting = {owner: bounds[owner].binding.terms.overwrite for owner in needed if owner in bounds}
    preserving = {owner: bounds[owner].binding.terms.preserve for owner in needed if owner in bounds}
    own = decision.scheduled.policy is None and not decision.scheduled.shares
    if own and decision.ownership.preserve is not any(preserving.values()):
        # Remembered for when its template is gone.
        ownership = replace(decision.ownership, preserve=not decision.ownership.preserve)
        decision = replace(decision, ownership=ownership)
    attached = replace(
        binding,
        scheduled=replace(binding.scheduled, shares=shares),
        decision=decision,
        reasons=replace(binding.reasons, why=f"needed by {owners}" if needed else "nothing needs it any more"),
        terms=replace(binding.terms, overwrite=any(overwriting.values()), preserve=any(preserving.values())),
        attached=own,
    )
    problems = (*_mixed("conflictResolution", attached, overwriting), *_mixed("preservation", attached, preserving))
    return replace(bound, binding=attached, problems=(*bound.problems, *problems))


def _remembered(
    previous: Iterable[Dependent],
    needed: Mapping[ObjectKey, tuple[ClusterName, ...]],
    bounds: Mapping[ObjectKey, PlacementResult],
    live: LiveState | None,
) -> Iterator[Dependent]:
    """Who needs it, and who needed it and may still have a copy that does, sorted."""
    before = {requirement.owner: {*requirement.clusters, *requirement.still_in} for requirement in previous}
    for owner in sorted(needed.keys() | before.keys()):
        now = needed.get(owner, ())
        then = before.get(owner, set())
        if owner in needed and owner in bounds and live is not None and not bounds[owner].binding.terms.preserve:
            # All other copies of it are leaving, those too that came before any of this was written down.
            then = {*then, *live.objects.get(owner, {})}
        left = (name for name in then.difference(now) if live is None or _may_run(owner, name, live))
        yield Dependent(owner, tuple(sorted(now)), tuple(sorted(left)))


def _may_run(owner: ObjectKey, cluster: ClusterName, live: LiveState) -> bool:
    """Whether a copy of it is there, or may be where nobody can look now: unknown is not absent."""
    state = live.clusters.get(cluster)
    if state is None or not state.inventory_read or state.is_unread(owner):
        return True
    copy = live.objects.get(owner, {}).get(cluster)
    return copy is not None and bool(copy.uid) and copy.entry is not None


def _essential(requirements: Iterable[Dependent], *, keep_one: bool) -> tuple[Dependent, ...]:
    """Those that name a cluster; `keep_one`: one at least, as the memory that there was any."""
    listed = tuple(requirements)
    return tuple(requirement for requirement in listed if requirement.clusters or requirement.still_in) or (
        listed[:1] if keep_one else ()
    )


def _mixed(what: str, binding: Binding, answers: Mapping[ObjectKey, bool]) -> Iterator[Problem]:
    """Karmada: event DependencyPolicyConflict."""
    if len(set(answers.values())) > 1:
        yes = ", ".join(str(owner) for owner, answer in sorted(answers.items()) if answer)
        yield Problem(
            binding.origin,
            f"{binding.key}: the policies of those that need it disagree about {what}",
            f"{yes} decides",
            Severity.WARNING,
        )


def up_to_date(
    rendered: Iterable[RenderedManifest], changes: Iterable[Change], live: Mapping[ClusterName, LiveObject]
) -> frozenset[ClusterName]:
    """Clusters where a workload runs as its template says, and well: what that does not refer to is not used there."""
    unfinished = {change.cluster for change in changes}
    return frozenset(
        name
        for manifest in rendered
        for name in manifest.clusters
        if name not in unfinished and name in live and live[name].ours and live[name].health is Health.CURRENT
    )


def let_go(bound: PlacementResult, finished: Mapping[ObjectKey, frozenset[ClusterName]]) -> PlacementResult:
    """The same, without the clusters where those that needed it are `up_to_date` by now: nothing there refers to it.

    `finished`: of the templates that were looked at already. Written down at once, because it cannot be seen later,
    when the workload is an orphan and its copy is what it happens to be.
    """
    decision = bound.binding.decision
    assert decision is not None
    required = _essential(
        (
            replace(
                requirement,
                still_in=tuple(
                    name for name in requirement.still_in if name not in finished.get(requirement.owner, ())
                ),
            )
            for requirement in decision.ownership.required_by
        ),
        keep_one=bound.binding.scheduled.policy is None,
    )
    if required == decision.ownership.required_by:
        return bound
    return replace(
        bound,
        binding=replace(
            bound.binding, decision=replace(decision, ownership=replace(decision.ownership, required_by=required))
        ),
    )


def still_needed(binding: Binding) -> dict[ClusterName, str]:
    """Clusters that it is to leave, but where a copy of something may still refer to it, and of what."""
    required = binding.decision.ownership.required_by if binding.decision is not None else ()
    return {name: str(requirement.owner) for requirement in reversed(required) for name in requirement.still_in}


def owners(bounds: Mapping[ObjectKey, PlacementResult]) -> dict[ObjectKey, frozenset[ObjectKey]]:
    """The objects that something needs or needed, and what: those that are owners themselves come first."""
    owners_by_key = {
        key: frozenset(requirement.owner for requirement in bound.binding.decision.ownership.required_by)
        for key, bound in bounds.items()
        if bound.binding.decision is not None and bound.binding.decision.ownership.required_by
    }
    both = owners_by_key.keys() & frozenset().union(*owners_by_key.values())
    return {key: owners_by_key[key] for key in sorted(owners_by_key, key=lambda key: key not in both)}
