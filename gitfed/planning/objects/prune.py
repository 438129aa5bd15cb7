"""A copy that should not be there (any more): whether it goes, now or later, or stays, and why.

It goes when its template went, when it moved, when it was evicted, or when nothing needs it any more. It stays when not
both inventory and label say that it is ours, when a person asked for it (annotation, label, policy), when no policy
selects its template (an orphan), and as long as what takes its place is not healthy. What cannot be read is never taken
for absent. How many deletions are let through at once is `gate`'s question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.decisions import Decision
from gitfed.model.fleet import ClusterLive, Health, LiveObject
from gitfed.model.keys import FEDERATION_LABEL, PROTECTED_LABEL, PRUNE_ANNOTATION, WAIT_ANNOTATION
from gitfed.model.plan import Action, Binding, Change, Write
from gitfed.model.reason import NO_REASON, Reason, ReasonCode
from gitfed.model.repo import Manifest
from gitfed.planning.objects import compare

if TYPE_CHECKING:
    from gitfed.planning.context import PlacementResult


def unwanted(
    context: compare.Context, cluster: ClusterName, live: LiveObject, copies: Mapping[ClusterName, LiveObject]
) -> Change | None:
    """What to do about a copy in a cluster that the template is not placed on (any more)."""

    def change(action: Action, reason: Reason, *, move: bool = True) -> Change:
        return compare.make(context, cluster, action, reason, Write(), live, move)

    if _is_stripped(live):
        return change(Action.KEEP, _STRIPPED, move=False)
    if not _removable(live):
        if _is_going(live):
            return change(Action.KEEP, _going(live))
        return None
    dependency = came_as_dependency(context.binding, cluster)
    # What something there runs with is no orphan, whatever else keeps it: nobody has it deleted by an order.
    needed = cluster in context.needed
    if context.binding.scheduled.policy is None and not dependency:
        return change(Action.KEEP, Reason(ReasonCode.ORPHANED), move=needed)
    held_back = _kept_because(
        live,
        context.clusters.get(cluster),
        prune=context.prune,
        unread="",
        preserve=context.binding.terms.preserve or _was_left_behind(context.binding.decision, cluster),
        kept=is_kept(context.manifest.body),
    )
    if not held_back and context.binding.keeps:
        held_back = Reason(ReasonCode.HELD_BACK, detail=context.binding.keeps)
    if held_back:
        return change(Action.KEEP, held_back, move=needed)
    if compare.is_namespace(context.manifest.key):
        return change(Action.DELETE, Reason(ReasonCode.NAMESPACE_UNUSED))
    if needed:
        return change(Action.KEEP, Reason(ReasonCode.NEEDED, context.needed[cluster]))
    if dependency and not context.binding.scheduled.shares:
        unused = Reason(ReasonCode.DEPENDENCY_UNUSED, detail=context.binding.reasons.why)
        return change(Action.DELETE, unused, move=False)
    evicted = _evicted(context.binding, cluster)
    if evicted is not None:
        leaving = change(*evicted)
        return replace(leaving, turn=replace(leaving.turn, first=leaving.action is Action.DELETE))
    floor = context.floor
    kept = floor.kept_of(cluster) if floor is not None else None
    if floor is not None and kept is not None:
        if not kept:
            return change(Action.DELETE, Reason(ReasonCode.MOVED))
        reason = Reason(ReasonCode.REPLACEMENT_AWAITED, clusters=tuple(name for name, _ in floor.awaited))
        return change(Action.KEEP, reason)
    newcomers = [share.cluster for share in context.binding.scheduled.shares]
    waiting = [name for name in newcomers if not _healthy(copies.get(name), context.manifest)]
    if waiting:
        # A replacement is healthy before the old copy goes: level-based, so that a restart in between changes nothing.
        reason = Reason(ReasonCode.REPLACEMENT_AWAITED, clusters=tuple(waiting))
        return change(Action.KEEP, reason)
    return change(Action.DELETE, Reason(ReasonCode.MOVED))


def _evicted(binding: Binding, cluster: ClusterName) -> tuple[Action, Reason] | None:
    """What is done about the copy that an eviction left behind; None: there was none (Karmada: failover §2.5)."""
    if binding.decision is not None and cluster in binding.decision.failover.released:
        return Action.DELETE, Reason(ReasonCode.EVICTED)
    task = next((task for task in binding.evictions if task.from_cluster == cluster), None)
    if task is None:
        return None
    if task.purge_mode == "Directly":
        return Action.DELETE, Reason(ReasonCode.EVICTED_DIRECTLY)
    if task.suppress_deletion:
        return Action.KEEP, Reason(ReasonCode.EVICTION_SUPPRESSED)
    others = tuple(share.cluster for share in binding.scheduled.shares)
    return Action.KEEP, Reason(ReasonCode.EVICTION_WAITS if others else ReasonCode.EVICTION_UNPLACED, clusters=others)


def leaver(
    live: LiveObject,
    state: ClusterLive | None,
    *,
    prune: bool,
    unread: str,
    past: Decision | None,
) -> Change | None:
    """What to do about a copy whose template is gone. `past`: the last decision for it; `unread`: why it may not be
    gone at all (`RepoSnapshot.why_kept`)."""
    key, cluster = live.key, live.cluster
    api_version = past.api_version if past is not None else ""
    stripped, going = _is_stripped(live), _is_going(live)
    if not stripped and not going and not _removable(live):
        return None
    if going:
        return Change(
            cluster=cluster,
            key=key,
            api_version=api_version or _api_version(live),
            action=Action.KEEP,
            reason=_going(live),
            live=live,
            move=True,
        )
    kept = past is not None and past.ownership.kept
    preserve = (past is not None and past.ownership.preserve) or _was_left_behind(past, cluster)
    reason = _STRIPPED
    if not stripped:
        reason = _kept_because(live, state, prune=prune, unread=unread, preserve=preserve, kept=kept)
    if not reason and live.deletion_protected:
        reason = Reason(ReasonCode.DELETION_PROTECTED, PROTECTED_LABEL)
    action = Action.KEEP if reason else Action.DELETE
    return Change(
        cluster=cluster,
        key=key,
        api_version=api_version or _api_version(live),
        action=action,
        reason=reason or Reason(ReasonCode.REMOVED),
        live=live,
    )


def came_as_dependency(binding: Binding, cluster: ClusterName) -> bool:
    """Whether a copy there was never placed by a policy of its own, but taken along (Karmada: policies §3.3)."""
    if binding.attached:
        return True
    decision = binding.decision
    if binding.scheduled.policy is not None or decision is None or not decision.ownership.required_by:
        return False
    return all(share.cluster != cluster for share in decision.scheduled.shares)


def _was_left_behind(decision: Decision | None, cluster: ClusterName) -> bool:
    return decision is not None and cluster in decision.ownership.left_behind


def meant_by(key: ObjectKey, bindings: Mapping[ObjectKey, Binding]) -> str:
    """Why an object that is gone from the repository may be meant all the same; "" when it cannot.

    `extensions/v1beta1`, from which kinds moved to groups of their own, makes another object of an Ingress, one that no
    cluster has any more. That is a mistake, and no wish to delete the one that is there.
    """
    twin = bindings.get(key._replace(group=_OLD_GROUP)) if key.group != _OLD_GROUP else None
    if twin is None or twin.scheduled.shares:
        return ""
    return f"{twin.origin.path} has it in {twin.api_version}, which no cluster takes, and may mean it"


_OLD_GROUP = "extensions"
_STRIPPED = Reason(ReasonCode.LABEL_STRIPPED, FEDERATION_LABEL)


def _is_stripped(live: LiveObject) -> bool:
    """The very object that the inventory lists, without our label: neither alone permits a deletion."""
    return bool(live.uid) and not live.ours and live.entry is not None and live.entry.uid == live.uid


def _is_going(live: LiveObject) -> bool:
    """Deleted, and held by somebody's finalizer: that may last, so it is said."""
    return live.ours and live.health is Health.TERMINATING and live.deletion_held


