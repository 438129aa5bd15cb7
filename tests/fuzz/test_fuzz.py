"""Some inputs of every target, the same at every run."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.fuzz.targets import SECONDS, TARGETS

"""Processor time that one input may take: far more than any does, far less than one that hangs."""


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_a_target_does_harm(name: str) -> None:
    target = TARGETS[name]

    @seed(20260101)
    @settings(max_examples=target.examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(target.inputs)
    def harmless(case: object) -> None:
        began = time.process_time()
        target.run(case)
        assert time.process_time() - began < SECONDS

    harmless()
