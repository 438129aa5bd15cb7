"""Secrets must not leave, in whatever form."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.planning.objects import redact

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def secret(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **members}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "quoted",
    ["hunter2!", encoded("hunter2!"), 'x"y\\z', json.dumps('x"y\\z'), encoded('x"y\\z'), "long-line-two"],
)
def test_no_form_of_a_value_is_left_in_a_text(quoted: str) -> None:
    body = secret(data={"a": encoded("hunter2!")}, stringData={"b": 'x"y\\z', "c": "long-line-one\nlong-line-two\n"})
    text = redact.text_of(body, f"Invalid value: {quoted}: must be something")
    mask = '"***"' if quoted.startswith('"') else "***"
    assert text == f"Invalid value: {mask}: must be something"


def test_values_left_in_an_annotation_by_kubectl_are_hidden_too() -> None:
    applied = json.dumps(secret(data={"old": encoded("previous")}))
    body = secret(metadata={"name": "s", "annotations": {LAST_APPLIED: applied}})
    assert redact.text_of(body, f"{encoded('previous')} previous") == "*** ***"
    assert redact.masked(body)["metadata"]["annotations"] == {LAST_APPLIED: "***"}


def test_a_short_value_is_hidden_where_it_stands_alone_and_does_not_eat_words() -> None:
    body = secret(stringData={"pin": "an"})
    assert redact.text_of(body, "an error: another 'an'") == "*** error: another '***'"


def test_the_longer_of_two_values_goes_first() -> None:
    assert redact.redact_text("password password1", ["password", "password1"]) == "*** ***"


def test_other_objects_have_no_secrets() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "visible"}}
    assert redact.text_of(body, "visible") == "visible"
    assert redact.masked(body) is body
    assert redact.masked({**body, "kind": "Secret", "apiVersion": "example.com/v1"})["data"] == {"a": "visible"}


def test_a_masked_secret_keeps_its_keys_and_everything_else() -> None:
    body = secret(data={"a": "x"}, stringData={"b": "y"}, type="Opaque")
    assert redact.masked(body) == secret(data={"a": "***"}, stringData={"b": "***"}, type="Opaque")
    assert body["data"] == {"a": "x"}


@pytest.mark.parametrize(
    ("place", "hidden"),
    [
        (("data",), True),
        (("data", "a"), True),
        (("stringData", "a"), True),
        (("metadata", "annotations", LAST_APPLIED), True),
        (("metadata", "annotations"), True),
        (("metadata", "annotations", "note"), False),
        (("metadata", "labels", "a"), False),
        (("type",), False),
    ],
)
def test_which_places_of_a_secret_are_hidden(place: tuple[str, ...], hidden: bool) -> None:
    assert redact.hides(secret(), place) is hidden


@given(st.text(min_size=4).filter(lambda text: "*" not in text), st.text("xyz "), st.text("xyz "))
def test_a_value_of_any_content_is_gone(value: str, before: str, after: str) -> None:
    text = redact.text_of(secret(stringData={"k": value}), before + value + after)
    assert redact.MASK in text
    assert value not in text
