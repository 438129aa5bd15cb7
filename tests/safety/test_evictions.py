"""An eviction that somebody else wrote counts only if something is behind it: else nothing leaves and nothing goes."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from gitfed.daemon.record import Record
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges import git
from gitfed.edges.git import signing_key
from gitfed.edges.state.state import StateBranch
from gitfed.model.decisions import Decision, EvictionTask, Scheduled, Share
from gitfed.model.fleet import Reach
from tests.e2e.shop import BASE, image
from tests.e2e.world import World, cluster
from tests.planning.stage import START, WEB, Stage
from tests.safety.signed_state import BINDING, WHEN, Fleet, decide
from tests.safety.signed_state import WEB as THEIRS

SICK = {"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": "Gracefully"}}
LEFT_OUT = "its eviction from m1 is left out: the state branch has it, and no taint, failure or order is behind it"


def written(stage: Stage, purge: str = "Directly", *, to: str = "") -> None:
    """Somebody writes into the state that the work left m1, for `to` or for nowhere."""
    raw = {"fromCluster": "m1", "purgeMode": purge, "replicas": 2, "reason": "x", "producer": "x",
           "creationTimestamp": START.isoformat().replace("+00:00", "Z")}  # fmt: skip
    shares = (Share(to, 2),) if to else ()
    decision = replace(
        stage.decision,
        scheduled=replace(stage.decision.scheduled, shares=shares),
        failover=replace(stage.decision.failover, evictions=(EvictionTask("m1", raw),)),
    )
    stage.decisions = replace(stage.decisions, bindings={WEB: decision}, doubtful=frozenset({(WEB, "m1")}))


@pytest.mark.parametrize("purge", ["Directly", "Gracefully"])
@pytest.mark.parametrize("to", ["", "m2"])
def test_an_eviction_with_nothing_behind_it_is_left_out_and_deletes_nothing(purge: str, to: str) -> None:
    stage = Stage()
    stage.turn()
    written(stage, purge, to=to)
    stage.at(10).turn()
    assert (stage.tasks, stage.copies, stage.decisions.doubtful) == ([], ["m1"], frozenset())
    assert "m1=2" in stage.where
    assert f"{WEB}: {LEFT_OUT}" in stage.problems()
    assert f"10 {WEB}: {LEFT_OUT}" in stage.log
    for seconds in (11, 700, 1400):
        stage.at(seconds).turn()
        assert "m1" in stage.copies


def test_an_eviction_with_nothing_behind_it_brings_no_copy_where_none_is_left() -> None:
    stage = Stage()
    stage.turn()
    written(stage, to="m2")
    del stage.objects[WEB]["m1"]
    stage.at(10).turn()
    assert (stage.tasks, stage.decisions.doubtful) == ([], frozenset())
    assert f"{WEB}: {LEFT_OUT}" in stage.problems()
    assert "m1" not in stage.where


def test_an_eviction_counts_while_a_taint_drives_the_work_out() -> None:
    stage = Stage()
    stage.turn()
    taint = {"key": "drain", "effect": "NoExecute"}
    stage.files["clusters/m1.json"] = cluster("m1", region="r-m1", taints=[taint])
    written(stage, to="m2")
    stage.at(10).turn(2)
    stage.files["clusters/m1.json"] = cluster("m1", region="r-m1")
    stage.at(12).turn(2)
    assert (stage.where, stage.copies) == ("m2=2", ["m2"]), "a reason that goes later takes nothing back"


def test_an_eviction_from_a_failing_cluster_counts_when_it_failed_long_enough() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1").turn()
    written(stage, "Gracefully", to="m2")
    stage.at(40).turn()
    assert stage.decisions.doubtful == {(WEB, "m1")}, "it may only have been asleep"
    for seconds in (335, 635):
        stage.at(seconds).turn()
    assert stage.decisions.doubtful == frozenset()
    stage.at(2000).recover("m1").turn(2)
    assert (stage.where, stage.copies) == ("m2=2", ["m2"])


def test_a_cluster_that_comes_back_in_time_keeps_what_it_has() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1", how=Reach.NOT_READY).turn()
    written(stage, to="m2")
    stage.at(40).turn()
    stage.at(60).recover("m1").turn()
    assert (stage.tasks, "m1" in stage.copies, "m1=2" in stage.where) == ([], True, True)


def test_our_own_taint_of_a_cluster_that_is_well_again_is_no_reason() -> None:
    stage = Stage()
    stage.turn()
    stage.at(35).fail("m1").turn()
    stage.at(335).turn()
    stale = stage.decisions.clusters
    stage.at(340).recover("m1").turn()
    written(stage)
    stage.decisions = replace(stage.decisions, clusters=stale)
    stage.at(1000).turn()
    assert (stage.tasks, stage.copies) == ([], ["m1"])


def test_an_eviction_of_a_copy_that_is_ill_counts() -> None:
    stage = Stage(failover=SICK)
    stage.turn()
    stage.healthy["m1"] = False
    written(stage, "Gracefully", to="m2")
    stage.at(10).turn()
    assert (stage.tasks, stage.decisions.doubtful) == (["m1"], frozenset())
    stage.at(12).turn(2)
    assert stage.copies == ["m2"]


def test_what_we_decided_ourselves_goes_on_when_the_taint_is_lifted() -> None:
    """As in the reference: failover §2.5 asks for no taint when it ends a task."""
    stage = Stage()
    stage.turn()
    stage.slow.add("m2")
    stage.files["clusters/m1.json"] = cluster("m1", region="r-m1", taints=[{"key": "drain", "effect": "NoExecute"}])
    stage.at(10).turn()
    stage.files["clusters/m1.json"] = cluster("m1", region="r-m1")
    stage.at(20).turn()
    assert stage.tasks == ["m1"]
    stage.slow.clear()
    stage.at(30).turn(2)
    assert (stage.where, stage.copies) == ("m2=2", ["m2"])


# -- who wrote it -------------------------------------------------------------------------------------------------


def evict(engine: Record) -> None:
    decide(engine, "m2", (EvictionTask("m1", {"fromCluster": "m1", "purgeMode": "Directly"}),))


DOUBTED = frozenset({(THEIRS, "m1")})


def test_our_own_evictions_are_not_doubted_after_a_restart(fleet: Fleet) -> None:
    fleet.say()
    evict(fleet.engine("a"))
    assert fleet.engine("a").state.decisions.doubtful == frozenset()


def test_an_eviction_that_our_own_key_signed_is_doubted_once_the_data_folder_is_lost(fleet: Fleet) -> None:
    fleet.say()
    evict(fleet.engine("a"))
    shutil.rmtree(fleet.folder / "a" / "clone.git")
    (fleet.folder / "a" / "accepted.json").unlink(missing_ok=True)
    assert fleet.engine("a").state.decisions.doubtful == DOUBTED


def test_an_eviction_of_another_engine_is_doubted(fleet: Fleet) -> None:
    fleet.say()
    evict(fleet.engine("a"))
    (fleet.folder / "b").mkdir()
    fleet.say(writers=f"{fleet.key('a')}, {fleet.key('b')}")
    assert fleet.engine("b").state.decisions.doubtful == DOUBTED


def test_an_operators_order_to_evict_is_not_doubted(fleet: Fleet) -> None:
    fleet.say()
    engine = fleet.engine("a")
    decided = {THEIRS: Decision(THEIRS, "apps/v1", Scheduled((Share("m1", 2),)))}
    engine.write(replace(engine.state.decisions, bindings=decided), results={}, held=(),
                 message=state_commits.acted(Act.DECIDED, "x"), now=WHEN)  # fmt: skip
    engine.exchange()
    fleet.edit(BINDING, "clusters:", "gracefulEvictionTasks:\n  - {fromCluster: m1, purgeMode: Directly}\n  clusters:",
               fleet.ada)  # fmt: skip
    decisions = engine.load()
    assert [task.from_cluster for task in decisions.bindings[THEIRS].failover.evictions] == ["m1"]
    assert decisions.doubtful == frozenset()


@pytest.mark.e2e
def test_an_old_state_pushed_to_a_daemon_without_memory_deletes_nothing(world: World) -> None:
    """Signed by the daemon itself: only its data folder could have told that this is over."""
    world.push(BASE)
    first = world.daemon()
    world.until(lambda: image(world, "web", "m1") and image(world, "web", "m2"), "web in both clusters")
    world.until(lambda: "appliedCommit" in world.state().get("state.yaml", ""), "the commit recorded")
    first.stop()
    before = world.versions("Deployment", "shop", "web")
    key = signing_key.of_file(world.data / "state-key")
    branch = StateBranch(git.Repository.open(world.bare), bindings, sign=key.sign)
    state = branch.read()
    (web,) = (one for one in state.decisions.bindings if one.name == "web")
    tasks = tuple(
        EvictionTask(name, {"fromCluster": name, "purgeMode": "Directly", "reason": "TaintUntolerated"})
        for name in world.names
    )
    moved = replace(
        state.decisions.bindings[web],
        scheduled=replace(state.decisions.bindings[web].scheduled, shares=()),
        failover=replace(state.decisions.bindings[web].failover, evictions=tasks),
    )
    after = replace(state, decisions=replace(state.decisions, bindings={**state.decisions.bindings, web: moved}))
    branch.write(state, after, message=state_commits.acted(Act.DECIDED, "x"), now=WHEN)
    shutil.copy(world.data / "state-key", world.directory / "state-key")
    shutil.rmtree(world.data)
    again = world.daemon("--state-key", str(world.directory / "state-key"))
    told = world.until(lambda: again.said("failover"), "said so")
    assert LEFT_OUT.replace("m1", world.names[0]) in told[0]["event"]
    world.until(lambda: "gracefulEvictionTasks" not in str(world.state()), "and taken out of the state")
    assert world.versions("Deployment", "shop", "web") == before
