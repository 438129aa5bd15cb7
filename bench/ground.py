"""A large fleet's repository on disk, with what a daemon would have recorded: for commands measured from start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path

from bench import scale
from gitfed.daemon.facts_record import FactsRecord
from gitfed.documents import bindings
from gitfed.documents import facts as facts_form
from gitfed.documents.state_commits import Message
from gitfed.edges.state import state as state_edge
from gitfed.edges.state.facts_branch import FactsBranch
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import ClusterFacts
from gitfed.offline import fleet_inputs, inputs


def git(path: Path, *arguments: str, stdin: bytes | None = None) -> str:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0")
    done = subprocess.run(["git", "-C", str(path), *identity, *arguments], check=True, capture_output=True, input=stdin)
    return done.stdout.decode().strip()


def commit(path: Path, files: Mapping[str, bytes | None], subject: str = "a fleet") -> None:
    """These files (None: gone) in a repository at `path`, which is made when there is none."""
    if not (path / ".git").exists():
        path.mkdir(parents=True, exist_ok=True)
        git(path, "init", "-q", "-b", "main")
    for name, content in files.items():
        put(path, name, content)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", subject)


def put(path: Path, name: str, content: bytes | None) -> None:
    target = path / name
    if content is None:
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def state(path: Path, *, from_facts: bool = False) -> None:
    """What a daemon would have decided for the main branch; `from_facts`: from recorded facts, an hour before them."""
    opened = inputs.open_repository(str(path))
    applied = opened.repository.resolve("main")
    repo = inputs.read(opened, applied).repo
    seen, when = fleet_inputs.assumed(repo), scale.NOW
    if from_facts:
        seen, when = fleet_inputs.fleet(opened, repo), scale.NOW - timedelta(hours=1)
    plan = inputs.plan(opened, repo, seen, Decisions(), when)
    branch = state_edge.StateBranch(opened.repository, bindings)
    decided = {key: one.decision for key, one in plan.bindings.items() if one.decision is not None}
    decisions = Decisions(decided, applied, repository_id="bench", clusters=plan.records)
    branch.write(branch.read(), state_edge.BranchState(None, decisions), Message("Decide"), now=when)


def facts(path: Path, seen: Mapping[str, ClusterFacts]) -> None:
    """What a daemon would have seen of the clusters, an hour after it decided."""
    opened = inputs.open_repository(str(path))
    record = FactsRecord(FactsBranch(opened.repository, facts_form), url=None, push=False)
    record.write(dict(seen), seen.keys(), scale.NOW + timedelta(hours=1))


def command(path: Path, cache: Path, *arguments: str, codes: Collection[int] = (0,)) -> tuple[float, float, str]:
    """(seconds, seconds of the processor, what it printed) of a `gitfed` command, from the start of its process."""
    before, cpu = time.perf_counter(), _children()
    done = subprocess.run(
        [sys.executable, "-m", "gitfed", *arguments], cwd=path, capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    took = time.perf_counter() - before
    if done.returncode not in codes:
        raise RuntimeError(f"gitfed {arguments[0]} left with {done.returncode}: {done.stderr[:2000]}")
    return took, _children() - cpu, done.stdout


def _children() -> float:
    found = os.times()
    return found.children_user + found.children_system
