"""What travels with a workload: the objects that it refers to (`propagateDeps`; Karmada: policies §3.3).

A workload whose policy says so takes along the configuration, secrets, accounts and claims that its interpreter finds
in it, to every cluster of its own. An object that has a policy too goes to both: one binding, the union of the
clusters. One that has none goes where it is needed, and leaves when nobody needs it there any more, but never before
the last copy of those that needed it has left the cluster. Dependencies have no dependencies, as in the reference.

The binding remembers who needed it (Karmada: `requiredBy`). An entry without clusters means: not any more. It tells an
object that came only as a dependency, and has to go again, from an orphan, which stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from gitfed.change import ahead
from gitfed.change.binder import Bound
from gitfed.interpret.registry import Answer, Interpreter, Result
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey, Problem, Severity, group_of
from gitfed.model.decisions import Decision, Decisions, Requirement, Share
from gitfed.model.fleet import Health, LiveState
from gitfed.model.plan import Binding
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.text import selector

Memory: TypeAlias = dict[ObjectKey, tuple[Manifest, Interpreter, Result[tuple[Body, ...]]]]
"""What the interpreter found in a template: asked once."""
_Needs: TypeAlias = dict[ObjectKey, dict[ObjectKey, tuple[ClusterName, ...]]]
"""Who needs an object, and where."""


def attach(
    bounds: dict[ObjectKey, Bound],
    repo: RepoSnapshot,
    interpreter: Interpreter,
    decisions: Decisions,
    live: LiveState | None,
    memory: Memory,
) -> dict[ObjectKey, Bound]:
    """The bounds, with what is needed elsewhere going there too."""
    owners = {key: bound for key, bound in bounds.items() if bound.binding.propagates_deps and key.namespace}
    remembered = {key: one for key, one in decisions.bindings.items() if one.required_by and key in bounds}
    if not owners and not remembered:
        return bounds
    for gone in memory.keys() - owners.keys():
        del memory[gone]
    needs: _Needs = {}
    answered = dict(bounds)
    ahead.attaching(
        (repo.manifests[key] for key in owners if not _is_known(repo.manifests[key], interpreter, memory)), interpreter
    )
    for key, bound in owners.items():
        found = _references(repo.manifests[key], interpreter, memory)
        where = tuple(share.cluster for share in bound.binding.shares)
        if isinstance(found, Answer):
            wanted = _keys(found.value, key, repo)
        else:
            # Nobody knows what it needs: what it needed before stays with it.
            wanted = {k for k, one in remembered.items() if any(r.owner == key and r.clusters for r in one.required_by)}
            problem = Problem(
                bound.binding.origin, f"{key}: its dependencies are unknown: {found.reason}",
                "those that it had stay with it", Severity.WARNING, found.cause,
            )  # fmt: skip
            answered[key] = replace(bound, problems=(*bound.problems, problem))
        for dependency in wanted:
            if dependency != key and dependency in bounds:
                needs.setdefault(dependency, {})[key] = where
    for key in needs.keys() | remembered.keys():
        answered[key] = _attached(
            answered[key], decisions.bindings.get(key), needs.get(key, {}), answered, repo, live
        )  # fmt: skip
    return answered


def _references(manifest: Manifest, interpreter: Interpreter, memory: Memory) -> Result[tuple[Body, ...]]:
    if not _is_known(manifest, interpreter, memory):
        memory[manifest.key] = (manifest, interpreter, interpreter.dependencies(manifest.body))
    return memory[manifest.key][2]


def _is_known(manifest: Manifest, interpreter: Interpreter, memory: Memory) -> bool:
    known = memory.get(manifest.key)
    return known is not None and known[0] is manifest and known[1] is interpreter


def _keys(references: Iterable[Body], owner: ObjectKey, repo: RepoSnapshot) -> set[ObjectKey]:
    """The objects of the repository that references mean. One that is not there yet is found when it is."""
    found: set[ObjectKey] = set()
    for reference in references:
        group, kind = group_of(str(reference.get("apiVersion") or "")), str(reference.get("kind") or "")
        space, name = str(reference.get("namespace") or ""), reference.get("name")
        if name:
            named = ObjectKey(group, kind, space, str(name))
            # A rule may leave out the namespace of an object beside the workload.
            if named not in repo.manifests and not space:
                named = ObjectKey(group, kind, owner.namespace, str(name))
            if named in repo.manifests:
                found.add(named)
        elif isinstance(reference.get("labelSelector"), Mapping):
            matches = selector.from_body(reference["labelSelector"])
            found.update(
                key
                for key, manifest in repo.manifests.items()
                if key[:3] == (group, kind, space) and matches((manifest.body["metadata"].get("labels")) or {})
            )
    return found


def _attached(
    bound: Bound,
    previous: Decision | None,
    needed: Mapping[ObjectKey, tuple[ClusterName, ...]],
    bounds: Mapping[ObjectKey, Bound],
    repo: RepoSnapshot,
    live: LiveState | None,
) -> Bound:
    binding = bound.binding
    placed = binding.policy is not None
    if placed and binding.decision is None:
        return bound  # a Namespace that goes everywhere
    required = tuple(sorted([
        *(Requirement(owner, tuple(sorted(clusters))) for owner, clusters in needed.items()),
        *_past(previous, needed, live, keep_one=not placed),
    ]))  # fmt: skip
    decision = binding.decision or previous or Decision(binding.key, binding.api_version)
    if decision.required_by != required:
        decision = replace(decision, required_by=required)
    here = {share.cluster for share in binding.shares}
    more = {name for clusters in needed.values() for name in clusters} - here
    shares = tuple(sorted((*binding.shares, *(Share(name) for name in more)))) if more else binding.shares
    owners = ", ".join(str(owner) for owner in sorted(needed))
    if placed:
        why = f"{binding.why}; needed by {owners}" if more else binding.why
        return replace(bound, binding=replace(binding, shares=shares, decision=decision, why=why))
    # It has no policy: those that need it say how it is to be treated.
    overwriting = {owner: bounds[owner].binding.overwrite for owner in needed}
    preserving = {owner: bounds[owner].binding.preserve for owner in needed}
    attached = replace(
        binding,
        shares=shares,
        decision=decision,
        why=f"needed by {owners}" if needed else "nobody needs it any more",
        overwrite=any(overwriting.values()),
        preserve=any(preserving.values()),
        attached=decision.policy is None and not decision.shares,
    )
    problems = (*_mixed("conflictResolution", attached, overwriting), *_mixed("preservation", attached, preserving))
    return replace(bound, binding=attached, problems=(*bound.problems, *problems))


def _past(
    previous: Decision | None, needed: Mapping[ObjectKey, object], live: LiveState | None, *, keep_one: bool
) -> Iterator[Requirement]:
    """Who needed it before and may still have a copy somewhere; `keep_one`: one at least, as the memory of it.

    In a cluster that cannot be read there may be one.
    """
    past = [one.owner for one in previous.required_by if one.owner not in needed] if previous is not None else []
    left = [owner for owner in past if live is None or live.objects.get(owner) or _is_hidden(owner, live)]
    if keep_one and not needed and not left:
        left = past[:1]
    for owner in left:
        yield Requirement(owner, ())


def _is_hidden(key: ObjectKey, live: LiveState) -> bool:
    """Whether a copy may be where nobody can look now: unknown is not absent."""
    kind = Kind(key.group, key.kind)
    return any(not state.inventory_read or kind in state.unread for state in live.clusters.values())


def _mixed(what: str, binding: Binding, answers: Mapping[ObjectKey, bool]) -> Iterator[Problem]:
    """Karmada: event DependencyPolicyConflict."""
    if len(set(answers.values())) > 1:
        yes = ", ".join(str(owner) for owner, answer in sorted(answers.items()) if answer)
        yield Problem(
            binding.origin, f"{binding.key}: the policies of those that need it disagree about {what}",
            f"{yes} decides", Severity.WARNING,
        )  # fmt: skip


def still_needed(
    binding: Binding, live: LiveState | None, changing: Mapping[ObjectKey, frozenset[ClusterName]]
) -> dict[ClusterName, str]:
    """Clusters where a copy of something that needs this object, or did until now, still is, and of what.

    `changing`: templates that were looked at already, each with the clusters where anything is left to be done. A copy
    that does not refer to it any more lets it go when it is as it should be and healthy: until then the Pods of the
    version before may start anew.
    """
    if live is None or binding.decision is None or not binding.decision.required_by:
        return {}
    found: dict[ClusterName, str] = {}
    for requirement in binding.decision.required_by:
        left = None if requirement.clusters else changing.get(requirement.owner)
        for name, copy in live.objects.get(requirement.owner, {}).items():
            finished = left is not None and name not in left and copy.health is Health.CURRENT
            if copy.uid and copy.entry is not None and not finished:
                found.setdefault(name, str(requirement.owner))
    return found
