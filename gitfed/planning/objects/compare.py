"""One object in one cluster: what should be there against what is, and the single action that follows.

Every rule of ownership stands here. An object is *ours* only when the inventory entry and the label agree; what is
not known (an inventory that was not read, a kind that did not answer) is never taken for absent; and whatever is left
alone says why. Copies that should *not* be there (any more) are `prune`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, Kind, ObjectKey
from gitfed.model.fleet import ClusterLive, LiveObject
from gitfed.model.keys import BINDING_LABEL, CONFLICT_ANNOTATION, MANAGER, REPLACE_ANNOTATION
from gitfed.model.plan import Action, Binding, Change, RenderedManifest, Turn, Write
from gitfed.model.reason import NO_REASON, Reason, ReasonCode
from gitfed.model.repo import Manifest
from gitfed.planning.objects import diff, field_conflicts, field_managers, retain
from gitfed.planning.objects.availability_floor import Floor
from gitfed.planning.objects.retain import RetainError
from gitfed.planning.ordering.order import Position
from gitfed.text.values import dataclass

TAKEN = ("conflict with ", "exists and is not ours")
"""How the reason of a change begins that is not made because somebody else's object or field is in the way."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the comparison of all copies of one template has in common."""

    manifest: Manifest
    binding: Binding
    clusters: Mapping[ClusterName, ClusterLive]
    position: Position
    depends_on: tuple[ObjectKey, ...]
    interpreter: Interpreter
    repaired: frozenset[ClusterName] | None
    """Where drift is repaired; None: everywhere."""
    prune: bool
    unsettled: frozenset[ClusterName] | None
    """Where this commit's version was not written yet; None: nobody knows of any cluster that it was."""
    needed: Mapping[ClusterName, str] = field(default_factory=dict)
    """Where something that needs this object still is, and what."""
    floor: Floor | None = None
    """What objects keep until others run; None: nothing waits for it."""

    def is_drift(self, cluster: ClusterName) -> bool:
        """Whether something other than gitfed caused the difference: this version was written already."""
        return self.unsettled is not None and cluster not in self.unsettled

    def leaves_drift(self, cluster: ClusterName) -> bool:
        """Whether a difference there is drift, and stays."""
        return self.repaired is not None and cluster not in self.repaired and self.is_drift(cluster)


def wanted(
    context: Context, rendered: RenderedManifest, cluster: ClusterName, live: LiveObject | None
) -> Change | None:
    """What to do about an object that should be in `cluster`; None: nothing, it is as it should be.

    Raises RetainError when what the cluster keeps cannot be found out; then `unretained` is what to do.
    """
    held = context.floor.hold(rendered, cluster) if context.floor is not None else None
    if held is None:
        change = _needed(context, rendered, cluster, live)
    else:
        change = _needed(context, held[0], cluster, live)
        if change is None:
            change = replace(make(context, cluster, Action.SKIP, held[1], Write(held[0]), live), move=True)
        elif change.action is Action.UPDATE:
            change = replace(change, reason=held[1])
    return _permitted(context, change, cluster)


def reduced(
    context: Context, before: RenderedManifest, after: RenderedManifest, live: LiveObject, reason: Reason
) -> Change | None:
    """A copy that leaves, and has more replicas than others have to take over. None: it differs from `before` in more
    than that, so it stays as it is. Raises RetainError."""
    cluster = live.cluster
    if after.digest == before.digest or _needed(context, before, cluster, live) is not None:
        return None
    change = _needed(context, after, cluster, live)
    if change is None or change.action is not Action.UPDATE:
        return None
    return _permitted(context, replace(change, reason=reason, move=True), cluster)


def _permitted(context: Context, change: Change | None, cluster: ClusterName) -> Change | None:
    """The same, or a skip where nothing is to be written."""
    if change is not None and change.action is not Action.SKIP and (left := context.binding.awaits_deletion):
        reason = Reason(ReasonCode.DELETION_AWAITED, clusters=tuple(left))
        return replace(change, action=Action.SKIP, reason=reason)
    suspended = context.binding.terms.suspended
    if change is not None and change.action is not Action.SKIP and context.binding.held:
        return replace(change, action=Action.SKIP, reason=Reason(ReasonCode.BINDING_HELD, detail=context.binding.held))
    if change is not None and change.action is not Action.SKIP and (suspended is None or cluster in suspended):
        return replace(change, action=Action.SKIP, reason=Reason(ReasonCode.SUSPENDED_BY_POLICY))
    return change


