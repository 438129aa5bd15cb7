"""What a member answers to exec, and how it ended."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.hub.doors.members import Exact


def status_of(text: str) -> tuple[int, str, str]:
    body = json.loads(text)
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    return body["code"], body["reason"], body["message"]


def says(data: bytes) -> Any:
    async def serve(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await member.head(reader)
            writer.write(data)

    return serve


async def echo(member: Exact, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await member.head(reader)
    upgrade = next(line[9:] for line in head.split("\r\n") if line.lower().startswith("upgrade: "))
    writer.write(
        f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n\r\nready;".encode()
    )
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
