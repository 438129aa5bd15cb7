"""The functions that scripts find in `require("kube")` (Karmada: interpreters §2.7).

They take JSON values as a script gave them, an empty table as `[]`, and return JSON values. What they cannot use is a
ValueError, which the script sees as an error raised by the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret import empties
from gitfed.interpret.native import dependencies, replicas
from gitfed.text import quantity

_OF_POD = dependencies.RULES[("v1", "Pod")]


def resource_add(*amounts: Any) -> str:
    """The exact sum, written as the first amount that is not zero would be; nil counts as nothing."""
    return str(quantity.total(_quantity(amount, at) for at, amount in enumerate(amounts, 1) if amount is not None))


def get_resource_quantity(*amounts: Any) -> float:
    """The amount as a number; nil is 0."""
    if len(amounts) != 1:
        raise ValueError("only accepts one argument")
    if amounts[0] is None:
        return 0.0
    amount = _quantity(amounts[0], 1)
    if amount.nano < 0:
        raise ValueError(f"{amounts[0]} is negative")
    try:
        return amount.nano / quantity.NANO
    except OverflowError:
        raise ValueError(f"{amounts[0]} is too large") from None


def accurate_pod_requirements(*templates: Any) -> Any:
    """ReplicaRequirements of a PodTemplateSpec, nil when it asks for nothing."""
    if len(templates) != 1:
        raise ValueError("only accepts one argument")
    return replicas.requirements(_pod_spec(templates[0]))


def get_pod_dependencies(*arguments: Any) -> list[Any]:
    """What the pods of a PodTemplateSpec need, in a namespace (nil: `default`). Empty when there is nothing."""
    if len(arguments) != 2:
        raise ValueError("only accepts two arguments")
    template, namespace = arguments
    if namespace is None:
        namespace = "default"
    if isinstance(namespace, int | float) and not isinstance(namespace, bool):
        namespace = str(namespace)
    if not isinstance(namespace, str):
        raise ValueError(f"bad argument #2 (string expected, got {_kind(namespace)})")
    return list(_OF_POD({"metadata": {"namespace": namespace}, "spec": _pod_spec(template)}))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "resourceAdd": resource_add,
    "getResourceQuantity": get_resource_quantity,
    "accuratePodRequirements": accurate_pod_requirements,
    "getPodDependencies": get_pod_dependencies,
}

NAME = f"{__name__}:FUNCTIONS"
"""Where another process finds them."""


def _quantity(amount: Any, position: int) -> quantity.Quantity:
    if not isinstance(amount, str):
        raise ValueError(f"bad argument #{position} (string expected, got {_kind(amount)})")
    return quantity.parse(amount)


def _pod_spec(template: Any) -> Mapping[str, Any]:
    if not isinstance(template, dict | list):
        raise ValueError(f"bad argument #1 (table expected, got {_kind(template)})")
    template = empties.restored(template, ()) or {}
    if not isinstance(template, dict):
        raise ValueError("bad argument #1 (a pod template expected, got a list)")
    spec = template.get("spec", {})
    if not isinstance(spec, dict):
        raise ValueError("bad argument #1 (spec is no table)")
    return spec


def _kind(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "table"
