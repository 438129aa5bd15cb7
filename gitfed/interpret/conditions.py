"""Whether an object of a kind without rules is healthy, by the conventions that most kinds follow.

A controller that follows Kubernetes' API conventions says at which generation it looked (`status.observedGeneration`,
else that of the condition) and has a condition that sums up the rest: `Ready`, or `Available`. Crossplane adds
`Synced`, which is false on purpose while the object is paused. Objects that say nothing of the kind are
healthy, as for Karmada, because there is nothing that could be waited for. This is the last source to be asked, and
only about groups of others: what Kubernetes' own kinds mean (`apps`, `networking.k8s.io`, but not `x-k8s.io`) is known
to `native`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitfed.interpret.registry import InterpretError, Operation, OperationInputs
from gitfed.model.base import Body

_GOOD = ("Ready", "Available", "Synced")
"""Must not be anything but true, where they are."""
_BAD = ("Stalled",)
"""Must not be true."""
_PAUSED = ("Synced", "ReconcilePaused")
"""Crossplane: an annotation says that nothing is to be done."""


NAME = "conditions"


class Conditions:
    """The conventions as a source of health."""

    name = NAME

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        group = api_version.rpartition("/")[0]
        return operation is Operation.HEALTH and "." in group and not group.endswith(".k8s.io")

    def answer(self, operation: Operation, inputs: OperationInputs) -> bool:
        """Raises InterpretError for conditions that are no list of objects."""
        return healthy(inputs.object)


def healthy(body: Body) -> bool:
    """Its controller has looked at the newest generation, and no condition that sums up speaks against it."""
    status = body.get("status")
    if not isinstance(status, Mapping):
        return True
    observed, generation = status.get("observedGeneration"), (body.get("metadata") or {}).get("generation")
    if _is_older(observed, generation):
        return False
    conditions = status.get("conditions") or ()
    if not isinstance(conditions, list | tuple) or not all(isinstance(item, Mapping) for item in conditions):
        raise InterpretError("status.conditions is no list of objects")
    if observed is None and any(
        condition.get("type") in _GOOD and _is_older(condition.get("observedGeneration") or None, generation)
        for condition in conditions
    ):
        return False
    return not any(map(_speaks_against, conditions))


def _is_older(observed: Any, generation: Any) -> bool:
    return isinstance(observed, int) and isinstance(generation, int) and observed < generation


def _speaks_against(condition: Mapping[str, Any]) -> bool:
    kind, status = condition.get("type"), condition.get("status")
    if (kind, condition.get("reason")) == _PAUSED:
        return False
    return (kind in _GOOD and status != "True") or (kind in _BAD and status == "True")
