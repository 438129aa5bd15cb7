"""The hub explains with the numbers that decided: those that `gitfed explain` prints."""

from __future__ import annotations

from gitfed.hub.access.caller import Caller
from gitfed.hub.access.rights import Rulebook
from gitfed.hub.answers import single
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.plan_index import Index
from gitfed.hub.answers.sight import Sight
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.planning import build
from tests.hub import stage
from tests.planning.divisions import APPS, DIVISIONS, by_hand, facts, files, printed, read
from tests.planning.tree import INTERPRETER, NOW


def test_the_hub_tells_the_room_that_other_workloads_of_the_plan_left() -> None:
    everyone = stage.policy("all", subjects=[stage.user("ann")], allow=["view"])
    made = files({"api": 6, "cache": 1, "web": 12}, dict.fromkeys(APPS, DIVISIONS[1])) | {"access.yaml": everyone}
    repo, fleet, past = read(made), facts([3, 10, 5, 0, 0]), Decisions(repository_id="r")
    plan = build.build(repo, fleet, past, INTERPRETER, NOW)
    key = ObjectKey("apps", "Deployment", "shop", "web")
    now = Moment(repo, plan, past, fleet.clusters, None, {}, None, None, Index(plan))
    sight = Sight(Rulebook(repo).of(Caller("ann")), repo.clusters)
    shown = single.explanation(now, sight, key)["placement"]
    assert shown is not None
    assert {one["limitedBy"] for one in shown["clusters"] if one["room"]} == {"other workloads of this plan"}
    numbers = printed(shown)
    assert numbers is not None, "what is divided is told"
    found, amounts, last = numbers
    assert by_hand(found, amounts, last=last) == {
        one.cluster: one.replicas for one in plan.bindings[key].scheduled.shares
    }
