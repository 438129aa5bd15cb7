"""A cluster that answers JSON which no API server gives loses only what it answered, for as long as it does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitfed.daemon.fleet import member
from gitfed.edges.backoff import Backoff
from gitfed.edges.kube import reflect
from gitfed.edges.kube.connection import session
from gitfed.hub import health
from gitfed.hub.running import Running
from tests.clusters.faulty import Faulty
from tests.safety.engines import Stage, until

ODD = {
    "nothing": b"null",
    "a number": b"5",
    "a list": b"[]",
    "no JSON": b"{",
    "items that are a number": b'{"items": 5, "metadata": {}}',
    "items that are numbers": b'{"items": [5], "metadata": {}}',
    "items with odd metadata": b'{"items": [{"metadata": 5}], "metadata": {}}',
    "names that are numbers": b'{"items": [{"metadata": {"name": 5}}], "metadata": {}}',
    "labels that are a list": b'{"items": [{"metadata": {"name": "a", "labels": ["x"]}}], "metadata": {}}',
    "a list with odd metadata": b'{"items": [], "metadata": [5]}',
    "discovery of numbers": b'{"groups": [5], "versions": [5], "resources": [5]}',
    "discovery with odd groups": b'{"groups": [{"name": 5, "versions": 5}], "versions": {}, "resources": 7}',
    "aggregated discovery of numbers": b'{"kind": "APIGroupDiscoveryList", "items": [5]}',
    "aggregated discovery with odd metadata": b'{"kind": "APIGroupDiscoveryList", "items": [{"metadata": 5}]}',
    "aggregated discovery without items": b'{"kind": "APIGroupDiscoveryList"}',
    "a number with 5,000 digits": b'{"items": [{"metadata": {"name": "a"}, "spec": {"replicas": '
    + b"9" * 5000
    + b"}}]}",
}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Faulty(tmp_path) as faulty:
        yield Stage(tmp_path, faulty)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "RETRIES", Backoff((0.1,)))
    monkeypatch.setattr(reflect, "BACKOFF", Backoff((0.1,)))


@pytest.mark.parametrize("odd", ODD)
async def test_a_cluster_with_odd_answers_is_said_to_be_unusable_and_comes_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, odd: str
) -> None:
    caplog.set_level(logging.INFO)
    answers, read = {"on": True, "times": 0}, session.Session._read

    async def answered(self: session.Session, response: Any) -> bytes:
        told = await read(self, response)
        if answers["on"] and self.cluster == "m1" and response.url.path not in ("/readyz", "/healthz"):
            answers["times"] += 1
            return ODD[odd]
        return told

    monkeypatch.setattr(session.Session, "_read", answered)
    async with stage.engine() as engine:
        await until(lambda: stage.held("m2") == ["a"], "the other cluster")
        await until(lambda: answers["times"] > 4 and engine.fleet.members["m1"].live().error, "marked")
        assert stage.held("m1") == []
        await until(lambda: [one for one in caplog.records if getattr(one, "cluster", "") == "m1"], "logged")
        running = Running()
        running.engine = engine
        assert not health.why_not_ready(running)
        answers["on"] = False
        await until(lambda: engine.settled() and stage.held("m1") == ["a"], "healed")


@pytest.mark.parametrize(
    "line",
    [b"5", b"{}", b'{"type": "ADDED", "object": 5}', b'{"type": 7, "object": {"metadata": {}}}',
     b'{"type": "MODIFIED", "object": {"metadata": {"name": "a", "uid": 5}}}',
     b'{"type": "ERROR", "object": 5}', b'{"type": "ERROR", "object": {"code": "x"}}',
     b'{"type": "ERROR", "object": {"kind": "Status", "details": {"causes": 5}, "code": 422}}',
     b'{"type": "BOOKMARK", "object": 5}', b'{"type": "BOOKMARK", "object": {"metadata": 5}}'],
)  # fmt: skip
async def test_odd_events_of_a_watch_are_survived(stage: Stage, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    odd, take = {"left": 6, "seen": 0}, reflect._take

    def taken(one: session.Session, told: bytes, follower: Any, version: str) -> str:
        if one.cluster == "m1" and odd["left"]:
            odd["left"] -= 1
            told = line
        return take(one, told, follower, version)

    monkeypatch.setattr(reflect, "_take", taken)
    async with stage.engine() as engine:
        await until(lambda: odd["left"] < 6 and stage.held("m1") == stage.held("m2") == ["a"])
        await until(engine.settled)
