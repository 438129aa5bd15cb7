"""Replicas that move between clusters: never fewer than the smaller of the old and the new total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from gitfed.model.decisions import Decisions
from gitfed.model.fleet import Health, LiveState
from gitfed.model.plan import Action, Plan
from tests.e2e.world import deployment, policy
from tests.planning.test_build import carried_out, decided, empty, plan_of, read


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
        change.cluster: (change.action.value, change.rendered.replicas if change.rendered else None, str(change.reason))
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
    assert change.rendered is not None
    assert change.rendered.body["spec"]["replicas"] == 4
    assert change.rendered.body["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"


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
