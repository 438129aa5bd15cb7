"""Whether pods of a workload may run on a node: its selector, required affinity and tolerations.

The rules are those of the scheduler inside a cluster (Karmada: scheduling §5.3; Kubernetes: assigning pods to nodes).
What a workload asks of nodes is the `nodeClaim` of its ReplicaRequirements. Whether a node is ready is not asked: a
node that is not gets a taint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gitfed.model.base import Body
from gitfed.model.fleet import NodeFacts
from gitfed.text import selector

Filter: TypeAlias = Callable[[NodeFacts], bool]

_REPELLING = ("NoSchedule", "NoExecute")
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}


def filter_of(requirements: Body | None) -> Filter:
    """The nodes that a replica with these requirements may use."""
    claim = _table((requirements or {}).get("nodeClaim"))
    wanted = _table(claim.get("nodeSelector"))
    required = claim.get("hardNodeAffinity")
    terms = _rows(_table(required).get("nodeSelectorTerms"))
    tolerations = _rows(claim.get("tolerations"))

    def takes(node: NodeFacts) -> bool:
        if any(node.labels.get(key) != value for key, value in wanted.items()):
            return False
        if required and not any(_term_matches(term, node) for term in terms):
            return False
        taints = [*node.taints, _CORDONED] if node.unschedulable else node.taints
        return all(
            taint.get("effect") not in _REPELLING or any(_tolerates(item, taint) for item in tolerations)
            for taint in taints
        )

    return takes


def _table(value: Any) -> Mapping[str, Any]:
    """What is malformed asks for nothing; the cluster's own server will refuse it."""
    return value if isinstance(value, Mapping) else {}


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def _term_matches(term: Mapping[str, Any], node: NodeFacts) -> bool:
    """A term without any requirement matches nothing."""
    expressions, fields = _rows(term.get("matchExpressions")), _rows(term.get("matchFields"))
    if not expressions and not fields:
        return False
    by_field = {"metadata.name": node.name}
    return all(_holds(item, node.labels) for item in expressions) and all(_holds(item, by_field) for item in fields)


def _holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = requirement.get("key", ""), requirement.get("values")
    values = values if isinstance(values, list | tuple) else ()
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt":
            return _compared(labels.get(key), values) > 0
        case "Lt":
            return _compared(labels.get(key), values) < 0
    return False


def _compared(have: str | None, values: Sequence[Any]) -> int:
    """Above, below, or 0 where the two cannot be compared as whole numbers. The bound must be fit for a label's value
    (Kubernetes: NewRequirement): there is no minus."""
    try:
        if not selector.is_value(str(values[0])):
            return 0
        return int(have or "") - int(values[0])
    except (ValueError, TypeError, IndexError):
        return 0


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Kubernetes: an empty key with Exists tolerates every key; an empty effect every effect."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    key = toleration.get("key") or ""
    if key and key != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return toleration.get("operator") in (None, "", "Equal") and bool(key) and same
