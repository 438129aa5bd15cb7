"""What the state branch says of a cluster after a roll-out: never "applied" while anything is left to do there."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gitfed.daemon import results
from gitfed.daemon.fleet.fleet import Fleet
from gitfed.documents.state_commits import Act
from gitfed.edges.state.file import CLEANED
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, Decisions, Scheduled, Share
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change, Left, Plan, Turn
from gitfed.model.reason import Reason, ReasonCode

KEY = ObjectKey("", "ConfigMap", "shop", "c")


def after(
    *changes: Change, failures: tuple[ApplyResult, ...] = (), kept: tuple[ApplyResult, ...] = ()
) -> dict[str, Any]:
    ready = asyncio.Event()
    ready.set()
    member = SimpleNamespace(ready=ready, starting=False, view=SimpleNamespace(entries=dict), id="")
    unfinished = SimpleNamespace(failures=lambda name: list(failures), kept=lambda name: list(kept))
    fleet = SimpleNamespace(members={"m1": member}, unfinished=unfinished)
    plan = SimpleNamespace(changes=changes, commit="c" * 40)
    return dict(results.after({}, cast(Plan, plan), cast(Fleet, fleet), {"m1"}, set())["m1"])


_CODES = {
    None: ReasonCode.DRIFT_KEPT,
    Left.GATE: ReasonCode.GATE,
    Left.SUSPENDED: ReasonCode.SUSPENDED_BY_POLICY,
    Left.REFUSED: ReasonCode.NOT_OURS,
    Left.AWAITS: ReasonCode.NOT_OBSERVED,
}


def left(why: Left | None, *, gate: str = "", drift: bool = False, name: str = "c") -> Change:
    return Change("m1", KEY._replace(name=name), "v1", Action.SKIP, Reason(_CODES[why], gate), drift=drift)


@pytest.mark.parametrize(
    ("changes", "outcome", "held"),
    [
        ([], "applied", None),
        ([left(Left.GATE, gate="deletions"), left(Left.GATE, gate="deletions", name="d")], "held",
         {"gate deletions": 2}),
        ([left(Left.SUSPENDED)], "held", {"suspended": 1}),
        ([left(Left.REFUSED)], "held", {"refused": 1}),
        ([left(Left.AWAITS)], "waiting", None),
        ([left(None, drift=True)], "applied", None),
        ([Change("m1", KEY, "v1", Action.CREATE, turn=Turn(waits="wave 1 waits for wave 0"))], "waiting", None),
    ],
)  # fmt: skip
def test_a_cluster_is_applied_only_when_nothing_is_left(
    changes: list[Change], outcome: str, held: dict[str, int] | None
) -> None:
    found = after(*changes)
    assert (found["outcome"], found.get("held")) == (outcome, held)


def test_a_failure_comes_before_what_is_held_and_both_are_told() -> None:
    failed = ApplyResult("m1", KEY, "failed", "no")
    found = after(left(Left.GATE, gate="deletions", name="d"), failures=(failed,))
    assert found["outcome"] == "failed"
    assert results.sentence("m1", found) == "m1: failed: 1 refused or failed, 1 by gate deletions"


def test_what_is_not_deleted_for_the_sake_of_others_is_held_and_never_applied() -> None:
    space = ObjectKey("", "Namespace", "", "lab")
    found = after(
        Change("m1", space, "v1", Action.DELETE, Reason(ReasonCode.REMOVED)),
        kept=(ApplyResult("m1", space, "skipped", "stays: ConfigMap/theirs is still in it"),),
    )
    assert (found["outcome"], found["held"], found["unfinished"]) == ("held", {"in use": 1}, ["Namespace/lab"])
    said = "m1: held: 1 not deleted, for objects of others would go with it"
    assert results.sentence("m1", found) == said


def test_the_record_says_the_worst_that_became_of_a_cluster() -> None:
    outcomes = {name: {"outcome": name} for name in ("applied", "waiting", "unreachable")}
    assert results.act(outcomes) is Act.APPLIED
    assert results.act({**outcomes, "h": {"outcome": "held"}}) is Act.HELD
    assert results.act({**outcomes, "h": {"outcome": "held"}, "f": {"outcome": "failed"}}) is Act.FAILED


def test_a_cluster_that_was_emptied_is_remembered_as_long_as_a_decision_names_it() -> None:
    emptied = {"m1": {"outcome": "applied"}, "m2": {"outcome": CLEANED}}
    decision = Decision(KEY, "v1", Scheduled((Share("m2"),)))
    known = Decisions({KEY: decision}, cleaned=frozenset({"m2"}))
    assert results.without_left(emptied, known) == emptied
    assert results.without_left(emptied, replace(known, bindings={})) == {"m1": emptied["m1"]}
    again = {**emptied, "m2": {"outcome": "applied", "objects": 2}}
    assert results.without_left(again, replace(known, bindings={})) == again, "it is in use again"
