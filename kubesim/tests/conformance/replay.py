"""Holds a recorded conversation with a server: sends what was sent, compares what comes back, keeps watches open
beside it."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from tests.conformance import answers
from tests.conformance.placeholders import Table, filled, order_errors

_RETRY_SECONDS: Final = 20.0
_RETRY_PAUSE: Final = 0.02
_EVENTS_SECONDS: Final = 20.0
_NO_MORE_SECONDS: Final = 0.05
"""How long a watch is listened to after its last expected event."""
_OWN_HEADERS: Final = ("Accept", "Accept-Encoding", "User-Agent", "Content-Type")


async def replay(
    scenario: dict[str, Any], base_url: str, advance_clock: Callable[[], None], forget: Callable[[], None]
) -> list[str]:
    """What differs, each line with the step; nothing if all is as recorded.

    ``advance_clock`` moves the server's clock by a second or more; ``forget`` makes it drop its history.
    """
    table: Table = {}
    found: list[str] = []
    watches: list[tuple[int, _Watch]] = []
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    connector = aiohttp.TCPConnector(limit=0, force_close=False)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False) as session:
        for index, step in enumerate(scenario["steps"]):
            if "forget" in step:
                forget()
                continue
            advance_clock()
            try:
                if "watch" in step:
                    watch = _Watch(step)
                    lines = await watch.open(session, base_url, table)
                    watches.append((index, watch))
                else:
                    lines = await _request(session, base_url, step, table)
            except KeyError as error:
                lines = [f"{error.args[0]} was never bound"]
            found += [f"step {index}: {line}" for line in lines]
            if watches and "request" in step:
                await asyncio.sleep(0)
        for index, watch in watches:
            found += [f"step {index}: {line}" for line in await watch.close(table)]
    return found + order_errors(table)


def _url(base_url: str, wanted: dict[str, Any]) -> URL:
    query = wanted.get("query")
    return URL(base_url + wanted["path"] + (f"?{urlencode(query)}" if query else ""), encoded=True)


def _headers(wanted: dict[str, Any]) -> dict[str, str]:
    headers = {"Authorization": "Bearer admintoken", "User-Agent": "conformance/1.0", **wanted.get("headers", {})}
    if not headers["Authorization"]:
        del headers["Authorization"]
    return headers


async def _request(session: aiohttp.ClientSession, base_url: str, step: dict[str, Any], table: Table) -> list[str]:
    wanted = filled(step["request"], table)
    sent = wanted["text"].encode() if "text" in wanted else None
    if "body" in wanted:
        sent = json.dumps(wanted["body"], ensure_ascii=False).encode()
    deadline = asyncio.get_running_loop().time() + _RETRY_SECONDS
    while True:
        data = io.BytesIO(sent) if sent is not None else None
        async with session.request(
            wanted["method"],
            _url(base_url, wanted),
            headers=_headers(wanted),
            data=data,
            skip_auto_headers=_OWN_HEADERS,
        ) as response:
            raw = await response.read()
            if response.headers.get("Content-Encoding") == "gzip":
                raw = gzip.decompress(raw)
            headers: dict[str, list[str]] = {}
            for name, value in response.headers.items():
                headers.setdefault(name.lower(), []).append(value)
            attempt = dict(table)
            lines = answers.differences(
                step["response"], response.status, headers, raw.decode("utf-8", "replace"), attempt
            )
        if not lines or not step.get("retry") or asyncio.get_running_loop().time() > deadline:
            table.update(attempt)
            return lines
        await asyncio.sleep(_RETRY_PAUSE)


class _Watch:
    """One watch step: opened, listened to while the conversation goes on, compared when it has ended."""

    def __init__(self, step: dict[str, Any]) -> None:
        self._step = step
        self._events: list[Any] = []
        self._reader: asyncio.Task[None] | None = None
        self._response: aiohttp.ClientResponse | None = None

    async def open(self, session: aiohttp.ClientSession, base_url: str, table: Table) -> list[str]:
        wanted = filled(self._step["watch"], table)
        response = await session.get(_url(base_url, wanted), headers=_headers(wanted), skip_auto_headers=_OWN_HEADERS)
        headers: dict[str, list[str]] = {}
        for name, value in response.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        if response.status != 200 or self._step["response"]["status"] != 200:
            text = await response.text() if response.status != 200 else ""
            response.close()
            return answers.differences(self._step["response"], response.status, headers, text, table)
        self._response = response
        self._reader = asyncio.create_task(self._read(response))
        return answers.differences(self._step["response"], response.status, headers, "", table)

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        rest = b""
        async for piece in response.content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            self._events += [json.loads(line) for line in lines if line.strip()]

    async def close(self, table: Table) -> list[str]:
        if self._reader is None or self._response is None:
            return []
        found: list[str] = []
        expected = self._step.get("events", [])
        if self._step["ended_by"] == "server":
            done, _ = await asyncio.wait([self._reader], timeout=_EVENTS_SECONDS)
            if not done:
                found.append("the server did not end the watch")
        else:
            await self._arrival(expected, table)
        self._reader.cancel()
        self._response.close()
        await asyncio.gather(self._reader, return_exceptions=True)
        return found + _compare(expected, self._events, table)

    async def _arrival(self, expected: list[Any], table: Table) -> None:
        """Until everything expected is there, and a moment more for what should not come."""
        deadline = asyncio.get_running_loop().time() + _EVENTS_SECONDS
        while _compare(expected, self._events, dict(table)) and asyncio.get_running_loop().time() < deadline:
            if len([event for event in self._events if event["type"] != "BOOKMARK"]) > len(expected):
                return
            await asyncio.sleep(_RETRY_PAUSE)
        await asyncio.sleep(_NO_MORE_SECONDS)


def _compare(expected: list[Any], events: list[Any], table: Table) -> list[str]:
    """In order; bookmarks beyond the recorded ones may come."""
    found: list[str] = []
    at = 0
    for index, event in enumerate(expected):
        while at < len(events):
            attempt = dict(table)
            lines = answers.equal(event, events[at], attempt, f"event {index}")
            at += 1
            if not lines:
                table.update(attempt)
                break
            if events[at - 1]["type"] != "BOOKMARK":
                found += lines
                table.update(attempt)
                break
        else:
            found.append(f"event {index}: missing, expected {json.dumps(event)[:300]}")
    found += [f"not expected: {json.dumps(event)[:300]}" for event in events[at:] if event["type"] != "BOOKMARK"]
    return found
