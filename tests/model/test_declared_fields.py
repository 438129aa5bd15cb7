"""What the reference page says of Karmada's fields is so: each has an effect, or is marked and warned of."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

import gitfed
from gitfed.model.declared import federation, registry
from gitfed.model.declared.policy import PropagationSpec
from gitfed.model.declared.shape import Declared, Meaningless, ObjectMeta

_SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in Path(gitfed.__file__).parent.rglob("*.py"))
_OF_KUBERNETES = {"api_version", "kind", "metadata", "status", "spec"}


def _structures(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        annotation.model_rebuild()
        yield annotation
        for field in annotation.model_fields.values():
            yield from _structures(field.annotation)
    for argument in typing.get_args(annotation):
        yield from _structures(argument)


def _fields() -> set[tuple[type[BaseModel], str]]:
    karmadas = {model for (version, _), model in registry.MODELS.items() if version != federation.API_VERSION}
    models = {inner for model in karmadas for inner in _structures(model)} - {ObjectMeta}
    return {
        (model, name)
        for model in models
        for name in model.model_fields
        if not (issubclass(model, Declared) and name in _OF_KUBERNETES)
    }


def test_every_field_is_read_or_marked_as_without_effect() -> None:
    unread = [
        f"{model.__name__}.{name}"
        for model, name in _fields()
        if not any(isinstance(mark, Meaningless) for mark in model.model_fields[name].metadata)
        and not re.search(rf'[."]{name}\b', _SOURCE)
        and len(typing.get_args(model.model_fields[name].annotation)) != 1  # the only value that it can have
    ]
    assert unread == []


def test_the_search_finds_the_fields_of_karmada() -> None:
    assert {(PropagationSpec, "priority"), (PropagationSpec, "association")} < _fields()
    assert len(_fields()) > 150


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("association", True, "association has no effect: it is an ignored ancestor of propagateDeps"),
        ("scheduler_name", "mine", "schedulerName mine has no effect: gitfed schedules everything itself"),
        ("scheduler_name", "default-scheduler", None),
        ("association", False, None),
    ],
)
def test_a_marked_field_is_warned_of_where_it_is_set(field: str, value: object, said: str | None) -> None:
    spec = PropagationSpec.model_validate({"resourceSelectors": [{"apiVersion": "v1", "kind": "Secret"}], field: value})
    assert [finding.message for finding in spec.without_effect(("spec",))] == ([said] if said else [])
