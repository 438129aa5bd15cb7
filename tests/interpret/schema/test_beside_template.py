"""An object that is looked at beside its template has the faults that it has by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.edges import catalogue
from gitfed.interpret.schema.check import Schemas
from gitfed.interpret.schema.kubernetes import Kubernetes
from tests.interpret.schema import mistakes
from tests.support import edits

KUBERNETES = Kubernetes(catalogue.kubernetes)
NEWEST = KUBERNETES.minors[-1]
BODIES = mistakes.valid()
NAMES = st.sampled_from(["name", "replicas", "image", "value", "app", "none", "protocol", "mountPath", "limits"])
VALUES = st.sampled_from(mistakes.VALUES)


def edited(data: st.DataObject, body: dict[str, Any]) -> dict[str, Any]:
    for _ in range(data.draw(st.integers(0, 3))):
        places = [place for place in edits.places(body) if place[0] not in ("apiVersion", "kind")]
        body = edits.edited(data.draw, body, data.draw(st.sampled_from(places)), NAMES, VALUES)
    return body


@pytest.mark.parametrize("index", range(len(BODIES)), ids=[body["kind"] for body in BODIES])
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_shared_with_a_template_hides_no_fault(index: int, data: st.DataObject) -> None:
    schemas = Schemas(KUBERNETES, (mistakes.DEFINITION,))
    template = edited(data, BODIES[index]) if data.draw(st.booleans()) else BODIES[index]
    body = edited(data, template)
    assert schemas.faults(body, NEWEST, template) == schemas.faults(body, NEWEST)


def test_another_version_than_that_of_the_template_is_judged_for_itself() -> None:
    template = next(body for body in BODIES if body["kind"] == "Deployment")
    body = {**template, "apiVersion": "apps/v1beta1"}
    schemas = Schemas(KUBERNETES)
    assert schemas.faults(body, NEWEST, template) == schemas.faults(body, NEWEST) != ()
