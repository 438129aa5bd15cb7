"""What is remembered of changes that are over."""

from __future__ import annotations

from dataclasses import replace

from gitfed.daemon.fleet.outcomes import Outcomes
from gitfed.edges.kube.apply import NOT_EMPTY
from gitfed.model.base import ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change

KEY = ObjectKey("", "ConfigMap", "shop", "web")
CHANGE = Change("m", KEY, "v1", Action.UPDATE)
WELL = ApplyResult("m", KEY, "configured")
FAILED = replace(WELL, outcome="failed", message="no")
KEPT = replace(WELL, outcome="kept", details={"reason": NOT_EMPTY})


def test_only_results_that_somebody_asks_about_are_remembered() -> None:
    outcomes = Outcomes()
    outcomes.take(CHANGE, WELL)
    assert not outcomes.has_any("m")
    outcomes.take(CHANGE, FAILED)
    assert (outcomes.failed("m", KEY), outcomes.is_over("m", KEY)) == (FAILED, True)
    outcomes.take(CHANGE, KEPT)
    assert (outcomes.failed("m", KEY), outcomes.kept("m", KEY)) == (None, KEPT)
    outcomes.take(CHANGE, FAILED)
    outcomes.take(CHANGE, WELL)
    assert (outcomes.failed("m", KEY), outcomes.is_over("m", KEY)) == (None, False)
    assert not outcomes.has_any("m")
    assert outcomes.carried_out == {"m": 2}
