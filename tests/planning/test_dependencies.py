"""What travels with a workload, where it goes, and when it leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from gitfed.documents import bindings
from gitfed.model.base import Kind
from gitfed.model.decisions import Dependent
from gitfed.model.fleet import ClusterLive, Health, LiveState
from gitfed.model.operator_orders import Suspension
from gitfed.model.plan import Action
from gitfed.views import works
from tests.e2e.world import config_map, policy, settings
from tests.planning.dependants import BASE, MAPS, Story, kept, of, taking, where, workload
from tests.planning.tree import acts, decided, empty, plan_of, read


def healthy(live: LiveState) -> LiveState:
    objects = {
        key: {name: replace(one, health=Health.CURRENT) for name, one in copies.items()}
        for key, copies in live.objects.items()
    }
    return LiveState(live.clusters, objects)


def recorded(story: Story, name: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(owner, where it takes the object, where it still runs with it) as written down last."""
    decision = next((one for key, one in story.decisions.bindings.items() if key.name == name), None)
    return [(one.owner.name, one.clusters, one.still_in) for one in decision.ownership.required_by] if decision else []


def test_a_dependency_goes_where_its_workload_goes_and_needs_no_policy() -> None:
    plan = plan_of(read(BASE), empty())
    assert where(plan, "conf") == ["a", "b"]
    assert of(plan, "conf").reasons.why == "needed by Deployment.apps/shop/web"
    in_turn = sorted(plan.changes or (), key=lambda change: change.turn.order)
    assert [(change.cluster, change.key.name) for change in in_turn] == [
        ("a", "shop"), ("b", "shop"), ("a", "conf"), ("b", "conf"), ("a", "web"), ("b", "web"),
    ]  # fmt: skip


def test_a_policy_that_does_not_say_so_takes_nothing_along() -> None:
    repo = read({**BASE, "p-web.json": policy("web", ["a"])})
    assert where(plan_of(repo, empty()), "conf") == []


def test_a_dependency_with_a_policy_of_its_own_goes_to_both_in_one_binding() -> None:
    own = policy("conf", ["c"], MAPS)
    plan = plan_of(read({**BASE, "p-conf.json": own}), empty())
    assert where(plan, "conf") == ["a", "b", "c"]
    found = of(plan, "conf").decision
    assert found is not None
    assert [share.cluster for share in found.scheduled.shares] == ["c"]
    assert [share.cluster for share in found.targets] == ["a", "b", "c"]


def test_a_dependency_whose_own_place_nobody_may_decide_yet_goes_along_all_the_same() -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    order = Suspension("ConfigMap/shop/conf", "ann", when, scheduling=True)
    story = Story({"web.json": BASE["web.json"], "p-web.json": BASE["p-web.json"]})
    story.decisions = replace(story.decisions, suspensions=(order,))
    story.push(conf=BASE["conf.json"], p_conf=policy("conf", ["c"], MAPS))
    plan = story.turn()
    assert where(plan, "conf") == ["a", "b"]
    assert acts(plan) == [("create", "a", "conf"), ("create", "b", "conf")]
    assert recorded(story, "conf") == [("web", ("a", "b"), ())]
    story.decisions = replace(story.decisions, suspensions=())
    assert ("create", "c", "conf") in acts(story.turn())
    story.push(p_web=None, web=None)
    assert acts(story.turn()) == [("delete", "a", "web"), ("delete", "b", "web")]
    assert acts(story.turn()) == [("delete", "a", "conf"), ("delete", "b", "conf")]


def test_several_workloads_need_it_and_it_stays_until_the_last_one_has_gone() -> None:
    story = Story({**BASE, "job.json": workload("job", "conf"), "p-job.json": taking("job", ["b", "c"])})
    assert where(story.plan(), "conf") == ["a", "b", "c"]
    story.push(job=None, p_job=None)
    plan = story.plan()
    assert where(plan, "conf") == ["a", "b"]
    assert acts(plan) == [("delete", "b", "job"), ("delete", "c", "job")]
    kept = [str(change.reason) for change in plan.changes or () if (change.cluster, change.key.name) == ("c", "conf")]
    assert kept == ["Deployment.apps/shop/job still needs it here"]
    story.turn()
    assert acts(story.turn()) == [("delete", "c", "conf")]
    assert acts(story.turn()) == [("delete", "c", "shop")]  # the namespace with the last object
    assert acts(story.turn()) == []


