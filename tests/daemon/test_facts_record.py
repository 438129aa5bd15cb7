"""The facts that decisions are taken from: written when due, shared with whoever reads the branch."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitfed.daemon.facts_record import FactsRecord
from gitfed.documents import facts
from gitfed.edges import git
from gitfed.edges.state.facts_branch import FactsBranch
from gitfed.model.fleet import ClusterCondition, ClusterFacts, FactsRef, Reach

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("m1", "m2")


def cluster(name: str = "m1", *, version: str = "v1", used: str = "1", reach: Reach = Reach.READY) -> ClusterFacts:
    summary = {"allocatable": {"cpu": "100"}, "allocated": {"cpu": used}}
    return ClusterFacts(name, reach, (ClusterCondition("Ready", "True"),), None, version, summary)


def record(path: Path, url: Path | None = None) -> FactsRecord:
    clone = git.Repository.open(path) if path.exists() else git.Repository.create(path)
    return FactsRecord(FactsBranch(clone, facts), url=str(url) if url else None, push=url is not None)


def sent(ours: FactsRecord, seen: Mapping[str, ClusterFacts], declared: Collection[str], now: datetime) -> bool:
    """As the daemon does: written, and then pushed."""
    done = ours.write(seen, declared, now)
    ours.send()
    assert not ours.unsent
    return done


@pytest.fixture
def there(tmp_path: Path) -> Path:
    path = tmp_path / "there.git"
    git.Repository.create(path)
    return path


def test_facts_are_named_as_whoever_reads_the_branch_names_them(tmp_path: Path) -> None:
    ours = record(tmp_path / "a.git")
    assert ours.write({"m1": cluster()}, NAMES, NOW)
    again = record(tmp_path / "a.git")
    assert set(again.load()) == {"m1"}
    assert again.ref == ours.ref
    commit = ours.recorded.commit
    assert ours.ref == FactsRef("facts branch", commit or "", NOW, ours.recorded.digest)


def test_small_changes_of_room_are_not_what_decisions_see(tmp_path: Path) -> None:
    ours = record(tmp_path / "a.git")
    ours.write({"m1": cluster(used="1")}, NAMES, NOW)
    assert not ours.write({"m1": cluster(used="5")}, NAMES, NOW + timedelta(hours=1))
    assert ours.recorded.facts["m1"].resource_summary == cluster(used="1").resource_summary


def test_large_ones_wait_until_five_minutes_have_passed(tmp_path: Path) -> None:
    ours = record(tmp_path / "a.git")
    ours.write({"m1": cluster(used="1")}, NAMES, NOW)
    assert ours.write({"m1": cluster(used="50")}, NAMES, NOW)
    assert not ours.write({"m1": cluster(used="90")}, NAMES, NOW + timedelta(minutes=4))
    assert ours.write({"m1": cluster(used="90", version="v2")}, NAMES, NOW + timedelta(minutes=4))
    assert not ours.write({"m1": cluster(used="20", version="v2")}, NAMES, NOW + timedelta(minutes=8))
    assert ours.write({"m1": cluster(used="20", version="v2")}, NAMES, NOW + timedelta(minutes=9))


def test_a_commit_that_is_made_anyway_tells_of_the_room_of_all(tmp_path: Path) -> None:
    ours = record(tmp_path / "a.git")
    ours.write({"m1": cluster(used="1"), "m2": cluster("m2", used="1")}, NAMES, NOW)
    assert ours.write({"m1": cluster(used="50"), "m2": cluster("m2", used="1")}, NAMES, NOW)
    seen = {"m1": cluster(used="90"), "m2": cluster("m2", used="3")}
    assert not ours.write(seen, NAMES, NOW + timedelta(minutes=1))
    assert ours.write({**seen, "m2": cluster("m2", used="1", version="v2")}, NAMES, NOW + timedelta(minutes=1))
    assert ours.recorded.facts["m1"].resource_summary == cluster(used="90").resource_summary


def test_a_restart_does_not_begin_the_five_minutes_anew(tmp_path: Path) -> None:
    record(tmp_path / "a.git").write({"m1": cluster(used="1")}, NAMES, NOW)
    again = record(tmp_path / "a.git")
    again.load()
    assert not again.write({"m1": cluster(used="50")}, NAMES, NOW + timedelta(minutes=4))
    assert again.write({"m1": cluster(used="50")}, NAMES, NOW + timedelta(minutes=5))


def test_a_cluster_that_is_not_seen_keeps_its_facts_and_one_not_declared_loses_them(tmp_path: Path) -> None:
    ours = record(tmp_path / "a.git")
    ours.write({"m1": cluster(), "m2": cluster("m2")}, NAMES, NOW)
    assert not ours.write({"m2": cluster("m2")}, NAMES, NOW)
    assert ours.write({"m2": cluster("m2")}, ["m2"], NOW)
    assert set(ours.recorded.facts) == {"m2"}


def test_facts_are_pushed_and_a_new_clone_begins_with_them(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    ours.load()
    sent(ours, {"m1": cluster()}, NAMES, NOW)
    new = record(tmp_path / "b.git", there)
    assert new.load() == ours.recorded.facts
    assert new.recorded == ours.recorded


def test_of_two_daemons_the_loser_reads_and_writes_again(tmp_path: Path, there: Path) -> None:
    one, other = record(tmp_path / "a.git", there), record(tmp_path / "b.git", there)
    one.load()
    other.load()
    sent(one, {"m1": cluster()}, NAMES, NOW)
    sent(other, {"m2": cluster("m2")}, NAMES, NOW)
    sent(other, {"m2": cluster("m2")}, NAMES, NOW)
    assert set(other.recorded.facts) == {"m1", "m2"}
    assert set(record(tmp_path / "c.git", there).load()) == {"m1", "m2"}


def test_when_nothing_can_be_pushed_our_own_clone_will_do(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    ours.load()
    shutil.rmtree(there)
    assert sent(ours, {"m1": cluster()}, NAMES, NOW)
    assert set(record(tmp_path / "a.git").load()) == {"m1"}
    git.Repository.create(there)
    assert sent(ours, {"m1": cluster(version="v2")}, NAMES, NOW)
    assert record(tmp_path / "c.git", there).load()["m1"].kubernetes_version == "v2"


def test_cited_facts_are_pushed_when_the_branch_begins_anew(tmp_path: Path, there: Path) -> None:
    ours = record(tmp_path / "a.git", there)
    ours.load()
    sent(ours, {"m1": cluster()}, NAMES, NOW)
    ours.cite()
    ours.cite()
    cited = ours.recorded.commit
    sent(ours, {"m1": cluster(version="v2")}, NAMES, NOW + timedelta(days=1))
    sent(ours, {"m1": cluster(version="v3")}, NAMES, NOW + timedelta(days=8))
    refs = git.Repository.open(there).remote_refs(str(there), "refs/*")
    assert refs.get("refs/gitfed/facts/20260301T120000Z") == cited
    assert refs["refs/heads/gitfed/facts"] == ours.recorded.commit


def test_facts_that_were_taken_right_after_a_decision_are_taken_again(tmp_path: Path) -> None:
    """Its pods may be in them or not; once the facts are taken anew it counts as it is."""
    ours = record(tmp_path / "a.git")
    decided = [NOW - timedelta(hours=1), NOW - timedelta(seconds=30)]
    ours.write({"m1": cluster(used="1")}, NAMES, NOW, lambda: decided)
    first = ours.recorded
    assert not ours.write({"m1": cluster(used="1")}, NAMES, NOW + timedelta(seconds=59), lambda: decided)
    assert ours.write({"m1": cluster(used="1")}, NAMES, NOW + timedelta(minutes=1), lambda: decided)
    assert (ours.recorded.when, ours.recorded.contents) == (NOW + timedelta(minutes=1), first.contents)
    decided.append(NOW + timedelta(seconds=50))
    assert not ours.write({"m1": cluster(used="1")}, NAMES, NOW + timedelta(minutes=5), lambda: decided)
    assert ours.write({"m1": cluster(used="1")}, NAMES, NOW + timedelta(minutes=6), lambda: decided)
    assert not ours.write({"m1": cluster(used="1")}, NAMES, NOW + timedelta(hours=1), lambda: decided)
    assert record(tmp_path / "a.git").load() == ours.recorded.facts


def test_a_decision_after_the_facts_or_long_before_them_leaves_them_as_they_are(tmp_path: Path) -> None:
    ours = record(tmp_path / "a.git")
    decided = [NOW - timedelta(minutes=1), NOW + timedelta(seconds=1)]
    ours.write({"m1": cluster(used="1")}, NAMES, NOW, lambda: decided)
    assert not ours.write({"m1": cluster(used="1")}, NAMES, NOW + timedelta(hours=1), lambda: decided)
