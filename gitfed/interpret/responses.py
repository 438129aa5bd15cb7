"""What the answer of a webhook must look like, and what it means (Karmada: interpreters §3).

A webhook is a stranger: its answer is checked before it is remembered, and everything about it is bounded. A patch
applies to the object that the question was about as it is here, so what was not sent stays what it was.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from gitfed.interpret import shapes
from gitfed.interpret.registry import InterpretError, Operation, OperationInputs, Replicas
from gitfed.model.base import Body
from gitfed.text import canonical, patch

_DEEPEST = 200
_LARGEST = 4 << 20
"""Members and characters of an answer, and of an object that was patched: a patch can copy what it copied before."""
_OPERATIONS = 10_000
_SHOWN = 300
"""Characters of a webhook's own message that are passed on."""


def kept(operation: Operation, inputs: OperationInputs, response: Body) -> Body:
    """A webhook's `response` in the form in which it is remembered: the members that answer the operation, the patch
    decoded. Raises InterpretError when the webhook failed, or answered what it must not.
    """
    if response.get("successful") is not True:
        raise InterpretError(_failure(response))
    members: dict[str, Any]
    if operation in _PATCHING:
        members = _patch(response)
    else:
        members = {name: response[name] for name in _MEMBERS[operation] if response.get(name) is not None}
    _check_size(members, "the answer")
    value(operation, inputs, members)
    return members


def value(operation: Operation, inputs: OperationInputs, answer: Body) -> Any:
    """What a remembered answer means. Raises InterpretError."""
    return _READ[operation](answer, inputs)


def _failure(response: Body) -> str:
    """Karmada: an unsuccessful response without status breaks the protocol."""
    if response.get("successful") is not False:
        raise InterpretError("the response must say whether it is successful")
    status = response.get("status")
    if not isinstance(status, Mapping):
        raise InterpretError("the response is unsuccessful and has no status")
    message = "".join(char if char.isprintable() else " " for char in str(status.get("message") or "no reason given"))
    code = f" ({status['code']})" if isinstance(status.get("code"), int) else ""
    return f"it failed{code}: {message if len(message) <= _SHOWN else message[:_SHOWN] + '…'}"


def _patch(response: Body) -> dict[str, Any]:
    kind, encoded = response.get("patchType"), response.get("patch")
    if kind is None and encoded is None:
        return {}
    if kind is None or encoded is None:
        raise InterpretError("patch and patchType must stand together")
    if kind != "JSONPatch":
        raise InterpretError(f"the patchType {kind!r:.60} is unknown: JSONPatch is wanted")
    if not isinstance(encoded, str):
        raise InterpretError("the patch must be the base64 of a JSON patch")
    try:
        operations = canonical.loads(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError) as error:
        raise InterpretError("the patch is not the base64 of a JSON patch") from error
    return {"patch": operations}


def _check_size(value: Any, what: str) -> None:
    """Raises InterpretError; stops at the limit, so that a value that is large only on paper costs no more."""
    left, level = _LARGEST, [value]
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for child in level:
            left -= 1
            if isinstance(child, str):
                left -= len(child)
            elif isinstance(child, Mapping):
                below += child.values()
                left -= sum(map(len, child))
            elif isinstance(child, list):
                below += child
            if left < 0 or len(below) > left:
                raise InterpretError(f"{what} is too large")
        level = below
        if not level:
            return
    raise InterpretError(f"{what} is nested more than {_DEEPEST} deep")


def _patched(answer: Body, inputs: OperationInputs) -> Body:
    """The object with the patch applied: still the same object by name and kind."""
    operations = answer.get("patch")
    if operations is None:
        return inputs.object
    if not isinstance(operations, list) or not all(_is_operation(operation) for operation in operations):
        raise InterpretError("the patch must be a list of operations with op and path")
    if len(operations) > _OPERATIONS:
        raise InterpretError(f"the patch has more than {_OPERATIONS} operations")
    try:
        body = patch.apply(inputs.object, patch.read(operations))
    except patch.PatchError as error:
        raise InterpretError(f"the patch does not apply: operation {error.index + 1}: {error}") from error
    _check_size(body, "the patched object")
    if not isinstance(body, Mapping) or _identity(body) != _identity(inputs.object):
        raise InterpretError("the patch makes another object of it: apiVersion, kind, name and namespace must stay")
    return body


def _is_operation(operation: Any) -> bool:
    return (
        isinstance(operation, Mapping)
        and "op" in operation
        and "path" in operation
        and all(isinstance(operation.get(name, ""), str) for name in ("op", "path", "from"))
    )


def _identity(body: Body) -> tuple[Any, ...]:
    metadata = body.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    return body.get("apiVersion"), body.get("kind"), named.get("name"), named.get("namespace")


def _replicas(answer: Body, inputs: OperationInputs) -> Replicas:
    count = shapes.count(_required(answer, "replicas"), "replicas")
    requirements = answer.get("replicaRequirements")
    return Replicas(count, None if requirements is None else shapes.requirements(requirements))


def _components(answer: Body, inputs: OperationInputs) -> tuple[Body, ...]:
    return shapes.components(answer.get("components") or [])


def _aggregated(answer: Body, inputs: OperationInputs) -> Body:
    """The template with the status of the answer: a webhook says nothing about the rest of it."""
    status = _patched(answer, inputs).get("status")
    rest = {name: value for name, value in inputs.object.items() if name != "status"}
    return rest if status is None else {**rest, "status": status}


def _status(answer: Body, inputs: OperationInputs) -> Any:
    return _required(answer, "rawStatus")


def _health(answer: Body, inputs: OperationInputs) -> bool:
    healthy = _required(answer, "healthy")
    if not isinstance(healthy, bool):
        raise InterpretError(f"healthy must be true or false, not {healthy!r:.60}")
    return healthy


def _dependencies(answer: Body, inputs: OperationInputs) -> tuple[Body, ...]:
    """None at all may be left out, as a Go program does."""
    return tuple(sorted(shapes.dependencies(answer.get("dependencies") or []), key=shapes.order))


def _required(answer: Body, name: str) -> Any:
    if answer.get(name) is None:
        raise InterpretError(f"the response has no {name}")
    return answer[name]


_PATCHING = (Operation.REVISE, Operation.RETAIN, Operation.AGGREGATE)
_MEMBERS: Mapping[Operation, tuple[str, ...]] = {
    Operation.REPLICA: ("replicas", "replicaRequirements"),
    Operation.COMPONENT: ("components",),
    Operation.STATUS: ("rawStatus",),
    Operation.HEALTH: ("healthy",),
    Operation.DEPENDENCY: ("dependencies",),
}
_READ: Mapping[Operation, Callable[[Body, OperationInputs], Any]] = {
    Operation.REPLICA: _replicas,
    Operation.COMPONENT: _components,
    Operation.REVISE: _patched,
    Operation.RETAIN: _patched,
    Operation.AGGREGATE: _aggregated,
    Operation.STATUS: _status,
    Operation.HEALTH: _health,
    Operation.DEPENDENCY: _dependencies,
}
