"""What may be concluded from a sight, in whatever order sights come."""

from __future__ import annotations

from typing import Any

import pytest

from gitfed.edges.kube.inventory import Inventory
from gitfed.edges.kube.object_cache import Assessment, Sightings
from gitfed.model.base import Body, Kind, ObjectKey
from tests.edges.kube.answering import connection
from tests.edges.kube.conftest import FEDERATION, entry

KEY = ObjectKey("", "ConfigMap", "shop", "a")


class Eyes(Sightings):
    def __init__(self) -> None:
        self.in_a_rush = False
        self.judged: list[str] = []
        from gitfed.edges.kube.connection.session import Session

        self.inventory = Inventory(Session("m1", connection("http://x")), federation=FEDERATION, repository_id="r")
        self.told: list[ObjectKey] = []
        super().__init__(
            "m1",
            self.inventory,
            self.look_closely,
            lambda cluster, key: self.told.append(key),
            lambda key: self.in_a_rush,
        )

    def look_closely(self, cluster: str, key: ObjectKey, body: Body) -> Assessment:
        self.judged.append(body["metadata"]["resourceVersion"])
        return Assessment(keep_body=body["data"]["keep"])


@pytest.fixture
def eyes() -> Eyes:
    return Eyes()


def body(version: int, uid: str = "u", *, keep: bool = True, label: bool = True, **data: Any) -> Body:
    labels = {"gitfed.io/federation": FEDERATION} if label else {}
    metadata = {"name": "a", "namespace": "shop", "uid": uid, "resourceVersion": str(version), "labels": labels}
    return {"metadata": metadata, "data": {"keep": keep, **data}}


def version(eyes: Sightings) -> str | None:
    seen = eyes.seen(KEY)
    return seen.resource_version if seen else None


def test_the_newest_wins(eyes: Eyes) -> None:
    for number in (5, 7, 6, 7):
        eyes.store(KEY, body(number))
    assert version(eyes) == "7"
    assert len(eyes.told) == 2


def test_what_is_gone_is_not_brought_back_by_a_late_sight(eyes: Eyes) -> None:
    eyes.store(KEY, body(5))
    eyes.remove(KEY)
    eyes.store(KEY, body(5))
    assert version(eyes) is None
    eyes.store(KEY, body(6, uid="another"))
    assert version(eyes) == "6"


def test_what_is_gone_is_brought_back_by_a_look_that_began_later(eyes: Eyes) -> None:
    eyes.store(KEY, body(5))
    eyes.remove(KEY)
    eyes.looked(KEY, body(5), eyes.moment(KEY))
    assert version(eyes) == "5"


def test_a_look_that_began_before_the_deletion_does_not_bring_it_back(eyes: Eyes) -> None:
    eyes.store(KEY, body(5))
    moment = eyes.moment(KEY)
    eyes.remove(KEY)
    eyes.looked(KEY, body(5), moment)
    assert version(eyes) is None


def test_a_look_that_began_before_the_creation_does_not_remove_it(eyes: Eyes) -> None:
    moment = eyes.moment(KEY)
    eyes.store(KEY, body(5))
    eyes.looked(KEY, None, moment)
    assert version(eyes) == "5"
    eyes.looked(KEY, None, eyes.moment(KEY))
    assert version(eyes) is None


def test_a_look_finds_it_gone_also_when_the_inventory_was_written_meanwhile(eyes: Eyes) -> None:
    """The watch of the inventory told its uid while the answer was on its way: it is no other object for that."""
    eyes.store(KEY, body(5))
    moment = eyes.moment(KEY)
    eyes.inventory.entries[KEY] = entry(KEY, "u")
    eyes.entry_changed(KEY)
    eyes.looked(KEY, None, moment)
    assert eyes.seen(KEY) is None


def test_a_look_keeps_the_body_of_what_did_not_change(eyes: Eyes) -> None:
    eyes.store(KEY, body(5, keep=False))
    eyes.looked(KEY, body(5, keep=False), eyes.moment(KEY), keep_body=True)
    seen = eyes.seen(KEY)
    assert seen is not None
    assert seen.body == body(5, keep=False)


