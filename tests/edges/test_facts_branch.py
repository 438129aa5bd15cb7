"""The facts branch: reading, writing, beginning anew, keeping what is cited."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitfed import errors
from gitfed.documents import facts
from gitfed.edges import git
from gitfed.edges.state.facts_branch import FactsBranch, FactsSnapshot
from gitfed.model.base import Commit
from gitfed.model.fleet import ClusterCondition, ClusterFacts, Reach

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def cluster(name: str, version: str = "v1.36.2") -> ClusterFacts:
    return ClusterFacts(name, Reach.READY, (ClusterCondition("Ready", "True"),), kubernetes_version=version)


@pytest.fixture
def branch(tmp_path: Path) -> FactsBranch:
    return FactsBranch(git.Repository.create(tmp_path / "clone.git"), facts)


def run(repository: git.Repository, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(repository.path), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_no_branch_yet(branch: FactsBranch) -> None:
    assert branch.read() == FactsSnapshot()


def test_what_is_written_reads_back(branch: FactsBranch) -> None:
    wrote = branch.write(FactsSnapshot(), {"m1": cluster("m1"), "m2": cluster("m2")}, now=NOW.replace(microsecond=5))
    assert branch.read() == wrote
    assert (wrote.when, wrote.since) == (NOW, NOW)
    assert set(run(branch.repository, "ls-tree", "-r", "--name-only", wrote.commit or "").split()) == {
        "README.md", "clusters/m1.yaml", "clusters/m2.yaml", "facts.yaml",
    }  # fmt: skip


def test_one_commit_for_what_changed(branch: FactsBranch) -> None:
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1"), "m2": cluster("m2")}, now=NOW)
    second = branch.write(first, {"m1": cluster("m1", "v2"), "m2": cluster("m2")}, now=NOW + timedelta(hours=1))
    assert branch.read() == second
    assert run(branch.repository, "diff", "--name-only", first.commit or "", second.commit or "") == "clusters/m1.yaml"
    assert second.digest != first.digest


def test_nothing_new_is_no_commit(branch: FactsBranch) -> None:
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1")}, now=NOW)
    assert branch.write(first, {"m1": cluster("m1")}, now=NOW + timedelta(hours=1)) is first


def test_a_cluster_that_is_gone_is_taken_out(branch: FactsBranch) -> None:
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1"), "m2": cluster("m2")}, now=NOW)
    second = branch.write(first, {}, ["m2"], now=NOW)
    assert list(branch.read().facts) == list(second.facts) == ["m1"]
    assert run(branch.repository, "log", "-1", "--format=%s", second.commit or "") == "m2 is gone [skip ci]"


def test_a_file_that_cannot_be_read_is_written_anew(branch: FactsBranch) -> None:
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1"), "m2": cluster("m2")}, now=NOW)
    broken = {"clusters/m1.yaml": b"kind: [", "clusters/m2.yaml": b"kind: Cluster\napiVersion: cluster.karmada.io/v1\n"}
    branch.repository.commit_files(branch.ref, broken, "by hand", parent=first.commit, when=NOW)
    found = branch.read()
    assert found.facts == {}
    assert branch.write(found, {"m1": cluster("m1")}, now=NOW).facts["m1"].kubernetes_version == "v1.36.2"


def test_of_two_writers_one_loses(branch: FactsBranch) -> None:
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1")}, now=NOW)
    branch.write(first, {"m1": cluster("m1", "v2")}, now=NOW)
    with pytest.raises(errors.StateConflict):
        branch.write(first, {"m1": cluster("m1", "v3")}, now=NOW)


def test_the_branch_begins_anew_after_a_week_and_what_is_cited_stays(branch: FactsBranch) -> None:
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1"), "m2": cluster("m2")}, now=NOW)
    cited = branch.write(first, {"m1": cluster("m1", "v2")}, now=NOW + timedelta(days=6))
    ref = branch.keep(cited)
    last = branch.write(cited, {"m1": cluster("m1", "v3")}, now=NOW + timedelta(days=6, hours=23))
    anew = branch.write(last, {"m1": cluster("m1", "v4")}, now=NOW + timedelta(days=7))
    assert anew == branch.read()
    assert anew.since == NOW + timedelta(days=7)
    assert run(branch.repository, "rev-list", "--count", branch.ref) == "1"
    assert {name: one.kubernetes_version for name, one in anew.facts.items()} == {"m1": "v4", "m2": "v1.36.2"}
    run(branch.repository, "gc", "--prune=now", "--quiet")
    assert [_is_there(branch.repository, one.commit) for one in (first, cited, last)] == [True, True, False]
    assert branch.repository.branch_commit(ref) == cited.commit
    assert set(run(branch.repository, "for-each-ref", "--format=%(refname)").split()) == {ref, branch.ref}


def _is_there(repository: git.Repository, commit: Commit | None) -> bool:
    done = subprocess.run(
        ["git", "-C", str(repository.path), "cat-file", "-e", f"{commit}"], capture_output=True, check=False
    )
    return done.returncode == 0


def test_a_branch_that_began_anew_can_be_pushed_and_pulled(branch: FactsBranch, tmp_path: Path) -> None:
    other = git.Repository.create(tmp_path / "other.git")
    url = str(other.path)
    first = branch.write(FactsSnapshot(), {"m1": cluster("m1")}, now=NOW)
    branch.push(url, expected=None)
    anew = branch.write(first, {"m1": cluster("m1", "v2")}, now=NOW + timedelta(days=8))
    with pytest.raises(errors.StateConflict):
        branch.push(url, expected=None)
    branch.push(url, expected=first.commit)
    reader = FactsBranch(git.Repository.create(tmp_path / "reader.git"), facts)
    assert reader.pull(url) == anew.commit
    assert reader.read() == anew


def test_another_repository_without_the_branch(branch: FactsBranch, tmp_path: Path) -> None:
    other = git.Repository.create(tmp_path / "other.git")
    assert branch.pull(str(other.path)) is None
