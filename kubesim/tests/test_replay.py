"""The replayer notices what is wrong: a comparison that lets anything pass would prove nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance import __main__ as command
from tests.conformance import answers
from tests.conformance.placeholders import Table, expanded, filled, match_text, order_errors

UID = "6f1c9a52-8d0e-4b7a-9c55-0d9a3a1b2c3d"
OTHER = "7f1c9a52-8d0e-4b7a-9c55-0d9a3a1b2c3d"


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        ("plain", "plain", True),
        ("plain", "other", False),
        ("uid <uid:1>.", f"uid {UID}.", True),
        ("<uid:1>", "no-uid", False),
        ("<uid:1> <uid:1>", f"{UID} {UID}", True),
        ("<uid:1> <uid:1>", f"{UID} {OTHER}", False),
        ("<age>", "6y32d", True),
        ("<age>", "6 years", False),
        ("<fill:x:3>!", "xxx!", True),
        ("<etag:1>", '"AB"', True),
        ("a<b", "a<b", True),
    ],
)
def test_a_placeholder_stands_for_one_value_of_its_shape(expected: str, actual: str, fits: bool) -> None:
    assert match_text(expected, actual, {}) is fits


def test_a_bound_placeholder_is_held_to_its_value() -> None:
    table: Table = {}
    assert match_text("<rv:1>", "15", table)
    assert not match_text("<rv:1>", "16", table)
    assert filled({"resourceVersion": "<rv:1>", "list": ["<fill:a:2>"]}, table) == {
        "resourceVersion": "15",
        "list": ["aa"],
    }
    with pytest.raises(KeyError):
        filled("<uid:1>", table)
    assert expanded("<fill:ab:2>") == "<fill:ab:2>"


def test_versions_rise_times_do_not_fall_and_uids_differ() -> None:
    early, late = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
    good = {"<rv:1>": "9", "<rv:2>": "10", "<time:1>": early, "<time:2>": early, "<uid:1>": UID, "<uid:2>": OTHER}
    assert order_errors(good) == []
    assert order_errors({**good, "<rv:2>": "9"}) == ["<rv:1> is 9 but <rv:2> is 9"]
    assert order_errors({**good, "<time:1>": late}) == [f"<time:1> is {late} but <time:2> is {early}"]
    assert order_errors({**good, "<uid:2>": UID}) == [f"<uid:2> and <uid:1> are both {UID}"]


def compared(expected: dict[str, Any], body: Any, status: int = 200, **headers: list[str]) -> list[str]:
    return answers.differences({"status": 200, **expected}, status, headers, json.dumps(body), {})


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        ({"body": {"a": 1}}, {"a": 1}),
        ({"body": {"a": {"description": "x"}}}, {"a": {"description": "y"}}),
        ({"body": {"port": "<nodePort:1>"}}, {"port": 30000}),
        ({"contains": {"items": [{"name": "b"}]}}, {"items": [{"name": "a"}, {"name": "b", "more": 1}]}),
        ({"select": {"items[*].name": ["a", "b"]}}, {"items": [{"name": "a"}, {"name": "b"}]}),
        ({"select": {"a.b": None}}, {"a": {}}),
        (
            {"body": {"message": "bad: json: cannot unmarshal string into Go value of type v1.X"}},
            {"message": "bad: json: cannot unmarshal string into something else"},
        ),
    ],
)
def test_answers_that_fit_are_accepted(expected: dict[str, Any], body: Any) -> None:
    assert compared(expected, body) == []


@pytest.mark.parametrize(
    ("expected", "body", "complaint"),
    [
        ({"body": {"a": 1}}, {"a": True}, ".a: expected 1, got true"),
        ({"body": {"a": 1}}, {"a": 1.0}, ".a: expected 1, got 1.0"),
        ({"body": {"a": 1}}, {}, ".a: missing, expected 1"),
        ({"body": {}}, {"a": 1}, ".a: not expected, got 1"),
        ({"body": [1, 2]}, [2, 1], "[0]: expected 1, got 2"),
        ({"body": {"message": "one"}}, {"message": "two"}, '.message: expected "one", got "two"'),
        (
            {"contains": {"items": [{"name": "c"}]}},
            {"items": [{"name": "a"}]},
            '.items[0]: nothing there contains {"name": "c"}',
        ),
        ({"select": {"items[*].name": ["a"]}}, {"items": []}, 'items[*].name: expected ["a"], got []'),
        ({"text_contains": ["ok"]}, "no", "text: 'ok' is missing in '\"no\"'"),
    ],
)
def test_answers_that_do_not_fit_are_told(expected: dict[str, Any], body: Any, complaint: str) -> None:
    assert complaint in compared(expected, body)


def test_a_warning_nobody_expected_is_told() -> None:
    told = compared(
        {"headers": {"Content-Type": "application/json"}},
        {},
        **{"content-type": ["application/json"], "warning": ["w"]},
    )
    assert told == ["header Warning: expected [], got ['w']"]


def test_another_status_is_told_with_the_answer() -> None:
    assert compared({}, {"reason": "x"}, status=404) == ['status: expected 200, got 404: {"reason": "x"}']


def test_the_command_counts_and_names_what_failed(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    step = {"request": {"method": "GET", "path": "/healthz"}, "response": {"status": 200, "text": "ok"}}
    wrong = {**step, "response": {"status": 200, "text": "bad"}}
    lines = [{"id": "good", "steps": [step]}, {"id": "wrong", "steps": [wrong]}]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert command.main([str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "cases.jsonl: wrong",
        "  step 0: text: expected 'bad', got 'ok'",
        "1 passed, 1 failed",
    ]
    assert command.main([str(file), "--only", "good"]) == 0
