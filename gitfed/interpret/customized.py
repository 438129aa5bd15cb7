"""The rules that a repository's ResourceInterpreterCustomizations bring (Karmada: interpreters §2.1, §2.2).

Customizations are taken in order of their names. For every kind and operation the first that has a script decides; only
the scripts for dependencies all run. Karmada refuses the second at admission; a repository has no such door, so the
first keeps deciding and the second is a Problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gitfed.interpret.registry import Operation
from gitfed.interpret.scripted import Rules, Scripted
from gitfed.model.base import Problem
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.model.script import Run, Script

NAME = "customization"
"""The `source` of answers from here."""


def source(customizations: Sequence[ResourceInterpreterCustomization], run: Run) -> Scripted:
    return Scripted(NAME, rules(customizations), run)


def rules(customizations: Sequence[ResourceInterpreterCustomization]) -> Rules:
    """What decides for every apiVersion, kind and operation."""
    found: dict[tuple[str, str, Operation], tuple[Script, ...]] = {}
    for key, one, script in _scripts(customizations):
        if key not in found or key[2] is Operation.DEPENDENCY:
            found[key] = (*found.get(key, ()), Script(one.metadata.name, script))
    return found


def problems(
    customizations: Sequence[ResourceInterpreterCustomization], check: Callable[[Script], str]
) -> tuple[Problem, ...]:
    """Scripts that do not compile, and those that never decide. `check` says why one does not, "" if it does."""
    found: list[Problem] = []
    first: dict[tuple[str, str, Operation], ResourceInterpreterCustomization] = {}
    for key, one, text in _scripts(customizations):
        api_version, kind, operation = key
        about, origin = f"{operation} of {kind} ({api_version})", one.origin
        if fault := check(Script(one.metadata.name, text)):
            found.append(Problem(origin, f"the script for {about} does not compile: {fault}"))
        earlier = first.setdefault(key, one)
        if earlier is not one and operation is not Operation.DEPENDENCY:
            message = f"{about} is decided by {earlier.metadata.name} already ({earlier.origin})"
            found.append(Problem(origin, message, "remove one of the two scripts"))
    return tuple(found)


def _scripts(
    customizations: Sequence[ResourceInterpreterCustomization],
) -> Iterator[tuple[tuple[str, str, Operation], ResourceInterpreterCustomization, str]]:
    for one in sorted(customizations, key=lambda one: one.metadata.name):
        for operation in Operation:
            if text := one.script(operation.value):
                yield (one.spec.target.api_version, one.spec.target.kind, operation), one, text
