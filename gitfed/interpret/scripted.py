"""Rules written in Lua: which function answers which question, and what an answer must look like.

Karmada: interpreters §2.1, §2.5. Where scripts come from is for others to say (`customized`: the repository,
`bundled`: our catalogue), and so is running them: a `Run` is passed in, so that everything here is a function of its
inputs if that is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gitfed.interpret import empties, shapes
from gitfed.interpret.registry import InterpretError, NoAnswer, Operation, OperationInputs, Question, Replicas
from gitfed.model.base import Body
from gitfed.model.script import Call, Failed, Returned, Run, Script

Rules: TypeAlias = Mapping[tuple[str, str, Operation], Sequence[Script]]
"""By apiVersion, kind and operation. More than one script only makes sense for dependencies, which are united."""

FUNCTIONS: Mapping[Operation, str] = {
    Operation.REPLICA: "GetReplicas",
    Operation.COMPONENT: "GetComponents",
    Operation.REVISE: "ReviseReplica",
    Operation.RETAIN: "Retain",
    Operation.AGGREGATE: "AggregateStatus",
    Operation.STATUS: "ReflectStatus",
    Operation.HEALTH: "InterpretHealth",
    Operation.DEPENDENCY: "GetDependencies",
}


_OF_TWO = (Operation.RETAIN, Operation.AGGREGATE)
"""Operations that look at more than one object."""
_KEPT = 4096
_Key: TypeAlias = tuple[Operation, int, int, int]


class Scripted:
    """Scripts as a source of the registry, which see."""

    def __init__(self, name: str, rules: Rules, run: Run) -> None:
        self._name = name
        self._rules = rules
        self._run = run
        self._known: dict[_Key, tuple[Body, Any]] = {}
        """Answers by the object itself, which is kept in memory by that: bodies are never changed in place."""
        self._ahead: dict[_Key, tuple[OperationInputs, list[Returned | Failed]]] = {}
        """What the scripts said to questions that are still to be asked (`prepare`)."""

    @property
    def name(self) -> str:
        return self._name

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return (api_version, kind, operation) in self._rules

    def scripts(self, api_version: str, kind: str, operation: Operation) -> Sequence[Script]:
        """See `registry.Written`."""
        return self._rules.get((api_version, kind, operation), ())

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        """Raises InterpretError with kind, operation, script and line; NoAnswer when the script had to be killed."""
        body = inputs.object
        key = _key(operation, inputs)
        remembered = self._known.get(key)
        if remembered is not None and remembered[0] is body:
            return remembered[1]
        ahead = self._ahead.pop(key, None) if self._ahead else None
        if ahead is None or ahead[0] != inputs:
            outcomes = list(
                self._run([_call(script, operation, inputs) for script in self._scripts(operation, inputs)])
            )
        else:
            outcomes = ahead[1]
        try:
            value, lasting = self._read(operation, inputs, outcomes)
        except (InterpretError, NoAnswer) as error:
            raise type(error)(f"{body['kind']} {operation}: {error}") from error
        if lasting and operation not in _OF_TWO:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = (body, value)
        return value

    def prepare(self, questions: Sequence[Question]) -> None:
        """See `registry.Batching`."""
        self._ahead.clear()
        asked, calls = [], []
        for operation, inputs in questions:
            remembered = self._known.get(_key(operation, inputs))
            if remembered is None or remembered[0] is not inputs.object:
                own = [_call(script, operation, inputs) for script in self._scripts(operation, inputs)]
                asked.append((operation, inputs, len(own)))
                calls += own
        outcomes = iter(self._run(calls) if calls else ())
        for operation, inputs, count in asked:
            self._ahead[_key(operation, inputs)] = inputs, list(itertools.islice(outcomes, count))

    def _scripts(self, operation: Operation, inputs: OperationInputs) -> Sequence[Script]:
        scripts = self._rules[inputs.object["apiVersion"], inputs.object["kind"], operation]
        return scripts if operation is Operation.DEPENDENCY else scripts[:1]

    def _read(
        self, operation: Operation, inputs: OperationInputs, outcomes: Sequence[Returned | Failed]
    ) -> tuple[Any, bool]:
        """The answer, and whether it is the same at any other time."""
        scripts = self._scripts(operation, inputs)
        answers = [
            _value(script, operation, inputs, outcome) for script, outcome in zip(scripts, outcomes, strict=True)
        ]
        lasting = all(lasts for _, lasts in answers)
        return _united(answer for answer, _ in answers) if operation is Operation.DEPENDENCY else answers[0][0], lasting


def _key(operation: Operation, inputs: OperationInputs) -> _Key:
    return operation, id(inputs.object), id(inputs.observed), inputs.replicas


def _call(script: Script, operation: Operation, inputs: OperationInputs) -> Call:
    results = 2 if operation is Operation.REPLICA else 1
    edits = operation in (Operation.REVISE, Operation.RETAIN)
    return Call(script, FUNCTIONS[operation], _ARGUMENTS[operation](inputs), results, inputs.now, edits)


def _value(
    script: Script, operation: Operation, inputs: OperationInputs, outcome: Returned | Failed
) -> tuple[Any, bool]:
    """What one script said, and whether it says the same at any other time."""
    if isinstance(outcome, Failed):
        message = script.located(outcome.message)
        raise InterpretError(message) if outcome.permanent else NoAnswer(message)
    try:
        return _READ[operation](outcome, inputs), outcome.lasting
    except InterpretError as error:
        message = f"{FUNCTIONS[operation]} returned what it must not: {error}"
        raise InterpretError(script.located(script.headed(message, outcome.line))) from error


_ARGUMENTS: Mapping[Operation, Callable[[OperationInputs], tuple[Any, ...]]] = {
    Operation.REPLICA: lambda inputs: (inputs.object,),
    Operation.COMPONENT: lambda inputs: (inputs.object,),
    Operation.REVISE: lambda inputs: (inputs.object, inputs.replicas),
    Operation.RETAIN: lambda inputs: (inputs.object, inputs.observed or {}),
    Operation.AGGREGATE: lambda inputs: (inputs.object, shapes.status_items(inputs.items)),
    Operation.STATUS: lambda inputs: (inputs.object,),
    Operation.HEALTH: lambda inputs: (inputs.object,),
    Operation.DEPENDENCY: lambda inputs: (inputs.object,),
}


def _replicas(outcome: Returned, inputs: OperationInputs) -> Replicas:
    if outcome.kinds[0] != "number":
        raise InterpretError(f"the replicas must be a number, not {outcome.kinds[0]}")
    count = int(outcome.values[0])
    if not -(2**31) <= count < 2**31:
        raise InterpretError(f"the replicas are out of range: {outcome.values[0]}")
    if outcome.kinds[1] not in ("table", "nil"):
        raise InterpretError(f"the requirements must be a table or nil, not {outcome.kinds[1]}")
    if outcome.kinds[1] == "nil":
        return Replicas(count, None)
    return Replicas(count, shapes.requirements(empties.restored(outcome.values[1], ())))


def _components(outcome: Returned, inputs: OperationInputs) -> tuple[Body, ...]:
    if outcome.kinds[0] == "nil":
        return ()
    return shapes.components(empties.restored(_table(outcome), ()))


def _revised(outcome: Returned, inputs: OperationInputs) -> Body:
    if outcome.edits is not None:
        body: Body = empties.edited(inputs.object, outcome.edits, (inputs.object,))
    else:
        body = _object(_table(outcome), (inputs.object,))
    shapes.same_object(body, inputs.object)
    return body


def _retained(outcome: Returned, inputs: OperationInputs) -> Body:
    references = (inputs.object, inputs.observed or {})
    if outcome.edits is not None:
        body: Body = empties.edited(inputs.object, outcome.edits, references)
    else:
        body = _object(_table(outcome), references)
    shapes.same_object(body, inputs.object)
    return body


def _aggregated(outcome: Returned, inputs: OperationInputs) -> Body:
    """The template with the answer's status; a script says nothing about the rest of it.

    Whoever reads the status only would not notice a script that forgets the rest, so it may.
    """
    status = _object(_table(outcome), ()).get("status")
    rest = {name: value for name, value in inputs.object.items() if name != "status"}
    return rest if status is None else {**rest, "status": status}


def _status(outcome: Returned, inputs: OperationInputs) -> Any:
    return empties.restored(_table(outcome), ()) or {}


def _health(outcome: Returned, inputs: OperationInputs) -> bool:
    if outcome.kinds[0] != "boolean":
        raise InterpretError(f"the health must be true or false, not {outcome.kinds[0]}")
    healthy: bool = outcome.values[0]
    return healthy


def _dependencies(outcome: Returned, inputs: OperationInputs) -> tuple[Body, ...]:
    return shapes.dependencies(empties.restored(_table(outcome), ()))


_READ: Mapping[Operation, Callable[[Returned, OperationInputs], Any]] = {
    Operation.REPLICA: _replicas,
    Operation.COMPONENT: _components,
    Operation.REVISE: _revised,
    Operation.RETAIN: _retained,
    Operation.AGGREGATE: _aggregated,
    Operation.STATUS: _status,
    Operation.HEALTH: _health,
    Operation.DEPENDENCY: _dependencies,
}


def _table(outcome: Returned) -> Any:
    if outcome.kinds[0] != "table":
        raise InterpretError(f"a table is wanted, not {outcome.kinds[0]}")
    return outcome.values[0]


def _object(value: Any, references: Sequence[Body | None]) -> dict[str, Any]:
    body = empties.restored(value, [reference for reference in references if reference is not None])
    if not isinstance(body, dict) or not isinstance(body.get("kind"), str) or not body["kind"]:
        raise InterpretError("an object with apiVersion and kind is wanted")
    return body


def _united(answers: Any) -> tuple[Body, ...]:
    """Every reference once, in order; those that select by labels are kept as they come."""
    named: dict[tuple[str, ...], Body] = {}
    selecting: list[Body] = []
    for reference in (dependency for answer in answers for dependency in answer):
        if "labelSelector" in reference:
            selecting.append(reference)
        else:
            named.setdefault(shapes.order(reference), reference)
    return tuple(sorted([*named.values(), *selecting], key=shapes.order))
