"""What was observed of the clusters: facts for deciding, live objects for applying.

Unknown is not absent: a cluster that could not be read stays in the snapshot with `reach` UNKNOWN and its last facts;
an object whose kind could not be listed is covered by `unread`, and nothing is concluded from its absence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from gitfed.model.base import BindingId, Body, ClusterName, Digest, Kind, ObjectKey
from gitfed.text.values import dataclass


class Reach(StrEnum):
    READY = "Ready"
    NOT_READY = "NotReady"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class ClusterCondition:
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition: datetime | None = None


@dataclass(frozen=True, slots=True)
class ApiEnablements:
    """Which kinds a cluster serves. `complete` False: a group did not answer, so absence proves nothing."""

    kinds: frozenset[tuple[str, str]]
    """(groupVersion, kind)"""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node, or a class of nodes that are alike in all of this: then `count` says how many, and amounts are of one.

    `pods` of `allocatable` and `requested` are pod slots and pods; `requested` counts pods that have not ended.
    """

    name: str
    allocatable: Mapping[str, str]
    requested: Mapping[str, str]
    labels: Mapping[str, str]
    taints: tuple[Body, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    count: int = 1


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    """A ResourceQuota inside a cluster: what its namespace may ask for, and does."""

    namespace: str
    name: str
    hard: Mapping[str, str]
    """By the names by which replicas ask: `cpu`, not `requests.cpu`."""
    used: Mapping[str, str]
    classes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(operator, priority classes): it counts for pods that meet all of them."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """One cluster as last observed. What a person declares of it (labels, region, taints) is in the repository."""

    name: ClusterName
    reach: Reach = Reach.READY
    conditions: tuple[ClusterCondition, ...] = ()
    apis: ApiEnablements | None = None
    """None: assumed to serve every kind."""
    kubernetes_version: str = ""
    resource_summary: Body | None = None
    """Karmada's `status.resourceSummary`: allocatable, allocated, allocating, allocatableModelings."""
    nodes: tuple[NodeFacts, ...] = ()
    quotas: tuple[QuotaFacts, ...] = ()
    """Sorted by namespace and name."""
    declared: Body | None = None
    """The Cluster object of a facts file, for clusters that the repository does not declare."""
    assumed: bool = False
    """True: nothing was observed; the declaration is taken as Ready with every API."""


class Health(StrEnum):
    """kstatus's words."""

    CURRENT = "Current"
    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    TERMINATING = "Terminating"
    NOT_FOUND = "NotFound"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """What the inventory says of one object, recorded before the object is written. `uid` is "" until the first write
    was answered."""

    key: ObjectKey
    uid: str
    binding: BindingId
    replicas: int | None = None
    orphaned: bool = False
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class LiveObject:
    """One object in one cluster, as last seen.

    `body` is dropped when the object was found equal to the rendered manifest named by `matches` (its digest): a
    large fleet in steady state holds no bodies. `ours` is true when inventory entry *and* label agree.
    """

    key: ObjectKey
    cluster: ClusterName
    uid: str
    resource_version: str
    ours: bool
    body: Body | None = None
    matches: Digest | None = None
    health: Health = Health.UNKNOWN
    health_message: str = ""
    entry: InventoryEntry | None = None
    protected: bool = False
    """The live object carries annotation `gitfed.io/prune: disabled`: never deleted by us."""
    deletion_protected: bool = False
    """Karmada's label `resourcetemplate.karmada.io/deletion-protected: Always`: it stays when its template is removed,
    but moves with its placement."""
    deletion_held: bool = False
    """Its deletion was requested and a finalizer holds it."""
    healthy: bool | None = None
    """What the interpreter says (Karmada: InterpretHealth): the health that aggregated status and failover go by.
    None: it could not tell, or a script would have to: then `body` is kept, and `interpret.collect` asks."""
    status: Body | None = None
    """What the interpreter collects of its status (Karmada: InterpretStatus). A change of it alone starts no build: a
    build may see an older one than the member's `get` answers."""


@dataclass(frozen=True, slots=True)
class ClusterLive:
    """What reading one cluster gave. `inventory_read` False: nothing may be deleted or counted as missing there."""

    name: ClusterName
    inventory_read: bool
    repository_id: str = ""
    """The repository that the cluster's inventory belongs to; "" when there is no inventory yet."""
    term: int = 0
    unread: frozenset[Kind] = frozenset()
    """Kinds whose objects could not be listed: their absence is unknown."""
    unlooked: frozenset[ObjectKey] = frozenset()
    """Objects that were not seen and could not be looked up: their absence is unknown too."""
    error: str = ""
    asked: bool = True
    """Whether this process asked the cluster; if not, everything here is what was known before."""

    def is_unread(self, key: ObjectKey) -> bool:
        """Whether nothing follows from its absence."""
        return Kind(key.group, key.kind) in self.unread or key in self.unlooked


@dataclass(frozen=True, slots=True)
class LiveState:
    """All observed objects: by key, then by cluster.

    The inner mappings are replaced, never changed, when one of their objects changes: `is` tells an incremental
    build what to look at again. An inventory entry without an object is a LiveObject with uid "" and no body.
    """

    clusters: Mapping[ClusterName, ClusterLive]
    objects: Mapping[ObjectKey, Mapping[ClusterName, LiveObject]]


class Stuck(NamedTuple):
    """Replicas of one workload in one cluster that its scheduler finds no node for, as observed."""

    ready: int
    """-1: its status does not say."""
    unschedulable: int
    """Pods that wait for a node for longer than the threshold."""


@dataclass(frozen=True, slots=True)
class FactsRef:
    """Where facts come from, for headers and records: `source` is "file NAME", "live", "facts branch" or "assumed"."""

    source: str
    commit: str = ""
    taken_at: datetime | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """The clusters at one moment. `live` None: objects were not observed, so a plan has no changes to show."""

    facts: FactsRef
    clusters: Mapping[ClusterName, ClusterFacts]
    live: LiveState | None = None


INVALID = "Invalid"
"""The reason in the details of a result: the server refuses the object as it is."""


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """How one change went: outcome is created, configured, unchanged, deleted, skipped or failed."""

    cluster: ClusterName
    key: ObjectKey
    outcome: str
    message: str = ""
    health: Health = Health.UNKNOWN
    took: float = 0.0
    """seconds"""
    retry: bool = False
    permanent: bool = False
    """The server refused the object itself, and will refuse it again until the object changes."""
    details: Mapping[str, Any] = field(default_factory=dict)
