"""A small fleet repository, and gitfed run on it as a user would, in this process or as the real program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from gitfed.cli import main
from tests.support import patience, warm

GOLDEN = Path(__file__).parent / "golden"
SECRET = "correct-horse-battery-staple"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def gitfed(*arguments: str | Path, env: Mapping[str, str] | None = None) -> Result:
    """One command line, as the console script runs it, without a process of its own."""
    with CliRunner(env=dict(env or {})).isolation() as streams:
        code = main.run([str(argument) for argument in arguments])
        return Result(code, streams[0].getvalue().decode(), streams[1].getvalue().decode())


def program(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Result:
    """One command line in a process of its own, for what the process of the tests would be in the way of."""
    done = warm.run(arguments, {**os.environ, **(env or {})}, cwd, patience.SECONDS)
    return Result(done.returncode, done.stdout, done.stderr)


def installed(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Result:
    """The same by the installed console script, with a new interpreter."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("gitfed")), *arguments],
        cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    command = ["git", "-C", str(path), *identity, *arguments]
    when = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z"}
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **when}
    ).stdout.strip()


def write(path: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        target = path / name
        if text is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def commit(path: Path, files: Mapping[str, str | None], message: str = "change") -> str:
    write(path, files)
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", message)
    return git(path, "rev-parse", "HEAD")


def repository(path: Path, files: Mapping[str, str] | None = None) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q")
    commit(path, FILES if files is None else files, "first")
    return path


def golden(name: str, text: str) -> None:
    """Compare with golden/NAME; GITFED_UPDATE_GOLDEN=1 writes it anew, to be reviewed by eye."""
    path = GOLDEN / name
    if os.environ.get("GITFED_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def cluster(name: str, region: str, taints: str = "") -> str:
    return f"""\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {{name: {name}}}
spec:
  syncMode: Push
  region: {region}
{taints}"""


def deployment(replicas: int = 6, image: str = "web:1") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      containers:
      - {{name: web, image: "{image}"}}
"""


POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [eu-1]}, weight: 2}
        - {targetCluster: {clusterNames: [us-1]}, weight: 1}
"""

FILES = {
    "gitfed.yaml": "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n",
    "clusters/eu-1.yaml": cluster("eu-1", "eu"),
    "clusters/eu-2.yaml": cluster("eu-2", "eu"),
    "clusters/us-1.yaml": cluster("us-1", "us"),
    "policies/web.yaml": POLICY,
    "policies/rest.yaml": """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: rest, namespace: shop}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap}
  - {apiVersion: v1, kind: Secret}
  placement: {}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: eu-registry, namespace: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  overrideRules:
  - targetCluster: {clusterNames: [eu-1]}
    overriders:
      imageOverrider:
      - {component: Registry, operator: replace, value: eu.example.com}
""",
    "apps/web.yaml": deployment(),
    "apps/config.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {colour: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: database, namespace: shop}
stringData: {password: correct-horse-battery-staple}
""",
}
