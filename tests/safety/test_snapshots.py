"""`gitfed test --update` writes snapshots, and over nothing that is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.safety.bounded import gitfed
from tests.safety.engines import FLEET

TEST = """\
apiVersion: gitfed.io/v1alpha1
kind: PlacementTest
metadata: {name: t}
spec: {snapshot: "%s"}
"""


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (".git/config", "is Git's own: no snapshot is written there"),
        (".GIT/hooks/post-commit", "is Git's own: no snapshot is written there"),
        ("a/.gitattributes", "is Git's own: no snapshot is written there"),
        ("link/config", "is Git's own: no snapshot is written there"),
        ("gitfed.yaml", "exists and is no snapshot: it is not overwritten"),
        ("elsewhere/new/x.txt", "leads out of the repository"),
    ],
)
def test_a_snapshot_is_not_written_over_what_is_none(tmp_path: Path, snapshot: str, said: str) -> None:
    repo, outside = tmp_path / "fleet", tmp_path / "outside"
    outside.mkdir()
    for name, text in {**FLEET, "tests/t.yaml": TEST % f"../{snapshot}", "a/x": ""}.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "link").symlink_to(".git")
    (repo / "elsewhere").symlink_to(outside)
    before = {path: path.read_bytes() for path in sorted(repo.rglob("*")) if path.is_file()}
    ended = gitfed("test", "--update", "--worktree", cwd=repo)
    assert said in ended.said
    assert ended.code == 3
    assert all(path.read_bytes() == content for path, content in before.items())
    assert not list(outside.iterdir())


def test_a_snapshot_is_written_and_written_again(tmp_path: Path) -> None:
    for name, text in {**FLEET, "tests/t.yaml": TEST % "t.txt"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert gitfed("test", "--update", "--worktree", cwd=tmp_path).code == 0
    snapshot = tmp_path / "tests" / "t.txt"
    snapshot.write_text("# t\nold\n")
    assert gitfed("test", "--update", "--worktree", cwd=tmp_path).code == 0
    assert "old" not in snapshot.read_text()
