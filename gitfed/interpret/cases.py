"""Questions with the answers that are right: Karmada's format of test data, and what an answer consists of.

A case of Karmada's (interpreters §6) is one document: an operation, its inputs, and the results that are expected, by
name. Our own layout is `bundled`'s; its cases are brought into the same form here, so that one comparison (`judge`)
does for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitfed.interpret import bundled
from gitfed.interpret.registry import Interpretation, Interpreter, Operation, OperationInputs, Replicas, Unknown
from gitfed.model.base import Body
from gitfed.text.values import dataclass

AT = "2030-01-01T00:00:00Z"
"""What scripts take for the present time while cases run."""

_RESULTS: Mapping[Operation, tuple[str, ...]] = {
    Operation.REPLICA: ("replica", "requires"),
    Operation.COMPONENT: ("components",),
    Operation.REVISE: ("revised",),
    Operation.RETAIN: ("retained",),
    Operation.STATUS: ("status",),
    Operation.AGGREGATE: ("aggregatedStatus",),
    Operation.HEALTH: ("healthy",),
    Operation.DEPENDENCY: ("dependencies",),
}
"""Names of the parts of an answer, as karmadactl prints them."""
_OURS = {"replicas": "replica", "replicaRequirements": "requires", "healthy": "healthy", "components": "components",
         "dependencies": "dependencies"}  # fmt: skip
_IN_CASE = frozenset(
    {"name", "description", "desiredObj", "observedObj", "statusItems", "inputReplicas", "operation", "output"}
)


class CaseError(ValueError):
    """A case cannot be run: what is wrong with it."""


@dataclass(frozen=True, slots=True)
class InterpreterCase:
    path: str
    name: str
    operation: Operation
    inputs: OperationInputs
    expect: Mapping[str, Any] | None
    """By name of the result; what is not named is not looked at. None: the operation must fail."""


def operation(text: str) -> Operation:
    """By name, in any case. Raises CaseError."""
    chosen = next((candidate for candidate in Operation if candidate.value.lower() == text.lower()), None)
    if chosen is None:
        raise CaseError(f"{text!r} is no operation: {', '.join(Operation)}")
    return chosen


def karmada(path: str, index: int, document: Any) -> InterpreterCase:
    """One document of Karmada's test data. Raises CaseError."""
    if not isinstance(document, Mapping):
        raise CaseError("a case must be a mapping")
    if unknown := sorted(document.keys() - _IN_CASE):
        raise CaseError(f"unknown member {unknown[0]} (a case has {', '.join(sorted(_IN_CASE))})")
    doing = operation(str(document.get("operation") or ""))
    made = inputs(
        doing,
        document.get("desiredObj"),
        document.get("observedObj"),
        document.get("statusItems"),
        document.get("inputReplicas") or 0,
    )
    output = document.get("output") or {}
    if not isinstance(output, Mapping):
        raise CaseError("output must be a mapping")
    if odd := sorted(output.keys() - set(_RESULTS[doing])):
        raise CaseError(f"{doing} has no result {odd[0]} (it has {', '.join(_RESULTS[doing])})")
    return InterpreterCase(path, str(document.get("name") or f"document {index + 1}"), doing, made, output)


def inputs(doing: Operation, desired: Any, observed: Any, items: Any, replicas: int) -> OperationInputs:
    """Retain needs both objects, every other operation exactly one, whichever it is called. Raises CaseError."""
    for name, body in (("desired", desired), ("observed", observed)):
        if body is not None and not (
            isinstance(body, Mapping) and isinstance(body.get("kind"), str) and isinstance(body.get("apiVersion"), str)
        ):
            raise CaseError(f"the {name} object must be an object with apiVersion and kind")
    if items is not None and not (isinstance(items, list) and all(isinstance(item, Mapping) for item in items)):
        raise CaseError("the status items must be a list of objects")
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise CaseError("the replicas must be a whole number")
    if doing is Operation.RETAIN:
        if desired is None or observed is None:
            raise CaseError("Retain needs the desired and the observed object")
        return OperationInputs(desired, observed=observed)
    if (desired is None) == (observed is None):
        raise CaseError(f"{doing} needs one object, the desired or the observed one")
    return OperationInputs(observed if desired is None else desired, items=items, replicas=replicas, now=AT)


def of_bundle(case: bundled.BundledCase) -> InterpreterCase:
    """One of our own in the same form."""
    given, expect = case.inputs, case.expect
    body = given.get("object") or given["desired"]
    made = OperationInputs(
        body,
        observed=given.get("observed"),
        replicas=given.get("replicas", 0),
        items=given.get("aggregatedStatusItems"),
        now=AT,
    )
    return InterpreterCase(
        case.path,
        case.name,
        case.operation,
        made,
        None if expect == {"error": True} else _named(case.operation, expect),
    )


def _named(doing: Operation, expect: Mapping[str, Any]) -> Mapping[str, Any]:
    if doing in (Operation.REVISE, Operation.RETAIN):
        return {_RESULTS[doing][0]: expect["object"]}
    if doing is Operation.AGGREGATE:
        return {"aggregatedStatus": {"status": expect.get("status")}}
    return {_OURS.get(name, name): value for name, value in expect.items()}


def ask(interpreter: Interpreter, doing: Operation, given: OperationInputs) -> Interpretation[Any] | Unknown:
    """Any operation by its name."""
    return _ASK[doing](interpreter, given)


_ASK: Mapping[Operation, Callable[[Interpreter, OperationInputs], Interpretation[Any] | Unknown]] = {
    Operation.REPLICA: lambda interpreter, given: interpreter.replicas(given.object),
    Operation.COMPONENT: lambda interpreter, given: interpreter.components(given.object),
    Operation.REVISE: lambda interpreter, given: interpreter.revise_replica(given.object, given.replicas),
    Operation.RETAIN: lambda interpreter, given: interpreter.retain(given.object, given.observed or {}),
    Operation.STATUS: lambda interpreter, given: interpreter.status(given.object),
    Operation.AGGREGATE: lambda interpreter, given: interpreter.aggregate_status(given.object, given.items, given.now),
    Operation.HEALTH: lambda interpreter, given: interpreter.health(given.object),
    Operation.DEPENDENCY: lambda interpreter, given: interpreter.dependencies(given.object),
}


def results(doing: Operation, value: Any) -> Mapping[str, Any]:
    """The parts of an answer by name, as plain JSON values."""
    if isinstance(value, Replicas):
        return {"replica": value.replicas, "requires": value.requirements}
    return {_RESULTS[doing][0]: list(value) if isinstance(value, tuple) else value}


def read_karmada(path: str, documents: Sequence[Any]) -> Iterator[InterpreterCase | str]:
    """The cases of one file of test data; a text for each document that is none."""
    for index, document in enumerate(documents):
        try:
            yield karmada(path, index, document)
        except CaseError as error:
            yield f"{path}: document {index + 1}: {error}"


def template_questions(body: Body, shares: Sequence[int]) -> Iterator[tuple[Operation, OperationInputs]]:
    """What can be asked of a template alone; `shares` are the replicas that clusters get of it."""
    for doing in (Operation.REPLICA, Operation.COMPONENT, Operation.DEPENDENCY):
        yield doing, OperationInputs(body)
    for count in sorted(set(shares)):
        yield Operation.REVISE, OperationInputs(body, replicas=count)
