"""JSONPath templates of Kubernetes: what they find, and what is said when they find nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.text import jsonpath

STATUS: dict[str, Any] = {
    "phase": "Running", "replicas": 6, "ratio": 2.5, "whole": 4.0, "big": 20971520, "zero": 0, "ready": True, "z": None,
    "job": {"id": "5f3", "a.b": "dotted", "x,y": "comma", "deep": {"er": [1, 2, 3]}},
    "conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Failed", "status": "False", "n": 2}],
    "empty": [], "none": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("", ""),
        ("text only, .no path", "text only, .no path"),
        ("job-{.job.id}", "job-5f3"),
        ("{ .job.id }{'-'}{.replicas}", "5f3-6"),
        ("{$.phase}{@.phase}{['phase']}{[\"phase\"]}", "Running" * 4),
        (r"{.job.a\.b} {.job['a.b']} {.job['x,y']}", "dotted dotted comma"),
        ("{.job['id','a.b']}", "5f3 dotted"),
        ("{.ratio} {.whole} {.big} {.ready} {.z}", "2.5 4 20971520 true null"),
        ("{.job.deep}", '{"er":[1,2,3]}'),
        ("{.job.deep.er[0]}{.job.deep.er[-1]}{.job.deep.er[]}", "131"),
        ("{.job.deep.er[1:]}|{.job.deep.er[:-1]}|{.job.deep.er[::2]}|{.job.deep.er[*]}", "2 3|1 2|1 3|1 2 3"),
        ("{.job.deep.er[0,2]}", "1 3"),
        ("{.conditions[*].type}", "Ready Failed"),
        ("{.conditions[?(@.type=='Failed')].status}", "False"),
        ("{.conditions[?(@.n>1)].type}{.conditions[?(@.n<=1.0)].type}", "FailedReady"),
        ("{.conditions[?(@.type!=@.status)].n}", "1 2"),
        ("{.conditions[?(@.missing)].type}{.conditions[?(@.missing=='x')].type}", ""),
        ("{.conditions[?(@.type)].type}", "Ready Failed"),
        ("{..type}", "Ready Failed"),
        ("{..er[0]}", "1"),
        ("{.none.*}{.empty[*]}{.empty[0:0]}{.z[0]}", ""),
        ("{range .conditions[*]}{.type}={.status};{end}.", "Ready=True;Failed=False;."),
        ("{range .conditions[*]}{range [?(@.x)]}{end}{end}", None),
        ("{range .empty[*]}{.name}{end}", ""),
        ("{5}{-3.5}{true}{\"a\\tb\"}{'it\\'s'}", "5-3.5truea\tbit's"),
        ("}", "}"),
    ],
)
def test_a_template_gives_text(template: str, text: str | None) -> None:
    if text is None:
        with pytest.raises(jsonpath.JsonPathError):
            jsonpath.find(template, STATUS)
    else:
        assert jsonpath.find(template, STATUS) == text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{.jobs.id}", "there is no member jobs (there are big, conditions, empty, job, none, phase, ratio, ready, …)"),
        ("{.job.Id}", "there is no member Id (there are a.b, deep, id, x,y)"),
        ("{.none.a}", "there is no member a (there are none)"),
        ("{.phase.a}", "there is no member a in the text 'Running'"),
        ("{.z.a}", "there is no member a in null"),
        ("{.conditions['a b']}", "there is no member 'a b' in a list of 2 items"),
        ("{.conditions[2]}", "[2] is outside of a list of 2"),
        ("{.empty[0]}", "[0] is outside of a list of 0"),
        ("{.conditions[1:5]}", "[1:5] reaches outside of a list of 2"),
        ("{.conditions[1:-2].type}", "[1:-2] begins after its end in a list of 2"),
        ("{.job[0]}", "[0] needs a list, and finds a map of 4 members"),
        ("{.job[?(@.x)]}", "a filter needs a list, and finds a map of 4 members"),
        ("{.conditions[?(@.type>1)]}", "the text 'Ready' and the number 1 do not compare by >"),
        ("{.conditions[?(@..*==1)]}", "in '@..*': '*' has no meaning inside braces (at character 13)"),
        ("{.phase", "a brace is not closed (at character 1)"),
        ("{phase}", "'phase' is no path (write .phase) (at character 2)"),
        ("{.a,.b}", "',' has no meaning inside braces (at character 4)"),
        ("{.}", "a name is missing after '.' (at character 3)"),
        ("{.a[x]}", "'x' is neither an index nor a quoted name (at character 5)"),
        ("{.a[0}", "a bracket is not closed (at character 4)"),
        ("{.a['b]}", "a quoted text is not closed (at character 5)"),
        ("{.a[::0]}", "the step of a slice must be greater than 0 (at character 5)"),
        ('{.a[?(@.b=="c"]}', "a filter is not closed (at character 4)"),
        ("{.a[?(@.b==1 && @.c==2)]}", "a filter has one comparison only (at character 20)"),
        ("{.a[?(==1)]}", "a comparison needs two sides (at character 4)"),
        ("{.a[?(@.b=='c')]}{.a[?(@.b='c')]}", "'=' is no comparison (==, !=, <=, >=, <, > are) (at character 27)"),
        ("{.a[?(@.b=>1)]}", "'=>' is no comparison (==, !=, <=, >=, <, > are) (at character 10)"),
        ("{.a[?(@.b!1)]}", "'!' is no comparison (==, !=, <=, >=, <, > are) (at character 10)"),
        ("{'\\q'}", "\\q is no escape (at character 2)"),
        ("{1.2.3}", "'1.2.3' is no number (at character 2)"),
        ("{end}", "{end} without {range} (at character 1)"),
        ("{range .a[*]}x", "{range} without {end} (at character 15)"),
        ("{....a}", "'..' twice in a row (at character 4)"),
        ("{range .a}" * 21, "more than 20 ranges inside each other (at character 211)"),
    ],
)
def test_what_is_wrong_is_said_with_the_template(template: str, message: str) -> None:
    with pytest.raises(jsonpath.JsonPathError) as caught:
        jsonpath.find(template, STATUS)
    assert str(caught.value) == f"{template}: {message}"


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{.conditions}", "a list of 2 items"),
        ("{.job}", "a map of 4 members"),
        ("{.conditions[*].type}", "'Ready Failed'"),
        ("{-5}", "the number -5"),
        (".phase", "the text '.phase'"),
        ("{.phase}{'-'}", "'Running-'"),
    ],
)
def test_what_is_no_label_value_is_named(template: str, found: str) -> None:
    with pytest.raises(jsonpath.JsonPathError) as caught:
        jsonpath.label_value(template, STATUS)
    assert str(caught.value) == f"{template}: found {found}, which is no label value"


def test_whole_numbers_of_any_size_are_label_values() -> None:
    for value, text in ((1e6, "1000000"), (2**53 + 1, "9007199254740993"), (1e21, "1" + "0" * 21), (1e-7, "1e-07")):
        assert jsonpath.label_value("{.n}", {"n": value}) == text


def test_a_template_that_multiplies_is_stopped() -> None:
    wide = {"a": [{"b": [1] * 200}] * 200}
    with pytest.raises(jsonpath.JsonPathError, match=r"it finds more than 10,000 values"):
        jsonpath.find("{.a[*].b[*]}", wide)
    with pytest.raises(jsonpath.JsonPathError, match=r"its ranges take more than 10,000 rounds"):
        jsonpath.find("{range .a[*]}{range .b[*]}{end}{end}", wide)


@given(st.text(alphabet="{}[]().*?@$'\"\\:,0a-= \n<!range end", max_size=40))
def test_any_text_gives_a_text_or_says_what_is_wrong_with_it(template: str) -> None:
    try:
        said = jsonpath.find(template, STATUS)
    except jsonpath.JsonPathError as error:
        said = str(error).removeprefix(template)
        assert said.startswith(": ")
    assert isinstance(said, str)


def test_a_text_that_is_searched_has_no_members_and_that_is_an_error() -> None:
    """A number is passed over, as in the reference."""
    with pytest.raises(ValueError, match="there is no member b in the text 'x'"):
        jsonpath.label_value("{.a..b}", {"a": "x"})
    assert jsonpath.label_value("{.a..b}", {"a": 1}) == ""