def test_what_nobody_needs_any_more_goes_although_its_template_stays() -> None:
    story = Story(BASE)
    story.push(web=workload("web", replicas=2))
    first = story.turn(Health.IN_PROGRESS)  # the workload is written without the reference
    assert of(first, "conf").reasons.why == "nothing needs it any more"
    assert acts(first) == [("update", "a", "web"), ("update", "b", "web")]
    assert acts(story.turn()) == []  # until its new version is healthy
    story.live = healthy(story.live)
    assert acts(story.turn()) == [("delete", "a", "conf"), ("delete", "b", "conf")]
    left = [change for change in story.turn().changes or () if change.key.name == "conf"]
    assert left == []


def test_what_is_needed_later_comes_later() -> None:
    story = Story({name: text for name, text in BASE.items() if name != "conf.json"})
    story.push(conf=config_map("conf", {"a": "1"}))
    assert acts(story.turn()) == [("create", "a", "conf"), ("create", "b", "conf")]


def test_a_dependency_waits_for_the_move_of_its_workload() -> None:
    story = Story(BASE)
    story.push(p_web=taking("web", ["b", "c"]))
    first = story.turn(Health.IN_PROGRESS)
    assert ("create", "c", "conf") in acts(first)
    kept = {
        change.key.name: str(change.reason)
        for change in first.changes or ()
        if change.cluster == "a" and change.turn.order
    }
    assert kept == {"conf": "Deployment.apps/shop/web still needs it here", "web": "move: stays until c is healthy"}


def test_a_policy_that_goes_away_leaves_orphans_but_where_it_is_needed() -> None:
    own = policy("conf", ["c"], MAPS)
    story = Story({**BASE, "p-conf.json": own})
    story.push(p_conf=None)
    plan = story.plan()
    assert where(plan, "conf") == ["a", "b"]
    assert [
        str(change.reason) for change in plan.changes or () if change.cluster == "c" and change.key.name == "conf"
    ] == ["orphaned: no policy selects its template any more"]


def test_who_needed_it_is_not_forgotten_while_its_cluster_cannot_be_read() -> None:
    """A daemon that starts while the cluster of an orphan is away sees no copy of it: that is not its absence."""
    story = Story({**BASE, "p-web.json": taking("web", ["c"]), "p-conf.json": policy("conf", ["c"], MAPS)})
    story.push(p_web=None)
    story.turn()
    there = story.live
    away = {**empty().clusters, "c": ClusterLive("c", inventory_read=False)}
    seen = {key: {name: copy for name, copy in copies.items() if name != "c"} for key, copies in there.objects.items()}
    story.live = replace(there, clusters=away, objects=seen)
    story.decisions = decided(story.plan(), story.decisions)
    story.live = there
    story.files["p-conf.json"] = policy("conf", ["a"], MAPS)
    story.commit += 1
    kept = [change for change in story.plan().changes or () if change.key.name == "conf" and change.cluster == "c"]
    assert [(change.action, str(change.reason)) for change in kept] == [
        (Action.KEEP, "Deployment.apps/shop/web still needs it here")
    ]


def test_an_orphan_holds_nothing_that_it_had_let_go_before() -> None:
    story = Story({**BASE, "p-conf.json": policy("conf", ["a", "b"], MAPS)})
    assert recorded(story, "conf") == [("web", ("a", "b"), ())]
    story.push(web=workload("web", replicas=2))
    story.turn(Health.IN_PROGRESS)
    assert recorded(story, "conf") == [("web", (), ("a", "b"))]
    story.live = healthy(story.live)
    story.turn()
    assert recorded(story, "conf") == []
    story.push(p_web=None)
    story.turn()
    story.push(p_conf=policy("conf", ["c"], MAPS))
    story.turn()
    assert acts(story.turn()) == [("delete", "a", "conf"), ("delete", "b", "conf")]


