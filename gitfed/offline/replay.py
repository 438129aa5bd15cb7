"""Deciding again: from the same commit, facts, decisions and time the same bytes must come.

One input is not recorded, for it changes all the time and is large: the copies in the clusters. Few decisions look at
them: how far a move or an eviction is, whether a copy is unhealthy, whether one is left, whether replicas found a node.
Where such a decision comes out otherwise, it is named with its reason and taken as it is recorded; everything else must
follow from that, to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from gitfed.documents import bindings
from gitfed.errors import RevisionNotFound
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, Commit, Digest, ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import fleet_inputs, inputs
from gitfed.offline.state_log import Chronicle, StateLogEntry
from gitfed.planning import build
from gitfed.planning.ordering import gate
from gitfed.reading import effective_guards
from gitfed.text import emit
from gitfed.text.values import dataclass

Difference = tuple[str, bytes, bytes]
"""(path, as recorded, as decided now)"""


@dataclass(frozen=True, slots=True)
class Replay:
    entry: StateLogEntry
    digest: Digest
    """Of the plan: the same on every machine."""
    files: int
    differing: tuple[Difference, ...]
    """What does not follow from what is recorded."""
    seen: tuple[tuple[str, str], ...] = ()
    """(path, why) of decisions that went by copies in the clusters: taken as they are recorded."""


def of(history: Chronicle, entry: StateLogEntry) -> Replay:
    """Decide again what `entry` decided. Raises RevisionNotFound when one of its inputs is not here."""
    if entry.source is None:
        raise RevisionNotFound(
            f"the commit that {entry.commit[:7]} decided for is not in this repository", hint="fetch its branch"
        )
    opened, repository = history.opened, history.opened.repository
    recorded = history.state.at(entry.commit)
    before = history.state.at(entry.parent).decisions if entry.parent is not None else Decisions()
    repo = inputs.read(opened, entry.source, held={file.path: file for file in recorded.held}).repo
    past = replace(
        before,
        known=True,
        answers=recorded.decisions.answers,
        descends=before.applied_commit is None or repository.is_ancestor(before.applied_commit, entry.source),
        guards=effective_guards.in_force(
            before, entry.source, lambda commit: inputs.read(opened, commit).repo.settings.spec.guards
        ),
    )
    fleet = fleet_inputs.fleet_at(opened, repo, Commit(entry.facts)) if entry.facts else fleet_inputs.assumed(repo)
    again = _Again(repo, fleet, inputs.interpreter_of(repo, past), entry.when, recorded.decisions.statuses)
    entries = repository.entries(entry.commit)
    stored = {path: repository.read(entry.blob_id) for path, entry in entries.items() if path.startswith("bindings/")}

    plan = again.plan(past)
    digest, decided = plan.digest, again.decisions(plan, past)
    differing = _differing(stored, again.files(decided))
    kept = recorded.decisions.bindings
    keys = {bindings.path_of(key): key for key in (*kept, *decided)}
    held = not past.descends or _moves_too_much(plan)
    seen = {}
    for path, _, _ in differing:
        key = keys[path]
        why = _from_the_clusters(before.bindings.get(key), kept.get(key), wanted=key in repo.manifests, held=held)
        if why:
            seen[key] = why
    if seen:
        taken = {key: decision for key, decision in past.bindings.items() if key not in seen}
        taken |= {key: kept[key] for key in seen if key in kept}
        past = replace(past, bindings=taken)
        decided = again.decisions(again.plan(past), past)
        decided = {key: decision for key, decision in decided.items() if key not in seen}
        decided |= {key: kept[key] for key in seen if key in kept}
        differing = _differing(stored, again.files(decided))
    paths = tuple(sorted((bindings.path_of(key), why) for key, why in seen.items()))
    return Replay(entry, digest, len(stored), differing, paths)


@dataclass(frozen=True, slots=True)
class _Again:
    repo: RepoSnapshot
    fleet: FleetSnapshot
    interpreter: Interpreter
    when: datetime
    statuses: Mapping[ObjectKey, Body]

    def plan(self, past: Decisions) -> Plan:
        made = build.build(self.repo, self.fleet, past, self.interpreter, self.when)
        return replace(made, base=past.applied_commit)

    def decisions(self, plan: Plan, past: Decisions) -> dict[ObjectKey, Decision]:
        return gate.decisions_to_record(plan, past, None)

    def files(self, decided: Mapping[ObjectKey, Decision]) -> dict[str, bytes]:
        return {
            bindings.path_of(key): emit.dump(bindings.to_document(decision, self.statuses.get(key))).encode()
            for key, decision in decided.items()
        }


def _differing(stored: Mapping[str, bytes], files: Mapping[str, bytes]) -> tuple[Difference, ...]:
    return tuple(
        (path, stored.get(path, b""), files.get(path, b""))
        for path in sorted(stored.keys() | files.keys())
        if stored.get(path) != files.get(path)
    )


def _moves_too_much(plan: Plan) -> bool:
    """Whether the limit of moves would hold; how many copies it then held, only the clusters can tell."""
    return any(
        gate.name == "moved replicas" and int(gate.value.removesuffix("%")) >= int(gate.limit.removesuffix("%"))
        for gate in plan.gates
    )


def _from_the_clusters(before: Decision | None, recorded: Decision | None, *, wanted: bool, held: bool) -> str:
    """What a decision took from copies in the clusters; "" when it shows no sign. `held`: moves may have been."""
    if not wanted:
        return "its template is gone: whether a copy was left, the clusters told"
    if before is None or recorded is None:
        return ""
    if recorded.rescheduling.descheduled != before.rescheduling.descheduled:
        return "replicas were taken back that found no node in their cluster"
    if (recorded.failover.evictions, recorded.failover.cleared, recorded.failover.released) != (
        before.failover.evictions,
        before.failover.cleared,
        before.failover.released,
    ):
        return "an eviction went on: how far its copies were, the clusters told"
    if (recorded.failover.unhealthy, recorded.failover.preserved, recorded.failover.injected) != (
        before.failover.unhealthy,
        before.failover.preserved,
        before.failover.injected,
    ):
        return "the health of its copies, or what they said of their state"
    if recorded.ownership.required_by != before.ownership.required_by:
        return "whether copies of what needs it were left"
    if held and recorded == before:
        return "a gate held its move, as far as there were copies to move"
    return ""
