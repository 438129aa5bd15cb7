"""A mapping and its copy stay equal, whatever becomes of the connection between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.agent_protocol import frames
from gitfed.agent_protocol.frames import Put
from gitfed.agent_protocol.replica import BUCKETS, Heard, HeardAsText, Told, bucket, text_of
from gitfed.errors import LinkError


class Wire:
    """A connection: frames as bytes, in order, until it is cut."""

    def __init__(self, told: Told, heard: Heard) -> None:
        self.told, self.heard = told, heard
        self.sent: list[bytes] = []
        self.reconnect()

    def reconnect(self) -> None:
        """A cut loses what is on its way, and both sides begin with digests."""
        self.told.disconnect()
        self.sent.clear()
        self.told.connect(self.heard.connect())

    def step(self, *, lose_answer: bool = False) -> None:
        """One frame arrives; its acknowledgement too, unless it is lost with the connection."""
        self.sent += [frames.encode(put) for put in self.told.next()]
        if not self.sent:
            return
        put = frames.decode(self.sent.pop(0))
        assert isinstance(put, Put)
        self.heard.take(put)
        if put.last and not lose_answer:
            self.told.acknowledged(put.n)

    def settle(self) -> None:
        while not self.told.settled:
            self.step()


NAMES = [f"object/{number}" for number in range(12)]
ACTIONS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 3) | st.text(max_size=3) | st.floats(0, 1)),
    st.tuples(st.just("drop"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("step"), st.none(), st.booleans()),
    st.tuples(st.just("cut"), st.none(), st.none()),
    st.tuples(st.just("sender begins anew"), st.none(), st.none()),
    st.tuples(st.just("reader begins anew"), st.none(), st.none()),
)


@given(st.lists(ACTIONS, max_size=60))
def test_any_cut_loss_or_restart_of_either_side_ends_in_equal_mappings(actions: list[tuple[str, str, object]]) -> None:
    wire = Wire(Told(), Heard())
    wanted: dict[str, object] = {}
    for what, name, value in actions:
        if what == "put":
            wanted[name] = {"value": value}
            wire.told.put(name, wanted[name])
        elif what == "drop":
            wanted.pop(name, None)
            wire.told.drop(name)
        elif what == "step":
            wire.step(lose_answer=bool(value))
            if value:
                wire.reconnect()
        elif what == "cut":
            wire.reconnect()
        elif what == "sender begins anew":
            told = Told()
            for key, one in wanted.items():
                told.put(key, one)
            wire = Wire(told, wire.heard)
        else:
            wire = Wire(wire.told, Heard())
    wire.settle()
    assert wire.heard.values == wanted


def test_a_copy_that_is_kept_as_text_is_compared_and_named_as_one_of_values() -> None:
    told, heard = Told(), HeardAsText()
    value = {"b": 1, "a": ["ü", {"c": None}]}
    for key in NAMES:
        told.put(key, value)
    wire = Wire(told, heard)
    wire.settle()
    assert heard.values == dict.fromkeys(NAMES, text_of(value))
    told.disconnect()
    told.connect(heard.connect())
    assert told.next() == [], "nothing differs"
    again = Put(2, 0, True, {NAMES[0]: {"a": value["a"], "b": 1}, NAMES[1]: {"b": 2}}, (NAMES[2],))
    heard = HeardAsText()
    heard.take(Put(1, 0, True, dict.fromkeys(NAMES, value)))
    change = heard.take(again)
    assert change is not None
    assert (change.set, change.gone) == ({NAMES[1]: {"b": 2}}, {NAMES[2]})
    assert NAMES[2] not in heard.values


@given(st.lists(st.sampled_from(["again", "skip", "next"]), max_size=20))
def test_a_repeated_change_is_not_taken_twice_and_a_missing_one_ends_the_connection(faults: list[str]) -> None:
    heard = Heard()
    heard.connect()
    number = 0
    for fault in faults:
        if fault == "again" and number:
            assert heard.take(Put(number, 0, True, {"a": "other"})) is None
            assert heard.values == {"a": number}
        elif fault == "skip":
            with pytest.raises(LinkError, match=f"part 0 of change {number + 2} came"):
                heard.take(Put(number + 2, 0, True, {"a": 0}))
        elif fault == "next":
            number += 1
            heard.take(Put(number, 0, True, {"a": number}))


def test_a_reader_never_sees_half_of_a_change() -> None:
    heard = Heard()
    heard.connect()
    assert heard.take(Put(1, 0, False, {"a": 1})) is None
    assert heard.values == {}
    change = heard.take(Put(1, 1, True, {"b": 2}))
    assert change is not None
    assert heard.values == change.set == {"a": 1, "b": 2}


def test_after_a_cut_only_buckets_that_differ_are_sent_again() -> None:
    told, heard = Told(), Heard()
    for number in range(500):
        told.put(f"object/{number}", number)
    wire = Wire(told, heard)
    wire.settle()
    wire.reconnect()
    assert told.next() == []
    told.put("object/7", "other")
    told.disconnect()
    told.connect(heard.connect())
    parts = told.next()
    assert {bucket(key) for part in parts for key in part.set} == {bucket("object/7")}


def test_who_knows_only_a_part_takes_nothing_away_from_who_has_more() -> None:
    before, heard = Told(), Heard()
    for number in range(500):
        before.put(f"object/{number}", number)
    before.put("setup", "old")
    Wire(before, heard).settle()
    told = Told(whole=False)
    told.put("setup", "new")
    told.connect(heard.connect())
    assert (told.next(), told.settled, told.held) == ([], False, 0)
    for number in range(499):
        told.put(f"object/{number}", number)
    told.complete()
    parts = told.next()
    assert {name for part in parts for name in part.buckets} == {bucket("object/499"), bucket("setup")}
    for put in parts:
        heard.take(frames.decode(frames.encode(put)))  # type: ignore[arg-type]
        told.acknowledged(put.n)
    assert heard.values == {"setup": "new", **{f"object/{number}": number for number in range(499)}}
    assert told.settled


def test_who_has_nothing_is_told_a_part_at_once() -> None:
    told = Told(whole=False)
    told.put("setup", "new")
    told.connect(Heard().connect())
    assert [part.set.keys() for part in told.next()] == [{"setup"}]


def test_who_has_more_is_told_nothing_while_what_is_said_is_not_for_good() -> None:
    before, heard = Told(), Heard()
    for number in range(500):
        before.put(f"object/{number}", number)
    Wire(before, heard).settle()
    told = Told(whole=False, at_once=["setup"])
    told.put("setup", "new")
    for number in range(500):
        told.put(f"object/{number}", "unknown")
    told.connect(heard.connect())
    assert told.next() == []
    for number in range(500):
        told.put(f"object/{number}", number)
    told.complete()
    assert {bucket(key) for part in told.next() for key in part.set} == {bucket("setup")}


def test_who_has_only_what_is_said_at_once_is_told_it_again() -> None:
    heard = Heard()
    before = Told()
    before.put("setup", "old")
    Wire(before, heard).settle()
    told = Told(whole=False, at_once=["setup"])
    told.put("setup", "new")
    told.connect(heard.connect())
    assert [part.set.keys() for part in told.next()] == [{"setup"}]


def test_a_part_that_was_held_back_is_forgotten_with_its_connection() -> None:
    told = Told(whole=False)
    told.connect(["x"] * BUCKETS)
    assert not told.settled
    told.disconnect()
    told.complete()
    assert told.next() == []
    told.connect(Heard().connect())
    assert told.settled


def test_the_owner_knows_up_to_where_the_copy_has_acknowledged() -> None:
    told, heard = Told(), Heard()
    told.put("a", 0)
    assert (told.sequence, told.held) == (1, 0)
    wire = Wire(told, heard)
    wire.settle()
    assert (told.sequence, told.held) == (1, 1)
    told.put("a", 0)
    assert told.sequence == 1  # nothing new
    told.put("a", 1)
    under_way = told.next()
    told.drop("a")
    for put in under_way:
        heard.take(frames.decode(frames.encode(put)))  # type: ignore[arg-type]
        told.acknowledged(put.n)
    assert (told.sequence, told.held) == (3, 2)
    told.disconnect()
    told.connect(heard.connect())  # the copy still has what was dropped
    assert told.held == 0
    wire.settle()
    assert (told.sequence, told.held) == (3, 3)
    told.acknowledged(1)  # that of a change which is over says nothing
    told.put("b", 1)
    assert (told.sequence, told.held) == (4, 3)


def test_what_changes_ten_times_while_the_reader_is_busy_is_sent_once_more() -> None:
    told, heard = Told(), Heard()
    wire = Wire(told, heard)
    told.put("a", 0)
    first = told.next()
    for number in range(1, 11):
        told.put("a", number)
    assert told.next() == []  # one at a time
    for put in first:
        heard.take(frames.decode(frames.encode(put)))  # type: ignore[arg-type]
    told.acknowledged(1)
    [second] = told.next()
    assert frames.decode(frames.encode(second)) == Put(2, 0, True, {"a": 10})
    assert wire.heard.values == {"a": 0}


def test_a_large_change_goes_in_frames_of_a_bounded_size() -> None:
    told, heard = Told(), Heard()
    for number in range(20):
        told.put(f"body/{number}", "x" * 12_000)
    told.connect(heard.connect())
    parts = told.next()
    sizes = [len(frames.encode(part)) for part in parts]
    assert len(parts) == 10
    assert max(sizes) < frames.USUAL + 4096
    assert [part.last for part in parts] == [False] * 9 + [True]


def test_what_has_come_of_a_change_is_kept_as_text_until_its_end() -> None:
    told, heard = Told(), HeardAsText()
    wanted = {f"object/{number}": {"status": {"replicas": number}, "of": "x" * 12_000} for number in range(20)}
    for key, value in wanted.items():
        told.put(key, value)
    told.connect(heard.connect())
    *parts, last = told.next()
    for part in parts:
        assert heard.take(frames.decode(frames.encode(part))) is None  # type: ignore[arg-type]
        assert {type(one) for one in heard._set.values()} == {bytes}
    assert not heard.values, "a change counts as a whole"
    change = heard.take(frames.decode(frames.encode(last)))  # type: ignore[arg-type]
    assert change is not None
    assert dict(change.set) == wanted
    assert (len(change.set), not heard._set) == (20, True)


def test_a_value_that_no_frame_has_room_for_is_refused_where_it_is_made() -> None:
    told = Told()
    with pytest.raises(LinkError, match="body/a has 9000002 bytes: more than an agent is sent"):
        told.put("body/a", "x" * 9_000_000)
    assert "body/a" not in told


def test_an_acknowledgement_of_what_was_never_sent_ends_the_connection() -> None:
    told = Told()
    told.connect([])
    with pytest.raises(LinkError, match="change 3 is acknowledged and was never sent"):
        told.acknowledged(3)


def test_an_agent_cannot_fill_the_hubs_memory_with_one_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitfed.agent_protocol.replica.MOST_KEYS", 5)
    heard = Heard()
    heard.connect()
    with pytest.raises(LinkError, match="too much at once"):
        heard.take(Put(1, 0, False, {str(number): number for number in range(6)}))
