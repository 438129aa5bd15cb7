"""What preserveResourcesOnDeletion left in a cluster stays there for good: it is no copy of the template any more."""

from __future__ import annotations

from dataclasses import replace

from gitfed.model.fleet import ClusterLive, LiveState
from gitfed.planning.ordering import gate
from tests.e2e.world import config_map, policy
from tests.planning.dependants import MAPS, Story, kept, where
from tests.planning.tree import acts

PRESERVED = "preserveResourcesOnDeletion"


def placed(*clusters: str, preserve: bool = False) -> str:
    return policy("conf", list(clusters), MAPS, preserveResourcesOnDeletion=preserve)


def story(*clusters: str, preserve: bool = True) -> Story:
    return Story({"conf.json": config_map("conf", {"a": "1"}), "p.json": placed(*clusters, preserve=preserve)})


def test_what_was_left_behind_stays_when_the_policy_preserves_no_longer() -> None:
    made = story("a", "b")
    made.push(p=placed("b", preserve=True))
    made.turn()
    made.push(p=placed("b"))
    for _ in range(2):
        plan = made.turn()
        assert (acts(plan), kept(plan, "conf")) == ([], [("a", PRESERVED)])


def test_what_leaves_when_the_policy_preserves_no_longer_is_deleted() -> None:
    made = story("a", "b")
    made.push(p=placed("b"))
    assert acts(made.turn()) == [("delete", "a", "conf")]


def test_what_was_left_behind_stays_when_the_template_goes_later() -> None:
    made = story("a", "b")
    made.push(p=placed("b", preserve=True))
    made.turn()
    made.push(p=placed("b"))
    made.turn()
    made.push(conf=None, p=None)
    plan = made.turn()
    assert acts(plan) == [("delete", "b", "conf")]
    assert kept(plan, "conf") == [("a", PRESERVED)]


def test_what_outlived_its_template_stays_when_that_comes_back_elsewhere() -> None:
    made = story("a", "b")
    made.push(conf=None)
    assert kept(made.turn(), "conf") == [("a", PRESERVED), ("b", PRESERVED)]
    made.push(conf=config_map("conf", {"a": "2"}), p=placed("b"))
    plan = made.turn()
    assert acts(plan) == [("update", "b", "conf")]
    assert kept(made.turn(), "conf") == [("a", PRESERVED)]


def test_what_comes_back_undecided_runs_nowhere_that_it_had_left() -> None:
    """Where nothing can be decided the last decision stands, but not one for copies that went with their template."""
    made = story("a", "b")
    made.push(p=placed("b", preserve=True))
    made.turn()
    made.push(p=placed("b"))
    made.turn()
    made.push(conf=None, p=None)
    made.turn()
    found = gate.decisions_to_record(made.plan(), made.decisions, made.live)
    made.decisions = replace(made.decisions, bindings=found)
    made.push(conf=config_map("conf", {"a": "2"}), p=placed("nowhere"))
    plan = made.turn()
    assert (where(plan, "conf"), kept(plan, "conf")) == ([], [("a", PRESERVED)])
    assert [name for _, _, name in acts(plan) if name == "conf"] == []


def test_what_was_left_behind_and_is_placed_there_again_is_a_copy_like_any() -> None:
    made = story("a", "b")
    made.push(p=placed("b", preserve=True))
    made.turn()
    made.push(p=placed("a", "b"), conf=config_map("conf", {"a": "2"}))
    plan = made.turn()
    assert (where(plan, "conf"), acts(plan)) == (["a", "b"], [("update", "a", "conf"), ("update", "b", "conf")])
    made.push(p=placed("b"))
    assert acts(made.turn()) == [("delete", "a", "conf")]


def test_what_was_left_behind_is_not_forgotten_while_its_cluster_cannot_be_read() -> None:
    made = story("a", "b")
    made.push(p=placed("b", preserve=True))
    made.turn()
    made.push(p=placed("b"))
    made.turn()
    made.push(conf=None, p=None)
    made.turn()
    there = made.live
    made.live = without(made.live, "a")
    found = gate.decisions_to_record(made.plan(), made.decisions, made.live)
    made.decisions, made.live = replace(made.decisions, bindings=found), there
    assert kept(made.turn(), "conf") == [("a", PRESERVED)]


def without(live: LiveState, name: str) -> LiveState:
    """The same, as it is seen while a cluster does not answer."""
    clusters = {**live.clusters, name: ClusterLive(name, inventory_read=False)}
    left = {key: {one: copy for one, copy in copies.items() if one != name} for key, copies in live.objects.items()}
    return LiveState(clusters, {key: copies for key, copies in left.items() if copies})
