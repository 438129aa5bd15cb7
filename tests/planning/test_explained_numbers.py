"""What `explain` prints is what decided: the shares follow from the printed numbers, by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed.cli.output import explain_numbers, plain
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.planning import build
from gitfed.planning.lazy_manifests import LAZILY
from gitfed.views import clusters, explanations
from tests.planning.divisions import APPS, DIVISIONS, EVERYWHERE, FLEET, by_hand, facts, files, printed, read
from tests.planning.tree import INTERPRETER, NOW, decided

WHERE: tuple[dict[str, Any], ...] = (
    EVERYWHERE,
    {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]},
    {"spreadConstraints": [{"spreadByField": "region", "minGroups": 1, "maxGroups": 2},
                           {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3}]},
    {"clusterAffinities": [{"affinityName": "first", "clusterNames": ["a", "b"]},
                           {"affinityName": "second", "clusterNames": ["c", "d", "e"]}]},
    {"clusterAffinities": [{"affinityName": "own", "clusterNames": ["a", "b"],
                            "overflowAffinities": [{"affinityName": "more", "clusterNames": ["c", "d"]},
                                                   {"affinityName": "last", "clusterNames": ["e"]}]}]},
)  # fmt: skip

RULES = [(how, where) for how in DIVISIONS for where in WHERE if not (how is DIVISIONS[2] and where is WHERE[4])]
"""Static weights know no overflow."""

"""Tier, weight and base of one cluster."""


@given(st.data())
@settings(deadline=None)
def test_shares_follow_from_the_printed_numbers(data: st.DataObject) -> None:
    counts = st.fixed_dictionaries(dict.fromkeys(APPS, st.integers(1, 24)))
    rule = data.draw(st.fixed_dictionaries(dict.fromkeys(APPS, st.sampled_from(RULES))))
    how, where = ({app: rule[app][index] for app in APPS} for index in (0, 1))
    rooms = st.lists(st.integers(0, 10), min_size=len(FLEET), max_size=len(FLEET))
    past = Decisions(repository_id="r")
    for commit in ("1", "2", "3"):
        repo, fleet = read(files(data.draw(counts), how, where), commit), facts(data.draw(rooms))
        plan = build.build(repo, fleet, past, INTERPRETER, NOW)
        for app in APPS:
            key = ObjectKey("apps", "Deployment", "shop", app)
            memo = build.Memo()
            memo.room.watched = key
            assert (
                build.build(repo, fleet, past, INTERPRETER, NOW, replace(memo, rendering=LAZILY)).bindings
                == plan.bindings
            )
            candidates = clusters.candidates(repo, fleet.clusters, plan)
            before, binding = past.bindings.get(key), plan.bindings[key]
            shown = explanations.explain(key, plan, repo, candidates, before, turn=memo.room.turn)["placement"]
            assert shown is not None
            if (numbers := printed(shown)) is not None:
                found, amounts, last = numbers
                shares = {share.cluster: share.replicas for share in binding.scheduled.shares if share.replicas}
                assert by_hand(found, amounts, last=last) == shares
            elif binding.scheduled.condition is not None and binding.scheduled.condition.status:
                assert before is not None, "what is decided for the first time is told"
                assert before.scheduled.shares == binding.scheduled.shares
        past = decided(plan, past)


def printed_after(replicas: int, more: int, where: dict[str, Any], cpus: Sequence[int]) -> list[str]:
    """What is printed of the web workload that was decided with `replicas`, and then wants `more`."""
    key, past = ObjectKey("apps", "Deployment", "shop", "web"), Decisions(repository_id="r")
    quiet, how = dict.fromkeys(APPS, 1), dict.fromkeys(APPS, DIVISIONS[1])
    elsewhere = dict.fromkeys(APPS, EVERYWHERE) | {"web": where}
    first = build.build(read(files({**quiet, "web": replicas}, how, elsewhere)), facts(cpus), past, INTERPRETER, NOW)
    past, memo = decided(first, past), build.Memo()
    memo.room.watched = key
    repo = read(files({**quiet, "web": more}, how, elsewhere), "2")
    plan = build.build(repo, facts(cpus), past, INTERPRETER, NOW, memo=memo)
    candidates = clusters.candidates(repo, facts(cpus).clusters, plan)
    shown = explanations.explain(key, plan, repo, candidates, past.bindings.get(key), turn=memo.room.turn)["placement"]
    assert shown is not None
    return list(explain_numbers.lines(shown, plain.Paint(on=False)))


def test_what_stays_where_replicas_are_added_is_printed_as_the_base() -> None:
    lines = printed_after(4, 9, EVERYWHERE, [10, 10, 0, 0, 0])
    assert "5 divided by weight beside the base" in lines[0]
    assert "BASE" in lines[1]


def test_each_tier_is_printed_with_what_was_divided_in_it() -> None:
    lines = printed_after(2, 8, WHERE[4], [1, 1, 3, 2, 0])
    assert re.search(r"\d+ in tier 0 and \d+ in tier 1 divided by weight", lines[0]), lines
    assert "TIER" in lines[1]


def test_what_others_of_the_plan_take_is_not_told_as_room() -> None:
    dynamic, static = DIVISIONS[1], DIVISIONS[2]
    made = files({"api": 6, "cache": 1, "web": 12}, {"api": dynamic, "cache": static, "web": dynamic})
    repo, fleet, past = read(made), facts([3, 10, 5, 0, 0]), Decisions(repository_id="r")
    key, memo = ObjectKey("apps", "Deployment", "shop", "web"), build.Memo()
    memo.room.watched = key
    plan = build.build(repo, fleet, past, INTERPRETER, NOW, memo=memo)
    candidates = clusters.candidates(repo, fleet.clusters, plan)
    shown = explanations.explain(key, plan, repo, candidates, None, turn=memo.room.turn)["placement"]
    assert shown is not None
    api = {share.cluster: share.replicas or 0 for share in plan.bindings[key._replace(name="api")].scheduled.shares}
    rooms = {one["name"]: one["room"] for one in shown["clusters"]}
    alone = {"a": 6, "b": 20, "c": 10}
    assert {name: room - api.get(name, 0) for name, room in alone.items()} == {
        name: room if name != "a" else (room or 0) + 1 for name, room in rooms.items() if name in alone
    }, "a has a replica of cache too"
    assert {one["limitedBy"] for one in shown["clusters"] if one["room"]} == {"other workloads of this plan"}
