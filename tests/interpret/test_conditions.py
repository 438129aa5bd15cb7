"""Health of kinds that nobody has rules for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.interpret.conditions import Conditions, healthy
from gitfed.interpret.native import Native
from gitfed.interpret.registry import Interpretation, Interpreter, InterpretError, Operation, OperationInputs, Unknown


def bucket(status: Any = None, generation: int | None = 3) -> dict[str, Any]:
    metadata = {"name": "shop"} if generation is None else {"name": "shop", "generation": generation}
    body = {"apiVersion": "s3.example.com/v1", "kind": "Bucket", "metadata": metadata}
    return body if status is None else {**body, "status": status}


def told(*conditions: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status} for kind, status in conditions], **more}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(None, True, id="no status"),
        pytest.param({}, True, id="an empty status"),
        pytest.param(told(), True, id="no conditions"),
        pytest.param(told(("Ready", "True")), True, id="ready"),
        pytest.param(told(("Ready", "False")), False, id="not ready"),
        pytest.param(told(("Ready", "Unknown")), False, id="ready is unknown"),
        pytest.param(told(("Available", "False")), False, id="not available"),
        pytest.param(told(("Synced", "True"), ("Ready", "True")), True, id="ready and synced"),
        pytest.param(told(("Synced", "False"), ("Ready", "True")), False, id="ready but not synced"),
        pytest.param(told(("Stalled", "True"), ("Ready", "True")), False, id="ready but stalled"),
        pytest.param(told(("Stalled", "False")), True, id="not stalled"),
        pytest.param(told(("Weather", "False")), True, id="a condition that nobody knows"),
        pytest.param(told(("Ready", "True"), observedGeneration=2), False, id="an older generation was looked at"),
        pytest.param(told(("Ready", "True"), observedGeneration=3), True, id="this generation was looked at"),
        pytest.param("gone", True, id="a status that is a text"),
    ],
)
def test_health_by_convention(status: Any, expected: bool) -> None:
    assert healthy(bucket(status)) is expected


@pytest.mark.parametrize(
    ("looked", "status", "expected"),
    [(2, {}, False), (3, {}, True), (0, {}, True), (None, {}, True), (2, {"observedGeneration": 3}, True)],
)
def test_a_condition_may_say_itself_at_which_generation_it_was_set(
    looked: int | None, status: dict[str, Any], expected: bool
) -> None:
    """Where the status as a whole does not."""
    ready = {"type": "Ready", "status": "True"} | ({} if looked is None else {"observedGeneration": looked})
    weather = {"type": "Weather", "status": "True", "observedGeneration": 1}
    assert healthy(bucket({**status, "conditions": [weather, ready]})) is expected


def test_what_somebody_paused_is_not_out_of_step() -> None:
    paused = {"type": "Synced", "status": "False", "reason": "ReconcilePaused"}
    broken = {"type": "Synced", "status": "False", "reason": "ReconcileError"}
    ready = {"type": "Ready", "status": "True", "reason": "Available"}
    assert healthy(bucket({"conditions": [paused, ready]}))
    assert not healthy(bucket({"conditions": [broken, ready]}))
    assert not healthy(bucket({"conditions": [paused, {**ready, "status": "False"}]}))


def test_without_a_generation_there_is_nothing_to_wait_for() -> None:
    assert healthy(bucket(told(("Ready", "True"), observedGeneration=1), generation=None))


@pytest.mark.parametrize("conditions", ["Ready", [1], {"type": "Ready"}])
def test_conditions_of_another_shape_are_an_error(conditions: Any) -> None:
    with pytest.raises(InterpretError) as caught:
        Conditions().answer(Operation.HEALTH, OperationInputs(bucket({"conditions": conditions})))
    assert str(caught.value) == "status.conditions is no list of objects"


@pytest.mark.parametrize(
    ("api_version", "handled"),
    [
        ("s3.example.com/v1", True),
        ("jobset.x-k8s.io/v1alpha2", True),
        ("networking.k8s.io/v1", False),
        ("apps/v1", False),
        ("v1", False),
    ],
)
def test_only_custom_kinds_are_judged(api_version: str, handled: bool) -> None:
    assert Conditions().handles(api_version, "Anything", Operation.HEALTH) is handled


def test_nothing_but_health_is_answered() -> None:
    others = [operation for operation in Operation if operation is not Operation.HEALTH]
    assert not any(Conditions().handles("s3.example.com/v1", "Bucket", operation) for operation in others)


def test_an_answer_names_its_source() -> None:
    interpreter = Interpreter([Native(), Conditions()])
    assert interpreter.health(bucket(told(("Ready", "False")))) == Interpretation(False, "conditions")
    assert isinstance(interpreter.health(bucket({"conditions": "x"})), Unknown)


@given(st.permutations([("Ready", "True"), ("Synced", "False"), ("Stalled", "False"), ("Weather", "True")]))
def test_the_order_of_conditions_does_not_matter(conditions: list[tuple[str, str]]) -> None:
    assert not healthy(bucket(told(*conditions)))
