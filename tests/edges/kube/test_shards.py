"""Which ConfigMaps count, in whatever order they come. (Against servers: test_inventory.)"""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.edges.kube import inventory_format
from gitfed.edges.kube.connection.session import Session
from gitfed.edges.kube.shards import Shards
from gitfed.model.base import ObjectKey
from tests.edges.kube.answering import connection
from tests.edges.kube.conftest import entry

KEY = next(key for key in (ObjectKey("", "X", "", f"n{n}") for n in range(99)) if inventory_format.shard_of(key) == 5)
OTHER = next(key for key in (ObjectKey("", "X", "", f"m{n}") for n in range(99)) if inventory_format.shard_of(key) == 5)


@pytest.fixture
def shards() -> Shards:
    return Shards(Session("m1", connection("http://x")), "acme")


def header(version: int, *numbers: int) -> dict[str, Any]:
    data = inventory_format.header_data(inventory_format.Header("r", 1, frozenset({0, *numbers})))
    return body(0, version, {**data, "count": "0"})


def body(number: int, version: int, data: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": f"gitfed-inventory-acme-{number}", "resourceVersion": str(version)}, "data": data}


def five(version: int, *keys: ObjectKey) -> dict[str, Any]:
    return body(5, version, inventory_format.shard_data([entry(key) for key in keys]))


def test_a_list_is_complete_when_all_shards_of_the_header_are_there(shards: Shards) -> None:
    shards.take_list([header(3, 5), five(4, KEY)], "9", 0)
    assert (shards.problem, set(shards.entries())) == ("", {KEY})
    shards.take_list([header(3, 5)], "10", 0)
    assert shards.problem == "inventory in gitfed-system cannot be relied on: gitfed-inventory-acme-5 is missing"
    made = body(5, 4, inventory_format.shard_data([entry(KEY, uid="u")]))
    shards.take_list([made], "11", 0)
    assert shards.problem == "inventory in gitfed-system cannot be relied on: gitfed-inventory-acme-0 is missing"


def test_intentions_without_a_header_are_an_inventory_that_was_never_begun(shards: Shards) -> None:
    """What was on its way when a cluster was made anew creates a shard in the new one; its header is refused there."""
    shards.take_list([five(4, KEY)], "9", 0)
    assert (shards.problem, set(shards.entries())) == ("", {KEY})


def test_a_list_that_is_older_than_our_own_write_does_not_undo_it(shards: Shards) -> None:
    shards.take_list([header(3, 5), five(4, KEY)], "9", 0)
    shards.take(5, five(12, KEY, OTHER))
    shards.take_list([header(3, 5), five(4, KEY)], "11", 0)
    assert set(shards.entries()) == {KEY, OTHER}
    shards.take_list([header(3, 5), five(13, KEY)], "14", 0)
    assert set(shards.entries()) == {KEY}


def test_a_shard_that_we_created_after_the_list_is_not_forgotten(shards: Shards) -> None:
    shards.take_list([header(3)], "9", 0)
    shards.take(5, five(12, KEY))
    shards.take_list([header(3)], "11", 0)
    assert set(shards.entries()) == {KEY}
    shards.take_list([header(3)], "13", 0)
    assert set(shards.entries()) == set()


def test_a_shard_that_the_header_does_not_name_yet_counts(shards: Shards) -> None:
    shards.take_list([header(3), five(4, KEY)], "9", 0)
    assert (shards.problem, set(shards.entries())) == ("", {KEY})


def test_a_broken_shard_is_a_problem_until_it_is_whole(shards: Shards) -> None:
    shards.take_list([header(3, 5), body(5, 4, {"count": "1"})], "9", 0)
    assert shards.problem.endswith("gitfed-inventory-acme-5: holds 0 entries, its count says 1")
    shards.take(5, five(10, KEY))
    assert shards.problem == ""


@pytest.mark.parametrize(("expected", "damaged"), [(0, False), (7, False), (8, True)])
def test_less_than_half_of_what_is_remembered_is_a_problem(shards: Shards, expected: int, damaged: bool) -> None:
    shards.take_list([header(3, 5), five(4, KEY, OTHER)], "9", expected)
    assert bool(shards.problem) is damaged


def test_a_config_map_with_our_label_and_another_name_is_passed_over(shards: Shards) -> None:
    shards.take_list([header(3), {"metadata": {"name": "gitfed-inventory-acme-99", "resourceVersion": "4"}}], "9", 0)
    shards.take_list([header(3), {"metadata": {"name": "mine", "resourceVersion": "4"}}], "9", 0)
    assert shards.problem == ""
