"""ResourceQuotas inside a cluster, cut down to what an estimate reads.

They limit what one namespace of one cluster may ask for in sum. Only those count that hold for every pod, or for pods
of certain priority classes; other scopes ask for things that no estimate knows of a pod (Karmada: scheduling §5.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.model.base import Body
from gitfed.model.fleet import QuotaFacts
from gitfed.text import quantity

_REQUESTS = "requests."
_SCOPE = "PriorityClass"
_PLAIN = ("cpu", "memory")


def of(body: Body) -> QuotaFacts | None:
    """A ResourceQuota as it limits what fits; None if it does not: other scopes, or nothing that replicas ask for."""
    metadata, spec, status = (body.get(member) or {} for member in ("metadata", "spec", "status"))
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if any(scope != _SCOPE for scope in spec.get("scopes") or ()):
        return None
    if any(item.get("scopeName") != _SCOPE for item in selected):
        return None
    classes: list[tuple[str, tuple[str, ...]]] = [("Exists", ()) for _ in spec.get("scopes") or ()]
    classes += [(str(item.get("operator") or ""), tuple(map(str, item.get("values") or ()))) for item in selected]
    hard = _amounts(status.get("hard") or spec.get("hard"))
    if not hard:
        return None
    used = _amounts(status.get("used"))
    return QuotaFacts(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        hard=hard,
        used={name: value for name, value in used.items() if name in hard},
        classes=tuple(classes),
    )


def _amounts(quantities: Any) -> Mapping[str, str]:
    """What replicas can ask for, by the name by which they do. Of two names for one resource the smaller limit holds.

    A limit that cannot be read limits nothing: no server takes such a quota.
    """
    amounts: dict[str, quantity.Quantity] = {}
    for name, value in (quantities or {}).items():
        plain = name.removeprefix(_REQUESTS)
        if plain not in _PLAIN and "/" not in plain:
            continue
        try:
            amount = quantity.parse(value)
        except quantity.QuantityError:
            continue
        amounts[plain] = min(amount, amounts.get(plain, amount))
    return {name: str(amounts[name]) for name in sorted(amounts)}
