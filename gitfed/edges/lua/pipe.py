"""What the daemon and its worker process say to each other: many calls in one message, and one message per answer.

A message is four bytes of length, then its content. Calls go together, because a message costs a switch between two
processes; answers come one by one, because only so is it known which call a process was at when it stopped to answer.

    calls    length of the head, head (JSON), then the arguments of all calls as JSON, one behind the other
    answer   JSON

Arguments are not part of the head, so that nobody has to write a large object again to know it as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from gitfed.edges.lua import request
from gitfed.edges.lua.request import Outcome, Request, ScriptError
from gitfed.model.script import Script


def calls(asked: Sequence[Request]) -> bytes:
    """A message to the worker."""
    numbers: dict[tuple[str, str], int] = {}
    rows: list[Any] = []
    arguments: list[bytes] = []
    for one in asked:
        texts = sent(one)
        number = numbers.setdefault((one.script.name, one.script.text), len(numbers))
        lengths = [len(text) for text in texts]
        rows.append([number, one.function, lengths, one.results, one.now, one.backwards, one.seed, one.edits])
        arguments += texts
    head = orjson.dumps([list(numbers), rows])
    return message(b"".join([len(head).to_bytes(4), head, *arguments]))


def sent(asked: Request) -> tuple[bytes, ...]:
    """The arguments of a call as they go through the pipe."""
    known = (*asked.texts, *(None for _ in asked.arguments[len(asked.texts) :]))
    return tuple(request.text(one) if text is None else text for one, text in zip(asked.arguments, known, strict=True))


def read_calls(content: bytes) -> Iterator[Request]:
    """Of a message without its length; each is read when it is its turn."""
    end = 4 + int.from_bytes(content[:4])
    scripts, rows = orjson.loads(content[4:end])
    known = [Script(name, text) for name, text in scripts]
    for number, function, lengths, results, now, backwards, seed, edits in rows:
        texts = []
        for length in lengths:
            texts.append(content[end : end + length])
            end += length
        arguments = tuple(map(request.value_of, texts))
        yield Request(known[number], function, arguments, tuple(texts), results, now, backwards, seed, edits)


def answer(found: Outcome | ScriptError) -> bytes:
    """A message to the daemon."""
    if isinstance(found, ScriptError):
        return message(orjson.dumps(str(found)))
    flags = (found.told_time, found.took_order, found.took_chance, found.line)
    return message(orjson.dumps((found.kinds, found.values, flags, found.edits)))


def read_answer(content: bytes | bytearray | memoryview) -> Outcome | ScriptError:
    """Of a message without its length."""
    found: Any = orjson.loads(content)
    if isinstance(found, str):
        return ScriptError(found)
    kinds, values, (told, order, chance, line), edits = found
    return Outcome(tuple(kinds), tuple(values), told, order, chance, line, None if edits is None else tuple(edits))


def message(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content
