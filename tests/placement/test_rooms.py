"""The room of a whole fleet is that of each cluster, and what is taken is gone (Karmada: scheduling §5)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.fleet import NodeFacts
from gitfed.placement import estimate
from gitfed.placement.estimate import Capacity
from gitfed.placement.rooms import Rooms

GRADES = {0: {"cpu": "0", "memory": "0"}, 1: {"cpu": "1", "memory": "4Gi"}, 3: {"cpu": "4", "memory": "32Gi"}}


def asks(**amounts: str) -> dict[str, Any]:
    return {"resourceRequest": amounts}


amounts = st.sampled_from(["0", "1", "1500m", "2", "4", "7", "16"])
memory = st.sampled_from(["0", "1Gi", "3Gi", "8Gi", "100G", "64Gi"])
tables = st.fixed_dictionaries(
    {"pods": st.sampled_from(["0", "3", "10", "200"])}, optional={"cpu": amounts, "memory": memory}
)
nodes = st.builds(
    NodeFacts,
    name=st.sampled_from(["n1", "n2"]),
    allocatable=tables,
    requested=st.fixed_dictionaries({}, optional={"pods": st.just("1"), "cpu": amounts}),
    labels=st.sampled_from([{}, {"disk": "ssd"}]),
    taints=st.sampled_from([(), ({"key": "k", "effect": "NoSchedule"},)]),
    unschedulable=st.booleans(),
    count=st.integers(0, 4),
)
summaries = st.fixed_dictionaries(
    {"allocatable": tables},
    optional={
        "allocated": tables,
        "allocatableModelings": st.lists(
            st.fixed_dictionaries({"grade": st.sampled_from([0, 1, 3]), "count": st.integers(0, 5)}),
            max_size=2,
            unique_by=lambda item: item["grade"],
        ),
    },
)
capacities = st.one_of(
    st.none(),
    st.builds(
        Capacity,
        summary=st.one_of(st.none(), summaries, st.just({"allocatable": {"pods": "many"}})),
        grades=st.sampled_from([{}, GRADES]),
        nodes=st.lists(nodes, max_size=4).map(tuple),
    ),
)
requirements = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "resourceRequest": st.fixed_dictionaries({}, optional={"cpu": amounts, "memory": memory, "gpu": amounts}),
            "nodeClaim": st.sampled_from(
                [{"nodeSelector": {"disk": "ssd"}}, {"tolerations": [{"operator": "Exists"}]}]
            ),
        },
    ),
)
fleets = st.lists(capacities, min_size=1, max_size=4).map(
    lambda found: {f"c{index}": item for index, item in enumerate(found)}
)


@given(fleets, requirements)
def test_the_room_of_a_fleet_is_that_of_each_cluster(fleet: dict[str, Capacity | None], needs: Any) -> None:
    assert Rooms(fleet).of(needs) == {name: estimate.room(capacity, needs) for name, capacity in fleet.items()}


@given(fleets, requirements, st.integers(1, 30))
def test_what_was_taken_is_not_there_again(fleet: dict[str, Capacity | None], needs: Any, count: int) -> None:
    rooms = Rooms(fleet)
    before = dict(rooms.of(needs))
    placed = {name: min(count, room) for name, room in before.items() if room}
    untouched = rooms.copy()
    rooms.take(needs, placed)
    after = rooms.of(needs)
    assert after == {name: None if room is None else room - placed.get(name, 0) for name, room in before.items()}
    assert untouched.of(needs) == before


@given(fleets, st.lists(st.tuples(requirements, st.integers(0, 5)), max_size=4), requirements)
def test_taking_in_one_cluster_is_the_same_as_taking_in_all_at_once(
    fleet: dict[str, Capacity | None], line: list[tuple[Any, int]], needs: Any
) -> None:
    """Few clusters are filled one by one, many at once: both must put pods on the same nodes."""
    wide = {**fleet, **{f"other{index}": None for index in range(9)}}
    together, single = Rooms(wide), Rooms(wide)
    for asked, count in line:
        together.take(asked, dict.fromkeys(wide, count))
        for name in wide:
            single.take(asked, {name: count})
    assert together.of(needs) == single.of(needs)
    assert together.sets([{"replicas": 1, "replicaRequirements": needs}]) == single.sets(
        [{"replicas": 1, "replicaRequirements": needs}]
    )


def room_after(capacity: Capacity, assumed: dict[str, Any], count: int, needs: dict[str, Any]) -> int | None:
    rooms = Rooms({"a": capacity})
    rooms.take(assumed, {"a": count})
    return rooms.of(needs)["a"]


def test_assumed_replicas_count_as_running() -> None:
    """The reference's own examples of in-flight assumptions (Karmada: scheduling §5.5)."""
    whole = Capacity({"allocatable": {"cpu": "10", "pods": "500"}}, {})
    assert room_after(whole, asks(cpu="2"), 3, asks(cpu="1")) == 4
    graded = Capacity(
        {
            "allocatable": {"cpu": "100", "pods": "500"},
            "allocatableModelings": [{"grade": 3, "count": 2}],
        },
        GRADES,
    )
    assert room_after(graded, asks(cpu="2"), 3, asks(cpu="1")) == 2
    assert room_after(graded, asks(cpu="2"), 9, asks(cpu="1")) == 0


def test_assumed_replicas_go_on_the_first_nodes() -> None:
    small = NodeFacts("small", {"cpu": "4", "pods": "10"}, {}, {})
    large = NodeFacts("large", {"cpu": "8", "pods": "3"}, {}, {})
    first = Capacity(None, {}, (small, large))
    second = Capacity(None, {}, (large, small))
    assert room_after(first, asks(cpu="2"), 2, asks(cpu="1")) == 3
    assert room_after(second, asks(cpu="2"), 2, asks(cpu="1")) == 5


def test_amounts_beyond_all_measure_do_no_harm() -> None:
    vast = Capacity({"allocatable": {"cpu": "9E", "memory": "8Ei", "pods": "9E"}}, {})
    rooms = Rooms({"a": vast})
    assert rooms.of(asks(cpu="1n"))["a"] == estimate.MOST
    rooms.take(asks(memory="8Ei"), {"a": 2**31})
    assert rooms.of(asks(memory="8Ei"))["a"] == 0
    assert Rooms({"a": vast}).of(asks(memory="1e30"))["a"] == 0
