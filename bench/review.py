"""`gitfed diff` of a large repository, each time a process of its own: one file that changes, and a thousand."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench import scale
from gitfed.cli.diff_markdown import LIMIT
from gitfed.daemon import inputs
from gitfed.edges import state as state_edge
from gitfed.model.decisions import Decisions
from gitfed.source import bindings

MANY = 1000
OWN = 42
"""The workload that has a policy of its own, by room."""

_POLICY = """apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: app-{number}, namespace: team-{number}}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: app-{number}}}]
  placement:
    clusterAffinity: {{clusterNames: [{names}]}}
    replicaScheduling: {{replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}}
"""
_SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: bench}\n"
_CLUSTER = """apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: c007, labels: {tier: gold}}
spec: {syncMode: Push, region: r7, provider: example}
"""


def one_file() -> Mapping[str, tuple[str, bytes | None]]:
    """What a pull request does most, by what to call it: (path, what it holds then; None: it is gone)."""
    more = scale.deployment(OWN).replace(f"replicas: {OWN % 40 + 1}".encode(), b"replicas: 30")
    return {
        "an edit": ("apps/7/4207.yaml", scale.deployment(4207, "2.0")),
        "a deletion": ("apps/7/4207.yaml", None),
        "a move": ("policies/own.yaml", _POLICY.format(number=OWN, names="c002, c004").encode()),
        "replicas by room": (f"apps/{OWN}/{OWN}.yaml", more),
        "a setting": ("gitfed.yaml", (_SETTINGS + "spec: {sync: {interval: 90s}}\n").encode()),
        "a cluster's label": ("clusters/7.yaml", _CLUSTER.encode()),
    }  # fmt: skip


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
    """The repository of `scale` in Git, with a branch for each change of one file and one for a thousand."""
    tree = scale.repository()
    git(path, "init", "-q", "-b", "main")
    for name, blob in tree.paths.items():
        put(path, name, tree.blobs[blob])
    put(path, "policies/own.yaml", _POLICY.format(number=OWN, names="c001, c003").encode())
    commit(path, "a fleet")
    for number, (name, content) in enumerate(one_file().values()):
        git(path, "switch", "-q", "-c", f"one-{number}", "main")
        put(path, name, content)
        commit(path, "one")
    git(path, "switch", "-q", "-c", "many", "main")
    for number in range(0, 10 * MANY, 10):
        put(path, f"apps/{number % 100}/{number}.yaml", scale.deployment(number, "3.0"))
    commit(path, "many")
    git(path, "switch", "-q", "main")


def put(path: Path, name: str, content: bytes | None) -> None:
    target = path / name
    if content is None:
        target.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def commit(path: Path, message: str) -> None:
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", message)


def state(path: Path) -> None:
    """What a daemon would have recorded for the main branch."""
    opened = inputs.open_repository(str(path))
    first = opened.repository.resolve("main")
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
        cold, _ = diff(path, cache, "main..one-0", "-q")
        one = {
            kind: min(diff(path, cache, f"main..one-{number}")[0] for _ in range(3))
            for number, kind in enumerate(one_file())
        }
        put(path, *one_file()["an edit"])
        uncommitted = min(diff(path, cache, "main", "--worktree")[0] for _ in range(3))
        many = [diff(path, cache, "main..many") for _ in range(2)]
        _, comment = diff(path, cache, "main..many", "-o", "md")
    return [
        ("templates × clusters", f"{scale.TEMPLATES} × {scale.CLUSTERS}"),
        ("one changed file, nothing cached", f"{cold:.2f} s"),
        *((f"{kind}, warm cache, best of 3 (target ≤ 2 s)", f"{took:.2f} s") for kind, took in one.items()),
        ("an edit that is not committed, warm cache, best of 3 (target ≤ 2 s)", f"{uncommitted:.2f} s"),
        (f"{MANY} changed files, best of 2 (target ≤ 20 s)", f"{min(took for took, _ in many):.2f} s"),
        (f"characters of the comment for those (limit {LIMIT})", str(len(comment))),
    ]
