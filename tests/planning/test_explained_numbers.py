"""What `explain` prints is what decided: the shares follow from the printed numbers, by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot
from gitfed.planning import build
from gitfed.views import clusters, explanations
from gitfed.views.explanations import PlacementNumbers
from tests.e2e.world import policy
from tests.planning.test_build import CLUSTERS, INTERPRETER, NOW, decided, read
from tests.planning.test_walk_in_time import workload

APPS = ("api", "cache", "web")
DIVISIONS: tuple[dict[str, Any], ...] = (
    {"replicaDivisionPreference": "Aggregated"},
    {"replicaDivisionPreference": "Weighted", "weightPreference": {"dynamicWeight": "AvailableReplicas"}},
    {"replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": [
        {"targetCluster": {"clusterNames": ["a"]}, "weight": 3},
        {"targetCluster": {"clusterNames": ["b"]}, "weight": 2}]}},
)  # fmt: skip


def by_hand(numbers: PlacementNumbers) -> dict[str, int]:
    """Seat by seat to the largest weight / (2 * seats + 1), from what is printed and nothing else."""
    weights = {one["name"]: one["weight"] or 0 for one in numbers["clusters"]}
    seats = dict.fromkeys(sorted(weights), 0)
    (amount,) = numbers["amounts"]
    for _ in range(amount):
        most = max(Fraction(weights[name], 2 * count + 1) for name, count in seats.items())
        equals = [name for name, count in seats.items() if Fraction(weights[name], 2 * count + 1) == most]
        fewest = min(seats[name] for name in equals)
        equals = [name for name in equals if seats[name] == fewest]
        seats[equals[-1] if numbers["lastNameFirst"] else equals[0]] += 1
    bases = {one["name"]: one["base"] or 0 for one in numbers["clusters"]}
    return {name: count + bases[name] for name, count in seats.items() if count + bases[name]}


def facts(cpus: list[int]) -> FleetSnapshot:
    summaries = [{"allocatable": {"cpu": str(cpu), "pods": "1000"}} for cpu in cpus]
    found = {name: ClusterFacts(name, resource_summary=one) for name, one in zip(CLUSTERS, summaries, strict=True)}
    return FleetSnapshot(FactsRef("test"), found)


def files(replicas: dict[str, int], divisions: dict[str, dict[str, Any]]) -> dict[str, str]:
    found = {}
    for app in APPS:
        found[f"{app}.json"] = workload(app, replicas[app])
        rule = json.loads(policy(app, None, placement={
            "replicaScheduling": {"replicaSchedulingType": "Divided", **divisions[app]}
        }))  # fmt: skip
        rule["spec"]["resourceSelectors"][0]["name"] = app
        found[f"{app}-policy.json"] = json.dumps(rule)
    return found


@given(st.data())
@settings(deadline=None)
def test_shares_follow_from_the_printed_numbers(data: st.DataObject) -> None:
    counts = st.fixed_dictionaries(dict.fromkeys(APPS, st.integers(1, 12)))
    how = data.draw(st.fixed_dictionaries(dict.fromkeys(APPS, st.sampled_from(DIVISIONS))))
    fleet = facts(data.draw(st.lists(st.integers(0, 20), min_size=3, max_size=3)))
    past = Decisions(repository_id="r")
    for commit in ("1", "2"):
        repo = read(files(data.draw(counts), how), commit)
        plan = build.build(repo, fleet, past, INTERPRETER, NOW)
        for app in APPS:
            key = ObjectKey("apps", "Deployment", "shop", app)
            memo = build.Memo()
            memo.room.watched = key
            assert build.build(repo, fleet, past, INTERPRETER, NOW, memo=memo, lazily=True).bindings == plan.bindings
            candidates = clusters.candidates(repo, fleet.clusters, plan)
            before, binding = past.bindings.get(key), plan.bindings[key]
            shown = explanations.explain(key, plan, repo, candidates, before, turn=memo.room.turn)["placement"]
            assert shown is not None
            if shown["amounts"]:
                assert by_hand(shown) == {share.cluster: share.replicas for share in binding.shares}
            elif binding.condition is not None and binding.condition.status:
                assert before is not None, "what is decided for the first time is told"
                assert before.shares == binding.shares
        past = decided(plan, past)


def test_what_others_of_the_plan_take_is_not_told_as_room() -> None:
    dynamic, static = DIVISIONS[1], DIVISIONS[2]
    made = files({"api": 6, "cache": 1, "web": 12}, {"api": dynamic, "cache": static, "web": dynamic})
    repo, fleet, past = read(made), facts([3, 10, 5]), Decisions(repository_id="r")
    key, memo = ObjectKey("apps", "Deployment", "shop", "web"), build.Memo()
    memo.room.watched = key
    plan = build.build(repo, fleet, past, INTERPRETER, NOW, memo=memo)
    candidates = clusters.candidates(repo, fleet.clusters, plan)
    shown = explanations.explain(key, plan, repo, candidates, None, turn=memo.room.turn)["placement"]
    assert shown is not None
    api = {share.cluster: share.replicas or 0 for share in plan.bindings[key._replace(name="api")].shares}
    rooms = {one["name"]: one["room"] for one in shown["clusters"]}
    alone = {"a": 6, "b": 20, "c": 10}
    assert {name: room - api.get(name, 0) for name, room in alone.items()} == {
        name: room if name != "a" else (room or 0) + 1 for name, room in rooms.items()
    }, "a has a replica of cache too"
    assert {one["limitedBy"] for one in shown["clusters"]} == {"other workloads of this plan"}
