"""Which script decides, what an answer must look like, and what is said about scripts that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gitfed.interpret import customized
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpretation, Interpreter, Operation, OperationInputs, Replicas, Unknown
from gitfed.interpret.scripted import FUNCTIONS, Scripted
from gitfed.model.base import Origin
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.model.script import Call, Failed, Returned, Script

WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}}


def customization(name: str, **scripts: str) -> ResourceInterpreterCustomization:
    return ResourceInterpreterCustomization.model_validate(
        {
            "apiVersion": "config.karmada.io/v1alpha1",
            "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": name},
            "spec": {
                "target": {"apiVersion": "example.com/v1", "kind": "Widget"},
                "customizations": {rule: {"luaScript": text} for rule, text in scripts.items()},
            },
        }
    )


def always(*values: Any) -> Callable[[Sequence[Call]], list[Returned]]:
    """A script that returns these values whatever it is asked."""
    kinds = {type(None): "nil", bool: "boolean", int: "number", float: "number", str: "string"}
    answer = Returned(tuple(kinds.get(type(one), "table") for one in values), values)
    return lambda calls: [answer for _ in calls]


def answering(operation: Operation, *values: Any) -> Interpreter:
    rules = {("example.com/v1", "Widget", operation): (Script("widgets", "…"),)}
    return Interpreter([Scripted("script", rules, always(*values))])


# -- precedence ---------------------------------------------------------------------------------------------------


def test_the_first_by_name_decides_for_each_operation() -> None:
    found = customized.rules(
        [customization("b", retention="b1", healthInterpretation="b2"), customization("a", retention="a1")]
    )
    assert found == {
        ("example.com/v1", "Widget", Operation.RETAIN): (Script("a", "a1"),),
        ("example.com/v1", "Widget", Operation.HEALTH): (Script("b", "b2"),),
    }


def test_scripts_for_dependencies_all_run_in_order_of_name() -> None:
    found = customized.rules(
        [customization("b", dependencyInterpretation="b1"), customization("a", dependencyInterpretation="a1")]
    )
    assert found == {("example.com/v1", "Widget", Operation.DEPENDENCY): (Script("a", "a1"), Script("b", "b1"))}


def test_an_empty_script_decides_nothing() -> None:
    assert customized.rules([customization("a", retention="")]) == {}


def test_a_script_answers_only_for_its_own_version() -> None:
    source = customized.source([customization("a", retention="x")], always(WIDGET))
    assert source.handles("example.com/v1", "Widget", Operation.RETAIN)
    assert not source.handles("example.com/v2", "Widget", Operation.RETAIN)
    assert not source.handles("example.com/v1", "Widget", Operation.HEALTH)


def test_two_scripts_for_one_operation_are_a_problem_of_the_second() -> None:
    first = customization("a", retention="x").at(Origin("a.yaml", 1, 1))
    second = customization("b", retention="y", healthInterpretation="z").at(Origin("b.yaml", 3, 1))
    assert [str(problem) for problem in customized.problems([second, first], lambda script: "")] == [
        "b.yaml:3:1: Retain of Widget (example.com/v1) is decided by a already (a.yaml:1:1) "
        "(remove one of the two scripts)"
    ]


def test_two_scripts_for_dependencies_are_no_problem() -> None:
    two = [customization("a", dependencyInterpretation="x"), customization("b", dependencyInterpretation="y")]
    assert customized.problems(two, lambda script: "") == ()


def test_a_script_that_does_not_compile_is_a_problem_with_kind_operation_and_line() -> None:
    found = customized.problems([customization("a", retention="x")], lambda script: f"{script.name}:1: no Lua")
    assert [one.message for one in found] == [
        "the script for Retain of Widget (example.com/v1) does not compile: a:1: no Lua"
    ]


# -- what goes in -------------------------------------------------------------------------------------------------


def test_every_operation_calls_its_function_with_its_arguments() -> None:
    calls: list[Call] = []

    def run(asked: Sequence[Call]) -> list[Failed]:
        calls.extend(asked)
        return [Failed("no") for _ in asked]

    rules = {("example.com/v1", "Widget", operation): (Script("s", "…"),) for operation in Operation}
    interpreter = Interpreter([Scripted("script", rules, run)])
    other: Mapping[str, Any] = {**WIDGET, "spec": {}}
    interpreter.replicas(WIDGET)
    interpreter.components(WIDGET)
    interpreter.revise_replica(WIDGET, 3)
    interpreter.retain(WIDGET, other)
    interpreter.aggregate_status(WIDGET, [{"clusterName": "m1", "applied": False}], "2030-01-01T00:00:00Z")
    interpreter.aggregate_status(WIDGET, None, "2030-01-01T00:00:00Z")
    interpreter.status(WIDGET)
    interpreter.health(WIDGET)
    interpreter.dependencies(WIDGET)
    assert [(call.function, call.arguments, call.results) for call in calls] == [
        ("GetReplicas", (WIDGET,), 2),
        ("GetComponents", (WIDGET,), 1),
        ("ReviseReplica", (WIDGET, 3), 1),
        ("Retain", (WIDGET, other), 1),
        ("AggregateStatus", (WIDGET, [{"clusterName": "m1"}]), 1),
        ("AggregateStatus", (WIDGET, None), 1),
        ("ReflectStatus", (WIDGET,), 1),
        ("InterpretHealth", (WIDGET,), 1),
        ("GetDependencies", (WIDGET,), 1),
    ]
    assert {call.now for call in calls if call.function == "AggregateStatus"} == {"2030-01-01T00:00:00Z"}
    assert set(FUNCTIONS) == set(Operation)


# -- what comes out -----------------------------------------------------------------------------------------------


def test_a_fault_names_kind_operation_and_script() -> None:
    rules = {("example.com/v1", "Widget", Operation.HEALTH): (Script("widgets", "…"),)}
    interpreter = Interpreter([Scripted("script", rules, lambda calls: [Failed("widgets:2: attempt to index nil")])])
    assert interpreter.health(WIDGET) == Unknown("Widget InterpretHealth: widgets:2: attempt to index nil", "script")


def test_a_script_that_was_killed_leaves_the_answer_open() -> None:
    rules = {("example.com/v1", "Widget", Operation.HEALTH): (Script("widgets", "…"),)}
    interpreter = Interpreter([Scripted("script", rules, lambda calls: [Failed("stopped", permanent=False)])])
    assert interpreter.health(WIDGET) == Unknown("Widget InterpretHealth: stopped", "script", permanent=False)


@pytest.mark.parametrize(
    ("operation", "values", "message"),
    [
        (Operation.HEALTH, (None,), "the health must be true or false, not nil"),
        (Operation.HEALTH, (1,), "the health must be true or false, not number"),
        (Operation.REPLICA, ("3", None), "the replicas must be a number, not string"),
        (Operation.REPLICA, (2.0**40, None), "the replicas are out of range: 1099511627776.0"),
        (Operation.REPLICA, (1, "x"), "the requirements must be a table or nil, not string"),
        (
            Operation.REPLICA,
            (1, {"resourceRequest": {"cpu": "many"}}),
            "requirements.resourceRequest.cpu: 'many' is no quantity (examples: 500m, 2, 1.5Gi)",
        ),
        (Operation.REPLICA, (1, {"nodeClaim": "x"}), 'requirements.nodeClaim must be an object, not "x"'),
        (Operation.COMPONENT, (3,), "a table is wanted, not number"),
        (Operation.COMPONENT, ({"name": "x"},), 'components must be a list, not {"name": "x"}'),
        (Operation.COMPONENT, ([{"replicas": 1.5}],), "components[0].replicas must be a whole number, not 1.5"),
        (Operation.STATUS, (None,), "a table is wanted, not nil"),
        (Operation.REVISE, ({"spec": {}},), "an object with apiVersion and kind is wanted"),
        (Operation.DEPENDENCY, (None,), "a table is wanted, not nil"),
        (Operation.DEPENDENCY, ([{"kind": "Secret", "name": "x"}],), "dependencies[0] has no apiVersion"),
        (
            Operation.DEPENDENCY,
            ([{"apiVersion": "v1", "kind": "Secret"}],),
            "dependencies[0] has neither name nor labelSelector",
        ),
        (
            Operation.DEPENDENCY,
            ([{"apiVersion": "v1", "kind": "Secret", "labelSelector": {"matchLabels": {"a": "not ok!"}}}],),
            "dependencies[0].labelSelector: 'not ok!' is no label value",
        ),
    ],
)
def test_an_answer_of_the_wrong_shape_is_the_fault_of_the_script(
    operation: Operation, values: tuple[Any, ...], message: str
) -> None:
    interpreter = answering(operation, *values)
    asked: Mapping[Operation, Callable[[], Any]] = {
        Operation.HEALTH: lambda: interpreter.health(WIDGET),
        Operation.REPLICA: lambda: interpreter.replicas(WIDGET),
        Operation.COMPONENT: lambda: interpreter.components(WIDGET),
        Operation.STATUS: lambda: interpreter.status(WIDGET),
        Operation.REVISE: lambda: interpreter.revise_replica(WIDGET, 1),
        Operation.DEPENDENCY: lambda: interpreter.dependencies(WIDGET),
    }
    wanted = f"Widget {operation}: widgets: {FUNCTIONS[operation]} returned what it must not: {message}"
    assert asked[operation]() == Unknown(wanted, "script")


def test_replicas_are_cut_to_a_whole_number_and_amounts_become_canonical() -> None:
    asked = {"resourceRequest": {"cpu": 0.25, "memory": "1024Mi"}, "colour": "red", "priorityClassName": ""}
    assert answering(Operation.REPLICA, 2.9, asked).replicas(WIDGET) == Interpretation(
        Replicas(2, {"resourceRequest": {"cpu": "250m", "memory": "1Gi"}}), "script"
    )


def test_aggregation_changes_the_status_and_nothing_else() -> None:
    returned = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"lost": True}, "status": {"n": 1, "e": []}}
    template = {**WIDGET, "spec": {"empty": {}}, "status": {"old": 1}}
    answer = answering(Operation.AGGREGATE, returned).aggregate_status(template, [], "")
    assert answer == Interpretation({**WIDGET, "spec": {"empty": {}}, "status": {"n": 1}}, "script")


def test_dependencies_are_united_sorted_and_unique() -> None:
    names = iter((["b", "c"], ["a", "b"]))

    def run(calls: Sequence[Call]) -> list[Returned]:
        return [
            Returned(("table",), ([{"apiVersion": "v1", "kind": "Secret", "name": name} for name in next(names)],))
            for _ in calls
        ]

    rules = {("example.com/v1", "Widget", Operation.DEPENDENCY): (Script("1", ""), Script("2", ""))}
    answer = Interpreter([Scripted("script", rules, run)]).dependencies(WIDGET)
    assert isinstance(answer, Interpretation)
    assert [one["name"] for one in answer.value] == ["a", "b", "c"]


# -- many at once -------------------------------------------------------------------------------------------------


def test_what_is_going_to_be_asked_is_asked_at_once() -> None:
    """And what a question means, or why it has no answer, is told to who asks it."""
    batches: list[list[Any]] = []

    def run(calls: Sequence[Call]) -> list[Returned | Failed]:
        names = [call.arguments[0]["metadata"]["name"] for call in calls]
        batches.append(names)
        return [Failed("b:1: no") if name == "b" else Returned(("number", "nil"), (5, None)) for name in names]

    bodies = [{**WIDGET, "metadata": {"name": name}} for name in "abcd"]
    rules = {("example.com/v1", "Widget", Operation.REPLICA): (Script("s", "…"),)}
    interpreter = Interpreter([Scripted("script", rules, run), Native()])
    assert interpreter.replicas(bodies[2]) == Interpretation(Replicas(5, None), "script")
    interpreter.prepare(
        [*((Operation.REPLICA, OperationInputs(body)) for body in bodies), (Operation.HEALTH, OperationInputs(WIDGET))]
    )
    assert batches == [["c"], ["a", "b", "d"]]
    failed = Unknown("Widget InterpretReplica: b:1: no", "script")
    good = Interpretation(Replicas(5, None), "script")
    assert [interpreter.replicas(body) for body in bodies] == [good, failed, good, good]
    assert batches == [["c"], ["a", "b", "d"]]
    assert interpreter.replicas(bodies[1]) == failed
    assert batches[2:] == [["b"]]
    interpreter.prepare([])
    assert batches[3:] == []


def test_an_answer_that_was_found_ahead_is_for_that_question_only() -> None:
    rules = {("example.com/v1", "Widget", Operation.REVISE): (Script("s", "…"),)}
    asked: list[Any] = []

    def run(calls: Sequence[Call]) -> list[Returned]:
        asked.extend(call.arguments[1] for call in calls)
        return [Returned(("table",), ({**WIDGET, "n": call.arguments[1]},)) for call in calls]

    interpreter = Interpreter([Scripted("script", rules, run)])
    interpreter.prepare([(Operation.REVISE, OperationInputs(WIDGET, replicas=n)) for n in (1, 2)])
    for n in (2, 3, 1):
        found = interpreter.revise_replica(WIDGET, n)
        assert isinstance(found, Interpretation)
        assert found.value["n"] == n
    assert asked == [1, 2, 3]
