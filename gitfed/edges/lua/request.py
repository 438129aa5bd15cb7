"""One call of a script as a Lua state is asked for it, and what came of it: the same values on both sides of the pipe.

`model.script.Call` says what the rules want to know; a `Request` adds what running it takes: the clock and the order
that the script sees, and its arguments as JSON, which are worth making once, because the digest of a call, the way into
Lua and the way to the worker all need them. Both are made for every call, so they are tuples.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import orjson

from gitfed.model.script import Script


class ScriptError(Exception):
    """The script is wrong, or its inputs cannot be given to it: the same call fails again."""


COMPILE: Final = ""
"""The function of a request that only wants to know whether the script compiles: nothing runs."""


class Request(NamedTuple):
    """Runs the whole script in a fresh environment, then its global function with up to two arguments."""

    script: Script
    function: str
    arguments: tuple[Any, ...] = ()
    texts: tuple[bytes | None, ...] = ()
    """The arguments as JSON (`text`), where that is known; empty if it is of none."""
    results: int = 1
    now: int = 0
    """The script's clock, seconds since 1970."""
    backwards: bool = False
    """Keys come in another order, to find out whether the answer depends on that."""
    seed: int = 1
    """Another one gives other random numbers."""
    edits: bool = False
    """Tell what was changed of the first argument, if that is possible (`Outcome.edits`)."""


class Outcome(NamedTuple):
    kinds: tuple[str, ...]
    """Lua's type of each value."""
    values: tuple[Any, ...]
    """JSON values; an empty table is `[]`."""
    told_time: bool
    """The script asked for the time, so the answer holds only for that time."""
    took_order: bool
    """The script walked over the keys of a map."""
    took_chance: bool
    """The script asked for a random number."""
    line: int = 0
    """Where the function that was called begins in the script."""
    edits: tuple[Any, ...] | None = None
    """In place of the one value: what was changed of the first argument (`model.script.Returned`)."""


_INEXACT = b" "
"""Stands before a text that says of which value it is, but does not give it back."""


def text(value: Any) -> bytes:
    """A value as JSON. Members in order of name or not: an answer does not depend on it, and the same body mostly has
    the same."""
    try:
        return orjson.dumps(value)
    except TypeError:  # integers beyond 64 bits, halves of surrogate pairs
        return _INEXACT + json.dumps(value).encode()


def exact(argument_text: bytes | None) -> bytes | None:
    """A text that says everything about its value; None for any other."""
    return None if argument_text is None or argument_text.startswith(_INEXACT) else argument_text


def value_of(argument_text: bytes) -> Any:
    """The value that `text` wrote."""
    return json.loads(argument_text) if argument_text.startswith(_INEXACT) else orjson.loads(argument_text)
