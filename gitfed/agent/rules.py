"""What an agent knows of kinds: native rules, scripts that the hub sent, and which questions only the hub can ask.

Scripts of the repository and of the hub's catalogue run here as they do there, so an agent keeps, repairs and judges
objects of such kinds by itself. Webhooks are asked at the hub alone: of an object that needs one the agent sends the
whole body, and while the hub is away nothing is done about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitfed.agent_protocol import values
from gitfed.agent_protocol.values import Rule
from gitfed.errors import LinkError
from gitfed.interpret.conditions import Conditions
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpreter, NoAnswer, Operation, OperationInputs
from gitfed.model.script import Script
from gitfed.reading import interpreters


class AskedAtTheHub:
    """The source of rules that this process does not have."""

    name = "the hub"

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = frozenset((rule.api_version, rule.kind, rule.operation) for rule in rules)

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return (api_version, kind, operation.value) in self._rules

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        raise NoAnswer(f"{operation} of {inputs.object.get('kind')} is asked at the hub only")


def interpreter(rules: Iterable[Rule], told: Mapping[str, Any]) -> Interpreter:
    """`told`: values of the slice, the texts of scripts among them. Raises LinkError for one that is missing."""
    at_the_hub: list[Rule] = []
    scripted: dict[str, dict[tuple[str, str, Operation], tuple[Script, ...]]] = {}
    for rule in rules:
        if not rule.scripts:
            at_the_hub.append(rule)
            continue
        scripts = tuple(at.script(_text(at.digest, told)) for at in rule.scripts)
        scripted.setdefault(rule.source, {})[rule.api_version, rule.kind, _operation(rule.operation)] = scripts
    return interpreters.of_scripts(scripted, (AskedAtTheHub(at_the_hub), Native(), Conditions()))


def _operation(name: str) -> Operation:
    try:
        return Operation(name)
    except ValueError:
        raise LinkError(f"{name[:100]!r} is no operation of a rule") from None


def _text(digest: str, told: Mapping[str, Any]) -> str:
    text = told.get(f"{values.SCRIPT}{digest}")
    if not isinstance(text, str):
        raise LinkError(f"the script {digest[:12]} is missing, or none")
    return text
