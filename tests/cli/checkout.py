"""A checkout that `gitfed diff` and `gitfed import` read, and calls of a command in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitfed.cli import desired
from gitfed.cli.main import cli, run

CLUSTER = """\
# Where the shop runs.
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: eu-1
spec:
  syncMode: Push
"""


LIST = """\
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "us-1"},
   "spec": {"syncMode": "Push", "taints": [{"key": "old", "value": "x", "effect": "NoSchedule"}]}}]}
"""


FEDERATION = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "fleet"
    (root / "clusters").mkdir(parents=True)
    (root / "clusters/eu-1.yaml").write_text(CLUSTER)
    (root / "clusters/us.json").write_text(LIST)
    (root / "gitfed.yaml").write_text(FEDERATION)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.com")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(desired, "now", lambda: "2026-01-01T00:00:00Z")
    return root


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(arguments) == 2
    return capsys.readouterr().err
