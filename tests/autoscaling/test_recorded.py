"""What the reference's calculator answered: proposals by metric, and what windows, rates and bounds make of them."""

from __future__ import annotations

from tests.autoscaling import recorded


def test_every_recorded_answer_is_given_again() -> None:
    cases = list(recorded.cases())
    assert len(cases) == 270
    assert [case for case in cases if recorded.run(case) != recorded.told(case["answer"])] == []
