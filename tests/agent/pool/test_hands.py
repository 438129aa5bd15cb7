"""A cluster of a pool changes hands: the new holder goes on, and the one before can write nothing that counts."""

from __future__ import annotations

import pytest

from gitfed import errors
from gitfed.agent.keeper import declared_in
from gitfed.agent_protocol import values
from gitfed.agent_protocol.values import Setup
from gitfed.model.agent_presence import Holding
from tests.agent.site import created, expected, rendered, site
from tests.agent.site import declared as cluster
from tests.daemon.one_member import until

FIRST, SECOND = Holding("a", 1), Holding("b", 3)


async def test_the_newest_holder_leads_by_a_higher_term_and_the_one_before_is_stopped() -> None:
    async with site() as here:
        hub = here.hub(pool="east", lease=60.0)
        a, b = here.keeper(), here.keeper()
        await here.connect(hub, a, "one", holding=FIRST)
        await until(hub.ready.is_set)
        one = rendered("one", "1")
        hub.follow(expected(one, changes=(created(one),)))
        assert hub.worker is not None
        hub.worker.submit([created(one)], ())
        await until(lambda: here.results == [("one", "created")])
        term = hub.reports.state.term if hub.reports.state is not None else 0

        await here.connect(hub, b, "two", holding=SECOND)
        await until(lambda: "b holds cluster m1 now" in here.ended)
        await until(hub.ready.is_set)
        assert hub.reports.state is not None
        assert hub.reports.state.term == term + 1
        assert (hub.agent.presence.holding, hub.agent.presence.instance) == (SECOND, "two")
        with pytest.raises(errors.LinkError) as refused:
            hub.agent.may_attach("one", FIRST)
        assert (refused.value.message, refused.value.final) == ("cluster m1 is held by b by now", False)

        assert a.member is not None
        assert a.member.worker is not None
        two = rendered("two", "2")
        a.member.worker.submit([created(two)], set())
        a.member.worker.release()
        # Also where its service had to begin anew meanwhile, and may not.
        await until(lambda: bool(a.member and (a.member.error or (a.member.worker and a.member.worker.stopped))))
        assert await here.value("two") is None

        hub.follow(expected(one, two, changes=(created(two),)))
        hub.worker.submit([created(two)], ())
        await until(lambda: here.results[-1] == ("two", "created"))
        assert await here.value("two") == "2"
        assert [name for name, outcome in here.results if outcome == "created"] == ["one", "two"]


async def test_the_same_process_that_connects_again_keeps_its_term() -> None:
    async with site() as here:
        hub = here.hub(pool="east")
        a = here.keeper()
        cut = await here.connect(hub, a, "one", holding=FIRST)
        await until(hub.ready.is_set)
        term = hub.reports.state.term if hub.reports.state is not None else 0
        await cut()
        await until(lambda: not hub.agent.connected)
        await here.connect(hub, a, "one", holding=FIRST)
        await until(lambda: hub.agent.connected and hub.ready.is_set())
        assert hub.reports.state is not None
        assert hub.reports.state.term == term


async def test_a_cluster_that_nobody_holds_says_so() -> None:
    async with site() as here:
        hub = here.hub(pool="east", lease=0.3)
        await until(lambda: bool(hub.live().error) and hub.looked.is_set())
        assert hub.live().error == "no member of pool east holds it"
        a = here.keeper()
        cut = await here.connect(hub, a, "one", holding=FIRST)
        await until(hub.ready.is_set)
        await cut()
        await until(lambda: not hub.ready.is_set())
        assert hub.live().error == "no member of pool east has held it for 0.3 s"


def test_a_member_is_told_how_its_cluster_is_reached() -> None:
    told = values.SETUPS.json(Setup("acme", declared=cluster("m1", "east").as_written()))
    assert declared_in(values.SETUPS.read(told), "m1") == cluster("m1", "east")


def test_a_member_takes_no_other_clusters_file() -> None:
    with pytest.raises(errors.LinkError, match="the Cluster file of m2 in place of that of m1"):
        declared_in(Setup("acme", declared=cluster("m2", "east").as_written()), "m1")
    with pytest.raises(errors.LinkError, match="is of a form that this agent does not know"):
        declared_in(Setup("acme", declared={"kind": "Cluster"}), "m1")
