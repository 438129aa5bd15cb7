"""Replicas that move between clusters: never fewer than the smaller of the old and the new total."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gitfed.model.decisions import Decisions
from gitfed.model.fleet import Health, LiveState
from gitfed.model.plan import Action, Plan
from tests.e2e.world import deployment, policy, settings
from tests.planning.tree import carried_out, decided, empty, plan_of, read


def divided(**weights: int) -> str:
    made = orjson.loads(policy("web", sorted(weights)))
    made["spec"]["placement"]["replicaScheduling"] = {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": [
            {"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights.items()]},
    }  # fmt: skip
    return orjson.dumps(made).decode()


def files(replicas: int, image: str = "nginx:1.27", **weights: int) -> dict[str, str]:
    return {"web.json": deployment("web", replicas=replicas, image=image), "p.json": divided(**weights)}


def web(plan: Plan) -> dict[str, tuple[str, int | None, str]]:
    """Cluster → (action, replicas that are written, reason)."""
    return {
        change.cluster: (
            change.action.value,
            change.write.rendered.replicas if change.write.rendered else None,
            str(change.reason),
        )
        for change in plan.changes or ()
        if change.key.name == "web"
    }


def running(plan: Plan, live: LiveState) -> Mapping[str, int]:
    """Replicas of healthy copies, by the inventories."""
    copies = next(found for key, found in live.objects.items() if key.name == "web")
    return {
        name: copy.entry.replicas or 0 for name, copy in copies.items() if copy.entry and copy.health is Health.CURRENT
    }


def healthy(live: LiveState) -> LiveState:
    return LiveState(live.clusters, {
        key: {name: replace(copy, health=Health.CURRENT) for name, copy in copies.items()}
        for key, copies in live.objects.items()
    })  # fmt: skip


def started(replicas: int, **weights: int) -> tuple[LiveState, Decisions]:
    plan = plan_of(read(files(replicas, **weights)), empty())
    return carried_out(plan, empty()), decided(plan, Decisions(repository_id="r"))


def test_a_cluster_keeps_its_replicas_until_the_others_run_theirs() -> None:
    live, decisions = started(6, a=2, b=1)
    repo = read(files(6, a=1, b=2), "2")
    first = plan_of(repo, live, decisions)
    assert web(first) == {"a": ("skip", 4, "move: stays at 4 until b has 4"), "b": ("update", 4, "")}
    live = carried_out(first, live, health=Health.IN_PROGRESS)
    decisions = decided(first, decisions)
    second = plan_of(repo, live, decisions)
    assert web(second) == {"a": ("skip", 4, "move: stays at 4 until b runs 4")}
    live = healthy(live)
    assert web(plan_of(repo, live, decisions)) == {"a": ("update", 2, "")}


def test_what_else_changed_goes_out_at_once_with_the_old_number() -> None:
    live, decisions = started(6, a=2, b=1)
    repo = read(files(6, "nginx:1.28", a=1, b=2), "2")
    plan = plan_of(repo, live, decisions)
    assert web(plan)["a"] == ("update", 4, "move: stays at 4 until b has 4")
    change = next(one for one in plan.changes or () if one.cluster == "a" and one.key.name == "web")
    assert change.write.rendered is not None
    assert change.write.rendered.body["spec"]["replicas"] == 4
    assert change.write.rendered.body["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"


def test_fewer_replicas_everywhere_wait_for_nobody() -> None:
    live, decisions = started(6, a=1, b=1)
    plan = plan_of(read(files(2, a=1, b=1), "2"), live, decisions)
    assert web(plan) == {"a": ("update", 1, ""), "b": ("update", 1, "")}


def test_the_floor_holds_at_every_step_of_any_move() -> None:
    live, decisions = started(9, a=1, b=1, c=1)
    repo = read(files(7, a=6, b=1, c=0) | {"p.json": divided(a=6, b=1)}, "2")
    for turn in range(12):
        plan = plan_of(repo, live, decisions)
        decisions = decided(plan, decisions)
        live = carried_out(plan, live, health=Health.IN_PROGRESS if turn % 2 else Health.CURRENT)
        if turn % 2 == 0:
            assert sum(running(plan, live).values()) >= 7
        live = healthy(live)
        if not [one for one in plan.changes or () if one.key.name == "web" and one.action is not Action.KEEP]:
            break
    assert running(plan, live) == {"a": 6, "b": 1}


def test_what_the_author_says_nobody_waits_for_moves_at_once() -> None:
    made = deployment("web", replicas=6, annotations={"gitfed.io/wait": "false"})
    first = plan_of(read({"web.json": made, "p.json": divided(a=2, b=1)}), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    plan = plan_of(read({"web.json": made, "p.json": divided(a=1, b=2)}, "2"), live, decisions)
    assert web(plan)["a"] == ("update", 2, "")


def duplicated(*names: str, **spec: Any) -> str:
    return policy("web", list(names), **spec)


def unwell(
    live: LiveState, *names: str, available: int | None = None, health: Health = Health.IN_PROGRESS
) -> LiveState:
    status = None if available is None else {"availableReplicas": available}
    return LiveState(live.clusters, {
        key: {name: replace(copy, health=health, status=status) if name in names else copy
              for name, copy in copies.items()}
        for key, copies in live.objects.items()
    })  # fmt: skip


def test_copies_that_are_whole_everywhere_wait_for_no_other_cluster() -> None:
    first = plan_of(read({"web.json": deployment("web", replicas=9), "p.json": duplicated("a", "b")}), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    repo = read({"web.json": deployment("web", replicas=5), "p.json": duplicated("a", "b", "c")}, "2")
    assert web(plan_of(repo, live, decisions)) == {
        "a": ("update", 5, ""), "b": ("update", 5, ""), "c": ("create", 5, "")
    }  # fmt: skip


def test_copies_that_are_whole_everywhere_wait_for_no_suspended_one() -> None:
    first = plan_of(read({"web.json": deployment("web", replicas=9), "p.json": duplicated("a", "b")}), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    suspended = duplicated("a", "b", "c", suspension={"dispatchingOnClusters": {"clusterNames": ["b", "c"]}})
    plan = plan_of(read({"web.json": deployment("web", replicas=5), "p.json": suspended}, "2"), live, decisions)
    assert web(plan) == {
        "a": ("update", 5, ""),
        "b": ("skip", 5, "suspended by its policy"),
        "c": ("skip", 5, "suspended by its policy"),
    }


def test_no_more_than_the_smaller_total_waits_for_a_cluster_that_never_runs() -> None:
    live, decisions = started(8, a=1, b=1)
    plan = plan_of(read(files(8, a=1, b=1, c=1), "2"), live, decisions)
    live, decisions = unwell(carried_out(plan, live), "c"), decided(plan, decisions)
    repo = read({"web.json": deployment("web", replicas=2), "p.json": divided(a=1, c=1)}, "3")
    plan = plan_of(repo, live, decisions)
    assert web(plan) == {
        "a": ("update", 2, "move: stays at 2 until c runs 1"), "b": ("delete", None, "moved"), "c": ("update", 1, "")
    }  # fmt: skip
    live, decisions = carried_out(plan, live), decided(plan, decisions)
    assert web(plan_of(repo, unwell(live, "c"), decisions)) == {
        "a": ("skip", 2, "move: stays at 2 until c runs 1")
    }  # fmt: skip
    assert web(plan_of(repo, live, decisions)) == {"a": ("update", 1, "")}


def test_a_copy_that_leaves_keeps_no_more_than_others_have_to_take_over() -> None:
    live, decisions = started(8, a=1, b=1)
    repo = read({"web.json": deployment("web", replicas=2), "p.json": divided(c=1)}, "2")
    plan = plan_of(repo, live, decisions)
    assert web(plan) == {
        "a": ("update", 2, "move: stays at 2 until c has 2"), "b": ("delete", None, "moved"), "c": ("create", 2, "")
    }  # fmt: skip
    live, decisions = unwell(carried_out(plan, live), "c"), decided(plan, decisions)
    assert web(plan_of(repo, live, decisions)) == {"a": ("keep", None, "move: stays until c is healthy")}
    assert web(plan_of(repo, healthy(live), decisions)) == {"a": ("delete", None, "moved")}


def test_a_copy_that_leaves_and_would_change_otherwise_stays_as_it_is() -> None:
    live, decisions = started(8, a=1, b=1)
    repo = read({"web.json": deployment("web", replicas=2, image="nginx:1.28"), "p.json": divided(c=1)}, "2")
    assert web(plan_of(repo, live, decisions)) == {
        "a": ("keep", None, "move: stays until c is healthy"), "b": ("delete", None, "moved"), "c": ("create", 2, "")
    }  # fmt: skip


def test_replicas_that_an_override_decides_wait_for_nobody_and_cover_nobody() -> None:
    plaintext = [{"path": "/spec/replicas", "operator": "replace", "value": 4}]
    fixed = orjson.dumps({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterOverridePolicy", "metadata": {"name": "o"},
        "spec": {"overrideRules": [{"overriders": {"plaintext": plaintext}}]},
    }).decode()  # fmt: skip
    first = plan_of(read(files(8, a=1, b=1) | {"o.json": fixed}), empty())
    live, decisions = carried_out(first, empty()), decided(first, Decisions(repository_id="r"))
    plan = plan_of(read(files(2, a=1, c=1) | {"o.json": fixed}, "2"), live, decisions)
    assert web(plan) == {"b": ("keep", None, "move: stays until c is healthy"), "c": ("create", 1, "")}


def test_a_copy_that_leaves_by_degrees_counts_as_one_that_leaves() -> None:
    def guarded(deletions: int) -> str:
        return settings(guards={"maxDeletions": deletions, "maxMovedReplicasPercent": 100})

    live, decisions = started(8, a=1, b=1)
    plan = plan_of(read(files(8, a=1) | {"gitfed.json": guarded(1)}, "2"), live, decisions)
    live = unwell(carried_out(plan, live), "a", available=6)
    repo = read(files(8, a=1) | {"gitfed.json": guarded(1)}, "2")
    assert web(plan_of(repo, live, decisions)) == {"b": ("update", 2, "move: stays at 2 until a runs 8")}
    repo = read(files(8, a=1) | {"gitfed.json": guarded(0)}, "2")
    # What is held is not decided, so a has what is on record.
    assert web(plan_of(repo, live, decisions)) == {
        "a": ("update", 4, ""), "b": ("skip", 2, "gate deletions: 1 of at most 0")
    }  # fmt: skip


def served(live: LiveState, leaving: Container[str] = ()) -> dict[str, int]:
    """Replicas that run, by cluster; of a copy that leaves all that it has."""
    found = {}
    for name, copy in next((copies for key, copies in live.objects.items() if key.name == "web"), {}).items():
        assert copy.entry is not None
        has = copy.entry.replicas or 0
        runs = has if copy.health is Health.CURRENT or name in leaving else (copy.status or {})["availableReplicas"]
        found[name] = min(has, runs)
    return found


def with_served(live: LiveState, runs: Mapping[str, int]) -> LiveState:
    for copies in (copies for key, copies in live.objects.items() if key.name == "web"):
        for name, copy in copies.items():
            assert copy.entry is not None
            if runs.get(name, 0) < (copy.entry.replicas or 0):
                live = unwell(live, name, available=runs.get(name, 0))
            else:
                live = unwell(live, name, health=Health.CURRENT)
    return live


@given(st.data())
@hypothesis_settings(deadline=None)
def test_moves_run_no_fewer_and_keep_no_more_than_the_smaller_total(data: st.DataObject) -> None:
    """Whatever moves where, and whoever is ill: after each plan that runs, and only that, which has to."""
    weights = st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1)
    unguarded = {"gitfed.json": settings(guards={"maxDeletions": 99, "maxDeletionPercent": 100,
                                                 "maxMovedReplicasPercent": 100})}  # fmt: skip
    live, decisions = started(data.draw(st.integers(1, 9)), **data.draw(weights))
    replicas = data.draw(st.integers(1, 9))
    repo = read(files(replicas, **data.draw(weights)) | unguarded, "2")
    wants = {share.cluster for share in next(iter(
        binding for key, binding in plan_of(repo).bindings.items() if key.name == "web")).scheduled.shares}  # fmt: skip
    for _ in range(4):
        leaving = {"a", "b", "c"} - wants
        # Some of what is written begins to run, some that ran does not any more.
        live = with_served(live, {name: data.draw(st.integers(0, 9)) for name in wants} | dict.fromkeys(leaving, 9))
        before = served(live, leaving)
        plan = plan_of(repo, live, decisions)
        decisions = decided(plan, decisions)
        # Nothing that is new runs at once.
        live = with_served(carried_out(plan, live), before)
        assert sum(served(live, leaving).values()) == min(sum(before.values()), replicas)
    for _ in range(3):
        plan = plan_of(repo, healthy(live), decisions)
        live, decisions = healthy(carried_out(plan, healthy(live))), decided(plan, decisions)
    assert sum(running(plan, live).values()) == replicas
