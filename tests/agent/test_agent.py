"""A hub's member and an agent's, with everything that can happen between them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from gitfed.agent import work_list
from gitfed.agent.cancellation import ended
from gitfed.agent.keeper import Keeper
from gitfed.agent_protocol import replica, values
from gitfed.daemon.fleet.pulled.member import PulledMember
from gitfed.edges.kube.connection.session import Session
from gitfed.errors import CredentialsError, LinkError, StaleTerm
from gitfed.model.base import ObjectKey, Origin
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import Reach
from gitfed.model.plan import Action, Edit
from tests.agent.site import DECLARED, Site, created, expected, holds, key, rendered, site
from tests.daemon.one_member import NOW, until


async def rolled_out(place: Site) -> None:
    """One object in the cluster, and the hub knows it."""
    hub, manifest = place.hubs[-1], rendered("a", "1")
    await until(hub.ready.is_set)
    change = created(manifest)
    hub.follow(expected(manifest, changes=(change,)))
    assert hub.worker is not None
    hub.worker.submit([change], [])
    await until(lambda: hub.worker is not None and hub.worker.idle)
    hub.follow(expected(manifest))
    await until(lambda: (hub.view.get(manifest.key) or None) and hub.view.get(manifest.key).matches == manifest.digest)  # type: ignore[union-attr]


async def test_a_change_goes_down_and_its_result_and_object_come_up() -> None:
    async with site() as place:
        hub = place.hub()
        await place.connect(hub, place.keeper())
        await rolled_out(place)
        live = hub.view.get(key("a"))
        assert place.results == [("a", "created")]
        assert live is not None
        assert (live.ours, live.body, live.cluster) == (True, None, "m1")
        assert live.entry == hub.view.entries()[key("a")]
        assert (hub.facts.reach, hub.asked, hub.live().term) == (Reach.READY, True, 1)


async def test_the_override_that_made_an_object_invalid_is_named_with_its_file() -> None:
    async with site() as place:
        hub = place.hub()
        await place.connect(hub, place.keeper())
        await rolled_out(place)
        place.fleet["m1"].faults.fail(422, verb="patch", resource="configmaps", namespace="default")
        edit = Edit("OverridePolicy/default/odd", Origin("odd.yaml"), "plaintext")
        change = created(replace(rendered("b", "1"), edits=(edit,)))
        hub.follow(expected(rendered("a", "1"), rendered("b", "1"), changes=(change,)))
        assert hub.worker is not None
        hub.worker.submit([change], [])
        await until(lambda: ("b", "failed") in place.results)
        assert place.messages[-1].endswith(" (as OverridePolicy/default/odd made it, odd.yaml)")


async def test_each_attempt_that_fails_is_told_also_where_nothing_else_happens() -> None:
    async with site() as place:
        hub = place.hub()
        await place.connect(hub, place.keeper())
        await rolled_out(place)
        place.fleet["m1"].faults.fail(422, verb="patch", resource="configmaps", namespace="default")
        change = created(rendered("b", "1"))
        hub.follow(expected(rendered("a", "1"), rendered("b", "1"), changes=(change,)))
        assert hub.worker is not None
        hub.worker.submit([change], [])
        for attempt in range(1, 4):
            await until(lambda attempt=attempt: place.results.count(("b", "failed")) >= attempt)
            await until(lambda: hub.told.settled)
            hub.worker.retry(None)


async def test_of_a_list_that_is_told_again_the_agent_reads_what_is_news() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        await place.connect(hub, keeper)
        await rolled_out(place)
        place.fleet["m1"].faults.fail(422, verb="patch", resource="configmaps", namespace="default")
        held, added = created(rendered("b", "1")), created(rendered("c", "1"))
        hub.follow(expected(*(rendered(name, "1") for name in "abc"), changes=(held, added)))
        assert hub.worker is not None
        hub.worker.submit([held], [])
        await until(lambda: key("b") in keeper._list.tasks)
        task = keeper._list.tasks[key("b")]
        hub.worker.submit([held, added], [])
        await until(lambda: key("c") in keeper._list.tasks)
        assert keeper._list.tasks[key("b")] is task


def test_a_change_under_the_name_of_another_object_ends_the_connection() -> None:
    said = values.TASKS.json(values.Task(1, key("a"), "v1", Action.CREATE))
    with pytest.raises(LinkError, match="the change of ConfigMap/default/b is one of ConfigMap/default/a"):
        work_list.task_of(key("b"), said)


async def test_a_cut_at_any_moment_of_a_roll_out_neither_loses_nor_doubles_anything() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        cut = await place.connect(hub, keeper)
        await until(hub.ready.is_set)
        manifests = [rendered(f"n{number}", "1") for number in range(40)]
        assert hub.worker is not None
        hub.follow(expected(*manifests))
        hub.worker.submit([created(one) for one in manifests], [])
        while not hub.worker.idle:
            await asyncio.sleep(0.01)
            await cut()
            await until(lambda: not hub.agent.connected and not keeper.connected)
            cut = await place.connect(hub, keeper)
            await asyncio.sleep(0.02)
        assert sorted(place.results) == sorted((one.key.name, "created") for one in manifests)


async def test_drift_is_repaired_while_the_hub_is_away_and_told_when_it_is_back() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        cut = await place.connect(hub, keeper)
        await rolled_out(place)
        await cut()
        await until(lambda: not keeper.connected)
        await place.edit("a", "2")
        await holds(place, "a", "1")
        await place.ask("DELETE", "/api/v1/namespaces/default/configmaps/a")
        await holds(place, "a", "1")
        assert keeper.repaired == 2
        await place.connect(hub, keeper)
        # The repair of the edit may be told first, where the agent was still about to tell of the later one.
        await until(lambda: len(place.results) > 1 and place.results[-1] == ("a", "created"))
        assert place.results[0] == ("a", "created")
        assert hub.worker is not None
        assert hub.worker.idle


async def test_what_the_plan_wants_left_alone_is_left_alone_without_the_hub() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        cut = await place.connect(hub, keeper)
        await rolled_out(place)
        hub.follow(expected(rendered("a", "1"), repairs=False))
        hub.worker.submit([], [])  # type: ignore[union-attr]
        await until(lambda: hub.told.settled)
        await cut()
        await until(lambda: not keeper.connected)
        await place.edit("a", "2")
        seen = key("a")
        await until(lambda: keeper.member.view.get(seen).matches is None)  # type: ignore[union-attr]
        await keeper._repair()
        assert (keeper._list.repairs, await place.value("a")) == ({}, "2")


async def test_an_agent_that_begins_without_the_hub_writes_nothing() -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper()
        cut = await place.connect(hub, keeper)
        await rolled_out(place)
        await cut()
        other = place.keeper()
        assert (other.member, other.heard.values) == (None, {})
        await other._repair()
        with pytest.raises(LinkError, match="nothing is known yet"):
            await other.asked("look", [])


async def test_a_new_hub_has_a_higher_term_and_a_word_of_the_old_one_is_refused() -> None:
    async with site() as place:
        old, keeper = place.hub(), place.keeper()
        cut = await place.connect(old, keeper)
        await rolled_out(place)
        await cut()
        await until(lambda: not keeper.connected)
        new = place.hub()
        cut = await place.connect(new, keeper, "two")
        new.follow(expected(rendered("a", "1")))
        await until(new.ready.is_set)
        assert new.live().term == 2
        assert [name for name, _ in place.results] == ["a"]  # what the old one was told is not told again
        await cut()
        await until(lambda: not keeper.connected)
        await place.connect(old, keeper)
        await until(lambda: "term 1 is over: this cluster is led in term 2" in place.ended)


async def test_a_hub_to_which_an_agent_comes_back_learns_that_another_one_leads() -> None:
    async with site() as place:
        old, keeper = place.hub(), place.keeper()
        cut = await place.connect(old, keeper)
        await rolled_out(place)
        assert not old.superseded
        await cut()
        await until(lambda: not keeper.connected)
        new = place.hub()
        cut = await place.connect(new, keeper, "two")
        new.follow(expected(rendered("a", "1")))
        await until(new.ready.is_set)
        assert not old.superseded, "nobody has told it"
        await cut()
        await until(lambda: not keeper.connected)
        await place.connect(old, keeper)
        await until(lambda: old.superseded)
        assert not new.superseded


async def test_an_agent_keeps_what_it_has_until_a_new_hub_has_planned() -> None:
    async with site() as place:
        old, keeper = place.hub(), place.keeper()
        cut = await place.connect(old, keeper)
        await rolled_out(place)
        await cut()
        await until(lambda: not keeper.connected)
        new = place.hub()
        await place.connect(new, keeper, "two")
        await until(new.looked.is_set)
        await until(lambda: new.view.get(key("a")) is not None)
        assert keeper._wanted.keys() == {key("a")}
        new.follow(expected(rendered("a", "1")))
        await until(new.ready.is_set)
        assert keeper._wanted.keys() == {key("a")}
        new.follow(expected())
        await until(lambda: not keeper._wanted)


async def test_a_hub_that_dies_while_its_lead_is_written_down_leaves_the_next_one_a_way() -> None:
    """Both give the same term: the second cannot know yet what the agent does for the first."""
    async with site() as place:
        keeper = place.keeper()
        cut = await place.connect(place.hub(), keeper)
        await rolled_out(place)
        await cut()
        await until(lambda: not keeper.connected)
        place.fleet["m1"].faults.slow(1.0, verb="patch", resource="configmaps", namespace="gitfed-system")
        old = place.hub()
        cut = await place.connect(old, keeper, "two")
        old.follow(expected(rendered("a", "1")))
        await until(lambda: keeper._given.lead is not None and keeper._given.lead.term == 2)
        await cut()
        await until(lambda: not keeper.connected)
        new = place.hub()
        await place.connect(new, keeper, "three")
        new.follow(expected(rendered("a", "1")))
        await until(lambda: new._lead._term is not None)
        assert (old._lead._term, new._lead._term) == (2, 2), "or this is about nothing"
        await until(new.ready.is_set)
        assert new.live().term == 3
        assert [name for name, _ in place.results] == ["a"]


def graded(limit: int) -> Cluster:
    """Nodes below so many cores are of grade 0, others of grade 1."""
    body = DECLARED.model_dump(mode="json", by_alias=True, exclude_unset=True)
    body["spec"]["resourceModels"] = [
        {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": str(limit)}]},
        {"grade": 1, "ranges": [{"name": "cpu", "min": str(limit), "max": "9223372036854775807"}]},
    ]
    return Cluster.model_validate(body)


async def test_room_comes_up_by_the_models_of_the_clusters_file_and_anew_when_those_change() -> None:
    def grades(hub: PulledMember) -> list[int] | None:
        summary = hub.facts.resource_summary or {}
        found = {one["grade"]: one["count"] for one in summary.get("allocatableModelings", ())}
        return [found.get(grade, 0) for grade in (0, 1)] if found else None

    async with site() as place:
        hub = place.hub()
        hub.cluster = graded(1)
        hub.want_capacity(True)
        await place.connect(hub, place.keeper())
        await until(lambda: grades(hub) == [0, 1])
        assert not hub.measuring
        hub.cluster = graded(4000)
        hub.want_capacity(True)  # as after each commit; no node and no pod changes
        await until(lambda: grades(hub) == [1, 0])
        hub.want_capacity(False)
        await until(lambda: grades(hub) is None)


async def test_a_second_agent_of_one_name_is_refused_while_the_first_is_there() -> None:
    async with site() as place:
        hub, first, second = place.hub(), place.keeper(), place.keeper()
        await place.connect(hub, first, "one")
        with pytest.raises(LinkError, match="cluster m1 has an agent already, and has one at a time"):
            await place.connect(hub, second, "two")
        cut = await place.connect(hub, first, "one")  # the same process: its older connection was half open
        await until(hub.ready.is_set)
        await cut()
        await until(lambda: not hub.agent.connected)
        await place.connect(hub, second, "two")
        await until(hub.ready.is_set)


async def test_a_silent_agent_makes_its_cluster_unknown_after_a_lease_and_not_before() -> None:
    async with site() as place:
        hub, keeper = place.hub(lease=1.0), place.keeper()
        cut = await place.connect(hub, keeper)
        await until(lambda: hub.ready.is_set() and hub.facts.reach is Reach.READY)
        await cut()
        await until(lambda: not hub.agent.connected)
        assert (hub.ready.is_set(), hub.facts.reach) == (True, Reach.READY)
        await until(lambda: hub.facts.reach is Reach.UNKNOWN)
        [ready] = [one for one in hub.facts.conditions if one.type == "Ready"]
        assert (ready.status, ready.reason) == ("Unknown", "ClusterStatusUnknown")
        assert ready.message == hub.live().error == "its agent has been silent for 1 s"
        assert not hub.ready.is_set()
        await place.connect(hub, keeper)
        await until(lambda: hub.ready.is_set() and hub.facts.reach is Reach.READY)


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_clock_that_is_ten_minutes_off_dates_no_failure_of_the_cluster(minutes: int) -> None:
    async with site() as place:
        hub, keeper = place.hub(), place.keeper(now=lambda: NOW + timedelta(minutes=minutes))
        await place.connect(hub, keeper)
        await until(lambda: hub.ready.is_set() and hub.facts.reach is Reach.READY)
        place.fleet["m1"].faults.fail(500)
        await until(lambda: hub.facts.reach is Reach.NOT_READY)
        assert {one.last_transition for one in hub.facts.conditions} == {NOW}, "by the clock of the hub"


async def test_a_cluster_whose_agent_never_came_is_unknown_after_a_lease() -> None:
    async with site() as place:
        hub = place.hub(lease=0.3)
        await until(lambda: hub.asked)
        [ready] = hub.facts.conditions
        assert (ready.reason, ready.message) == ("ClusterStatusNeverUpdated", "its agent has not connected yet")


async def test_an_agent_in_another_cluster_of_the_fleet_gets_nothing() -> None:
    async with site() as place:
        hub, keeper = place.hub(elsewhere=lambda uid: "m2"), place.keeper()
        await place.connect(hub, keeper)
        await until(lambda: hub.live().error == "the cluster m2 answers its agent")
        assert not hub.ready.is_set()
        assert values.SETUPS.read(keeper.heard.values[values.SETUP]).lead is None


def _say(**said: object) -> replica.ValueChange:
    return replica.ValueChange({name.replace("_", "/", 1): value for name, value in said.items()}, frozenset())


async def test_what_an_agent_says_is_said_of_its_own_cluster() -> None:
    async with site() as place:
        hub = place.hub()
        there = values.of(values.OBJECT, key("a"))
        other = ["", "Secret", "kube-system", "x"]
        hub.taken(replica.ValueChange({
            "facts": {"name": "m2", "reach": "Ready", "declared": {"kind": "Cluster"}},
            "state": {"live": {"name": "m2", "inventory_read": True}},
            there: {"key": other, "cluster": "m2", "uid": "u", "resource_version": "1", "ours": True,
                    "entry": {"key": other, "uid": "u", "binding": "b"}},
        }, frozenset()))  # fmt: skip
        assert (hub.facts.name, hub.facts.declared, hub.reports.state.live.name) == ("m1", None, "m1")  # type: ignore[union-attr]
        assert {(live.cluster, live.key) for live in hub.view.objects().values()} == {("m1", key("a"))}
        assert [entry.key for entry in hub.view.entries().values()] == [key("a")]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"facts": {"name": 3}}, "ClusterFacts: name"),
        ({"state": []}, "State: "),
        ({"object/x": {}}, "names no object"),
        ({"object//ConfigMap/default/a": {"uid": 1}}, "LiveObject: key"),
        ({"over//ConfigMap/default/a": {"id": "x"}}, "Over: id"),
        ({"lead": {}}, "an agent says 'lead', which means nothing"),
    ],
    ids=["facts", "a state", "a name", "an object", "a result", "something else"],
)
async def test_what_has_not_the_right_form_ends_the_connection(said: dict[str, object], message: str) -> None:
    async with site() as place:
        with pytest.raises(LinkError, match=message):
            place.hub().taken(replica.ValueChange(said, frozenset()))


async def test_an_agent_never_takes_a_lower_term() -> None:
    async with site() as place:
        given = place.keeper()._given
        given.give(values.Term("id", 3, "run-a"))
        given.give(values.Term("id", 3, "run-a"))
        with pytest.raises(StaleTerm, match="term 2 is over: this cluster is led in term 3"):
            given.give(values.Term("id", 2, "run-b"))


async def test_a_body_that_is_missing_ends_the_connection() -> None:
    def nowhere(cluster: Cluster) -> Session:
        raise CredentialsError("no way in", cluster="m1")

    keeper = Keeper("m1", nowhere)
    keeper.heard.values = {
        "setup": {"federation": "acme"}, "object//ConfigMap/default/a": {"digest": "d", "binding": "b"},
    }  # fmt: skip
    with pytest.raises(LinkError, match="the body d is missing, or none"):
        keeper.taken(replica.ValueChange(dict(keeper.heard.values), frozenset()))
    assert keeper._life is not None
    await ended(keeper._life)


def test_keys_of_values_name_objects_of_any_kind() -> None:
    cluster_wide = ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "a:b")
    for one in (key("a"), cluster_wide):
        assert values.key_in(values.of(values.CHANGE, one)) == one
