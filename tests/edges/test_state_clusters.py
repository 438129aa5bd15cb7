"""Clusters and outages on the state branch: written, read, and what a spoiled file does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gitfed.documents import bindings
from gitfed.documents.state_commits import Message
from gitfed.edges import git
from gitfed.edges.state.state import BranchState, StateBranch
from gitfed.model.decisions import ClusterRecord, Decisions, Outage, TimedTaint
from gitfed.model.fleet import Reach

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TAINT = TimedTaint("cluster.karmada.io/unreachable", "NoExecute", "", NOW, "failover")
GONE = ClusterRecord("m1", Reach.UNKNOWN, NOW, "ClusterNotReachable: refused", (TAINT,))
WELL = ClusterRecord("m2", Reach.READY, NOW)


def write(
    branch: StateBranch, state: BranchState, outage: Outage | None = None, **records: ClusterRecord
) -> BranchState:
    clusters = {record.name: record for record in records.values()}
    decisions = replace(state.decisions, repository_id="r", clusters=clusters, outage=outage)
    return branch.write(state, replace(state, decisions=decisions), message=Message("Decide"), now=NOW)


def test_records_and_outages_are_read_as_they_were_written(tmp_path: Path) -> None:
    branch = StateBranch(git.Repository.create(tmp_path / "a.git"), bindings)
    outage = Outage(NOW, NOW)
    state = write(branch, BranchState(None, Decisions(known=False)), outage, one=GONE, two=WELL)
    read = StateBranch(branch.repository, bindings).read().decisions
    assert (read.clusters, read.outage) == ({"m1": GONE, "m2": WELL}, outage)
    again = write(branch, state, outage, one=GONE, two=WELL)
    assert again.commit == state.commit, "nothing new, no commit"
    write(branch, again, None, two=WELL)
    read = StateBranch(branch.repository, bindings).read().decisions
    assert (read.clusters, read.outage) == ({"m2": WELL}, None)


def test_a_spoiled_file_is_a_problem_of_its_cluster_alone(tmp_path: Path) -> None:
    branch = StateBranch(git.Repository.create(tmp_path / "a.git"), bindings)
    state = write(branch, BranchState(None, Decisions(known=False)), None, one=GONE, two=WELL)
    branch.repository.commit_files(
        branch.ref, {"clusters/m1.yaml": b"kind: Cluster\nmetadata: {name: m1}\n"}, "by hand", parent=state.commit,
        when=NOW,
    )  # fmt: skip
    read = branch.read().decisions
    assert read.clusters == {"m2": WELL}
    [problem] = read.problems
    assert str(problem) == (
        "gitfed/state:clusters/m1.yaml: annotation gitfed.io/reach is not Ready, NotReady or Unknown "
        "(the rest of the state is used; what is known of this cluster is found out anew)"
    )
