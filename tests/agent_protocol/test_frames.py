"""Frames: what is understood, and what ends a connection."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitfed.agent_protocol import frames
from gitfed.agent_protocol.frames import Ack, Answer, Ask, Beat, Bye, Hello, Put, Welcome
from gitfed.errors import LinkError

HELLO = Hello(1, 1, "one", "gitfed 1", ("a",))


@pytest.mark.parametrize(
    "frame",
    [HELLO, Welcome(1, 40.0, ()), Put(1, 0, True, {"a": {"b": [1, None]}}, ("c",), (3,)), Ack(1), Beat(),
     Ask(1, "look", [["", "Secret", "a", "b"]]), Answer(1, {"a": 1}), Answer(2, error="no"), Bye("over", True)],
    ids=lambda frame: type(frame).__name__,
)  # fmt: skip
def test_every_frame_is_read_as_it_was_written(frame: frames.Frame) -> None:
    assert frames.decode(frames.encode(frame)) == frame


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text", "a frame is no binary message"),
        (b"{", "a frame is no JSON"),
        (b"[]", "a frame of no known form"),
        (b'{"t": "put", "n": "x", "part": 0, "last": true}', "a frame of no known form: put.n"),
        (b'{"t": "other"}', "a frame of no known form"),
        (b" " * (frames.LARGEST + 1), "at most 8388608 are taken"),
    ],
    ids=["a text", "cut off", "a list", "a number that is none", "an unknown frame", "too large"],
)
def test_what_is_no_frame_ends_the_connection_with_a_sentence(data: object, message: str) -> None:
    with pytest.raises(LinkError, match=message):
        frames.decode(data)


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_frame_or_a_refusal(data: bytes) -> None:
    with contextlib.suppress(LinkError):
        assert frames.decode(frames.encode(frames.decode(data))) is not None


@pytest.mark.parametrize(
    ("agent", "hub", "agreed"),
    [((1, 1), (1, 1), 1), ((1, 2), (1, 1), 1), ((1, 2), (2, 3), 2), ((2, 3), (1, 2), 2)],
    ids=["the same", "a newer agent", "an agent of the version before", "a hub of the version before"],
)
def test_one_version_of_difference_works(agent: tuple[int, int], hub: tuple[int, int], agreed: int) -> None:
    hello = Hello(*agent, "one", "gitfed 1", ())
    assert frames.agreed(hello, oldest=hub[0], newest=hub[1]) == agreed


def test_an_agent_that_is_too_old_is_told_to_be_renewed() -> None:
    with pytest.raises(LinkError) as refused:
        frames.agreed(HELLO, oldest=2, newest=3)
    assert refused.value.message == (
        "gitfed 1 is too old: the agent speaks versions 1 to 1 of the protocol, the hub 2 to 3"
    )
    assert (refused.value.hint, refused.value.final) == ("install a newer agent", True)


def test_a_hub_that_is_too_old_says_that_it_is_the_hub() -> None:
    with pytest.raises(LinkError) as refused:
        frames.agreed(Hello(3, 4, "one", "gitfed 9", ()), oldest=1, newest=2)
    assert refused.value.message.startswith("the hub is too old")
    assert refused.value.hint == "install a newer hub"
