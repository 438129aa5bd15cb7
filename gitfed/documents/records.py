"""What is remembered of clusters, as documents: Karmada's `Cluster`, with taints and the Ready condition.

`clusters/<name>.yaml` on the state branch. Beyond Karmada's members a taint says who set it (`addedBy`), because a
taint that failover set goes when the cluster is back, and one that a person declared goes with the declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gitfed.errors import InputError
from gitfed.model.base import Body
from gitfed.model.decisions import ClusterRecord, TimedTaint
from gitfed.model.fleet import Reach
from gitfed.model.keys import REACH_ANNOTATION

GROUP_VERSION = "cluster.karmada.io/v1alpha1"


def record_path(name: str) -> str:
    return f"clusters/{name}.yaml"


def record_document(record: ClusterRecord) -> Body:
    reason, _, message = record.reason.partition(": ")
    ready = record.reach is Reach.READY
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": reason or ("ClusterReady" if ready else "ClusterNotReady"),
        "lastTransitionTime": _text(record.since),
    } | ({"message": message} if message else {})
    document: dict[str, Any] = {
        "apiVersion": GROUP_VERSION,
        "kind": "Cluster",
        "metadata": {"name": record.name, "annotations": {REACH_ANNOTATION: record.reach.value}},
        "status": {"conditions": [condition]},
    }
    if record.taints:
        document["spec"] = {
            "taints": [
                {"key": taint.key, "effect": taint.effect, "timeAdded": _text(taint.added), "addedBy": taint.by}
                | ({"value": taint.value} if taint.value else {})
                for taint in record.taints
            ]
        }
    return document


def record_of(document: Mapping[str, Any]) -> ClusterRecord:
    """Raises InputError, naming the member, when the document does not say what a record needs."""
    metadata, status = _mapping(document, "metadata"), _mapping(document, "status")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("metadata.name is missing")
    said = _mapping(metadata, "annotations").get(REACH_ANNOTATION)
    reach = next((reach_ for reach_ in Reach if reach_.value == said), None)
    if reach is None:
        raise InputError(f"annotation {REACH_ANNOTATION} is not Ready, NotReady or Unknown")
    conditions = status.get("conditions")
    ready = next(
        (
            condition
            for condition in (conditions if isinstance(conditions, list) else ())
            if isinstance(condition, Mapping) and condition.get("type") == "Ready"
        ),
        None,
    )
    if ready is None:
        raise InputError("status.conditions has no Ready")
    reason = str(ready.get("reason") or "")
    if message := ready.get("message"):
        reason = f"{reason}: {message}"
    taints = _mapping(document, "spec").get("taints") or []
    if not isinstance(taints, list):
        raise InputError("spec.taints is not a list")
    return ClusterRecord(
        name,
        reach,
        _time(ready.get("lastTransitionTime"), "the Ready condition's lastTransitionTime"),
        reason if reach is not Reach.READY else "",
        tuple(sorted(_taint(index, taint) for index, taint in enumerate(taints))),
    )


def _taint(index: int, item: object) -> TimedTaint:
    where = f"spec.taints[{index}]"
    if not isinstance(item, Mapping) or not all(isinstance(item.get(member), str) for member in ("key", "effect")):
        raise InputError(f"{where} needs key and effect")
    added = _time(item.get("timeAdded"), f"{where}.timeAdded")
    return TimedTaint(item["key"], item["effect"], str(item.get("value") or ""), added, str(item.get("addedBy") or ""))


def _mapping(value: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    table = value.get(member) or {}
    if not isinstance(table, Mapping):
        raise InputError(f"{member} is not an object")
    return table


def _text(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _time(text: object, where: str) -> datetime:
    try:
        when = datetime.fromisoformat(str(text))
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where} is no time") from error
