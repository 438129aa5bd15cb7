"""What is brought back from a copy, and what a rule of the user's own says of its health."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.interpret import collect
from gitfed.interpret.collect import Collected
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, InterpretError, Operation, OperationInputs
from gitfed.model.fleet import Health

BODY = {"apiVersion": "e.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"n": 1}}


class Rule:
    def __init__(self, answer: object, name: str = "customization") -> None:
        self.given, self.name = answer, name

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return operation is Operation.HEALTH

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize(
    ("rule", "collected", "health"),
    [
        (Rule(True), Collected(True, {"n": 1}), (Health.CURRENT, "healthy")),
        (Rule(False), Collected(False, {"n": 1}, "not healthy, says the customization"),
         (Health.IN_PROGRESS, "not healthy, says the customization")),
        (Rule(False, "bundled"), Collected(False, {"n": 1}, "not healthy, says the catalogue"),
         (Health.IN_PROGRESS, "not healthy, says the catalogue")),
        (Rule(InterpretError("line 2")), Collected(None, {"n": 1}, "line 2"), (Health.UNKNOWN, "line 2")),
    ],
)  # fmt: skip
def test_a_rule_says_whether_a_copy_is_healthy_and_why_not(
    rule: Rule, collected: Collected, health: tuple[Health, str]
) -> None:
    interpreter = Interpreter([rule, Native()])
    assert collect.has_health_script(BODY, interpreter)
    found = collect.collect(interpreter, BODY)
    assert found == collected
    assert collect.judged(found) == health


def test_native_rules_leave_the_words_to_kstatus() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "LoadBalancer"}}
    interpreter = Interpreter([Native()])
    assert not collect.has_health_script(service, interpreter)
    assert collect.collect(interpreter, service).message == ""
