"""What becomes of a copy whose template is gone."""

from __future__ import annotations

from dataclasses import replace

from gitfed.model.base import ClusterName, ObjectKey
from gitfed.model.decisions import Decision, Scheduled, Share
from gitfed.model.fleet import ClusterLive, Health, LiveObject
from gitfed.model.plan import Action, Change
from gitfed.model.reason import ReasonCode
from gitfed.planning.objects import prune

KEY = ObjectKey("apps", "Deployment", "shop", "web")
A = ClusterName("a")
COPY = LiveObject(KEY, A, "uid", "7", ours=True, body={"apiVersion": "apps/v1", "metadata": {}})
DECIDED = Decision(KEY, "apps/v1beta2", Scheduled((Share(A, 1),)))


def leaver(live: LiveObject, past: Decision | None) -> Change:
    found = prune.leaver(live, ClusterLive(A, inventory_read=True), prune=True, unread="", past=past)
    assert found is not None
    return found


def test_a_copy_that_no_decision_tells_of_is_removed_by_its_own_version() -> None:
    change = leaver(COPY, None)
    assert (change.action, change.reason.code, change.api_version) == (Action.DELETE, ReasonCode.REMOVED, "apps/v1")


def test_a_copy_is_removed_by_the_version_that_was_decided() -> None:
    assert leaver(COPY, DECIDED).api_version == "apps/v1beta2"


def test_a_copy_whose_template_said_that_it_stays_is_kept() -> None:
    change = leaver(COPY, replace(DECIDED, ownership=replace(DECIDED.ownership, kept=True)))
    assert (change.action, change.reason.code) == (Action.KEEP, ReasonCode.PRUNE_DISABLED)


def test_a_copy_that_a_finalizer_holds_waits_by_the_version_that_is_known() -> None:
    going = replace(COPY, health=Health.TERMINATING, deletion_held=True)
    assert [(leaver(going, past).action, leaver(going, past).api_version) for past in (None, DECIDED)] == [
        (Action.KEEP, "apps/v1"),
        (Action.KEEP, "apps/v1beta2"),
    ]
    assert leaver(replace(going, body=None), None).api_version == ""
