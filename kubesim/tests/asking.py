"""Asks an embedded cluster over HTTP, and gives what came back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp

from kubesim.cluster import Cluster

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class Answer(NamedTuple):
    status: int
    body: dict[str, Any]
    warnings: list[str]

    @property
    def message(self) -> Any:
        return self.body.get("message")


class Asker:
    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url

    async def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Answer:
        headers = {"Authorization": "Bearer admintoken", "Accept": accept} | (
            {"Content-Type": content_type} if body is not None else {}
        )
        data = json.dumps(body) if body is not None else None
        async with self._session.request(method, self._url + path, data=data, headers=headers) as response:
            return Answer(response.status, await response.json(), response.headers.getall("Warning", []))


@contextlib.asynccontextmanager
async def fresh_cluster() -> AsyncIterator[Asker]:
    cluster = Cluster("member1")
    await cluster.start()
    try:
        async with aiohttp.ClientSession() as session:
            yield Asker(session, cluster.url)
    finally:
        await cluster.stop()
