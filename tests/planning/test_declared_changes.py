"""Every declared kind is shown by a plan: by what it does, or as declared otherwise."""

from __future__ import annotations

from dataclasses import fields

import pytest

from gitfed.model.declared import registry
from gitfed.model.declared.shape import Declared
from gitfed.planning.review import declared_changes
from tests.source.declared import snapshot


def test_every_declared_kind_is_planned_or_told_beside_the_plan() -> None:
    planned, beside = declared_changes.PLANNED, declared_changes.BESIDE_PLANS
    assert planned | beside == set(registry.MODELS.values()), "a declared kind that no plan would show: classify it"
    assert not planned & beside


@pytest.mark.parametrize("kind", registry.MODELS, ids=lambda kind: kind[1])
def test_one_of_every_declared_kind_that_comes_or_goes_is_told(kind: tuple[str, str]) -> None:
    empty, full = snapshot(), snapshot(kind)
    beside = registry.MODELS[kind] in declared_changes.BESIDE_PLANS
    for before, after, verb in ((empty, full, "new"), (full, empty, "gone")):
        told = [one for one in declared_changes.otherwise(before, after) if kind[1] == one.key.kind]
        # A repository without settings has the usual ones, which have another name.
        assert {one.verb for one in told} == ({"new", "gone"} if kind[1] == "Federation" else {verb})
        shown = [one.key.kind for one in declared_changes.beside_plan(before, after)]
        assert (kind[1] in shown) is beside


def test_what_a_snapshot_declares_is_all_compared() -> None:
    """A list of declared objects that a snapshot gains must not be forgotten here."""
    full = snapshot(*registry.MODELS)
    held = {
        item.key
        for field in fields(full)
        for value in (getattr(full, field.name),)
        for item in (value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,))
        if isinstance(item, Declared)
    }
    compared = {one.key for one in declared_changes.otherwise(snapshot(), full)}
    assert held - {full.settings.key} <= compared
    assert {key.kind for key in held} == {kind for _, kind in registry.MODELS}
