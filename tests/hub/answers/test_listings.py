"""Lists for one caller: filters, pages, and nothing of what they may not see."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from gitfed.errors import NotThere, UsageError
from gitfed.hub.access.caller import Caller
from gitfed.hub.access.rights import Rulebook
from gitfed.hub.answers import listings, moment, single
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.query import Query
from gitfed.hub.answers.sight import Sight
from gitfed.hub.running import Running
from gitfed.model.agent_presence import AgentPresence
from gitfed.views import agents
from tests.hub import fleet
from tests.hub.stage import cluster, snapshot

PASSWORD = "correct-horse-battery"


def _now(*documents: str) -> Moment:
    found = moment.of(Running(fleet.planned(*documents)))
    assert found is not None
    return found


def _sight(name: str, of: Moment) -> Sight:
    return Sight(Rulebook(of.repo).of(Caller(name)), of.repo.clusters)


def test_agents_are_those_of_pulled_clusters_and_of_whom_is_registered() -> None:
    edge = cluster("eu-9", region="eu").replace("Push", "Pull")
    running = Running(fleet.planned(edge))
    running.certificates = lambda: {"eu-9": fleet.NOW, "gone": fleet.NOW}
    now = moment.of(running)
    assert now is not None
    unknown: dict[str, object] = {
        "connectedSince": None, "lastHeard": None, "connections": 0, "instance": "", "program": "", "protocol": None,
        "slice": None, "certificateEnds": "2026-08-22T10:04:00Z", "pool": "", "member": "",
    }  # fmt: skip
    told = listings.agent_list(now, _sight("ann", now), Query())
    assert told == {
        "schema": "gitfed.io/agents/v1",
        "total": 2,
        "items": [
            {"cluster": "eu-9", "name": "system:gitfed:agent:eu-9", "state": "Unknown", **unknown},
            {"cluster": "gone", "name": "system:gitfed:agent:gone", "state": "NotDeclared", **unknown},
        ],
    }
    assert [one["cluster"] for one in listings.agent_list(now, _sight("bob", now), Query())["items"]] == ["eu-9"]
    assert listings.agent_list(now, _sight("ann", now), Query(cluster="gone"))["total"] == 1


def _presence(heard: datetime | None = None, connected: datetime | None = None) -> AgentPresence:
    return AgentPresence(connected, heard, instance="abcdef0123", program="gitfed 9", protocol=1, wanted=7, held=5)


@pytest.mark.parametrize(
    ("presence", "state"),
    [
        pytest.param(_presence(), "NeverConnected", id="nothing was heard"),
        pytest.param(_presence(fleet.NOW), "Disconnected", id="gone"),
        pytest.param(_presence(fleet.NOW, fleet.NOW), "Connected", id="there"),
    ],
)
def test_an_agent_is_told_with_what_it_holds(presence: AgentPresence, state: str) -> None:
    repo = snapshot(cluster("m1").replace("Push", "Pull"))
    found = agents.item("m1", repo, presence, None, leads=True)
    assert (found["state"], found["slice"], found["certificateEnds"]) == (state, {"wanted": 7, "held": 5}, None)


SHOP = (fleet.workload("shop", "web"), fleet.workload("shop", "cache", 3), fleet.workload("bank", "ledger", 9))


def test_pages_go_on_where_the_one_before_ended() -> None:
    now = _now(*(fleet.workload("shop", f"w{number}") for number in range(7)))
    sight, names, after = _sight("ann", now), [], ""
    for size in (3, 3, 1):
        page = listings.binding_list(now, sight, Query(kind="Deployment", limit=3, after=after))
        assert (len(page["items"]), page["total"]) == (size, 7)
        names += [one["resource"]["name"] for one in page["items"]]
        after = page.get("next", "")
    assert names == [f"w{number}" for number in range(7)]
    assert after == ""


def test_pages_go_on_although_the_last_item_is_gone() -> None:
    before, after = _now(*SHOP), _now(*SHOP[:2])
    first = listings.binding_list(before, _sight("ann", before), Query(kind="Deployment", limit=1))
    assert first["items"][0]["resource"]["name"] == "ledger"
    second = listings.binding_list(after, _sight("ann", after), Query(kind="Deployment", after=first["next"]))
    assert [one["resource"]["name"] for one in second["items"]] == ["cache", "web"]


def test_filters_and_orders() -> None:
    now = _now(*SHOP)

    def names(**asked: str) -> list[str]:
        found = listings.binding_list(now, _sight("ann", now), Query(**{"kind": "Deployment", **asked}))  # type: ignore[arg-type]
        return [one["resource"]["name"] for one in found["items"]]

    assert names(namespace="shop") == ["cache", "web"]
    assert names(text="LEDG") == ["ledger"]
    assert names(policy="ClusterPropagationPolicy/all-deployment") == ["ledger", "cache", "web"]
    assert names(policy="ClusterPropagationPolicy/other") == []
    assert names(cluster="nowhere") == []
    assert names(state="unscheduled") == []
    assert names(sort="replicas") == ["cache", "web", "ledger"]
    assert names(sort="-replicas") == ["ledger", "web", "cache"]
    with pytest.raises(UsageError, match="nothing is sorted by 'age'"):
        names(sort="age")
    with pytest.raises(UsageError, match="no state 'odd'"):
        names(state="odd")


@pytest.mark.parametrize("token", ["x", "e30", "W10", "WyIiLCBbMV1d", "é", "WyIiLCBbIiIsIDFdXQ"])
def test_a_token_that_no_page_gave_is_refused(token: str) -> None:
    now = _now(*SHOP)
    for ask in (listings.binding_list, listings.work_list, listings.cluster_list, single.plan):
        with pytest.raises(UsageError):
            ask(now, _sight("ann", now), Query(after=token))


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**30])
def test_a_page_has_one_to_a_thousand_items(limit: int) -> None:
    with pytest.raises(UsageError, match="limit is a number from 1 to 1000"):
        Query(limit=limit)


def test_what_one_may_not_see_does_not_appear() -> None:
    """Bob sees the namespace shop in the clusters of eu."""
    now = _now(*SHOP, fleet.everywhere("Secret", "v1"), fleet.secret("bank", "vault", PASSWORD))
    sight = _sight("bob", now)
    found = [
        listings.cluster_list(now, sight, Query()),
        listings.binding_list(now, sight, Query()),
        listings.work_list(now, sight, Query()),
        listings.orphan_list(now, sight, Query()),
        listings.policy_list(now, sight, Query()),
        listings.problem_list(now, sight, Query()),
        listings.gate_list(now, sight),
        single.plan(now, sight, Query()),
        single.object_of(now, sight, single.key_of(now, sight, "deploy/shop/web")),
        single.explanation(now, sight, single.key_of(now, sight, "deploy/shop/web")),
    ]
    text = json.dumps(found)
    for hidden in ("us-1", "bank", "ledger", "vault", PASSWORD):
        assert hidden not in text
    clusters, bindings = found[0], found[1]
    assert [(one["name"], one["objects"]) for one in clusters["items"]] == [("eu-1", 2), ("eu-2", 2)]  # type: ignore[index]
    assert [(one["resource"]["name"], one["replicas"]) for one in bindings["items"]] == [("cache", 2), ("web", 4)]  # type: ignore[index]
    assert (clusters["total"], bindings["total"]) == (2, 2)  # type: ignore[typeddict-item]


def test_who_sees_a_namespace_everywhere_is_told_all_about_it() -> None:
    now = _now(*SHOP)
    (cache, web) = listings.binding_list(now, _sight("eve", now), Query())["items"]
    assert (cache["resource"]["name"], web["replicas"], len(web["clusters"])) == ("cache", 6, 3)
    assert web["condition"] is not None
    assert web["condition"]["message"]


def test_an_object_that_one_may_not_see_is_not_there() -> None:
    now = _now(*SHOP)
    for text in ("deploy/bank/ledger", "Deployment.apps/bank/ledger", "deploy/bank/ledgr"):
        with pytest.raises(NotThere) as refused:
            single.key_of(now, _sight("bob", now), text)
        assert "ledger?" not in refused.value.hint


def test_values_of_secrets_appear_nowhere() -> None:
    copied = json.loads(fleet.workload("shop", "web"))
    copied["spec"]["template"]["spec"]["containers"][0]["args"] = [f"--password={PASSWORD}"]
    now = _now(json.dumps(copied), fleet.everywhere("Secret", "v1"), fleet.secret("shop", "vault", PASSWORD))
    sight = _sight("ann", now)
    for text in ("deploy/shop/web", "secret/shop/vault"):
        found = json.dumps(single.object_of(now, sight, single.key_of(now, sight, text)))
        assert PASSWORD not in found
        assert "***" in found
