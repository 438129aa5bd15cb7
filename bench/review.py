"""`gitfed diff` of a large repository, each time a process of its own: one changed file, and a thousand."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import scale
from gitfed.cli.diff_markdown import LIMIT
from gitfed.daemon import inputs
from gitfed.edges import state as state_edge
from gitfed.model.decisions import Decisions
from gitfed.source import bindings

MANY = 1000


def git(path: Path, *arguments: str, stdin: bytes | None = None) -> str:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0")
    done = subprocess.run(["git", "-C", str(path), *identity, *arguments], check=True, capture_output=True, input=stdin)
    return done.stdout.decode().strip()


def diff(path: Path, cache: Path, *arguments: str) -> tuple[float, str]:
    before = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gitfed", "diff", *arguments], cwd=path, capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    took = time.perf_counter() - before
    if done.returncode != 1:
        raise RuntimeError(f"gitfed diff left with {done.returncode}: {done.stderr[:2000]}")
    return took, done.stdout


def repository(path: Path) -> None:
    """The repository of `scale` in Git, with a commit that changes one template and one that changes a thousand."""
    tree = scale.repository()
    git(path, "init", "-q", "-b", "main")
    for name, blob in tree.paths.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(tree.blobs[blob])
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "a fleet")
    (path / "apps/7/4207.yaml").write_bytes(scale.deployment(4207, "2.0"))
    git(path, "commit", "-qam", "one")
    for number in range(0, 10 * MANY, 10):
        (path / f"apps/{number % 100}/{number}.yaml").write_bytes(scale.deployment(number, "3.0"))
    git(path, "commit", "-qam", "many")


def state(path: Path) -> None:
    """What a daemon would have recorded: the decisions for the first commit."""
    opened = inputs.open_repository(str(path))
    first = opened.repository.resolve("HEAD~2")
    repo = inputs.read(opened, first).repo
    plan = inputs.plan(opened, repo, inputs.assumed(repo), Decisions(), scale.NOW)
    branch = state_edge.StateBranch(opened.repository, bindings)
    decided = {key: one.decision for key, one in plan.bindings.items() if one.decision is not None}
    branch.write(
        branch.read(), decided, repository_id="bench", applied=first, results={}, approvals=(), held=(),
        subject="Decide", reasons=(), now=scale.NOW, clusters={}, outage=None,
    )  # fmt: skip


async def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        path, cache = Path(scratch, "fleet"), Path(scratch, "cache")
        path.mkdir()
        repository(path)
        state(path)
        cold, _ = diff(path, cache, "HEAD~2..HEAD~1", "-q")
        one = [diff(path, cache, "HEAD~2..HEAD~1") for _ in range(3)]
        many = [diff(path, cache, "HEAD~1..HEAD") for _ in range(2)]
        _, comment = diff(path, cache, "HEAD~1..HEAD", "-o", "md")
    return [
        ("templates × clusters", f"{scale.TEMPLATES} × {scale.CLUSTERS}"),
        ("one changed file, nothing cached", f"{cold:.2f} s"),
        ("one changed file, warm cache, best of 3 (target ≤ 2 s)", f"{min(took for took, _ in one):.2f} s"),
        (f"{MANY} changed files, best of 2 (target ≤ 20 s)", f"{min(took for took, _ in many):.2f} s"),
        (f"characters of the comment for those (limit {LIMIT})", str(len(comment))),
    ]