def test_a_new_version_that_means_nothing_to_us_is_not_told(eyes: Eyes) -> None:
    eyes.store(KEY, body(5, keep=False))
    eyes.store(KEY, body(6, keep=False))
    assert (version(eyes), eyes.told) == ("6", [KEY])
    eyes.store(KEY, body(7, keep=True))
    assert eyes.told == [KEY, KEY]


def test_the_body_of_an_unlabelled_object_is_always_kept(eyes: Eyes) -> None:
    eyes.store(KEY, body(5, keep=False, label=False))
    seen = eyes.seen(KEY)
    assert seen is not None
    assert (seen.ours, seen.body) == (False, body(5, keep=False, label=False))


@pytest.mark.parametrize(
    ("label", "uid", "ours"), [(True, "u", True), (True, "", True), (True, "other", False), (False, "u", False)]
)
def test_ours_follows_the_inventory(eyes: Eyes, label: bool, uid: str, ours: bool) -> None:
    eyes.store(KEY, body(5, keep=False, label=label))
    eyes.inventory.entries = {KEY: entry(KEY, uid)}
    eyes.entry_changed(KEY)
    seen = eyes.seen(KEY)
    assert seen is not None
    assert (seen.ours, seen.entry) == (ours, entry(KEY, uid))
    eyes.inventory.entries = {}
    eyes.entry_changed(KEY)
    seen = eyes.seen(KEY)
    assert seen is not None
    assert (seen.ours, seen.entry) == (False, None)


def test_kinds_that_nobody_asks_for_are_forgotten(eyes: Eyes) -> None:
    eyes.store(KEY, body(5))
    eyes.forget(Kind("", "Secret"))
    assert version(eyes) == "5"
    eyes.forget(Kind("", "ConfigMap"))
    assert dict(eyes.all()) == {}
    eyes.store(KEY, body(5))
    assert version(eyes) == "5"


def test_in_a_rush_only_the_newest_is_judged_and_not_before_somebody_asks(eyes: Eyes) -> None:
    eyes.in_a_rush = True
    for number in (5, 7, 6, 9):
        eyes.store(KEY, body(number))
    assert (eyes.judged, eyes.told, list(eyes.unjudged)) == ([], [], [KEY])
    assert version(eyes) == "9"
    assert (eyes.judged, eyes.told, list(eyes.unjudged)) == (["9"], [KEY], [])


def test_what_waits_in_a_rush_keeps_its_first_arrival(eyes: Eyes) -> None:
    eyes.in_a_rush = True
    eyes.store(KEY, body(5))
    first = eyes.unjudged[KEY][0]
    eyes.store(KEY, body(6))
    assert eyes.unjudged[KEY] == (first, body(6))


def test_what_waits_counts_wherever_all_objects_are_asked_for(eyes: Eyes) -> None:
    eyes.in_a_rush = True
    eyes.store(KEY, body(5))
    assert list(eyes.all()) == [KEY]
    eyes.store(KEY, body(6))
    assert [live.resource_version for live in eyes.of_kind(Kind("", "ConfigMap"))] == ["6"]


def test_what_goes_away_in_a_rush_is_gone_and_stays_so(eyes: Eyes) -> None:
    eyes.in_a_rush = True
    eyes.store(KEY, body(5))
    eyes.remove(KEY)
    eyes.store(KEY, body(5))
    assert version(eyes) is None
    assert not eyes.unjudged


def test_an_answer_to_our_own_write_is_judged_once_whatever_the_watch_told_first(eyes: Eyes) -> None:
    eyes.in_a_rush = True
    eyes.store(KEY, body(5))
    eyes.answered(KEY, body(5))
    eyes.store(KEY, body(5))
    eyes.judge([KEY])
    assert eyes.judged == ["5"]


def test_an_answer_that_changed_nothing_is_judged_without_a_desired_state(eyes: Eyes) -> None:
    eyes.store(KEY, body(5))
    eyes.answered(KEY, body(5))
    assert eyes.judged == ["5", "5"]


def test_a_body_that_somebody_wants_to_keep_is_judged_at_once(eyes: Eyes) -> None:
    eyes.in_a_rush = True
    eyes.looked(KEY, body(5, keep=False), eyes.moment(KEY), keep_body=True)
    seen = eyes.seen(KEY)
    assert seen is not None
    assert seen.body == body(5, keep=False)
