"""What is known of Kubernetes' own kinds without anybody's rules (Karmada: interpreters §4).

One module per operation; here is only the table of which kinds have which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret.native import aggregate, dependencies, health, reflect, replicas, retain
from gitfed.interpret.registry import Operation, OperationInputs

NAME = "native"
"""The `source` of answers from here."""


class Native:
    """The native rules as a source. Has no state."""

    name = NAME

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        """Reading the status is answered for every kind: what has no rule gives its whole status."""
        return operation is Operation.STATUS or (api_version, kind) in _RULES.get(operation, {})

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        key = (inputs.object["apiVersion"], inputs.object["kind"])
        if operation is Operation.STATUS and key not in reflect.RULES:
            return inputs.object.get("status")
        return _CALLS[operation](_RULES[operation][key], inputs)


_RULES: Mapping[Operation, Mapping[tuple[str, str], Callable[..., Any]]] = {
    Operation.REPLICA: replicas.RULES,
    Operation.REVISE: replicas.REVISIONS,
    Operation.RETAIN: retain.RULES,
    Operation.HEALTH: health.RULES,
    Operation.STATUS: reflect.RULES,
    Operation.AGGREGATE: aggregate.RULES,
    Operation.DEPENDENCY: dependencies.RULES,
}

_CALLS: Mapping[Operation, Callable[[Callable[..., Any], OperationInputs], Any]] = {
    Operation.REPLICA: lambda rule, inputs: rule(inputs.object),
    Operation.REVISE: lambda rule, inputs: rule(inputs.object, inputs.replicas),
    Operation.RETAIN: lambda rule, inputs: rule(inputs.object, inputs.observed or {}),
    Operation.HEALTH: lambda rule, inputs: rule(inputs.object),
    Operation.STATUS: lambda rule, inputs: rule(inputs.object),
    Operation.AGGREGATE: lambda rule, inputs: rule(inputs.object, inputs.items, inputs.now),
    Operation.DEPENDENCY: lambda rule, inputs: rule(inputs.object),
}
