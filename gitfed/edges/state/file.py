"""`state.yaml`: what the state branch says of the whole fleet, as a value and as a document.

Reading is forgiving, member by member: one that cannot be understood counts as not there. Which files there are besides
this one, and when they are written, is `state`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final

from gitfed.errors import StateTooNew
from gitfed.model import operator_orders
from gitfed.model.base import Commit
from gitfed.model.decisions import Outage
from gitfed.model.operator_orders import Approval, HeldGate, HeldPlan, Reconciliation, Removal, Suspension
from gitfed.text.values import dataclass

SCHEMA_VERSION: Final = 1
CLEANED: Final = "cleaned"
"""The outcome of a cluster that left the fleet and holds nothing of ours. An engine that finds the cluster declared
again writes another one."""
_MEMBERS: Final = frozenset(
    [
        "schemaVersion",
        "repositoryId",
        "appliedCommit",
        "limitsCommit",
        "signatures",
        "clusters",
        "approvals",
        "outage",
        "suspensions",
        "removals",
        "reconciliations",
        "gates",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFile:
    repository_id: str
    applied: Commit | None
    limits: Commit | None = None
    """Whose guards are in force, if not those of `applied`."""
    signatures: str = ""
    """Which commits `applied` wants signed: none, head or all."""
    results: Mapping[str, Any]
    """Per cluster: the last commit rolled out there, and how it went."""
    approvals: tuple[Approval, ...]
    outage: Outage | None
    suspensions: tuple[Suspension, ...]
    removals: tuple[Removal, ...]
    reconciliations: tuple[Reconciliation, ...] = ()
    held_plan: HeldPlan | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members that this version does not act on: kept."""

    @property
    def unfinished(self) -> dict[str, frozenset[str]]:
        """Of each cluster what was not written there, as `clusters.<name>.unfinished` lists it.

        A cluster that was away holds the commit before, and what of this one it lacks is unknown: "*".
        """
        unfinished_by_cluster = {}
        for name, result in self.results.items():
            if not isinstance(result, Mapping) or result.get("outcome") == CLEANED:
                continue
            listed = result.get("unfinished")
            if not self.applied or result.get("commit") != str(self.applied):
                unfinished_by_cluster[str(name)] = frozenset({"*"})
            elif isinstance(listed, list) and listed:
                unfinished_by_cluster[str(name)] = frozenset(str(item) for item in listed)
        return unfinished_by_cluster

    @property
    def holdings(self) -> dict[str, int]:
        """How many objects each cluster held when it was last written down."""
        object_counts = {}
        for name, result in self.results.items():
            count = result.get("objects") if isinstance(result, Mapping) else None
            if isinstance(count, int) and count > 0:
                object_counts[str(name)] = count
        return object_counts

    @property
    def cleaned(self) -> frozenset[str]:
        return frozenset(name for name, result in self.results.items() if result.get("outcome") == CLEANED)


def read(document: object) -> StateFile:
    """Raises StateTooNew for a schemaVersion of a newer gitfed."""
    top = document if isinstance(document, Mapping) else {}
    version = top.get("schemaVersion", SCHEMA_VERSION)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise StateTooNew(
            f"the state branch has schemaVersion {version}, this gitfed reads up to {SCHEMA_VERSION}",
            hint="use the gitfed that wrote it, or a newer one",
        )
    applied, limits, results = top.get("appliedCommit"), top.get("limitsCommit"), top.get("clusters")
    return StateFile(
        repository_id=str(top.get("repositoryId") or ""),
        applied=Commit(applied) if isinstance(applied, str) and applied else None,
        limits=Commit(limits) if isinstance(limits, str) and limits else None,
        signatures=str(top.get("signatures") or ""),
        results=_results(results),
        approvals=tuple(_approvals(top.get("approvals"))),
        outage=_outage(top.get("outage")),
        suspensions=operator_orders.suspensions(top.get("suspensions")),
        removals=operator_orders.removals(top.get("removals")),
        reconciliations=operator_orders.reconciliations(top.get("reconciliations")),
        held_plan=_held_plan(top.get("gates")),
        extra={key: value for key, value in top.items() if key not in _MEMBERS},
    )


def document(file: StateFile) -> dict[str, Any]:
    """Members that say nothing are left out."""
    top: dict[str, Any] = {
        **file.extra,
        "schemaVersion": SCHEMA_VERSION,
        "repositoryId": file.repository_id,
    }
    if file.applied:
        top["appliedCommit"] = str(file.applied)
    if file.limits:
        top["limitsCommit"] = str(file.limits)
    if file.signatures:
        top["signatures"] = file.signatures
    if file.results:
        top["clusters"] = {name: dict(file.results[name]) for name in sorted(file.results)}
    if file.approvals:
        top["approvals"] = [_approval(approval) for approval in file.approvals]
    if file.suspensions:
        top["suspensions"] = [suspension.as_json() for suspension in file.suspensions]
    if file.removals:
        top["removals"] = [removal.as_json() for removal in file.removals]
    if file.reconciliations:
        top["reconciliations"] = [reconciliation.as_json() for reconciliation in file.reconciliations]
    if file.held_plan is not None:
        held = file.held_plan
        top["gates"] = {
            "commit": str(held.commit),
            "digest": held.digest,
            "held": [
                {"name": gate.name, "limit": gate.limit, "value": gate.value, "changes": gate.held}
                for gate in held.gates
            ],
        }
    if file.outage is not None:
        top["outage"] = {"since": file.outage.since.isoformat()}
        if file.outage.ended is not None:
            top["outage"]["ended"] = file.outage.ended.isoformat()
    return top


def _results(value: object) -> dict[str, Mapping[str, Any]]:
    named = value.items() if isinstance(value, Mapping) else ()
    return {str(name): result for name, result in named if isinstance(result, Mapping)}


def _time(text: object) -> datetime:
    """Raises ValueError. Without an offset it is UTC: a person who writes by hand forgets it."""
    when = datetime.fromisoformat(str(text))
    try:
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("no time that a computer can reckon with") from error


def _outage(value: object) -> Outage | None:
    if not isinstance(value, Mapping):
        return None
    try:
        ended = value.get("ended")
        return Outage(_time(value["since"]), _time(ended) if ended else None)
    except (KeyError, ValueError):
        return None


def _held_plan(value: object) -> HeldPlan | None:
    """One that cannot be read shows nothing that could be approved."""
    if not isinstance(value, Mapping):
        return None
    try:
        gates = tuple(
            HeldGate(str(gate["name"]), str(gate["limit"]), str(gate["value"]), int(gate["changes"]))
            for gate in value["held"]
        )
        return HeldPlan(Commit(str(value["commit"])), str(value["digest"]), gates) if gates else None
    except (KeyError, TypeError, ValueError):
        return None


def _approval(approval: Approval) -> dict[str, Any]:
    document: dict[str, Any] = {
        "digest": approval.digest,
        "commit": str(approval.commit),
        "allowed": dict(approval.allowed),
        "by": approval.by,
        "at": approval.at.isoformat(),
    }
    if approval.gates:
        document["gates"] = list(approval.gates)
    return document


def _approvals(items: object) -> list[Approval]:
    approvals = []
    for item in items if isinstance(items, list) else []:
        try:
            allowed = tuple(sorted((str(name), int(count)) for name, count in item["allowed"].items()))
            at = _time(item["at"])
            gates = tuple(str(name) for name in item.get("gates") or ())
            by = str(item.get("by") or "")
            approvals.append(Approval(str(item["digest"]), Commit(str(item["commit"])), allowed, by, at, gates))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # an approval that cannot be read lets nothing through
    return approvals
