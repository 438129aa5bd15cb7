"""An exception that nobody foresaw, raised at every seam of the daemon, ends nothing but what it happened to."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitfed import errors
from gitfed.cli import exits
from gitfed.daemon import commit_status, commits, planner, record, state_store, trouble
from gitfed.daemon.descheduler import Descheduler
from gitfed.daemon.fleet import fleet as fleets
from gitfed.daemon.fleet import member
from gitfed.daemon.fleet.apply_change import ClusterWriter
from gitfed.daemon.fleet.worker import Worker
from gitfed.edges.backoff import Backoff
from gitfed.edges.forge import CommitStatus
from gitfed.edges.kube import discovery, inventory, observe
from gitfed.edges.kube import facts as probes
from gitfed.edges.state.state import StateBranch
from gitfed.planning import build, status
from gitfed.planning.ordering import gate
from gitfed.reading import reader as readers
from gitfed.source import repo as source
from tests.clusters.faulty import Faulty
from tests.safety.engines import Stage, config_map, until

SECRET = "s3cret-in-an-exception"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Faulty(tmp_path) as faulty:
        yield Stage(tmp_path, faulty)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "_AGAIN", Backoff((0.1,)))
    monkeypatch.setattr(trouble, "_UNFORESEEN", Backoff((0.1,)))
    monkeypatch.setattr(trouble, "_AGAIN", Backoff((0.1,)))
    monkeypatch.setattr(member, "RETRIES", Backoff((0.1,)))


class Broken:
    """Raises in place of a function whenever `when` says so; `times` counts."""

    def __init__(self, instead_of: Callable[..., Any], when: Callable[..., bool]) -> None:
        self.real, self.when, self.times, self.on = instead_of, when, 0, True

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self.on and self.when(*arguments, **options):
            self.times += 1
            raise TypeError(f"'{SECRET}' is not what it should be")
        return self.real(*arguments, **options)


def broken(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, when: Callable[..., bool] = lambda *a, **o: True
) -> Broken:
    made = Broken(getattr(place, name), when)

    def call(*arguments: Any, **options: Any) -> Any:
        return made(*arguments, **options)

    async def later(*arguments: Any, **options: Any) -> Any:
        return await made(*arguments, **options)

    monkeypatch.setattr(place, name, later if inspect.iscoroutinefunction(made.real) else call)
    return made


# A commit


def _reading(bad: str) -> dict[str, tuple[Any, str, Callable[..., bool]]]:
    return {
        "reading": (readers.Reader, "read", lambda self, commit, *more: commit == bad),
        "judging": (readers.trust.Trust, "why_not", lambda self, commit: commit == bad),
        "keys": (readers.trust.Trust, "unusable_keys", lambda self, commit, settings: commit == bad),
        "the tree": (source, "read", lambda tree, **more: tree.commit == bad),
        "planning": (build, "build", lambda repo, *more, **options: repo.commit == bad),
        "gates": (gate, "hold", lambda *more, repo, **options: repo.commit == bad),
        "decisions": (state_store.StateStore, "decisions_for", lambda self, repo: repo.commit == bad),
        "facts": (state_store.StateStore, "with_facts", lambda self, repo, fleet: repo.commit == bad),
        "members": (fleets.Fleet, "match", lambda self, repo, recorded, **options: repo.commit == bad),
        "the interpreter": (planner.Planner, "interpreter_of", lambda self, repo: repo.commit == bad),
    }


@pytest.mark.parametrize("seam", sorted(_reading("")))
async def test_a_commit_that_makes_us_fail_is_rejected_and_the_last_good_one_stays(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seam: str
) -> None:
    caplog.set_level(logging.INFO)
    async with stage.engine() as engine:
        await until(engine.settled)
        good = engine.repo
        assert good is not None
        bad = stage.commit({"manifests/b.yaml": config_map("b")})
        wrong = broken(monkeypatch, *_reading(bad)[seam])
        engine.source_changed()
        await until(lambda: wrong.times and engine.commits.rejected)
        assert "unexpected TypeError" in engine.commits.rejected
        await until(lambda: wrong.times > 1)  # it is tried again
        # The last good commit is in force: drift is still repaired.
        stage.faulty.inside("m1", lambda m: m.api.delete("configmaps", "default", "a"))
        await until(lambda: stage.held("m1") == ["a"])
        assert engine.repo is not None
        assert stage.held("m2") == ["a"]
        assert wrong.times > 1
        following = stage.commit({"manifests/c.yaml": config_map("c")})
        engine.source_changed()
        await until(lambda: engine.settled() and engine.repo is not None and engine.repo.commit == following)
        assert stage.held("m1") == stage.held("m2") == ["a", "b", "c"]
        assert not engine.commits.rejected
    assert SECRET not in caplog.text


@pytest.mark.parametrize("seam", ["reading", "planning", "judging"])
async def test_after_a_restart_the_last_good_commit_is_in_force_too(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, seam: str
) -> None:
    async with stage.engine() as engine:
        await until(engine.settled)
    bad = stage.commit({"manifests/b.yaml": config_map("b")})
    wrong = broken(monkeypatch, *_reading(bad)[seam])
    async with stage.engine() as engine:
        await until(lambda: wrong.times and engine.plan is not None)
        stage.faulty.inside("m1", lambda m: m.api.delete("configmaps", "default", "a"))
        await until(lambda: stage.held("m1") == ["a"])
        assert "unexpected TypeError" in engine.commits.rejected


async def test_the_commits_status_says_that_it_is_rejected(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, CommitStatus]] = []

    class Forge:
        def set_status(self, commit: str, one: CommitStatus) -> None:
            told.append((commit, one))

    async with stage.engine() as engine:
        await until(engine.settled)
        bad = stage.commit({"manifests/b.yaml": config_map("b")})
        wrong = broken(monkeypatch, *_reading(bad)["planning"])
        announcer = commit_status.Announcer(Forge(), pause=0.01)  # type: ignore[arg-type]
        engine.source_changed()
        telling = asyncio.create_task(announcer.run(lambda: engine))
        said = await until(lambda: [one for commit, one in told if commit == bad])
        assert (said[0].name, said[0].state.value) == ("gitfed/f", "failure")
        assert said[0].description.startswith("not applied: unexpected TypeError at planner.py:")
        assert wrong.times
        telling.cancel()


# What is not the commit's fault

ELSEWHERE = {
    "recording": (record.Record, "write"),
    "the state branch": (StateBranch, "write"),
    "what changed": (state_store.StateStore, "write_decisions"),
    "results": (state_store.StateStore, "write_results"),
    "handing over": (fleets.Fleet, "hand_over"),
    "statuses": (status, "of_all"),
    "following": (fleets.Fleet, "follow"),
    "snapshots": (fleets.Fleet, "snapshot"),
    "loading the state": (record.Record, "load"),
    "descheduling": (Descheduler, "run"),
}


@pytest.mark.parametrize("seam", sorted(ELSEWHERE))
async def test_what_fails_in_a_cycle_is_tried_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seam: str
) -> None:
    place, name = ELSEWHERE[seam]
    wrong = broken(monkeypatch, place, name)
    async with stage.engine() as engine:
        await until(lambda: wrong.times > 1, seam)
        wrong.on = False
        await until(lambda: engine.settled() and stage.held("m1") == stage.held("m2") == ["a"])
        await until(lambda: engine.trouble is None)
    assert SECRET not in caplog.text
    assert [one for one in caplog.records if "unexpected TypeError" in str(getattr(one, "error", ""))]


async def test_nothing_is_done_that_could_not_be_recorded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = broken(monkeypatch, record.Record, "write")
    async with stage.engine() as engine:
        await until(lambda: wrong.times > 2)
        assert isinstance(engine.trouble, errors.Unforeseen)
        assert exits.of(engine.trouble) == exits.DEFECT
        assert stage.held("m1") == stage.held("m2") == []


# A member

ONE_CLUSTER = {
    "the session": (member.Member, "_serve", lambda self: self.name == "m1"),
    "the probe": (probes, "_ready", lambda session: session.cluster == "m1"),
    "discovery": (discovery.Discovery, "_read_root", lambda self, path: self._session.cluster == "m1"),
    "the inventory": (inventory.Inventory, "read", lambda self, **options: self.cluster == "m1"),
    "the term": (inventory.Inventory, "raise_term", lambda self, term: self.cluster == "m1"),
    "intentions": (inventory.Inventory, "record", lambda self, *more, **options: self.cluster == "m1"),
    "lists": (observe.Observer, "_listed", lambda self, *more: self.cluster == "m1"),
    "writing": (ClusterWriter, "carry_out", lambda self, change: change.cluster == "m1"),
    "the worker": (Worker, "_round", lambda self: self.cluster == "m1"),
}


@pytest.mark.parametrize("seam", sorted(ONE_CLUSTER))
async def test_a_member_that_fails_is_marked_and_tried_again_and_stops_no_other(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seam: str
) -> None:
    wrong = broken(monkeypatch, *ONE_CLUSTER[seam])
    async with stage.engine() as engine:
        await until(lambda: stage.held("m2") == ["a"], "the other cluster")
        await until(lambda: wrong.times > 1, "again")
        assert stage.held("m1") == []
        wrong.on = False
        await until(lambda: engine.settled() and stage.held("m1") == ["a"], "healed")
    assert SECRET not in caplog.text
    texts = [str(getattr(one, "error", "")) for one in caplog.records if one.levelno >= logging.WARNING]
    assert any("unexpected TypeError" in text for text in texts), texts


async def test_an_object_that_cannot_be_judged_is_not_deleted_and_stops_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = broken(monkeypatch, fleets.Fleet, "_assess", lambda self, cluster, key, body: (cluster, key.name) == ODD)
    stage.commit({"manifests/b.yaml": config_map("b")})
    async with stage.engine() as engine:
        await until(lambda: stage.held("m1") == stage.held("m2") == ["a", "b"] and wrong.times)
        (stage.repo / "manifests" / "a.yaml").unlink()
        stage.commit({})
        engine.source_changed()
        await until(lambda: stage.held("m2") == ["b"])
        assert stage.held("m1") == ["a", "b"]
        wrong.on = False
        stage.faulty.inside("m1", lambda m: m.api.patch("configmaps", "default", "a", {"data": {"w": "1"}}))
        await until(lambda: stage.held("m1") == ["b"])


ODD = ("m1", "a")

# What it says


def test_an_unforeseen_exception_names_its_class_and_place_and_nothing_else() -> None:
    try:
        source.read(SECRET, memory=None)  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001
        found = errors.Unforeseen.of(ExceptionGroup("several", [error]))
    assert re.fullmatch(r"unexpected \w+ at \w+\.py:\d+", found.message)
    assert "repo.py:" in found.trace
    assert SECRET not in str(found) + found.trace
