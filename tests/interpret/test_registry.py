"""One question, several sources, one answer."""

from __future__ import annotations

from typing import Any

from gitfed.interpret.native import Native
from gitfed.interpret.registry import (
    DEFAULT,
    Interpretation,
    Interpreter,
    InterpretError,
    NoAnswer,
    Operation,
    OperationInputs,
    Replicas,
    Unknown,
)

WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"x": 1}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 2}}


class Source:
    def __init__(self, name: str, *operations: Operation, kind: str = "Deployment", value: Any = None) -> None:
        self.name, self.operations, self.kind, self.value = name, operations, kind, value

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return kind == self.kind and operation in self.operations

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def test_the_first_source_that_handles_the_question_decides() -> None:
    own = Source("customization", Operation.REPLICA, value=Replicas(7, None))
    interpreter = Interpreter([own, Native()])
    assert interpreter.replicas(DEPLOYMENT) == Interpretation(Replicas(7, None), "customization")
    assert interpreter.revise_replica(DEPLOYMENT, 4) == Interpretation(
        {**DEPLOYMENT, "spec": {"replicas": 4}}, "native"
    )


def test_a_source_that_fails_is_final_and_nobody_else_is_asked() -> None:
    bad = Source("customization", Operation.REPLICA, value=InterpretError("attempt to index nil"))
    assert Interpreter([bad, Native()]).replicas(DEPLOYMENT) == Unknown("attempt to index nil", "customization")


def test_a_source_that_cannot_be_asked_may_answer_later() -> None:
    down = Source("webhook", Operation.HEALTH, value=NoAnswer("timed out"))
    answer = Interpreter([down]).health(DEPLOYMENT)
    assert answer == Unknown("timed out", "webhook", permanent=False)


def test_a_question_that_nobody_handles_has_a_default() -> None:
    interpreter = Interpreter([])
    assert interpreter.replicas(WIDGET) == Interpretation(Replicas(0, None), DEFAULT)
    assert interpreter.components(WIDGET) == Interpretation((), DEFAULT)
    assert interpreter.revise_replica(WIDGET, 3) == Interpretation(WIDGET, DEFAULT)
    assert interpreter.retain(WIDGET, DEPLOYMENT) == Interpretation(WIDGET, DEFAULT)
    assert interpreter.aggregate_status(WIDGET, [], "") == Interpretation(WIDGET, DEFAULT)
    assert interpreter.status(WIDGET) == Interpretation({"x": 1}, DEFAULT)
    assert interpreter.health(WIDGET) == Interpretation(True, DEFAULT)
    assert interpreter.dependencies(WIDGET) == Interpretation((), DEFAULT)
    assert not interpreter.handles(WIDGET, Operation.HEALTH)


def test_the_exact_version_counts() -> None:
    interpreter = Interpreter([Native()])
    beta = {**DEPLOYMENT, "apiVersion": "apps/v1beta1"}
    assert interpreter.handles(DEPLOYMENT, Operation.REPLICA)
    assert interpreter.replicas(beta) == Interpretation(Replicas(0, None), DEFAULT)
