"""Gates: limits on what one plan may do without a person's consent.

A gate holds exactly what it counts: those changes become `skip` with the gate as reason, everything else proceeds.
Deletions that complete a move or an eviction do not count as deletions; those of objects that nothing replaces do, and
replicas that are lost count as moved ones do (`displacement`). An approval is given to one plan, named by a
digest that does not depend on approvals, and holds for that commit and so many changes.

The limits are those of the last commit that was rolled out with nothing held: a commit must not loosen what would hold
it, and as long as something of it waits, it has not.

A federated quota is shown as a gate too, but it holds earlier: a placement that it does not allow is not decided at all
(`contention`), so there is no change to hold, and nothing that a person could let through but another quota.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from gitfed.model.base import ClusterName, Commit, ObjectKey
from gitfed.model.decisions import Decision, Decisions
from gitfed.model.fleet import LiveState
from gitfed.model.plan import Action, Binding, Change, Gate, Plan
from gitfed.model.reason import Reason, ReasonCode
from gitfed.model.repo import RepoSnapshot
from gitfed.placement.capacity import quota
from gitfed.planning.ordering import displacement
from gitfed.text import quantity
from gitfed.text.values import dataclass

HISTORY = "history"
"""The gate of commits that do not descend from the applied one."""
DELETIONS, PERCENT = "deletions", "deletion percent"
MOVED = "moved replicas"
"""The gate of moves: like the other it holds decisions, not only what follows from them."""
_SMALL = 8
"""Percentages say nothing about fewer objects or replicas than this."""
_ACTS = (Action.CREATE, Action.UPDATE, Action.DELETE)


@dataclass(frozen=True, slots=True)
class GateResult:
    """What the gates say of one plan."""

    gates: tuple[Gate, ...]
    changes: tuple[Change, ...]
    """What they hold is turned into skips."""
    undecided: Mapping[ObjectKey, str]
    """Templates that nothing new is decided for, and the gate that holds it."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """What one gate says, and which changes it holds."""

    name: str
    most: str
    value: str
    over: bool
    counts: Callable[[Change], bool] = lambda change: True
    message: str = ""
    waiting: bool = False
    """What waits for something else counts as well."""


@dataclass(frozen=True, slots=True)
class Already:
    """What limits count beside the changes that are looked at."""

    owned: int = 0
    """Objects of ours that no live state shows."""
    touched: frozenset[ClusterName] = frozenset()
    """Clusters where something was to be done before any of it was held."""


NOTHING = Already()


def hold(
    changes: Sequence[Change],
    bindings: Mapping[ObjectKey, Binding],
    *,
    repo: RepoSnapshot,
    decisions: Decisions,
    live: LiveState | None,
    already: Already = NOTHING,
) -> GateResult:
    """Limits in percent also count what `repo.scope` says of templates that are left out."""
    guards = decisions.guards or repo.settings.spec.guards
    allowed: dict[str, int] = {}
    for approval in decisions.approvals:
        if approval.commit == repo.commit:
            for name, count in approval.allowed:
                allowed[name] = max(count, allowed.get(name, 0))
    withdrawn = displacement.withdrawn(changes, bindings, decisions, live)
    gone = withdrawn.counts
    changes = displacement.told_apart(changes, gone) if gone else changes
    displaced = displacement.replicas(bindings, decisions, gone)
    kept = list(changes)
    gates: list[Gate] = []

    def goes(change: Change) -> bool:
        return _is_deletion(change) or (change.move and change.key in gone)

    def check(limit: _Limit, *, least: int = 0, unseen: int = 0) -> None:
        """`least`: so many are held at least; `unseen`: so many more, in clusters that were not observed."""
        acts = [change.action in _ACTS or (limit.waiting and displacement.is_waiting(change)) for change in changes]
        # Every gate counts for itself, whatever another one holds already: an approval has to name them all.
        counted = [i for i, change in enumerate(changes) if acts[i] and limit.counts(change)] if limit.over else []
        count = max(len(counted) + unseen, least) if limit.over else 0
        withheld = count if count > allowed.get(limit.name, 0) else 0
        if withheld:
            for index in counted:
                if kept[index].action is not Action.SKIP:
                    reason = Reason(ReasonCode.GATE, limit.name, detail=f"{limit.value} of at most {limit.most}")
                    kept[index] = replace(changes[index], action=Action.SKIP, reason=reason)
        messages = (limit.message,) if limit.message and withheld else ()
        gates.append(Gate(limit.name, limit.most, limit.value, withheld, messages))

    if not decisions.known:
        check(_Limit("state", "a known state", "unknown", over=True))
    if not decisions.descends and repo.commit:
        # The commit itself is held, also where it changes nothing: were it taken as the applied one, what it left out
        # would be gone for its successors, and they would delete without this gate.
        check(_of_history(repo.commit, decisions.applied_commit), least=1)
    deletions = [change for change in changes if change.action is Action.DELETE and not change.move]
    later = sum(gone.values()) - sum(change.reason.code is ReasonCode.WITHDRAWN for change in deletions)
    count = len(deletions) + later + _still_to_come(deletions, bindings, decisions, live)
    most, over = str(guards.max_deletions), count > guards.max_deletions
    check(_Limit(DELETIONS, most, str(count), over, goes, waiting=True), unseen=withdrawn.unseen)
    # Counting a million objects in every cycle would cost too much.
    owned = _owned(live) + already.owned + repo.scope.copies if count else 0
    percent = min(100 * count / owned, 100.0) if owned >= _SMALL else 0.0
    most, over = f"{guards.max_deletion_percent}%", percent > guards.max_deletion_percent
    check(_Limit(PERCENT, most, f"{percent:.0f}%", over, goes, waiting=True), unseen=withdrawn.unseen)
    total = displaced.total + repo.scope.replicas
    share = 100 * displaced.moved / total if total >= _SMALL else 0.0
    most, over = f"{guards.max_moved_replicas_percent}%", share > guards.max_moved_replicas_percent
    moves = _Limit(MOVED, most, f"{share:.0f}%", over, lambda change: change.key in displaced.keys, waiting=True)
    check(moves, least=0 if live is None else displaced.copies)
    if guards.max_clusters_touched is not None:
        reached = already.touched | touched(changes)
        most, over = str(guards.max_clusters_touched), len(reached) > guards.max_clusters_touched
        check(_Limit("clusters touched", most, str(len(reached)), over))
    return GateResult(tuple(gates), tuple(kept), _undecided(gates, kept, bindings, decisions, gone, displaced.keys))


def _of_history(commit: Commit, applied_commit: Commit | None) -> _Limit:
    applied = (applied_commit or "")[:12]
    message = (
        f"{commit[:12]} does not descend from {applied}, which was applied last: the history was rewritten, "
        "or this is another repository. Nothing of it is carried out until a person consents"
    )
    return _Limit(HISTORY, f"descendants of {applied}", commit[:12], over=True, message=message)


def holds_history(plan: Plan) -> bool:
    """Whether the commit is held for what it does to the history of its branch."""
    return any(stated.name == HISTORY and stated.held for stated in plan.gates)


def quotas(ledger: quota.Ledger) -> Iterator[Gate]:
    """Federated quotas: one gate for each resource that is refused or exceeded, else for the one nearest its limit."""
    for state in ledger.states():
        refused: dict[str, list[quota.Refusal]] = {}
        for refusal in state.refused:
            refused.setdefault(refusal.resource, []).append(refusal)
        shown = sorted({*refused, *state.exceeded()})
        if not shown and state.overall:
            shown = [
                max(sorted(state.overall), key=lambda resource: _part(state.used[resource], state.overall[resource]))
            ]
        for resource in shown:
            of = refused.get(resource, [])
            amount = of[0].requested if of else state.used[resource]
            value, limit = quota.in_words(resource, amount, state.overall[resource])
            messages = tuple(dict.fromkeys(map(str, of)))
            over = not of and amount > state.overall[resource]
            yield Gate(of_quota(state.name, resource), limit, value, len(of), messages, consent=False, over=over)


def of_quota(name: str, resource: str) -> str:
    """The name of the gate that a federated quota, `<namespace>/<name>`, is for one of its resources."""
    return f"quota {name} {resource}"


def _part(used: quantity.Quantity, limit: quantity.Quantity) -> float:
    if not used.nano:
        return 0.0
    return used.nano / limit.nano if limit.nano > 0 else math.inf


def holding(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """Those that hold something."""
    return tuple(gate for gate in gates if gate.held)


def together(wanted: GateResult, standing: GateResult, undecided: Set[ObjectKey]) -> GateResult:
    """What gates say of a plan where what they hold stays as it was decided before.

    `wanted`: of the plan without them, that counts; `standing`: of the one where decisions on record stand for what is
    `undecided`. What is done for these is done, and what waits is shown beside it. A limit that was passed with what
    does not happen now stays passed: else one half of a change would come without the other.
    """
    waiting = {(change.cluster, change.key): change for change in wanted.changes if change.gate}
    changes: list[Change] = []
    for change in standing.changes:
        skip = waiting.pop((change.cluster, change.key), None)
        if skip is not None and not (change.key in undecided and change.action in _ACTS):
            change = skip
        changes.append(change)
    changes += [change for change in waiting.values() if change.key in undecided]
    gates = tuple(
        before if before.held or not now.held else now for before, now in zip(wanted.gates, standing.gates, strict=True)
    )
    return GateResult(gates, tuple(changes), {**standing.undecided, **wanted.undecided})


def touched(changes: Iterable[Change]) -> frozenset[ClusterName]:
    """Clusters where something is to be done."""
    return frozenset(change.cluster for change in changes if change.action in _ACTS)


def _undecided(
    gates: Iterable[Gate],
    kept: Iterable[Change],
    bindings: Mapping[ObjectKey, Binding],
    decisions: Decisions,
    gone: Iterable[ObjectKey],
    movers: Iterable[ObjectKey],
) -> dict[ObjectKey, str]:
    """Whatever was held of an object once its decision is on record is held no more: nothing would be left to count.

    So it is not decided, also where no cluster can be read that a change could be seen in.
    """
    limits: dict[ObjectKey, str] = {}
    for name in (gate.name for gate in holding(gates)):
        if name == MOVED:
            limits |= dict.fromkeys(movers, name)
        elif name in (DELETIONS, PERCENT):
            limits = {**dict.fromkeys(gone, name), **limits}
    for change in kept:
        if change.key not in bindings:
            continue
        if change.gate == HISTORY or (change.gate in (DELETIONS, PERCENT) and _is_left(change, bindings, decisions)):
            limits.setdefault(change.key, change.gate)
    return dict(sorted(limits.items()))


def decisions_to_record(plan: Plan, decisions: Decisions, live: LiveState | None) -> dict[ObjectKey, Decision]:
    """What is to be remembered. What a gate holds was not decided: the previous decision stays, if there is one.

    So does that of a template which is gone, as long as an object of it may be left: it says how to treat that object
    (`preserveResourcesOnDeletion`), and no longer names clusters where there is none. Should the template come back
    while nothing can be decided, that decision stands.
    """
    recorded: dict[ObjectKey, Decision] = {}
    for key, binding in plan.bindings.items():
        if binding.decision is not None and (key not in plan.held_decisions or key in decisions.bindings):
            recorded[key] = binding.decision
    for key in decisions.bindings.keys() - plan.bindings.keys():
        if _may_be_left(decisions.bindings[key], live):
            gone = decisions.bindings[key]
            # Should it come back with another policy, what this one preserved does not belong to it any more.
            left = gone.with_left_behind(gone, (), preserve=gone.ownership.preserve)
            shares = tuple(share for share in gone.scheduled.shares if _may_have_copy(gone.key, share.cluster, live))
            if shares != gone.scheduled.shares:
                left = replace(left, scheduled=replace(left.scheduled, shares=shares))
            recorded[key] = left
    return recorded


def _may_be_left(decision: Decision, live: LiveState | None) -> bool:
    if live is None or any(copy.entry is not None for copy in live.objects.get(decision.key, {}).values()):
        return True
    return any(_may_have_copy(decision.key, cluster, live) for cluster in decision.may_be_in())


def _may_have_copy(key: ObjectKey, cluster: ClusterName, live: LiveState | None) -> bool:
    """Whether an object of ours is there, or may be: the inventory was not read."""
    state = live.clusters.get(cluster) if live is not None else None
    if live is None or state is None or not state.inventory_read:
        return True
    copy = live.objects.get(key, {}).get(cluster)
    return copy is not None and copy.entry is not None


def _is_left(change: Change, bindings: Mapping[ObjectKey, Binding], decisions: Decisions) -> bool:
    """Whether the change is in a cluster that its template was placed in before and is not any more."""
    binding, previous = bindings.get(change.key), decisions.bindings.get(change.key)
    if (
        binding is None
        or previous is None
        or any(share.cluster == change.cluster for share in binding.scheduled.shares)
    ):
        return False
    return any(share.cluster == change.cluster for share in previous.targets)


def _is_deletion(change: Change) -> bool:
    return change.action is Action.DELETE and not change.move


def _still_to_come(
    deletions: Sequence[Change], bindings: Mapping[ObjectKey, Binding], decisions: Decisions, live: LiveState | None
) -> int:
    """Objects of the same templates in clusters that cannot be read now: they are deleted when these answer again.

    A limit that did not count them would be exceeded piece by piece, one cluster after the other.
    """
    if live is None:
        return 0
    unread = {name for name, cluster in live.clusters.items() if not cluster.inventory_read}
    gone = {change.key for change in deletions} - bindings.keys() if unread else set()
    return sum(len(unread & _where(decisions.bindings.get(key), unread)) for key in gone)


def _where(decision: Decision | None, every: Set[ClusterName]) -> Set[ClusterName]:
    """A template that goes to every cluster, as a Namespace does, has no decision."""
    return every if decision is None else {share.cluster for share in decision.targets}


def _owned(live: LiveState | None) -> int:
    if live is None:
        return 0
    return sum(1 for copies in live.objects.values() for copy in copies.values() if copy.ours)
