"""How old the commit is that each cluster holds: the time of the commit, looked up once for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gitfed.daemon.cycle import Engine
from gitfed.errors import SourceError
from gitfed.hub.metric import Metric, Sample
from gitfed.hub.running import Running
from gitfed.model.base import Commit

_EVERY = 2.0


class CommitAges:
    def __init__(self, running: Running) -> None:
        self._running = running
        self._made: dict[str, float] = {}
        """By commit: seconds since the epoch."""

    async def run(self) -> None:
        while True:
            engine = self._running.engine
            if engine is not None:
                held = {str(result.get("commit", "")) for result in self._results(engine).values()} - {""}
                self._made = {commit: when for commit, when in self._made.items() if commit in held}
                for commit in held - self._made.keys():
                    self._made[commit] = await asyncio.to_thread(_time_of, engine, Commit(commit))
            await asyncio.sleep(_EVERY)

    def metrics(self) -> tuple[Metric, ...]:
        return (
            Metric(
                "gitfed_cluster_applied_commit_age_seconds",
                "gauge",
                "Age of the commit that a cluster was last brought to",
                self._ages,
                ("cluster",),
            ),
            Metric(
                "gitfed_cluster_applied",
                "gauge",
                "1 where the commit in force is applied and nothing is unfinished",
                self._applied,
                ("cluster",),
            ),
        )

    @staticmethod
    def _results(engine: Engine) -> Mapping[str, Mapping[str, Any]]:
        return engine.memory.results

    def _ages(self) -> Iterator[Sample]:
        engine, now = self._running.engine, time.time()
        if engine is not None:
            for name, result in self._results(engine).items():
                made = self._made.get(str(result.get("commit", "")))
                if made is not None and name in engine.fleet.members:
                    yield (name,), max(0.0, now - made)

    def _applied(self) -> Iterator[Sample]:
        engine = self._running.engine
        if engine is not None:
            results, repo = self._results(engine), engine.repo
            for name in engine.fleet.members:
                result = results.get(name, {})
                whole = result.get("outcome") == "applied" and not result.get("unfinished")
                yield (name,), int(whole and repo is not None and result.get("commit") == str(repo.commit))


def _time_of(engine: Engine, commit: Commit) -> float:
    """0 for a commit that is not there any more: then it is very old."""
    try:
        return engine.reader.repository.info(commit).when.timestamp()
    except SourceError:
        return 0.0
