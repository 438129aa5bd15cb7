"""What a forge is told of a commit while it rolls out, and when it is over."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

from gitfed.daemon import commit_status
from gitfed.daemon.commit_status import CommitState, CommitStatus
from gitfed.daemon.cycle import Engine
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.fleet import ApplyResult
from gitfed.model.plan import Action, Change, Plan
from gitfed.model.reason import Reason, ReasonCode

SPACE = ObjectKey("", "Namespace", "", "lab")


def told(*kept: ApplyResult) -> list[CommitStatus]:
    """Of a plan that deletes a namespace, when `kept` is what became of its deletions."""
    ready = asyncio.Event()
    ready.set()
    changes = (Change("m1", SPACE, "v1", Action.DELETE, Reason(ReasonCode.REMOVED)),)
    fleet = SimpleNamespace(
        members={"m1": SimpleNamespace(ready=ready)}, unhealthy=list,
        unfinished=SimpleNamespace(failures=lambda name: [], kept=lambda name: list(kept)),
    )  # fmt: skip
    plan = cast(Plan, SimpleNamespace(changes=changes, gates=(), rendered={}))
    progress = commit_status.progress_of(cast(Engine, SimpleNamespace(fleet=fleet)), plan)
    return commit_status.of_roll_out("acme", Commit("c" * 40), progress)


def test_a_deletion_that_was_not_tried_is_still_to_come() -> None:
    assert [(one.state, one.description) for one in told()[1:]] == [(CommitState.PENDING, "1 change to go")]


def test_a_commit_does_not_wait_for_others_to_leave_what_it_removes() -> None:
    left = ApplyResult("m1", SPACE, "skipped", "stays: ConfigMap/theirs is still in it")
    rolled_out, cluster = told(left)
    assert rolled_out.state is CommitState.SUCCESS
    stays = "1 not deleted: Namespace/lab stays: ConfigMap/theirs is still in it"
    assert (cluster.state, cluster.description) == (CommitState.SUCCESS, f"0 objects applied and healthy; {stays}")
