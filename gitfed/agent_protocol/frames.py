"""What goes over the wire: one JSON object per WebSocket message, of a bounded size.

The agent begins with `hello`, the hub answers with `welcome`; then both sides send `put`, `ack`, `beat`, `ask` and
`answer`. `bye` says why a connection ends. A frame that is anything else is the end of the connection, not of the
process: the other side may be newer, broken, or an attacker who wants to find out what we do.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal, TypeAlias

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from gitfed.errors import LinkError
from gitfed.text.values import dataclass

NEWEST = 3
OLDEST = 2
"""Versions of the protocol that are understood: the present one and the one before."""
STREAMS = 2
"""The version from which on an agent dials back when it is asked for a stream."""
PINGS = 3
"""The version from which on the agent's pings are the signs of life of both sides, and no `beat` is sent."""
LARGEST = 8 << 20
"""Bytes of one frame. An object of Kubernetes has 1.5 MiB at most, and there are two of each while it changes."""
USUAL = 32 << 10
"""Bytes after which a frame is sent, and another one begun. The buffers of a connection stay as large as the largest
frame that went through them, and a hub has some for each agent."""
MOST_BUCKETS = 256

_Text: TypeAlias = Annotated[str, Field(max_length=512)]
_Long: TypeAlias = Annotated[str, Field(max_length=2048)]
_Digests: TypeAlias = Annotated[tuple[Annotated[str, Field(max_length=64)], ...], Field(max_length=MOST_BUCKETS)]


@dataclass(frozen=True, slots=True)
class Hello:
    """`instance` names the agent's process, `digests` what it has of the slice."""

    oldest: int
    newest: int
    instance: _Text
    program: _Text
    digests: _Digests
    t: Literal["hello"] = "hello"


@dataclass(frozen=True, slots=True)
class Welcome:
    """`lease`: seconds of silence after which a side counts as gone."""

    version: int
    lease: float
    digests: _Digests
    t: Literal["welcome"] = "welcome"


@dataclass(frozen=True, slots=True)
class Put:
    """A part of one change of the sender's mapping; `last` ends it, and it counts as a whole.

    `buckets`: what is in these, and in no part of this change, is gone.
    """

    n: int
    part: int
    last: bool
    set: dict[str, Any] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    buckets: tuple[int, ...] = ()
    t: Literal["put"] = "put"


@dataclass(frozen=True, slots=True)
class Ack:
    n: int
    t: Literal["ack"] = "ack"


@dataclass(frozen=True, slots=True)
class Beat:
    t: Literal["beat"] = "beat"


@dataclass(frozen=True, slots=True)
class Ask:
    id: int
    what: _Text
    about: Any = None
    t: Literal["ask"] = "ask"


@dataclass(frozen=True, slots=True)
class Answer:
    """`error` "": there is a value."""

    id: int
    value: Any = None
    error: _Long = ""
    t: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True)
class Bye:
    """`final`: connecting again would not help, so it is done rarely."""

    why: _Long
    final: bool = False
    t: Literal["bye"] = "bye"


Frame: TypeAlias = Hello | Welcome | Put | Ack | Beat | Ask | Answer | Bye
_FRAMES: TypeAdapter[Frame] = TypeAdapter(Annotated[Frame, Field(discriminator="t")])


def encode(frame: Frame) -> bytes:
    """Values that were encoded before (`orjson.Fragment`) are taken as they are."""
    return orjson.dumps(frame)


def decode(data: object) -> Frame:
    """Raises LinkError."""
    if not isinstance(data, bytes):
        raise LinkError("a frame is no binary message")
    if len(data) > LARGEST:
        raise LinkError(f"a frame of {len(data)} bytes: at most {LARGEST} are taken")
    try:
        return _FRAMES.validate_python(orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise LinkError("a frame is no JSON") from error
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise LinkError(f"a frame of no known form: {where}: {fault['msg']}") from error


def agreed(hello: Hello, *, oldest: int = OLDEST, newest: int = NEWEST) -> int:
    """The version that both sides understand. Raises LinkError, which both sides' people can act upon."""
    version = min(newest, hello.newest)
    if version >= max(oldest, hello.oldest):
        return version
    older, what = ("agent", hello.program) if hello.newest < oldest else ("hub", "the hub")
    raise LinkError(
        f"{what} is too old: the agent speaks versions {hello.oldest} to {hello.newest} of the protocol, "
        f"the hub {oldest} to {newest}",
        final=True,
        hint=f"install a newer {older}",
    )
