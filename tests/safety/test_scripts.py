"""Scripts that are wrong, hostile or careless: a problem with script, line, kind and operation, and nothing else.

Every one is planned beside a kind whose script is good, by the same interpreter: what one script does must change
nothing for another, before and after. How each is stopped is tested with the runtime (`tests/edges/test_lua*.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gitfed.edges.lua import Lua
from gitfed.interpret import customized
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpretation, Interpreter, Operation, Unknown
from gitfed.model.base import ObjectKey
from gitfed.reading import interpreters
from tests.safety.hostile_scripts import GOOD, LOOP, planned, repository, rules


@pytest.fixture(autouse=True)
def _within_the_budget() -> Iterator[None]:
    """In processor time of this process: none of these may take longer than the limits allow."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 30


AT = "(bad.yaml:10:1)"
BEGINS = "(bad.yaml:9:1)"
AS_A_WHOLE = "(bad.yaml:8:7)"

TOO_MUCH = f"widget:1: needs more than 48 MiB of memory {BEGINS}"

FAILING = {
    "a loop without end": (
        LOOP.format("while true do end"), f"widget:2: needs more than 10,000,000 instructions (an endless loop?) {AT}"
    ),
    "a loop that swallows its own end": (
        LOOP.format("while true do pcall(function() while true do end end) end"),
        f"widget:2: needs more than 10,000,000 instructions (an endless loop?) {AT}",
    ),
    "a text that is repeated for gigabytes": (
        LOOP.format('return #string.rep("x", 1e10)'),
        f"widget:2: string.rep is not available to interpreter scripts {AT}",
    ),
    "a text that doubles for ever": (
        LOOP.format('local s = "x" while true do s = s .. s end'), TOO_MUCH
    ),
    "a table that grows for ever": (
        LOOP.format("local t = {} while true do t[#t + 1] = {} end"), TOO_MUCH
    ),
    "a function that calls itself": (
        LOOP.format("local function f() return 1 + f() end return f()"), f"widget:2: stack overflow {AT}"
    ),
    "metatables of texts": (
        LOOP.format('getmetatable("").__index = nil'),
        f"widget:2: getmetatable is not available to interpreter scripts {AT}",
    ),
    "methods of texts": (
        LOOP.format('local s = ("x"):rep(1e10)'), f"widget:2: string.rep is not available to interpreter scripts {AT}"
    ),
    "a metatable of its own": (
        LOOP.format("local t = setmetatable({}, {__index = _G})"),
        f"widget:2: setmetatable is not available to interpreter scripts {AT}",
    ),
    "the debug library": (
        LOOP.format("debug.sethook()"), f"widget:2: attempt to index global 'debug' (a nil value) {AT}"
    ),
    "bytecode": (
        LOOP.format('return load("\\27LJ")()'), f"widget:2: load is not available to interpreter scripts {AT}"
    ),
    "code from a text": (
        LOOP.format('return loadstring("return 1")()'),
        f"widget:2: loadstring is not available to interpreter scripts {AT}",
    ),
    "a coroutine that never yields": (
        LOOP.format("coroutine.wrap(function() while true do end end)()"),
        f"widget:2: attempt to index global 'coroutine' (a nil value) {AT}",
    ),
    "files": (LOOP.format('io.open("/etc/passwd")'), f"widget:2: attempt to index global 'io' (a nil value) {AT}"),
    "programs": (LOOP.format('os.execute("id")'), f"widget:2: attempt to call field 'execute' (a nil value) {AT}"),
    "Python": (LOOP.format("python.eval('1')"), f"widget:2: attempt to index global 'python' (a nil value) {AT}"),
    "an error that is a table": (
        LOOP.format("error({code = 1})"), f"widget:1: the script raised a table as its error {BEGINS}"
    ),
    "an error that is nothing": (LOOP.format("error()"), f"widget:1: the script raised a nil as its error {BEGINS}"),
    "NaN as a key": (LOOP.format("local t = {} t[0/0] = 1"), f"widget:2: table index is NaN {AT}"),
    "NaN as an answer": (LOOP.format("return 0/0"), f"widget:1: NaN cannot be returned {BEGINS}"),
    "a function as an answer": (
        LOOP.format("return function() end"), f"widget:1: a function cannot be returned {BEGINS}"
    ),
    "a table inside itself as an answer": (
        LOOP.format("local t = {} t.t = t return 1, t"),
        f"widget:1: a table that holds itself cannot be returned {BEGINS}",
    ),
    "a text in place of a number": (
        LOOP.format('return "3"'),
        f"widget:1: GetReplicas returned what it must not: the replicas must be a number, not string {BEGINS}",
    ),
    "a number that is no 32 bits": (
        LOOP.format("return 2^31"),
        f"widget:1: GetReplicas returned what it must not: the replicas are out of range: 2147483648 {BEGINS}",
    ),
    "requirements that are no table": (
        LOOP.format("return 1, 2"),
        "widget:1: GetReplicas returned what it must not: the requirements must be a table or nil, not number "
        f"{BEGINS}",
    ),
    "an amount that is none": (
        LOOP.format('return 1, {resourceRequest = {cpu = "much"}}'),
        "widget:1: GetReplicas returned what it must not: requirements.resourceRequest.cpu: 'much' is no "
        "quantity (examples: 500m, 2, 1.5Gi) "
        f"{BEGINS}",
    ),
    "no function of that name": (
        "function Replicas(obj) end", f"widget: the script defines no function GetReplicas {AS_A_WHOLE}"
    ),
    "a loop before any function": ("while true do end", "widget:1: needs more than 10,000,000 instructions "
                                   f"(an endless loop?) {BEGINS}"),
    "a nil on the way": (
        LOOP.format("return obj.spec.a.b"), f"widget:2: attempt to index field 'a' (a nil value) {AT}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_a_script_that_fails_is_a_problem_with_script_line_kind_and_operation(name: str) -> None:
    script, message = FAILING[name]
    plan = planned(repository(script))
    assert [str(problem) for problem in plan.problems] == [
        f"widget.yaml:1:1: warning: Widget.e.com/shop/x: Widget InterpretReplica: {message} (it runs nowhere yet)"
    ]
    assert plan.bindings[ObjectKey("e.com", "Gadget", "shop", "x")].scheduled.replicas == 3


def test_a_script_that_is_no_lua_stands_with_its_line_in_the_file() -> None:
    plan = planned(repository("function GetReplicas(obj)\n  return obj.spec.\nend"))
    assert "bad.yaml:11:1: the script for InterpretReplica of Widget (e.com/v1) does not compile: " in str(
        plan.problems[0]
    )
    assert plan.bindings[ObjectKey("e.com", "Gadget", "shop", "x")].scheduled.replicas == 3


def test_a_pattern_that_backtracks_for_hours_is_unknown_and_asked_again() -> None:
    """Nothing counts its steps, so it is stopped by the clock: not the script's fault for ever."""
    text = 'local s = "" for i = 1, 11 do s = s .. "aaaaaaaaaa" end return #(s:match(".-.-.-.-.-.-.-.-.-b") or "")'
    repo = repository(LOOP.format(text))
    with Lua("gitfed.interpret.kube_module:FUNCTIONS", seconds=0.5) as lua:
        interpreter = Interpreter((customized.source(repo.interpreters, lua.run_all), Native()))
        plan = planned(repo, interpreter)
        answer = interpreter.replicas(repo.manifests[ObjectKey("e.com", "Widget", "shop", "x")].body)
    (problem,) = plan.problems
    assert f"Widget InterpretReplica: widget: was stopped after 0.5 seconds without an end {AS_A_WHOLE}" in str(problem)
    assert isinstance(answer, Unknown)
    assert not answer.permanent
    assert plan.bindings[ObjectKey("e.com", "Gadget", "shop", "x")].scheduled.replicas == 3


def test_what_depends_on_the_order_of_keys_is_a_warning_and_the_same_every_time() -> None:
    first = "function GetReplicas(obj)\n  for k, v in pairs({a = 1, b = 2}) do return v end\nend"
    plan = planned(repository(first))
    assert plan.bindings[ObjectKey("e.com", "Widget", "shop", "x")].scheduled.replicas == 1
    assert [str(problem) for problem in plan.problems] == [
        "bad.yaml:8:7: warning: InterpretReplica of Widget (e.com/v1): widget: what GetReplicas returns depends on the "
        "order of pairs() (it is the same at every run here; elsewhere it would not be)"
    ]


CARELESS = """
size = (size or 0) + 1
function GetReplicas(obj)
  string.lower, table.insert, math.floor = nil, nil, nil
  obj.spec.size = obj.spec.size + size
  return obj.spec.size
end
"""


def test_a_script_that_changes_its_input_or_a_global_changes_it_for_itself_alone() -> None:
    repo = repository(CARELESS)
    interpreter = interpreters.of(repo)
    body = repo.manifests[ObjectKey("e.com", "Widget", "shop", "x")].body
    for _ in range(3):
        answer = interpreter.replicas({**body, "metadata": {"name": "again"}})
        assert isinstance(answer, Interpretation)
        assert answer.value.replicas == 4
    assert body["spec"] == {"size": 3}
    good = "function GetReplicas(obj)\n  return math.floor(3.5), {a = string.lower('A'), size = size}\nend"
    other = interpreters.of(repository(CARELESS, **{"good.yaml": rules("Gadget", good)}))
    assert isinstance(other.replicas(body), Interpretation)
    assert isinstance(other.replicas({**body, "kind": "Gadget"}), Interpretation)


TYPES: dict[Operation, tuple[str, str, tuple[tuple[str, str], ...]]] = {
    Operation.REPLICA: ("replicaResource", "GetReplicas", (
        ("nil", "the replicas must be a number, not nil"), ("{}", "the replicas must be a number, not table"),
        ("true", "the replicas must be a number, not boolean"),
    )),
    Operation.COMPONENT: ("componentResource", "GetComponents", (
        ("1", "a table is wanted, not number"), ("{a = 1}", "components must be a list, not {\"a\": 1}"),
        ("{{name = 1}}", "components[0].name must be a text, not 1"),
    )),
    Operation.REVISE: ("replicaRevision", "ReviseReplica", (
        ("nil", "a table is wanted, not nil"), ("3", "a table is wanted, not number"),
        ("{}", "an object with apiVersion and kind is wanted"),
        ("{1, 2}", "an object with apiVersion and kind is wanted"),
        ("{apiVersion = 'e.com/v1', kind = 'Gadget', metadata = obj.metadata}",
         'kind was "Widget" and must stay so, not become "Gadget"'),
        ("{apiVersion = 'e.com/v1', kind = 'Widget', metadata = {name = 'y', namespace = 'shop'}}",
         'metadata.name was "x" and must stay so, not become "y"'),
        ("{apiVersion = 'e.com/v1', kind = 'Widget', metadata = {name = 'x', namespace = 'kube-system'}}",
         'metadata.namespace was "shop" and must stay so, not become "kube-system"'),
    )),
    Operation.RETAIN: ("retention", "Retain", (
        ("nil", "a table is wanted, not nil"),
        ("obj.spec", 'apiVersion was "e.com/v1" and must stay so, not become null'),
        ("{apiVersion = 'e.com/v2', kind = 'Widget', metadata = obj.metadata}",
         'apiVersion was "e.com/v1" and must stay so, not become "e.com/v2"'),
    )),
    Operation.AGGREGATE: ("statusAggregation", "AggregateStatus", (("nil", "a table is wanted, not nil"),)),
    Operation.STATUS: ("statusReflection", "ReflectStatus", (("nil", "a table is wanted, not nil"),)),
    Operation.HEALTH: ("healthInterpretation", "InterpretHealth", (
        ("nil", "the health must be true or false, not nil"), ("1", "the health must be true or false, not number"),
        ("'true'", "the health must be true or false, not string"),
    )),
    Operation.DEPENDENCY: ("dependencyInterpretation", "GetDependencies", (
        ("nil", "a table is wanted, not nil"), ("{a = 1}", "dependencies must be a list, not {\"a\": 1}"),
        ("{{apiVersion = 'v1', kind = 'Secret'}}", "dependencies[0] has neither name nor labelSelector"),
        ("{{kind = 'Secret', name = 'x'}}", "dependencies[0] has no apiVersion"),
    )),
}  # fmt: skip
WRONG = [(operation, value, said) for operation, (_, _, rows) in TYPES.items() for value, said in rows]


@pytest.mark.parametrize(("operation", "value", "said"), WRONG, ids=[f"{one}: {value}" for one, value, _ in WRONG])
def test_an_answer_of_the_wrong_type_is_told_by_operation_script_and_place(
    operation: Operation, value: str, said: str
) -> None:
    rule, function, _ = TYPES[operation]
    repo = repository(f"function {function}(obj)\n  return {value}\nend", rule)
    body = repo.manifests[ObjectKey("e.com", "Widget", "shop", "x")].body
    assert _asked(interpreters.of(repo), operation, body) == Unknown(
        f"Widget {operation}: widget:1: {function} returned what it must not: {said} {BEGINS}", "customization"
    )


def _asked(interpreter: Interpreter, operation: Operation, body: Any) -> object:
    ways: dict[Operation, Callable[[], object]] = {
        Operation.REPLICA: lambda: interpreter.replicas(body),
        Operation.COMPONENT: lambda: interpreter.components(body),
        Operation.REVISE: lambda: interpreter.revise_replica(body, 1),
        Operation.RETAIN: lambda: interpreter.retain(body, body),
        Operation.AGGREGATE: lambda: interpreter.aggregate_status(body, [], "2026-01-01T00:00:00Z"),
        Operation.STATUS: lambda: interpreter.status(body),
        Operation.HEALTH: lambda: interpreter.health(body),
        Operation.DEPENDENCY: lambda: interpreter.dependencies(body),
    }
    return ways[operation]()


def test_of_two_customizations_for_one_operation_the_first_by_name_decides() -> None:
    second = rules("Widget", "function GetReplicas(obj) return 9 end", name="another")
    plan = planned(repository(GOOD, **{"second.yaml": second}))
    assert plan.bindings[ObjectKey("e.com", "Widget", "shop", "x")].scheduled.replicas == 9
    assert [str(problem) for problem in plan.problems] == [
        "bad.yaml:8:7: InterpretReplica of Widget (e.com/v1) is decided by another already (second.yaml:1:1) (remove "
        "one of the two scripts)"
    ]
