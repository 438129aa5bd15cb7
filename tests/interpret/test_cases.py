"""Test data in Karmada's layout and in ours, judged by one comparison."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.edges import catalogue
from gitfed.edges.lua import Lua
from gitfed.interpret import bundled, cases, judge
from gitfed.interpret.registry import Interpreter, InterpretError, Operation, OperationInputs, Replicas

BODY = {"apiVersion": "e.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1, "none": {}}}


class Gives:
    """A rule that gives what it was made with."""

    name = "custom"

    def __init__(self, value: Any) -> None:
        self.value = value

    def handles(self, api_version: str, kind: str, operation: Operation) -> bool:
        return kind == "Widget"

    def answer(self, operation: Operation, inputs: OperationInputs) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def judged(document: dict[str, Any], value: Any) -> tuple[str, ...]:
    return judge.check(cases.karmada("t.yaml", 0, document), Interpreter([Gives(value)]))


@pytest.mark.parametrize(
    ("operation", "output", "value", "differences"),
    [
        ("interpretreplica", {"replica": 2, "requires": {"resourceRequest": {"cpu": "0.5"}, "nodeClaim": {}}},
         Replicas(2, {"resourceRequest": {"cpu": "500m"}}), ()),
        ("InterpretReplica", {"requires": None}, Replicas(2, None), ()),
        ("InterpretReplica", {"replica": 3}, Replicas(2, None), ("replica: got 2, wanted 3",)),
        ("InterpretComponent", {"components": [{"name": "b", "replicas": 1}, {"name": "a", "replicas": 2}]},
         ({"name": "a", "replicas": 2}, {"name": "b", "replicas": 1}), ()),
        ("InterpretHealth", {"healthy": True}, False, ("healthy: got false, wanted true",)),
        ("InterpretStatus", {"status": {"a": [], "b": 1.0}}, {"b": 1}, ()),
        ("InterpretStatus", {"status": {}}, None, ("status: got null, wanted {}",)),
        ("AggregateStatus", {"aggregatedStatus": {"spec": {"x": 1}, "status": {"at": "{{EXCLUDE}}", "n": 1}}},
         {**BODY, "status": {"n": 1, "at": "now"}}, ()),
        ("AggregateStatus", {"aggregatedStatus": {"status": {"at": "{{NOW}}"}}},
         {**BODY, "status": {"at": cases.AT}}, ()),
        ("InterpretDependency", {"dependencies": [{"kind": "B"}, {"kind": "A"}]}, ({"kind": "A"}, {"kind": "B"}), ()),
        ("ReviseReplica", {"revised": {**BODY, "spec": {"size": 1}}}, BODY,
         ('revised: got {"apiVersion":"e.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"none":{},"size":1}}, '
          'wanted {"apiVersion":"e.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":1}}',)),
        ("InterpretHealth", {"healthy": True}, InterpretError("line 1"), ("failed: line 1",)),
        ("InterpretHealth", None, True, ()),
    ],
)  # fmt: skip
def test_a_result_is_compared_by_what_it_means(
    operation: str, output: Any, value: Any, differences: tuple[str, ...]
) -> None:
    assert judged({"operation": operation, "desiredObj": BODY, "output": output}, value) == differences


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a case must be a mapping"),
        ({"operation": "Interpret", "desiredObj": BODY}, "'Interpret' is no operation: InterpretReplica, "
         "InterpretComponent, ReviseReplica, Retain, AggregateStatus, InterpretStatus, InterpretHealth, "
         "InterpretDependency"),
        ({"operation": "Retain", "desiredObj": BODY}, "Retain needs the desired and the observed object"),
        ({"operation": "InterpretHealth", "desiredObj": BODY, "observedObj": BODY},
         "InterpretHealth needs one object, the desired or the observed one"),
        ({"operation": "InterpretHealth", "desiredObj": {"kind": "x"}},
         "the desired object must be an object with apiVersion and kind"),
        ({"operation": "AggregateStatus", "desiredObj": BODY, "statusItems": [1]},
         "the status items must be a list of objects"),
        ({"operation": "ReviseReplica", "desiredObj": BODY, "inputReplicas": "1"},
         "the replicas must be a whole number"),
        ({"operation": "InterpretHealth", "desiredObj": BODY, "output": {"health": True}},
         "InterpretHealth has no result health (it has healthy)"),
        ({"operation": "InterpretHealth", "desiredObj": BODY, "outputs": {}},
         "unknown member outputs (a case has description, desiredObj, inputReplicas, name, observedObj, operation, "
         "output, statusItems)"),
    ],
)  # fmt: skip
def test_a_document_that_is_no_case_is_named(document: Any, message: str) -> None:
    assert list(cases.read_karmada("t.yaml", [document])) == [f"t.yaml: document 1: {message}"]


def test_a_kind_that_no_rule_knows_does_not_pass() -> None:
    other = {**BODY, "kind": "Gadget"}
    case = cases.karmada("t.yaml", 0, {"operation": "InterpretHealth", "desiredObj": other, "output": {}})
    assert judge.check(case, Interpreter([Gives(True)])) == ("no rule for InterpretHealth of Gadget (e.com/v1)",)


def test_the_cases_of_the_catalogue_pass_by_the_same_comparison() -> None:
    files = catalogue.read(with_cases=True)
    with Lua("gitfed.interpret.kube_module:FUNCTIONS") as lua:
        interpreter = Interpreter([bundled.source(files, lua.run_all)])
        found = {
            f"{case.path}: {case.name}": differences
            for case in map(cases.of_bundle, bundled.cases(files))
            if (differences := judge.check(case, interpreter))
        }
    assert found == {}
