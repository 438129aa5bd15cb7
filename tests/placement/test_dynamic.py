"""Dividing replicas by room (Karmada: scheduling §4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.placement.scheduling import dynamic
from gitfed.placement.scheduling.cluster import Candidate
from gitfed.placement.scheduling.scored_cluster import Option, Unplaceable, in_order

NAMES = "abcd"


def options(free: tuple[int, ...], assigned: tuple[int, ...] = ()) -> list[Option]:
    have = [*assigned, *[0] * len(free)]
    return in_order(
        Option(Candidate(name), 0, 100 if have[index] else 0, free[index], have[index])
        for index, name in enumerate(NAMES[: len(free)])
    )


def divided(
    free: tuple[int, ...], replicas: int, before: tuple[int, ...] = (), *, uid: str = "", **mode: bool
) -> tuple[int, ...]:
    mode = {"aggregated": False, "fresh": False, **mode}
    given_ = dynamic.by_room(options(free, before), replicas, uid=uid, **mode)
    return tuple(given_.get(name, 0) for name in NAMES[: len(free)])


@pytest.mark.parametrize(
    ("free", "before", "replicas", "result"),
    [
        ((6, 12, 18), (), 12, (2, 4, 6)),
        ((17, 5, 9), (), 20, (11, 3, 6)),
        ((10, 5, 5), (), 7, (3, 2, 2)),
        ((4, 4), (), 3, (2, 1)),
        ((2, 100), (), 50, (1, 49)),
        ((10, 10), (2, 4), 12, (5, 7)),
        ((3, 9), (2, 4), 12, (4, 8)),
        ((6, 2, 3), (11, 3, 6), 26, (14, 4, 8)),
        ((0, 0, 6), (3,), 9, (3, 0, 6)),
        ((9, 9), (8, 4), 5, (3, 2)),
        ((9, 9), (8, 4), 1, (1, 0)),
        ((9, 9, 9), (11, 3, 6), 13, (7, 2, 4)),
        ((0, 0, 100), (8, 4), 12, (8, 4, 0)),
        ((8, 0, 8), (0, 6), 10, (2, 6, 2)),
    ],
)
def test_weights_are_the_room(
    free: tuple[int, ...], before: tuple[int, ...], replicas: int, result: tuple[int, ...]
) -> None:
    assert divided(free, replicas, before) == result


@pytest.mark.parametrize(
    ("free", "before", "replicas", "result"),
    [
        ((6, 12, 18), (), 12, (0, 0, 12)),
        ((6, 12, 18), (), 20, (0, 8, 12)),
        ((6, 12, 18), (), 33, (6, 11, 16)),
        ((17, 5, 9), (), 20, (13, 0, 7)),
        ((6, 12, 18), (2,), 8, (8, 0, 0)),
        ((6, 12, 18), (2,), 10, (4, 0, 6)),
        ((6, 12, 18), (2, 3), 20, (7, 13, 0)),
        ((3, 5, 3, 40), (14, 0, 6), 26, (17, 0, 9, 0)),
        ((3, 5, 3, 40), (14, 0, 6), 30, (15, 0, 7, 8)),
        ((9, 9, 9), (8, 6, 2), 7, (7, 0, 0)),
        ((9, 9, 9), (8, 6, 2), 10, (6, 4, 0)),
        ((9, 9, 9), (4, 4, 4), 10, (4, 3, 3)),
        ((8, 0, 9), (0, 6), 10, (0, 6, 4)),
    ],
)
def test_aggregated_uses_as_few_clusters_as_it_can(
    free: tuple[int, ...], before: tuple[int, ...], replicas: int, result: tuple[int, ...]
) -> None:
    assert divided(free, replicas, before, aggregated=True) == result


def test_an_explicit_reschedule_forgets_the_distribution() -> None:
    assert divided((0, 0, 12), 12, (8, 4), fresh=True) == (4, 2, 6)
    assert divided((6, 0, 18), 10, (2, 8), fresh=True, aggregated=True) == (0, 0, 10)


def test_a_tie_is_broken_by_the_uid() -> None:
    assert divided((4, 4), 3, uid="b") == (1, 2)


@pytest.mark.parametrize(
    ("before", "mode", "message"),
    [
        ((), {}, "failed to scale up: Clusters available replicas 4 are not enough to schedule."),
        ((1,), {"fresh": True}, "failed to do fresh scale: Clusters available replicas 5 are not enough to schedule."),
    ],
)
def test_too_little_room_is_said(before: tuple[int, ...], mode: dict[str, bool], message: str) -> None:
    with pytest.raises(Unplaceable) as caught:
        divided((2, 2), 9, before, **mode)
    assert (caught.value.reason, caught.value.message) == ("Unschedulable", message)


rooms = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=4)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(0, 60), st.booleans(), st.sampled_from("ab"))
def test_a_workload_that_runs_nowhere_needs_no_more_than_the_room_of_each(
    free: list[int], replicas: int, aggregated: bool, uid: str
) -> None:
    def outcome(divide: Callable[[], Mapping[str, int]]) -> object:
        try:
            return dict(divide())
        except Unplaceable as error:
            return error.message

    by_name = [Option(Candidate(name), 0, 0, room, 0) for name, room in zip(NAMES, free, strict=False)]
    names = tuple(option.name for option in by_name)
    assert outcome(lambda: dynamic.at_first(names, free, replicas, aggregated=aggregated, uid=uid)) == outcome(
        lambda: dynamic.by_room(by_name, replicas, aggregated=aggregated, fresh=False, uid=uid)
    )


@given(rooms, st.integers(0, 60), st.booleans(), st.booleans())
def test_replicas_are_conserved_and_nobody_is_overfilled(
    state: list[tuple[int, int]], replicas: int, aggregated: bool, fresh: bool
) -> None:
    free, before = tuple(item[0] for item in state), tuple(item[1] for item in state)
    try:
        result = divided(free, replicas, before, aggregated=aggregated, fresh=fresh)
    except Unplaceable:
        return
    assert sum(result) == replicas
    assert all(count <= room + had for count, room, had in zip(result, free, before, strict=True))
