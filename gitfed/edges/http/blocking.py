"""Requests for callers without an event loop: commands, and threads that have nothing else to do.

Each request has a loop of its own, and no thread beside it that a program's end would wait for. What makes one is
imported with the first request: most commands ask nobody.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitfed.edges.http import LARGEST_REFUSAL, Answer, NoAnswer, Request
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    import asyncio

    import aiohttp

_LONGEST_LINE = 1 << 20


def ask(request: Request, *, most: int, of_refusal: int = LARGEST_REFUSAL) -> Answer:
    """As `client.ask`. Raises NoAnswer."""
    import asyncio

    from gitfed.edges import resolve
    from gitfed.edges.http import client

    return asyncio.run(client.ask(request, most=most, of_refusal=of_refusal, resolver=resolve.Inline()))


@dataclass(frozen=True, slots=True)
class Stream:
    answer: Answer
    """Without a body, but for a refusal."""
    lines: Iterator[bytes]
    """As they come, each with its end; one of more than a mebibyte in parts. Raises NoAnswer."""


@contextlib.contextmanager
def stream(request: Request) -> Iterator[Stream]:
    """An answer that lasts. Raises as `ask`."""
    import asyncio

    from gitfed.edges import resolve
    from gitfed.edges.http import client

    with asyncio.Runner() as runner:
        held = contextlib.AsyncExitStack()
        try:
            try:
                response = runner.run(held.enter_async_context(client.opened(request, resolver=resolve.Inline())))
            except client.FAILURES as error:
                raise NoAnswer(error) from error
            answer = Answer(response.status, response.headers)
            yield Stream(answer if answer.is_good else runner.run(client.refusal(response)), _lines(runner, response))
        finally:
            runner.run(held.aclose())


def _lines(runner: asyncio.Runner, response: aiohttp.ClientResponse) -> Iterator[bytes]:
    from gitfed.edges.http import client

    rest = b""
    while True:
        try:
            part = runner.run(response.content.readany())
        except client.FAILURES as error:
            raise NoAnswer(error) from error
        *lines, rest = (rest + part).split(b"\n")
        yield from (line + b"\n" for line in lines)
        if rest and (not part or len(rest) > _LONGEST_LINE):
            yield rest
            rest = b""
        if not part:
            return
