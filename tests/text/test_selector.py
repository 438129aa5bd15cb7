"""Label selectors."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.errors import UsageError
from gitfed.text import selector

LABELS = {"app": "web", "tier": "gold", "example.com/site": "a"}


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ({}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "silver"}}, False),
        ({"matchLabels": {"none": ""}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}, True),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "none", "operator": "Exists"}]}, False),
        ({"matchLabels": None, "matchExpressions": None}, True),
    ],
)
def test_all_requirements_must_hold(body: dict[str, Any], holds: bool) -> None:
    assert selector.from_body(body)(LABELS) is holds


@pytest.mark.parametrize(
    ("key", "operator", "values", "fault"),
    [
        ("app", "Bogus", (), "'Bogus' is no operator (In, NotIn, Exists, DoesNotExist)"),
        ("app", "In", (), "In of app needs at least one value"),
        ("app", "NotIn", (), "NotIn of app needs at least one value"),
        ("app", "Exists", ("x",), "Exists of app takes no values"),
        ("-app", "Exists", (), "'-app' is no label key"),
        ("app", "In", ("web", "a b"), "'a b' is no label value"),
        ("Example.com/x", "Exists", (), "'Example.com/x' is no label key"),
        ("x" * 64, "Exists", (), f"'{'x' * 64}' is no label key"),
    ],
)
def test_an_invalid_selector_matches_nothing_and_says_why(
    key: str, operator: str, values: tuple[str, ...], fault: str
) -> None:
    predicate = selector.compile({}, [(key, operator, values)])
    assert not predicate(LABELS)
    assert not predicate({})
    assert selector.problems({}, [(key, operator, values)]) == [fault]


def test_a_sound_selector_has_no_problems() -> None:
    assert selector.problems({"app": "web"}, [("tier", "Exists", ())]) == []


@pytest.mark.parametrize(
    ("value", "good"), [("", True), ("a", True), ("a.b_c-d", True), ("-a", False), ("x" * 64, False)]
)
def test_a_label_value_is_short_and_plain(value: str, good: bool) -> None:
    assert selector.is_value(value) is good


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True), ("app=web", True), ("app==web", True), ("app = web", True), ("app=x", False), ("app!=web", False),
        ("none!=web", True), ("app=web,tier!=silver", True), ("app=web,tier=silver", False), ("app", True),
        ("none", False), ("!none", True), ("!app", False), ("app in (x, web),tier", True), ("app notin (x,web)", False),
        ("none notin (a)", True), ("example.com/site=a", True), ("app=", False),
    ],
)  # fmt: skip
def test_a_selector_of_a_query_is_read_as_kubectl_writes_it(text: str, holds: bool) -> None:
    assert selector.from_text(text)(LABELS) is holds


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("app in web", "'app in web' is no label key"),
        ("=web", "'=web' is no label key"),
        ("app=web,", "'' is no label key"),
        ("app>1", "'app>1' is no label key"),
        ("app=a b", "'app=a b' is no label key"),
        ("app=-", "'-' is no label value"),
    ],
)
def test_a_selector_of_a_query_that_is_none_is_told(text: str, wrong: str) -> None:
    with pytest.raises(UsageError) as told:
        selector.from_text(text)
    assert str(told.value) == wrong
