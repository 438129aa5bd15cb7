"""The Common Expression Language as Kubernetes uses it for validation rules.

``compile_rule(text, variables, result)`` gives a ``Program`` or raises ``CompileError`` with cel-go's report;
``Program.run(variables)`` gives a value or raises ``CelError``. Values are described in ``values``; turning an object
into them needs its schema and is done in ``crd/rules.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubesim.crd.cel import check, evaluate, lexer, syntax
from kubesim.crd.cel.types import CelType
from kubesim.crd.cel.values import CelError

__all__ = ["CelError", "CelType", "CompileError", "Program", "compile_rule"]


class CompileError(ValueError):
    """The expression is wrong in itself. ``str()`` is the report, one block for each mistake."""


@dataclass(frozen=True, slots=True)
class Program:
    text: str
    result: CelType
    uses_old_self: bool
    step: evaluate.Step

    def run(self, variables: dict[str, Any]) -> Any:
        try:
            return self.step(variables)
        except RecursionError as problem:
            raise CelError("expression recursion limit exceeded") from problem


def compile_rule(text: str, variables: Mapping[str, CelType]) -> Program:
    """Raises ``CompileError``."""
    try:
        node = syntax.parse(text)
    except lexer.SyntaxProblem as problem:
        told = [*problem.before, problem]
        raise CompileError("\n".join(_report(text, one.position, one.text) for one in told)) from problem
    result, problems = check.check(node, variables)
    if problems:
        problems.sort(key=lambda one: one.at)
        raise CompileError("\n".join(_report(text, one.at, one.text) for one in problems))
    try:
        step = evaluate.program(node)
    except CelError as problem:
        raise CompileError(_report(text, 0, str(problem))) from problem
    return Program(text, result, check.uses(node, "oldSelf"), step)


def _report(text: str, at: int, what: str) -> str:
    """cel-go: the place, the line, and a caret below it."""
    before = text[:at]
    line = before.count("\n")
    column = at - (before.rfind("\n") + 1)
    shown = text.split("\n")[line]
    return f"ERROR: <input>:{line + 1}:{column + 1}: {what}\n | {shown}\n | {'.' * column}^"