def _going(live: LiveObject) -> Reason:
    return Reason(ReasonCode.TERMINATING, detail=live.health_message)


def _removable(live: LiveObject) -> bool:
    """An entry alone (nothing there) is cleaned up by the inventory; a label alone never permits a deletion."""
    return live.ours and bool(live.uid) and live.health is not Health.TERMINATING


def _kept_because(
    live: LiveObject, state: ClusterLive | None, *, prune: bool, unread: str, preserve: bool, kept: bool
) -> Reason:
    if state is None or not state.inventory_read:
        return Reason(ReasonCode.NOT_OBSERVED, detail="the inventory could not be read")
    if unread:
        return Reason(ReasonCode.REPOSITORY_INCOMPLETE, detail=unread)
    if not prune:
        return Reason(ReasonCode.PRUNING_OFF)
    if live.protected or kept:
        return Reason(ReasonCode.PRUNE_DISABLED, PRUNE_ANNOTATION)
    if preserve:
        return Reason(ReasonCode.PRESERVED)
    return NO_REASON


def is_kept(body: Body) -> bool:
    """Whether an object says that we must never delete it."""
    annotations = body["metadata"].get("annotations")  # asked of every template in every build
    return bool(annotations) and annotations.get(PRUNE_ANNOTATION) == "disabled"


def remembered(bound: PlacementResult, template: Body, before: Decision | None) -> PlacementResult:
    """The same, with a decision that says whether the template keeps its copies: then all of them outlive it; and where
    one stays for good, because its policy said so when it left."""
    binding = bound.binding
    decision = binding.decision
    if decision is None:
        return bound
    # What is not written now says nothing yet.
    kept = is_kept(template) or (decision.ownership.kept and bool(binding.held))
    if decision.ownership.kept is not kept:
        decision = replace(decision, ownership=replace(decision.ownership, kept=kept))
    if (binding.terms.preserve or decision.ownership.left_behind) and (
        binding.scheduled.policy is not None or binding.attached
    ):
        where = (share.cluster for share in binding.scheduled.shares)
        decision = decision.with_left_behind(before, where, preserve=binding.terms.preserve)
    return bound if decision is binding.decision else replace(bound, binding=replace(binding, decision=decision))


def is_protected(body: Body) -> bool:
    """Whether an object is not to be deleted with its template (Karmada: deletion protection)."""
    labels = (body.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(PROTECTED_LABEL) == "Always")


def _healthy(live: LiveObject | None, manifest: Manifest) -> bool:
    """Whether a replacement is there: what somebody else has under that name is none."""
    if live is None or not live.uid or not live.ours:
        return False
    return live.health is Health.CURRENT or compare.annotation(manifest.body, WAIT_ANNOTATION) == "false"


def _api_version(live: LiveObject) -> str:
    return str(live.body["apiVersion"]) if live.body is not None else ""
