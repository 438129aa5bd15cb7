"""What is no YAML in `state.yaml` stops nothing for good, and what the daemon keeps is its owner's alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.daemon import trouble
from gitfed.edges.backoff import Backoff
from tests.clusters.faulty import Faulty
from tests.safety.engines import Stage, config_map, until


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Faulty(tmp_path) as faulty:
        yield Stage(tmp_path, faulty)


@pytest.mark.parametrize("garbage", ["a: [", "\t- x: {", "schemaVersion: 99", "a: 1\n---\nb: 2\n"])
async def test_garbage_on_the_state_branch_is_named_and_a_good_commit_heals_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, garbage: str
) -> None:
    monkeypatch.setattr(trouble, "_AGAIN", Backoff((0.1,)))
    async with stage.engine() as engine:
        await until(engine.settled)
    clone = stage.directory / "data" / "clone.git"
    files = stage.directory / "state"
    stage.git("clone", "-q", "-b", "gitfed/state", str(stage.repo), str(files))

    def push(text: str) -> None:
        (files / "state.yaml").write_text(text)
        for command in (["add", "-A"], ["commit", "-q", "-m", "x"], ["push", "-q", "origin", "HEAD:gitfed/state"]):
            stage.git("-C", str(files), *command)

    good = (files / "state.yaml").read_text()
    push(garbage)
    stage.commit({"manifests/b.yaml": config_map("b")})
    caplog.set_level(logging.INFO)
    async with stage.engine() as engine:
        await until(lambda: engine.trouble is not None)
        said = str(engine.trouble)
        assert "gitfed/state" in said or "the state branch" in said
        if not garbage.startswith("schema"):
            assert "gitfed/state:state.yaml" in said
        assert stage.held("m1") == ["a"]
        push(good)
        await until(lambda: engine.settled() and stage.held("m1") == stage.held("m2") == ["a", "b"])
        assert engine.trouble is None
    assert clone.stat().st_mode & 0o777 == 0o700


async def test_the_daemons_clone_is_its_owners_alone_whatever_the_umask(stage: Stage) -> None:
    before = os.umask(0o022)
    try:
        async with stage.engine() as engine:
            await until(engine.settled)
    finally:
        os.umask(before)
    assert (stage.directory / "data" / "clone.git").stat().st_mode & 0o077 == 0