def test_an_orphan_keeps_what_its_running_version_needs_not_what_its_template_says() -> None:
    story = Story({**BASE, "p-conf.json": policy("conf", ["a", "b"], MAPS)})
    story.push(p_web=None)
    story.turn()
    story.push(web=workload("web", replicas=2), p_conf=policy("conf", ["c"], MAPS))
    story.turn()
    plan = story.turn()
    assert recorded(story, "conf") == [("web", (), ("a", "b"))]
    assert kept(plan, "conf") == [(name, "Deployment.apps/shop/web still needs it here") for name in ("a", "b")]
    story.push(web=None)  # now the copies go, and what they needed after them
    assert acts(story.turn()) == [("delete", "a", "web"), ("delete", "b", "web")]
    assert acts(story.turn()) == [("delete", "a", "conf"), ("delete", "b", "conf")]
    assert recorded(story, "conf") == []


def test_what_something_runs_with_is_no_orphan_where_nothing_is_pruned() -> None:
    """Else an order to delete orphans would take it away from under a copy that stays."""
    story = Story({**BASE, "gitfed.json": settings(sync={"prune": False})})
    story.push(p_web=taking("web", ["c"]))
    story.turn()
    story.live = healthy(story.live)
    story.turn()
    plan = story.turn()
    stays = [change for change in plan.changes or () if change.key.name == "conf" and change.action is Action.KEEP]
    assert [change.cluster for change in stays] == ["a", "b"]
    assert not any(works.is_orphan(change) for change in stays)


def test_what_something_runs_with_is_no_orphan_where_no_policy_selects_it() -> None:
    story = Story({**BASE, "p-conf.json": policy("conf", ["a", "b"], MAPS)})
    story.push(p_web=None)
    story.turn()
    story.push(p_conf=None)
    plan = story.turn()
    assert kept(plan, "conf") == [(name, "orphaned: no policy selects its template any more") for name in ("a", "b")]
    assert [change for change in plan.changes or () if works.is_orphan(change) and change.key.name == "conf"] == []
    story.push(web=None)
    story.turn()
    orphans = [change for change in story.turn().changes or () if works.is_orphan(change)]
    assert [change.cluster for change in orphans if change.key.name == "conf"] == ["a", "b"]


def test_a_workload_lets_go_of_it_cluster_by_cluster() -> None:
    """The copy that a policy preserves where it was is of the version before; the new one elsewhere proves nothing."""
    preserved = {"preserveResourcesOnDeletion": True}
    story = Story({**BASE, "p-web.json": taking("web", ["a"], **preserved), "p-conf.json": policy("conf", ["a"], MAPS)})
    story.push(p_web=taking("web", ["b"], **preserved))
    story.turn()
    assert recorded(story, "conf") == [("web", ("b",), ("a",))]
    story.push(web=workload("web", replicas=2), p_conf=policy("conf", ["c"], MAPS))
    story.turn()
    plan = story.turn()
    assert acts(plan) == [("delete", "b", "conf")]
    assert kept(plan, "conf") == [("a", "Deployment.apps/shop/web still needs it here")]
    story.push(p_web=None)
    assert kept(story.turn(), "conf") == [("a", "Deployment.apps/shop/web still needs it here")]
    assert recorded(story, "conf") == [("web", (), ("a",))]


