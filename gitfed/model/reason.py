"""Why a change is as it is: a code that programs act on, and the arguments of its sentence.

No code reads a sentence back. Each is written once, in the table below, which also makes the reference page
(`docs/reference/reasons.md`); every output for programs carries the code beside it.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from gitfed.model.base import ClusterName
from gitfed.text.values import dataclass


class ReasonCode(StrEnum):
    """Stable: a code keeps its meaning and is never reused for another."""

    NONE = ""
    # to be written
    DELETED_BY_OTHERS = "DeletedByOthers"
    CHANGED_BY_OTHERS = "ChangedByOthers"
    TAKEN_OVER = "TakenOver"
    LABEL_MISSING = "LabelMissing"
    ADOPTED = "Adopted"
    INVENTORY_RESTORED = "InventoryRestored"
    LEFT_EARLIER = "LeftByEarlierCommit"
    SUSPENSION_ENDED = "SuspensionEnded"
    UNLESS_PRESENT = "UnlessPresent"
    UNLESS_LEFT_BEHIND = "UnlessLeftBehind"
    # to be written, and left out
    GATE = "Gate"
    SUSPENDED_BY_POLICY = "SuspendedByPolicy"
    SUSPENDED_BY_ORDER = "SuspendedByOrder"
    DELETION_AWAITED = "DeletionAwaited"
    BINDING_HELD = "BindingHeld"
    DRIFT_KEPT = "DriftKept"
    DELETION_KEPT = "DeletionByOthersKept"
    FIELD_CONFLICT = "FieldConflict"
    NOT_OURS = "NotOurs"
    NOT_OBSERVED = "NotObserved"
    NOT_RENDERED = "NotRendered"
    RETAIN_UNKNOWN = "RetainUnknown"
    RETAIN_REFUSED = "RetainRefused"
    AVAILABILITY_FLOOR = "AvailabilityFloor"
    # to stay
    LABEL_STRIPPED = "LabelStripped"
    TERMINATING = "Terminating"
    ORPHANED = "Orphaned"
    REPOSITORY_INCOMPLETE = "RepositoryIncomplete"
    PRUNING_OFF = "PruningOff"
    PRUNE_DISABLED = "PruneDisabled"
    PRESERVED = "Preserved"
    DELETION_PROTECTED = "DeletionProtected"
    HELD_BACK = "HeldBack"
    NEEDED = "Needed"
    NAMESPACE_IN_USE = "NamespaceInUse"
    IN_USE_BY_OTHERS = "InUseByOthers"
    CLUSTER_UNDECLARED = "ClusterUndeclared"
    REPLACEMENT_AWAITED = "ReplacementAwaited"
    EVICTION_WAITS = "EvictionWaits"
    EVICTION_SUPPRESSED = "EvictionSuppressed"
    EVICTION_UNPLACED = "EvictionUnplaced"
    # to go
    MOVED = "Moved"
    WITHDRAWN = "Withdrawn"
    EVICTED = "Evicted"
    EVICTED_DIRECTLY = "EvictedDirectly"
    EVICTED_AFTERWARDS = "EvictedAfterReplacement"
    NAMESPACE_UNUSED = "NamespaceUnused"
    DEPENDENCY_UNUSED = "DependencyUnused"
    REMOVED_BY_ORDER = "RemovedByOrder"
    REMOVED = "Removed"


SENTENCES: MappingProxyType[ReasonCode, str] = MappingProxyType(
    {
        ReasonCode.NONE: "",
        ReasonCode.DELETED_BY_OTHERS: "deleted by another client",
        ReasonCode.CHANGED_BY_OTHERS: "changed by {subject}",
        ReasonCode.TAKEN_OVER: "taken over from {subject}",
        ReasonCode.LABEL_MISSING: "label is missing",
        ReasonCode.ADOPTED: "adopted",
        ReasonCode.INVENTORY_RESTORED: "back into the inventory",
        ReasonCode.LEFT_EARLIER: "left by an earlier commit: updated where it differs",
        ReasonCode.SUSPENSION_ENDED: "suspension ended: applied where it differs",
        ReasonCode.UNLESS_PRESENT: "unless it is there already",
        ReasonCode.UNLESS_LEFT_BEHIND: "unless it is there: its copies stay where it leaves",
        ReasonCode.GATE: "gate {subject}: {detail}",
        ReasonCode.SUSPENDED_BY_POLICY: "suspended by its policy",
        ReasonCode.SUSPENDED_BY_ORDER: "{detail}",
        ReasonCode.DELETION_AWAITED: "waits for the confirmed deletion of its copy in {clusters} (purgeMode Directly)",
        ReasonCode.BINDING_HELD: "{detail}",
        ReasonCode.DRIFT_KEPT: "drift: changed by {subject}, and selfHeal is off",
        ReasonCode.DELETION_KEPT: "drift: deleted by another client, and selfHeal is off",
        ReasonCode.FIELD_CONFLICT: "{detail} (conflictResolution Abort leaves it, Overwrite takes it over)",
        ReasonCode.NOT_OURS: "exists and is not ours: set {subject}: overwrite on the template to adopt it",
        ReasonCode.NOT_OBSERVED: "not observed: {detail}",
        ReasonCode.NOT_RENDERED: "{detail}",
        ReasonCode.RETAIN_UNKNOWN: "what the cluster keeps is unknown: {detail}",
        ReasonCode.RETAIN_REFUSED: "what the cluster keeps cannot be found out: {detail}",
        ReasonCode.AVAILABILITY_FLOOR: "move: stays at {subject} until {detail}",
        ReasonCode.LABEL_STRIPPED: "its label was taken away: put label {subject} back, or delete it",
        ReasonCode.TERMINATING: "{detail}",
        ReasonCode.ORPHANED: "orphaned: no policy selects its template any more",
        ReasonCode.REPOSITORY_INCOMPLETE: "{detail}",
        ReasonCode.PRUNING_OFF: "pruning is off",
        ReasonCode.PRUNE_DISABLED: "annotation {subject}: disabled",
        ReasonCode.PRESERVED: "preserveResourcesOnDeletion",
        ReasonCode.DELETION_PROTECTED: "label {subject}: Always",
        ReasonCode.HELD_BACK: "{detail}",
        ReasonCode.NEEDED: "{subject} still needs it here",
        ReasonCode.NAMESPACE_IN_USE: "stays until {subject} has left it",
        ReasonCode.IN_USE_BY_OTHERS: "stays: {detail}",
        ReasonCode.CLUSTER_UNDECLARED: "the cluster is no longer declared: its objects stay there untouched",
        ReasonCode.REPLACEMENT_AWAITED: "move: stays until {clusters} is healthy",
        ReasonCode.EVICTION_WAITS: "evicted: stays until {clusters} is healthy",
        ReasonCode.EVICTION_SUPPRESSED: "evicted: stays until suppressDeletion is false",
        ReasonCode.EVICTION_UNPLACED: "evicted: nothing takes its place",
        ReasonCode.MOVED: "moved",
        ReasonCode.WITHDRAWN: "not placed here any more, and nowhere else instead",
        ReasonCode.EVICTED: "evicted",
        ReasonCode.EVICTED_DIRECTLY: "evicted (purgeMode Directly)",
        ReasonCode.EVICTED_AFTERWARDS: "evicted, once its replacement is healthy",
        ReasonCode.NAMESPACE_UNUSED: "nothing goes there any more",
        ReasonCode.DEPENDENCY_UNUSED: "{detail}",
        ReasonCode.REMOVED_BY_ORDER: "removed by {subject}",
        ReasonCode.REMOVED: "removed from the repository",
    }
)
"""`{subject}`: who or what it is about; `{clusters}`: those that are waited for; `{detail}`: more, in words."""

IF_PRESENT = " (if it exists; its policy suspends it at present)"
ONCE_EMPTY = ", once it is empty"


@dataclass(frozen=True, slots=True)
class Reason:
    """A code and the arguments of its sentence. False without a code: there is nothing to say."""

    code: ReasonCode = ReasonCode.NONE
    subject: str = ""
    clusters: tuple[ClusterName, ...] = ()
    detail: str = ""
    if_present: bool = False
    """Git alone cannot tell whether the object exists."""
    once_empty: bool = False
    """A namespace: it goes when the last object in it has gone."""

    def __bool__(self) -> bool:
        return self.code is not ReasonCode.NONE

    def __str__(self) -> str:
        said = SENTENCES[self.code].format(subject=self.subject, clusters=", ".join(self.clusters), detail=self.detail)
        return said + (ONCE_EMPTY if self.once_empty else "") + (IF_PRESENT if self.if_present else "")


NO_REASON = Reason()
