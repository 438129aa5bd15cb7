"""Webster's method (Karmada: scheduling §4.1, §4.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.placement.scheduling import divide

NAMES = "abcdefgh"


@pytest.mark.parametrize(
    ("weights", "replicas", "seats"),
    [
        ((5, 3, 2), 1, (1, 0, 0)),
        ((5, 3, 2), 2, (1, 1, 0)),
        ((5, 3, 2), 3, (1, 1, 1)),
        ((5, 3, 2), 7, (4, 2, 1)),
        ((5, 3, 2), 8, (4, 2, 2)),
        ((1, 1, 1), 7, (3, 2, 2)),
        ((1, 1, 1), 8, (3, 3, 2)),
        ((1, 3), 2, (1, 1)),
        ((1, 3), 9, (2, 7)),
        ((4, 2, 1), 5, (3, 1, 1)),
        ((4, 2, 1), 10, (6, 3, 1)),
        ((7, 2), 11, (9, 2)),
        ((1, 2, 3, 4), 17, (2, 3, 5, 7)),
        ((100, 1), 50, (50, 0)),
        ((100, 1), 51, (50, 1)),
        ((20, 1, 1, 1), 21, (18, 1, 1, 1)),
        ((1, 1), 600, (300, 300)),
    ],
)
def test_seats_follow_the_reference(weights: tuple[int, ...], replicas: int, seats: tuple[int, ...]) -> None:
    given_weights = dict(zip(NAMES, weights, strict=False))
    assert divide.by_weight(replicas, given_weights) == dict(zip(NAMES, seats, strict=False))


def test_an_odd_uid_turns_the_names_around() -> None:
    assert divide.by_weight(7, {"a": 1, "b": 1, "c": 1}, "b") == {"a": 2, "b": 2, "c": 3}


def test_fewer_seats_come_before_the_name() -> None:
    assert divide.by_weight(2, {"a": 3, "b": 1}, "b") == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("uid", "odd"),
    [
        ("", False),
        ("a", False),
        ("b", True),
        ("7f1c0d3e-0000-4000-8000-000000000001", True),
        ("7f1c0d3e-0000-4000-8000-000000000002", False),
    ],
)
def test_the_parity_of_a_uid_is_that_of_its_hash(uid: str, odd: bool) -> None:
    assert divide.names_descend(uid) is odd


def test_nobody_with_a_weight_means_nothing_is_given() -> None:
    assert divide.by_weight(5, {"a": 0, "b": 0}) == {"a": 0, "b": 0}
    assert divide.by_weight(5, {}) == {}
    assert divide.by_weight(0, {"a": 1}) == {"a": 0}


def by_the_book(replicas: int, weights: dict[str, int], uid: str) -> dict[str, int]:
    """One seat after the other, as the definition says."""
    names = sorted(weights, reverse=divide.names_descend(uid))
    seats = dict.fromkeys(weights, 0)
    for _ in range(replicas):
        best = min(names, key=lambda name: (-weights[name] / (2 * seats[name] + 1), seats[name], names.index(name)))
        seats[best] += 1
    return seats


some_weights = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 50), min_size=1)
uids = st.sampled_from(["", "a", "b"])


@given(st.integers(0, 300), some_weights, uids)
def test_the_short_cut_gives_what_the_definition_gives(replicas: int, weights: dict[str, int], uid: str) -> None:
    assert divide.by_weight(replicas, weights, uid) == by_the_book(replicas, weights, uid)


@given(st.integers(0, 10**9), st.dictionaries(st.sampled_from(NAMES), st.integers(1, 10**9), min_size=1), uids)
def test_replicas_are_conserved_and_their_order_in_does_not_matter(
    replicas: int, weights: dict[str, int], uid: str
) -> None:
    seats = divide.by_weight(replicas, weights, uid)
    assert sum(seats.values()) == replicas
    assert divide.by_weight(replicas, dict(reversed(weights.items())), uid) == seats


@given(some_weights, st.data())
def test_nobody_gets_more_than_its_weight_while_there_is_room(weights: dict[str, int], data: st.DataObject) -> None:
    replicas = data.draw(st.integers(0, sum(weights.values())))
    seats = divide.by_weight(replicas, weights)
    assert all(seats[name] <= weights[name] for name in weights)
