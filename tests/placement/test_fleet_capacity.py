"""The room of a whole fleet is that of each cluster, and what is taken is gone (Karmada: scheduling §5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitfed.model.decisions import Share
from gitfed.model.fleet import NodeFacts
from gitfed.placement.capacity import estimate
from gitfed.placement.capacity.estimate import Capacity, Row
from gitfed.placement.capacity.fleet_capacity import FleetCapacity
from gitfed.placement.capacity.nodes import filter_of

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


def take(rooms: FleetCapacity, needs: Any, placed: dict[str, int]) -> None:
    rooms.take(needs, rooms.placed([Share(name, count) for name, count in placed.items()]))


@given(fleets, requirements)
def test_the_room_of_a_fleet_is_that_of_each_cluster(fleet: dict[str, Capacity | None], needs: Any) -> None:
    assert FleetCapacity(fleet).of(needs) == {name: estimate.room(capacity, needs) for name, capacity in fleet.items()}


@given(fleets, requirements, st.integers(1, 30))
def test_what_was_taken_is_not_there_again(fleet: dict[str, Capacity | None], needs: Any, count: int) -> None:
    rooms = FleetCapacity(fleet)
    before = dict(rooms.of(needs))
    placed = {name: min(count, room) for name, room in before.items() if room}
    untouched = rooms.copy()
    take(rooms, needs, placed)
    after = rooms.of(needs)
    assert after == {name: None if room is None else room - placed.get(name, 0) for name, room in before.items()}
    assert untouched.of(needs) == before


@given(fleets, st.lists(st.tuples(requirements, st.integers(0, 5)), max_size=4), requirements)
def test_taking_in_one_cluster_is_the_same_as_taking_in_all_at_once(
    fleet: dict[str, Capacity | None], line: list[tuple[Any, int]], needs: Any
) -> None:
    """Few clusters are filled one by one, many at once: both must put pods on the same nodes."""
    wide = {**fleet, **{f"other{index}": None for index in range(9)}}
    together, single = FleetCapacity(wide), FleetCapacity(wide)
    for asked, count in line:
        take(together, asked, dict.fromkeys(wide, count))
        for name in wide:
            take(single, asked, {name: count})
    assert together.of(needs) == single.of(needs)
    assert together.sets([{"replicas": 1, "replicaRequirements": needs}]) == single.sets(
        [{"replicas": 1, "replicaRequirements": needs}]
    )


def room_after(capacity: Capacity, assumed: dict[str, Any], count: int, needs: dict[str, Any]) -> int | None:
    rooms = FleetCapacity({"a": capacity})
    take(rooms, assumed, {"a": count})
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
    rooms = FleetCapacity({"a": vast})
    assert rooms.of(asks(cpu="1n"))["a"] == estimate.MOST
    take(rooms, asks(memory="8Ei"), {"a": 2**31})
    assert rooms.of(asks(memory="8Ei"))["a"] == 0
    assert FleetCapacity({"a": vast}).of(asks(memory="1e30"))["a"] == 0


class ByTheBook:
    """One node after the other, with a pencil: what `FleetCapacity` finds with arrays."""

    def __init__(self, fleet: dict[str, Capacity]) -> None:
        self._rows = {
            name: [Row.of(node) for node in capacity.nodes for _ in range(node.count)]
            for name, capacity in fleet.items()
        }

    def take(self, needs: Any, placed: dict[str, int]) -> None:
        one, takes = estimate.wanted(needs), filter_of(needs)
        for name, count in placed.items():
            for at, row in enumerate(self._rows[name]):
                row = row._replace(number=1)
                used = min(count, row.holds(one)) if row.node is not None and takes(row.node) else 0
                free = {resource: amount - used * one.get(resource, 0) for resource, amount in row.free.items()}
                self._rows[name][at] = row._replace(slots=row.slots - used, free=free)
                count -= used

    def of(self, needs: Any) -> dict[str, int]:
        one, takes = estimate.wanted(needs), filter_of(needs)
        return {
            name: sum(row.holds(one) for row in rows if row.node is not None and takes(row.node))
            for name, rows in self._rows.items()
        }


SHAPES = (asks(cpu="1"), asks(cpu="1500m", memory="3Gi"), asks(memory="1Gi"), asks(gpu="1"), None,
          {"resourceRequest": {"cpu": "1"}, "nodeClaim": {"nodeSelector": {"disk": "ssd"}}})  # fmt: skip
WIDE = {
    f"c{cluster}": Capacity(
        None,
        {},
        tuple(
            NodeFacts(
                f"n{number}",
                {"cpu": str((number * 7 + cluster) % 5), "memory": f"{number % 9}Gi", "pods": str(number % 4)},
                {},
                {"disk": "ssd" if number % 3 else "hdd"},
            )
            for number in range(60 * cluster)
        ),
    )
    for cluster in range(1, 6)
}
"""More nodes than are counted anew for every question, many of them full."""
CLASSES = {
    name: replace(capacity, nodes=tuple(replace(node, count=at % 4) for at, node in enumerate(capacity.nodes[:30])))
    for name, capacity in WIDE.items()
}
"""Rows that stand for several nodes, or for none."""


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SHAPES), st.dictionaries(st.sampled_from(sorted(WIDE)), st.integers(1, 90)), st.booleans()
        ),
        max_size=8,
    ),
    st.sampled_from([WIDE, CLASSES]),
)
def test_many_nodes_are_filled_as_one_would_with_a_pencil(
    line: list[tuple[Any, dict[str, int], bool]], fleet: dict[str, Capacity]
) -> None:
    rooms, book = FleetCapacity(fleet), ByTheBook(fleet)
    for needs, placed, is_asked in line:
        take(rooms, needs, placed)
        book.take(needs, placed)
        if is_asked:
            assert [rooms.of(one) for one in SHAPES] == [book.of(one) for one in SHAPES]
    assert [rooms.of(needs) for needs in SHAPES] == [book.of(needs) for needs in SHAPES]


def test_a_trace_is_that_of_what_was_taken_of_the_clusters_in_question() -> None:
    def trace(*line: tuple[int, dict[str, int]]) -> list[bytes]:
        rooms = FleetCapacity(WIDE)
        for part, placed in line:
            rooms.take(None, rooms.placed([Share(name, count) for name, count in placed.items()]), "", part)
        return [rooms.trace(("c1",)), rooms.trace(("c1", "c2")), rooms.trace(tuple(WIDE))]

    nothing, first = trace(), trace((1, {"c2": 3}))
    assert nothing == [b"", b"", b""]
    assert first[0] == b"", "nothing was taken there"
    assert len(set(first)) == 3
    assert trace((1, {"c2": 3})) == first
    for other in (trace((2, {"c2": 3})), trace((1, {"c2": 4})), trace((1, {"c2": 3}), (1, {"c2": 3}))):
        assert other[1] != first[1]
        assert other[2] != first[2]
    assert trace((1, {"c1": 1}), (2, {"c1": 1})) != trace((2, {"c1": 1}), (1, {"c1": 1})), "the order matters"


def test_a_full_cluster_takes_nothing_of_the_next_one() -> None:
    node = NodeFacts("n", {"pods": "1"}, {}, {})
    rooms = FleetCapacity({name: Capacity(None, {}, (node, node, node)) for name in ("a", "b")})
    for _ in range(3):
        take(rooms, None, {"a": 5})
        assert rooms.of(None) == {"a": 0, "b": 3}
