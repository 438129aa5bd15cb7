"""What stays where its object does not go any more, as plans say it: seen in the clusters, or known from decisions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitfed.cli.output import plan_text
from gitfed.model.base import ObjectKey
from gitfed.model.plan import Action, Change
from gitfed.model.reason import Reason, ReasonCode
from gitfed.planning import build, retained_objects
from gitfed.views import plans
from tests.e2e.world import config_map, policy
from tests.planning.dependants import BASE, MAPS, Story
from tests.planning.stage import WEB


def said(story: Story, *, observed: bool = True) -> dict[str, tuple[str, list[str], str]]:
    """Total, clusters that keep it, and why, by object."""
    plan = story.plan()
    shown = plan_text.view(plan if observed else replace(plan, changes=None), story.decisions)
    return {row.label: (row.total, sorted(row.kept), row.why) for row in plan_text.rows(shown)}


@pytest.mark.parametrize("observed", [True, False], ids=["seen", "from decisions"])
def test_an_orphan_is_kept_in_this_plan_and_in_every_later_one(observed: bool) -> None:
    story = Story(BASE)
    story.push(**{"p-web": None})
    for _ in range(2):
        total, kept, why = said(story, observed=observed)["shop/Deploy/web"]
        assert (total, kept) == ("2 kept", ["a", "b"])
        assert why.endswith("; 2 copies stay, not managed any more")
        story.turn()


def test_what_an_orphan_needs_is_kept_for_it() -> None:
    story = Story(BASE)
    story.push(**{"p-web": None})
    found = said(story)
    assert found["shop/CM/conf"][1:] == (["a", "b"], "2 copies stay: Deployment.apps/shop/web still needs it here")


def test_a_preserved_copy_is_kept_and_a_moved_one_is_not() -> None:
    files = {"conf.json": config_map("conf", {"a": "1"})}
    for preserve in (True, False):
        story = Story({**files, "p.json": policy("conf", ["a", "b"], MAPS, preserveResourcesOnDeletion=preserve)})
        story.push(p=policy("conf", ["b"], MAPS, preserveResourcesOnDeletion=preserve))
        for observed in (True, False):
            assert said(story, observed=observed)["shop/CM/conf"][1] == (["a"] if preserve else [])


def test_what_outlives_its_template_is_kept_without_a_look() -> None:
    files = {"conf.json": config_map("conf", {"a": "1"})}
    story = Story({**files, "p.json": policy("conf", ["a"], MAPS, preserveResourcesOnDeletion=True)})
    story.push(conf=None)
    for observed in (True, False):
        why = "removed from the repository; 1 copy stays, not managed any more"
        assert said(story, observed=observed)["shop/CM/conf"][1:] == (["a"], why)


def test_a_binding_says_which_copies_nobody_manages_any_more() -> None:
    story = Story(BASE)
    assert plans.binding(story.plan().bindings[WEB])["kept"] == []
    story.push(**{"p-web": None})
    assert plans.binding(story.plan().bindings[WEB])["kept"] == [
        {
            "name": name,
            "replicas": 1,
            "reason": "orphaned: no policy selects its template any more",
            "reasonCode": "Orphaned",
        }
        for name in ("a", "b")
    ]


def test_why_copies_are_needed_is_said_where_one_reason_holds_for_all() -> None:
    web, api = (Reason(ReasonCode.NEEDED, f"Deployment.apps/shop/{name}") for name in ("web", "api"))
    preserved = Reason(ReasonCode.PRESERVED)
    assert retained_objects.why("moved", {"a": web, "b": web}) == f"2 copies stay: {web}"
    assert retained_objects.why("moved", {"a": web, "b": api}) == "moved; 2 copies stay"
    assert retained_objects.why("moved", {"a": web, "b": preserved}).startswith(
        "moved; 1 copy stays, not managed any more"
    )
    assert retained_objects.why("moved", {}) == "moved"


def test_what_waits_for_its_replacement_is_not_kept() -> None:
    def change(code: ReasonCode) -> Change:
        return Change("a", WEB, "apps/v1", Action.KEEP, Reason(code))

    assert retained_objects.of_changes([change(ReasonCode.REPLACEMENT_AWAITED)]) == {}
    assert list(retained_objects.of_changes([change(ReasonCode.PRESERVED)])) == [WEB]


def test_what_holds_something_of_others_is_kept_and_the_plan_is_the_same() -> None:
    story = Story(BASE)
    story.push(**{"p-web": None})
    before = story.plan()
    space = ObjectKey("", "Namespace", "", "lab")
    going = [Change(name, space, "v1", Action.DELETE, Reason(ReasonCode.REMOVED)) for name in ("a", "b")]
    changes = (*going, Change("a", ObjectKey("", "ConfigMap", "lab", "c"), "v1", Action.DELETE))
    plan = replace(before, changes=changes, totals=build.totals(changes, of_clusters=2))
    found = retained_objects.with_in_use(plan, {("b", space): "Pod/x is still in it", ("b", WEB): "never deleted"})
    assert [(one.cluster, one.action, str(one.reason)) for one in found.changes or ()] == [
        ("a", Action.DELETE, "removed from the repository"),
        ("b", Action.KEEP, "stays: Pod/x is still in it"),
        ("a", Action.DELETE, ""),
    ]
    assert (found.totals.delete, found.totals.keep, found.totals.clusters) == (2, 1, 1)
    assert found.digest == plan.digest
    assert retained_objects.with_in_use(plan, {}) is plan