def test_it_stays_where_nobody_can_see_whether_its_workload_is_gone() -> None:
    """Its own kind can be listed there, that of the workload cannot: unknown is not absent."""
    story = Story({**BASE, "p-conf.json": policy("conf", ["a", "b"], MAPS)})
    story.push(web=None, p_web=None, p_conf=policy("conf", ["c"], MAPS))
    blind = ClusterLive("a", inventory_read=True, unread=frozenset({Kind("apps", "Deployment")}))
    seen = {key: copies for key, copies in story.live.objects.items() if key.kind != "Deployment"}
    story.live = replace(story.live, clusters={**story.live.clusters, "a": blind}, objects=seen)
    story.turn()
    plan = story.turn()
    assert kept(plan, "conf") == [("a", "Deployment.apps/shop/web still needs it here")]
    assert ("delete", "b", "conf") in acts(plan)


def test_those_that_need_it_say_how_it_is_treated_and_a_disagreement_is_said() -> None:
    other = taking("job", ["c"], conflictResolution="Overwrite", preserveResourcesOnDeletion=True)
    files = {**BASE, "job.json": workload("job", "conf"), "p-job.json": other}
    plan = plan_of(read(files), empty())
    assert (of(plan, "conf").terms.overwrite, of(plan, "conf").terms.preserve) == (True, True)
    said = [problem.message for problem in plan.problems if "conf" in problem.message]
    assert said == [
        "ConfigMap/shop/conf: the policies of those that need it disagree about conflictResolution",
        "ConfigMap/shop/conf: the policies of those that need it disagree about preservation",
    ]


def test_a_binding_of_karmada_that_names_no_resource_is_read() -> None:
    document = bindings.to_document(Story(BASE).decisions.bindings[of(Story(BASE).plan(), "conf").key])
    entry = {"namespace": "shop", "name": "web-deployment", "clusters": [{"name": "a"}]}
    document = {**document, "spec": {**document["spec"], "requiredBy": [entry, "nonsense"]}}
    found = bindings.from_document(document).ownership.required_by
    assert [(one.owner.name, one.clusters) for one in found] == [("web-deployment", ("a",))]
    assert isinstance(found[0], Dependent)


def test_a_rebuilt_state_takes_nothing_away() -> None:
    story = Story(BASE)
    rebuilt = {
        key: replace(
            one,
            scheduled=replace(one.scheduled, policy=None, shares=of(story.plan(), key.name).scheduled.shares),
            ownership=replace(one.ownership, required_by=()),
        )
        for key, one in story.decisions.bindings.items()
    }
    story.decisions = replace(story.decisions, bindings=rebuilt)
    story.push(p_web=None)
    assert [change for change in story.plan().changes or () if change.action.value == "delete"] == []
    assert isinstance(story.live, LiveState)


def test_a_dependency_goes_with_its_owner_even_if_it_once_had_a_policy() -> None:
    story = Story({**BASE, "p-conf.json": policy("conf", ["c"], MAPS)})
    story.push(p_conf=None)
    story.turn()
    story.push(p_web=None, web=None)
    story.turn()
    assert acts(story.turn()) == [("delete", "a", "conf"), ("delete", "b", "conf")]
    plan = story.turn()
    assert kept(plan, "conf") == [("c", "orphaned: no policy selects its template any more")]
    assert acts(plan) == [("delete", "a", "shop"), ("delete", "b", "shop")]


def test_an_orphan_that_is_needed_elsewhere_moves_with_its_owner() -> None:
    story = Story({**BASE, "p-conf.json": policy("conf", ["a"], MAPS)})
    story.push(p_conf=None)
    story.turn()
    story.push(p_web=taking("web", ["c"]))
    for _ in range(4):
        plan = story.turn()
    assert where(plan, "conf") == ["c"]
    assert kept(plan, "conf") == [("a", "orphaned: no policy selects its template any more")]


def test_what_a_dependency_left_behind_stays_when_its_owner_preserves_no_longer() -> None:
    story = Story({**BASE, "p-web.json": taking("web", ["a"], preserveResourcesOnDeletion=True)})
    story.push(p_web=taking("web", ["b"], preserveResourcesOnDeletion=True))
    story.turn()
    story.push(p_web=taking("web", ["b"]))
    for _ in range(3):
        plan = story.turn()
        assert acts(plan) == []
    assert ("a", "preserveResourcesOnDeletion") in kept(plan, "conf")