def _needed(
    context: Context, rendered: RenderedManifest, cluster: ClusterName, live: LiveObject | None
) -> Change | None:
    unknown = _unreadable(context, cluster)
    if live is None:
        if unknown:
            return make(context, cluster, Action.SKIP, unknown, Write(rendered))
        return make(context, cluster, Action.CREATE, NO_REASON, Write(rendered, adopt=_overwrites(context, rendered)))
    if live.uid == "":
        if unknown:
            return make(context, cluster, Action.SKIP, unknown, Write(rendered))
        gone = live.entry is not None and live.entry.uid != ""
        reason = Reason(ReasonCode.DELETED_BY_OTHERS) if gone else NO_REASON
        if gone and context.leaves_drift(cluster):
            change = make(context, cluster, Action.SKIP, Reason(ReasonCode.DELETION_KEPT), Write(rendered))
            return replace(change, drift=True)
        write = Write(rendered, adopt=_overwrites(context, rendered))
        change = make(context, cluster, Action.CREATE, reason, write)
        return replace(change, drift=gone and context.is_drift(cluster))
    if is_foreign(live) and _has_our_label(context, live):
        # The inventory was lost and taken over again. The label permits no deletion, but we wrote what we want here.
        restored = Reason(ReasonCode.INVENTORY_RESTORED)
        return make(context, cluster, Action.UPDATE, restored, Write(rendered, adopt=True), live)
    if is_foreign(live):
        return _foreign(context, rendered, cluster, live)
    if live.matches == rendered.digest:
        return None
    if live.body is None:
        return make(context, cluster, Action.UPDATE, NO_REASON, Write(rendered), live)
    differences = compare_bodies(rendered.body, live.body, context.interpreter)
    if not differences and live.ours:
        return None
    drift = context.is_drift(cluster)
    others = ", ".join(field_managers.of(live.body, differences))
    if context.leaves_drift(cluster):
        reason = Reason(ReasonCode.DRIFT_KEPT, others or "another client")
        change = make(context, cluster, Action.SKIP, reason, Write(rendered, diff=differences), live)
        return replace(change, drift=True)
    kept = retain.for_apply(rendered.body, live.body, context.interpreter)
    claimed = () if _overwrites(context, rendered) else field_conflicts.find(rendered.body, live.body, differences)
    if claimed:
        # What others declare stays theirs; the rest of the object is ours to write.
        left = field_conflicts.unclaimed(claimed, differences)
        if not left and live.ours:
            reason = Reason(ReasonCode.FIELD_CONFLICT, detail="; ".join(map(str, claimed)))
            change = make(context, cluster, Action.SKIP, reason, Write(rendered, diff=differences), live)
            return replace(change, drift=drift)
        differences, others = left, ", ".join(field_managers.of(live.body, left))
        kept = field_conflicts.left_out(rendered.body if kept is None else kept, claimed)
    reason = NO_REASON if live.ours else Reason(ReasonCode.LABEL_MISSING)
    if others and not reason:
        reason = Reason(ReasonCode.CHANGED_BY_OTHERS if drift else ReasonCode.TAKEN_OVER, others)
    replaces = annotation(rendered.body, REPLACE_ANNOTATION) == "allowed"
    write = Write(rendered, kept, differences, replaces=replaces)
    return replace(make(context, cluster, Action.UPDATE, reason, write, live), drift=drift)


def is_foreign(live: LiveObject) -> bool:
    """Something of this name is there and neither label nor inventory says that we wrote it.

    An entry without a uid is only our intention to write: it does not make somebody else's object ours.
    """
    return bool(live.uid) and not live.ours and (live.entry is None or live.entry.uid != live.uid)


def _has_our_label(context: Context, live: LiveObject) -> bool:
    """Bodies are dropped of labelled objects only (see `LiveObject`)."""
    if live.body is None:
        return True
    labels = (live.body.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(BINDING_LABEL) == context.binding.id)


