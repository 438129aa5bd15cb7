"""The rules that a repository's ResourceInterpreterCustomizations bring (Karmada: interpreters §2.1, §2.2).

Customizations are taken in order of their names. For every kind and operation the first that has a script decides; only
the scripts for dependencies all run. Karmada refuses the second at admission; a repository has no such door, so the
first keeps deciding and the second is a Problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gitfed.interpret.registry import Operation
from gitfed.interpret.scripted import Rules, Scripted
from gitfed.model.base import Problem, Severity
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.model.script import Run, Script

NAME = "customization"
"""The `source` of answers from here."""


def source(customizations: Sequence[ResourceInterpreterCustomization], run: Run) -> Scripted:
    return Scripted(NAME, rules(customizations), run)


def rules(customizations: Sequence[ResourceInterpreterCustomization]) -> Rules:
    """What decides for every apiVersion, kind and operation."""
    scripts: dict[tuple[str, str, Operation], tuple[Script, ...]] = {}
    for key, _, script in _scripts(customizations):
        if key not in scripts or key[2] is Operation.DEPENDENCY:
            scripts[key] = (*scripts.get(key, ()), script)
    return scripts


def problems(
    customizations: Sequence[ResourceInterpreterCustomization], check: Callable[[Script], str]
) -> tuple[Problem, ...]:
    """Scripts that do not compile, and those that never decide. `check` says why one does not, "" if it does.

    A problem stands at the script's line, as far as it is known.
    """
    faults: list[Problem] = []
    first: dict[tuple[str, str, Operation], ResourceInterpreterCustomization] = {}
    for key, customization, script in _scripts(customizations):
        api_version, kind, operation = key
        about = f"{operation} of {kind} ({api_version})"
        if fault := check(script):
            faults.append(Problem(script.origin_of(fault), f"the script for {about} does not compile: {fault}"))
        earlier = first.setdefault(key, customization)
        if earlier is not customization and operation is not Operation.DEPENDENCY:
            message = f"{about} is decided by {earlier.metadata.name} already ({earlier.origin})"
            faults.append(Problem(script.origin(), message, "remove one of the two scripts"))
    return tuple(faults)


def compiled(
    customization: ResourceInterpreterCustomization, check: Callable[[Script], str]
) -> Mapping[Operation, str]:
    """For every operation it has a script for: what `check` says of that."""
    return {
        key[2]: script.located(fault) if (fault := check(script)) else ""
        for key, _, script in _scripts([customization])
    }


def noted(
    customizations: Sequence[ResourceInterpreterCustomization], notes: Mapping[Script, str]
) -> tuple[Problem, ...]:
    """Scripts of which it was noted, while they ran, that their answers are no function of what they are given."""
    return tuple(
        Problem(
            script.origin(),
            f"{operation} of {kind} ({api_version}): {notes[script]}",
            "it is the same at every run here; elsewhere it would not be",
            Severity.WARNING,
        )
        for (api_version, kind, operation), _, script in _scripts(customizations)
        if script in notes
    )


def _scripts(
    customizations: Sequence[ResourceInterpreterCustomization],
) -> Iterator[tuple[tuple[str, str, Operation], ResourceInterpreterCustomization, Script]]:
    for customization in sorted(customizations, key=lambda customization: customization.metadata.name):
        for operation in Operation:
            if text := customization.script(operation.value):
                (path, line, column), begins = _place(customization, operation)
                script = Script(customization.metadata.name, text, path, line, column, begins)
                yield (
                    (customization.spec.target.api_version, customization.spec.target.kind, operation),
                    customization,
                    script,
                )


def _place(customization: ResourceInterpreterCustomization, operation: Operation) -> tuple[tuple[str, int, int], int]:
    origin, begins = customization.place_of(operation.value)
    return (origin.path, origin.line, origin.column), begins
