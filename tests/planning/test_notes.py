"""What a plan says beside its changes: many problems of one cause are told once."""

from __future__ import annotations

import random

from gitfed.model.base import Origin, Problem, Severity
from gitfed.planning import notes

CAUSE = "the webhook w has no recorded answer"


def problem(name: str, operation: str = "InterpretReplica", cause: str = CAUSE) -> Problem:
    message = f"Widget/shop/{name}: {operation} of Widget: {cause or 'it failed'}"
    return Problem(Origin(f"{name}.yaml", 1, 1), message, "it runs nowhere yet", Severity.WARNING, cause)


def test_one_cause_of_many_problems_is_told_once_with_examples_at_the_first_place() -> None:
    found = [problem(name) for name in "abcde"] + [problem("a", "InterpretDependency"), problem("x", cause="")]
    for _ in range(5):
        random.Random(7).shuffle(found)
        told = notes.together([*found, *found])
        assert [str(one) for one in told] == [
            f"a.yaml:1:1: warning: {CAUSE}: 5 objects, such as Widget/shop/a, Widget/shop/b, Widget/shop/c "
            "(what was decided about them before stays)",
            "x.yaml:1:1: warning: Widget/shop/x: InterpretReplica of Widget: it failed (it runs nowhere yet)",
        ]


def test_a_cause_of_one_object_is_told_as_it_is() -> None:
    found = [problem("a"), problem("a", "InterpretDependency"), problem("b", cause="another")]
    assert notes.together(found) == sorted(found)
