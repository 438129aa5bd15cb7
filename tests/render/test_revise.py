"""Dividing a Job's completions (Karmada: policies §5.1)."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.model.base import BindingId, ObjectKey, Origin
from gitfed.model.decisions import Decision, Scheduled, Share
from gitfed.model.plan import Binding
from gitfed.render import revise

KEY = ObjectKey("batch", "Job", "shop", "sum")
DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}


def job(completions: Any = 10, uid: str = "a") -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sum", "uid": uid},
        "spec": {"completions": completions},
    }


def binding(*shares: Share, placement: dict[str, Any] | None = None, key: ObjectKey = KEY) -> Binding:
    decision = Decision(key, "batch/v1", placement=DIVIDED if placement is None else placement)
    total = sum(share.replicas or 0 for share in shares)
    return Binding(
        BindingId("id"), key, "batch/v1", Origin("j.yaml"), Scheduled(shares=shares, replicas=total), decision=decision
    )


def test_completions_follow_the_replicas() -> None:
    assert revise.completions(job(), binding(Share("m1", 1), Share("m2", 2))) == {"m1": 3, "m2": 7}


@pytest.mark.parametrize(("uid", "counts"), [("a", {"m1": 4, "m2": 3}), ("b", {"m1": 3, "m2": 4})])
def test_a_tie_is_broken_by_the_uid(uid: str, counts: dict[str, int]) -> None:
    assert revise.completions(job(7, uid), binding(Share("m1", 2), Share("m2", 2))) == counts


@pytest.mark.parametrize(
    ("body", "bound"),
    [
        (job(None), binding(Share("m1", 1))),
        (job("10"), binding(Share("m1", 1))),
        (job(), binding(Share("m1", 1), placement={})),
        (job(), binding(Share("m1", 1), placement={"replicaScheduling": {"replicaSchedulingType": "Duplicated"}})),
        (job(), binding(Share("m1", 0))),
        (job(), binding(Share("m1", 1), key=ObjectKey("batch.volcano.sh", "Job", "shop", "sum"))),
    ],
)
def test_there_is_nothing_to_divide(body: dict[str, Any], bound: Binding) -> None:
    assert revise.completions(body, bound) == {}


def test_the_completions_are_written_by_path_copy() -> None:
    body = job()
    assert revise.with_completions(body, 3)["spec"] == {"completions": 3}
    assert body["spec"] == {"completions": 10}
