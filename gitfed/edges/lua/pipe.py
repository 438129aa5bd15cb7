"""What the daemon and its worker process say to each other: many calls in one message, and one message per answer.

A message is four bytes of length, then its content. Calls go together, because a message costs a switch between two
processes; answers come one by one, because only so is it known which call a process was at when it stopped to answer.

    calls    length of the head, head (JSON), then the arguments of all calls as JSON, one behind the other
    answer   JSON

Arguments are not part of the head, so that a large object is not written again to be known as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from gitfed.edges.lua import request
from gitfed.edges.lua.request import Outcome, Request, ScriptError
from gitfed.model.script import Script


def calls(requests: Sequence[Request]) -> bytes:
    """A message to the worker."""
    numbers: dict[tuple[str, str], int] = {}
    rows: list[Any] = []
    arguments: list[bytes] = []
    for call in requests:
        texts = sent(call)
        number = numbers.setdefault((call.script.name, call.script.text), len(numbers))
        lengths = [len(text) for text in texts]
        rows.append([number, call.function, lengths, call.results, call.now, call.backwards, call.seed, call.edits])
        arguments += texts
    head = orjson.dumps([list(numbers), rows])
    return message(b"".join([len(head).to_bytes(4), head, *arguments]))


def sent(call: Request) -> tuple[bytes, ...]:
    """The arguments of a call as they go through the pipe."""
    texts = (*call.texts, *(None for _ in call.arguments[len(call.texts) :]))
    return tuple(
        request.text(argument) if text is None else text for argument, text in zip(call.arguments, texts, strict=True)
    )


def read_calls(content: bytes) -> Iterator[Request]:
    """Of a message without its length; each is read when it is its turn."""
    end = 4 + int.from_bytes(content[:4])
    names_and_texts, rows = orjson.loads(content[4:end])
    scripts = [Script(name, text) for name, text in names_and_texts]
    for number, function, lengths, results, now, backwards, seed, edits in rows:
        texts = []
        for length in lengths:
            texts.append(content[end : end + length])
            end += length
        arguments = tuple(map(request.value_of, texts))
        yield Request(scripts[number], function, arguments, tuple(texts), results, now, backwards, seed, edits)


def answer(outcome: Outcome | ScriptError) -> bytes:
    """A message to the daemon."""
    if isinstance(outcome, ScriptError):
        return message(orjson.dumps(str(outcome)))
    flags = (outcome.told_time, outcome.took_order, outcome.took_chance, outcome.line)
    return message(orjson.dumps((outcome.kinds, outcome.values, flags, outcome.edits)))


def read_answer(content: bytes | bytearray | memoryview) -> Outcome | ScriptError:
    """Of a message without its length."""
    parsed: Any = orjson.loads(content)
    if isinstance(parsed, str):
        return ScriptError(parsed)
    kinds, values, (told, order, chance, line), edits = parsed
    return Outcome(tuple(kinds), tuple(values), told, order, chance, line, None if edits is None else tuple(edits))


def message(content: bytes) -> bytes:
    return len(content).to_bytes(4) + content
