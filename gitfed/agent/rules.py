"""What an agent knows of kinds: the native rules, and which questions only the hub can answer.

Scripts and webhooks are a repository's, and are asked where the repository is. Of an object that needs one the agent
sends the whole body, and the hub compares and judges it; while the hub is away nothing is done about such objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitfed.agent_protocol.values import Rule
from gitfed.interpret.conditions import Conditions
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Inputs, Interpreter, NoAnswer, Operation


class AskedAtTheHub:
    """The source of rules that this process does not have."""

    name = "the hub"

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = frozenset((rule.api_version, rule.kind, rule.operation) for rule in rules)

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return (api_version, kind, operation.value) in self._rules

    def answer(self, operation: Operation, inputs: Inputs) -> Any:
        raise NoAnswer(f"{operation} of {inputs.object.get('kind')} is asked at the hub only")


def interpreter(rules: Iterable[Rule]) -> Interpreter:
    return Interpreter((AskedAtTheHub(rules), Native(), Conditions()))
