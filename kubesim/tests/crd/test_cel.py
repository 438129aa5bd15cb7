"""CEL as validation rules use it: results, errors, and the reports of rules that are wrong in themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.crd import cel
from kubesim.crd.cel import types, values


def run(text: str, **variables: Any) -> Any:
    return cel.compile_rule(text, dict.fromkeys(variables, types.DYN)).run(variables)


RESULTS = {
    "arithmetic binds as in school": ("1 + 2 * 3 == 7 && !false", {}, True),
    "division cuts towards zero": ("-7 / 2", {}, -3),
    "a remainder has the sign of the dividend": ("-5 % 3", {}, -2),
    "a missing field is asked for with has": ("has(self.a) ? self.a.size() : -1", {"self": {"a": [1, 2]}}, 2),
    "has of a missing field is false": ("has(self.b)", {"self": {"a": 1}}, False),
    "an error is forgiven when the other side decides": ("self.gone == 1 || true", {"self": {}}, True),
    "all holds for an empty list": ("self.all(x, x > 1)", {"self": []}, True),
    "exists_one wants exactly one": ("self.exists_one(x, x == 2)", {"self": [2, 2]}, False),
    "map with a filter": ("self.map(x, x > 1, x * 2)", {"self": [1, 2, 3]}, [4, 6]),
    "filter over a map gives its keys": ("self.filter(k, k != 'a')", {"self": {"a": 1, "b": 2}}, ["b"]),
    "two variables see index and item": ("self.all(i, x, i == x)", {"self": [0, 1, 2]}, True),
    "transformMap keeps keys": ("self.transformMap(k, v, v + 1)", {"self": {"a": 1}}, {"a": 2}),
    "split and join": ("'a,b,c'.split(',').join('-')", {}, "a-b-c"),
    "split with a limit": ("'a,b,c'.split(',', 2)", {}, ["a", "b,c"]),
    "indexOf from a position": ("'hello'.indexOf('l', 3)", {}, 3),
    "replace at most": ("'aaa'.replace('a', 'b', 2)", {}, "bba"),
    "lowerAscii leaves other letters": ("'AÄ'.lowerAscii()", {}, "aÄ"),
    "matches searches": ("'xabc'.matches('b.$')", {}, True),
    "a dollar does not match before a newline": ("'a\\n'.matches('a$')", {}, False),
    "format prints": ("'%s is %d'.format(['x', 3])", {}, "x is 3"),
    "quantities compare by amount": ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", {}, True),
    "quantities add": ("quantity('1').add(quantity('500m')).compareTo(quantity('1500m'))", {}, 0),
    "durations": ("duration('1h30m').getMinutes()", {}, 90),
    "timestamps": (
        "timestamp('2020-01-01T00:00:00Z') + duration('24h') == timestamp('2020-01-02T00:00:00Z')",
        {},
        True,
    ),
    "numbers of different types are equal by value": ("dyn(1) == 1.0", {}, True),
    "true is not one": ("dyn(true) == dyn(1)", {}, False),
    "types are values": ("type(self) == string", {"self": "x"}, True),
    "conversion to double": ("double(self)", {"self": "1e3"}, 1000.0),
    "an optional field": ("self.?a.?b.orValue('x')", {"self": {"a": {}}}, "x"),
    "an absent former self": ("oldSelf.hasValue()", {"oldSelf": values.ABSENT}, False),
    "optMap over a former self": ("oldSelf.optMap(o, o + 1).orValue(5)", {"oldSelf": values.Optional(True, 3)}, 4),
    "networks contain addresses": ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", {}, True),
    "sets": ("sets.contains([1, 2, 3], [3, 1])", {}, True),
    "sum of a list": ("[1, 2, 3].sum()", {}, 6),
    "the union of sets": ("(self + ['b', 'c']).size()", {"self": values.SetList(["a", "b"])}, 3),
    "named formats": ("format.dns1123Label().validate('A').hasValue()", {}, True),
}


@pytest.mark.parametrize(("text", "variables", "wanted"), RESULTS.values(), ids=RESULTS.keys())
def test_expressions_give(text: str, variables: dict[str, Any], wanted: Any) -> None:
    assert run(text, **variables) == wanted


FAILURES = {
    "a missing field": ("self.x", {"self": {}}, "no such key: x"),
    "an index outside": ("self[3]", {"self": [1]}, "index out of bounds: 3"),
    "division by zero": ("1 / self", {"self": 0}, "division by zero"),
    "an overflow": ("9223372036854775807 + self", {"self": 1}, "integer overflow"),
    "a type for which there is no overload": ("self < 'x'", {"self": 1}, "no such overload"),
    "a character outside": ("'abc'.substring(4)", {}, "index out of range: 4"),
}


@pytest.mark.parametrize(("text", "variables", "wanted"), FAILURES.values(), ids=FAILURES.keys())
def test_an_evaluation_fails_with_the_text_of_cel(text: str, variables: dict[str, Any], wanted: str) -> None:
    with pytest.raises(cel.CelError) as caught:
        run(text, **variables)
    assert str(caught.value) == wanted


SELF = types.object_of("object", {"a": types.INT, "s": types.STRING, "l": types.list_of(types.STRING)})

REPORTS = {
    "a field that the schema lacks": ("self.b > 1", "ERROR: <input>:1:5: undefined field 'b'\n | self.b > 1\n | ....^"),
    "types that do not compare": (
        "self.a > 'x'",
        "ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(int, string)'\n | self.a > 'x'\n "
        "| .......^",
    ),
    "an unknown name": (
        "x + 1",
        "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x + 1\n | ^",
    ),
    "an unknown function": (
        "foo(self)",
        "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(self)\n | ...^",
    ),
    "a mistake inside a macro": (
        "self.l.all(x, x > 1)",
        "ERROR: <input>:1:17: found no matching overload for '_>_' applied to '(string, int)'\n"
        " | self.l.all(x, x > 1)\n | ................^",
    ),
    "a mistake on the second line": (
        "self.a > 1 &&\nself.c",
        "ERROR: <input>:2:5: undefined field 'c'\n | self.c\n | ....^",
    ),
}


@pytest.mark.parametrize(("text", "wanted"), REPORTS.values(), ids=REPORTS.keys())
def test_a_wrong_rule_is_reported_with_its_place(text: str, wanted: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile_rule(text, {"self": SELF})
    assert str(caught.value) == wanted


@pytest.mark.parametrize("text", ["self.a >", "(self.a", "self..a", "'open", "self.a == = 1", "for", "1 2"])
def test_text_that_does_not_parse_is_refused(text: str) -> None:
    with pytest.raises(cel.CompileError, match=r"ERROR: <input>:1:\d+: "):
        cel.compile_rule(text, {"self": SELF})


def test_a_program_knows_whether_it_needs_the_former_self() -> None:
    assert cel.compile_rule("self == oldSelf", {"self": SELF, "oldSelf": SELF}).uses_old_self
    assert not cel.compile_rule("self.a == 1", {"self": SELF, "oldSelf": SELF}).uses_old_self


@given(st.integers(-(2**31), 2**31), st.integers(-(2**31), 2**31).filter(bool))
def test_quotient_and_remainder_belong_together(left: int, right: int) -> None:
    assert run("(a / b) * b + a % b == a", a=left, b=right) is True


@given(st.text(), st.text(min_size=1))
def test_splitting_and_joining_is_identity(value: str, separator: str) -> None:
    assert run("a.split(b).join(b) == a", a=value, b=separator) is True


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_every_value_equals_itself(value: Any) -> None:
    assert run("self == self && !(self != self)", self=value) is True


@given(st.lists(st.integers(0, 5)))
def test_exists_is_not_all_not(items: list[int]) -> None:
    assert run("self.exists(x, x > 3) == !self.all(x, !(x > 3))", self=items) is True
