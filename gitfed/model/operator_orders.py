"""What a person ordered beside the repository: kept on the state branch with who, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gitfed.model.base import ClusterName, Commit, ObjectKey
from gitfed.text import moment
from gitfed.text.values import dataclass

EVERYTHING = "all"
CLUSTER = "cluster/"
"""How the name of a suspended cluster begins."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Nothing is written to what it covers until a person resumes it (`gitfed suspend`, `gitfed resume`)."""

    of: str
    """`all`, `cluster/NAME`, or an object: `Deployment.apps/shop/web`."""
    by: str
    at: datetime
    reason: str = ""
    scheduling: bool = False
    """Scheduling is suspended, not writing: its clusters and replicas stay as they are."""

    def covers(self, cluster: ClusterName, key: ObjectKey) -> bool:
        return _covers(self.of, cluster, key)

    def __str__(self) -> str:
        what = "scheduling suspended" if self.scheduling else "suspended"
        why = f": {self.reason}" if self.reason else ""
        return f"{what} by {self.by} since {_time(self.at)}{why}"

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"of": self.of, "by": self.by, "at": self.at.isoformat()}
        if self.reason:
            document["reason"] = self.reason
        if self.scheduling:
            document["scheduling"] = True
        return document


@dataclass(frozen=True, slots=True)
class Removal:
    """One orphan that a person wants gone (`gitfed orphans delete`): exactly that object, by its uid."""

    cluster: ClusterName
    object: str
    """`Deployment.apps/shop/web`"""
    uid: str
    by: str
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "object": self.object,
            "uid": self.uid,
            "by": self.by,
            "at": self.at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Look again, retry what failed, and repair drift, once (`gitfed reconcile`): even where `sync.selfHeal` is off.

    It stands until the daemon has carried it out.
    """

    of: str
    """As in `Suspension`."""
    by: str
    at: datetime

    def covers(self, cluster: ClusterName, key: ObjectKey) -> bool:
        return _covers(self.of, cluster, key)

    def concerns(self, cluster: ClusterName) -> bool:
        """Whether anything in this cluster may be meant."""
        return not self.of.startswith(CLUSTER) or self.of == CLUSTER + cluster

    @property
    def object(self) -> str:
        """The one object that is meant; "" for all of the fleet or of a cluster."""
        return "" if self.of == EVERYTHING or self.of.startswith(CLUSTER) else self.of

    def as_json(self) -> dict[str, Any]:
        return {"of": self.of, "by": self.by, "at": self.at.isoformat()}


def suspensions(items: object) -> tuple[Suspension, ...]:
    """What a list in state.yaml says. An entry that cannot be read suspends everything: it was meant to stop something.

    The entry then says so in its reason.
    """
    suspended = []
    for item in items if isinstance(items, list) else []:
        try:
            at = _at(item)
            suspension = Suspension(
                str(item["of"]), str(item["by"]), at, str(item.get("reason") or ""), item.get("scheduling") is True
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            suspension = Suspension(
                EVERYTHING,
                "an entry that cannot be read",
                datetime.min.replace(tzinfo=UTC),
                "gitfed resume all clears it",
            )
        suspended.append(suspension)
    return tuple(suspended)


def removals(items: object) -> tuple[Removal, ...]:
    """What a list in state.yaml says. An entry that cannot be read removes nothing."""
    read = []
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, Mapping):
            continue
        try:
            at = _at(item)
            read.append(Removal(str(item["cluster"]), str(item["object"]), str(item["uid"]), str(item["by"]), at))
        except (KeyError, ValueError):
            continue
    return tuple(read)


def reconciliations(items: object) -> tuple[Reconciliation, ...]:
    """What a list in state.yaml says. An entry that cannot be read asks for nothing."""
    read = []
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, Mapping):
            continue
        try:
            read.append(Reconciliation(str(item["of"]), str(item["by"]), _at(item)))
        except (KeyError, ValueError):
            continue
    return tuple(read)


def _covers(of: str, cluster: ClusterName, key: ObjectKey) -> bool:
    return of in (EVERYTHING, CLUSTER + cluster, str(key))


def _at(item: Mapping[str, Any]) -> datetime:
    """Raises KeyError, ValueError."""
    at = item["at"]
    when = at if isinstance(at, datetime) else moment.read(at)
    if when is None:
        raise ValueError("no time")
    return when


def _time(when: datetime) -> str:
    return when.isoformat(timespec="minutes").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Approval:
    """A person let the held changes of exactly one plan through (`gitfed approve`, `gitfed apply --confirm DIGEST`).

    The digest proves that the person saw that plan. Carrying it out takes many cycles, and each has fewer changes left
    than the one before; so what holds on is its commit, and for each gate how many changes were let through. An engine
    fills that in when it has made the plan with this digest; until then the approval is an order that lets nothing
    through.
    """

    digest: str
    commit: Commit
    allowed: tuple[tuple[str, int], ...]
    """(gate, number of changes), sorted; none: an order that no engine has taken up."""
    by: str
    at: datetime
    gates: tuple[str, ...] = ()
    """Of an order: the gates that are meant, if not all that hold something."""

    @property
    def pending(self) -> bool:
        return not self.allowed


@dataclass(frozen=True, slots=True)
class HeldGate:
    """A gate that holds something, as it was written down for people to see."""

    name: str
    limit: str
    value: str
    held: int
    """How many changes it holds."""

    def __str__(self) -> str:
        return f"{self.name} {self.value}/{self.limit}: {self.held} change{'s' if self.held > 1 else ''}"


@dataclass(frozen=True, slots=True)
class HeldPlan:
    """What the gates of the last settled plan hold: what a person may approve."""

    commit: Commit
    digest: str
    gates: tuple[HeldGate, ...]
