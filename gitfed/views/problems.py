"""What is wrong with a repository: `gitfed.io/problems/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired

from gitfed.model.base import Origin, Problem, Severity
from gitfed.views import plans
from gitfed.views.value import View

SCHEMA: Literal["gitfed.io/problems/v1"] = "gitfed.io/problems/v1"


class ProblemList(View):
    """Problems, by file and line."""

    schema: Literal["gitfed.io/problems/v1"]
    problems: list[plans.ProblemView]
    errors: int
    """Errors in the whole list."""
    total: NotRequired[int]
    """Of the whole list, in an answer of the API."""
    next: NotRequired[str]
    """In an answer of the API that is not the last: what to ask for next, as `continue`."""


def read(view: plans.ProblemView) -> Problem:
    """The problem that `plans.problem` shows."""
    origin = Origin(view["path"], view["line"], view["column"])
    return Problem(origin, view["message"], view["hint"], Severity(view["severity"]))


def document(problems: Sequence[Problem]) -> ProblemList:
    return {
        "schema": SCHEMA,
        "problems": [plans.problem(problem) for problem in problems],
        "errors": sum(1 for problem in problems if problem.severity is Severity.ERROR),
    }