def compare_bodies(desired: Body, live: Body, interpreter: Interpreter) -> tuple[diff.FieldChange, ...]:
    """The one comparison that plan, drift detection and apply share. Empty: nothing to write. Raises RetainError."""
    return diff.diff(
        retain.wanted(desired, live, interpreter),
        live,
        owned=diff.owned_fields(live, MANAGER),
        ignore=diff.ignored_pointers(desired, live, native=not retain.has_rule(desired, interpreter)),
    )


def unrenderable(context: Context, cluster: ClusterName, live: LiveObject | None, reason: str) -> Change:
    """An override failed for this cluster: whatever is there stays."""
    return make(context, cluster, Action.SKIP, Reason(ReasonCode.NOT_RENDERED, detail=reason), Write(), live)


def unretained(
    context: Context, rendered: RenderedManifest, cluster: ClusterName, live: LiveObject | None, error: RetainError
) -> Change | None:
    """It cannot be told what of the object belongs to the cluster: what is there stays as it is.

    None: it is as the manifest says, and the rule may answer the next time. Rules keep what is there, so it would
    hardly say anything else; and webhooks answer a moment later as a rule.
    """
    if not error.permanent and live is not None and live.ours and live.body is not None:
        ignored = diff.ignored_pointers(rendered.body, live.body, native=False)
        if not diff.diff(rendered.body, live.body, owned=diff.owned_fields(live.body, MANAGER), ignore=ignored):
            return None
    code = ReasonCode.RETAIN_REFUSED if error.permanent else ReasonCode.RETAIN_UNKNOWN
    reason = Reason(code, detail=str(error))
    return make(context, cluster, Action.SKIP, reason, Write(rendered), live)


def _foreign(context: Context, rendered: RenderedManifest, cluster: ClusterName, live: LiveObject) -> Change | None:
    """Something of this name exists and is not ours: `conflictResolution` decides."""
    if _overwrites(context, rendered):
        differences = compare_bodies(rendered.body, live.body, context.interpreter) if live.body is not None else ()
        write = Write(rendered, diff=differences, adopt=True)
        return make(context, cluster, Action.UPDATE, Reason(ReasonCode.ADOPTED), write, live)
    if is_namespace(rendered.key):
        return None  # Used as it is: a namespace made by somebody else serves as well.
    return make(context, cluster, Action.SKIP, Reason(ReasonCode.NOT_OURS, CONFLICT_ANNOTATION), Write(rendered), live)


def _overwrites(context: Context, rendered: RenderedManifest) -> bool:
    """Whether what is somebody else's is taken over (Karmada: policies §5.4): the object's own annotation, else the
    policy."""
    own = annotation(rendered.body, CONFLICT_ANNOTATION)
    return own == "overwrite" or (own != "abort" and context.binding.terms.overwrite)


def _unreadable(context: Context, cluster: ClusterName) -> Reason:
    state = context.clusters.get(cluster)
    if state is None:
        return Reason(ReasonCode.NOT_OBSERVED, detail="the cluster was not read")
    if not state.inventory_read:
        return Reason(
            ReasonCode.NOT_OBSERVED, detail="the cluster could not be read"
        )  # a note of the plan says why, once
    if Kind(context.manifest.key.group, context.manifest.key.kind) in state.unread:
        return Reason(ReasonCode.NOT_OBSERVED, detail="this kind could not be listed")
    if context.manifest.key in state.unlooked:
        return Reason(ReasonCode.NOT_OBSERVED, detail="it could not be looked up")
    return NO_REASON


def annotation(body: Body, key: str) -> str:
    value = ((body.get("metadata") or {}).get("annotations") or {}).get(key)
    return value if isinstance(value, str) else ""


def make(
    context: Context,
    cluster: ClusterName,
    action: Action,
    reason: Reason,
    write: Write,
    live: LiveObject | None = None,
    move: bool = False,
) -> Change:
    """With what follows from the object itself; what else is to be known of the change is for the caller to add."""
    return Change(
        cluster=cluster,
        key=context.manifest.key,
        api_version=context.manifest.api_version,
        action=action,
        reason=reason,
        live=live,
        write=write,
        turn=Turn(context.position.wave, context.position.order, context.depends_on),
        move=move,
    )


def is_namespace(key: ObjectKey) -> bool:
    return key.kind == "Namespace" and not key.group
