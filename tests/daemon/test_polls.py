"""When a remote repository is asked again."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from gitfed import errors
from gitfed.daemon import wiring
from gitfed.daemon.loop import run_cycles
from tests.safety.engines import until
from tests.source.trees import SETTINGS


def _commit(repo: Path) -> str:
    command = ["git", "-C", str(repo), "-c", "user.name=T", "-c", "user.email=t@example.com"]
    subprocess.run([*command, "add", "-A"], check=True)
    subprocess.run([*command, "commit", "-q", "--allow-empty", "-m", "change"], check=True)
    return subprocess.run([*command, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def _repository(folder: Path) -> tuple[Path, str]:
    """And its first commit."""
    repo = folder / "fleet"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    (repo / "gitfed.yaml").write_text(SETTINGS)
    return repo, _commit(repo)


async def test_clusters_that_wake_the_loop_all_the_time_put_off_no_poll(tmp_path: Path) -> None:
    repo, first = await asyncio.to_thread(_repository, tmp_path)
    engine = wiring.make_engine(wiring.DaemonOptions(f"file://{repo}", data_dir=tmp_path / "data"))
    assert engine.reader.remote

    async def wake() -> None:
        while True:
            engine.wake.set()
            await asyncio.sleep(0.01)

    work = asyncio.create_task(run_cycles(engine, poll=lambda: 0.5))
    waking = asyncio.create_task(wake())
    try:
        await until(lambda: engine.repo is not None and engine.repo.commit == first)
        second = await asyncio.to_thread(_commit, repo)
        await until(lambda: engine.repo is not None and engine.repo.commit == second)
    finally:
        for task in (waking, work):
            task.cancel()
        await asyncio.gather(waking, work, return_exceptions=True)


async def test_a_ref_that_is_not_the_branch_moves_and_nothing_is_planned_anew(tmp_path: Path) -> None:
    repo, _first = await asyncio.to_thread(_repository, tmp_path)
    told: list[str] = []
    engine = wiring.make_engine(
        wiring.DaemonOptions(str(repo), data_dir=tmp_path / "data"), listener=lambda event, value: told.append(event)
    )
    work = asyncio.create_task(run_cycles(engine, poll=lambda: 3600.0))
    try:
        await until(engine.settled)
        planned = told.count("planned")
        engine.source_changed()  # as after a push of our own record
        await until(lambda: not engine.commits.due and engine.settled())
        assert told.count("planned") == planned
        engine.rouse()
        await until(lambda: told.count("planned") > planned)
        second = await asyncio.to_thread(_commit, repo)
        engine.source_changed()
        await until(lambda: engine.plan is not None and engine.plan.commit == second)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def test_trouble_with_a_look_ends_with_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, _first = await asyncio.to_thread(_repository, tmp_path)
    engine = wiring.make_engine(wiring.DaemonOptions(str(repo), data_dir=tmp_path / "data"))
    work = asyncio.create_task(run_cycles(engine, poll=lambda: 3600.0))
    try:
        await until(engine.settled)
        look, full = engine.memory.look, True

        async def looked() -> None:
            if full:
                raise errors.StateError("no space left on device")
            await look()

        monkeypatch.setattr(engine.memory, "look", looked)
        engine.source_changed()
        await until(lambda: engine.trouble is not None)
        full = False
        await until(lambda: engine.trouble is None)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
