"""A daemon decides, tells, is cut off and restarted while people give orders through the same branch.

Whatever comes between what: in the end the branch has every order that stands and every task that was decided.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfed import errors
from gitfed.daemon.record import Record
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act, Message
from gitfed.edges import git
from gitfed.edges.state.state import StateBranch
from gitfed.model.base import ObjectKey
from gitfed.model.decisions import Decision, EvictionTask, Scheduled, Share
from gitfed.model.operator_orders import Suspension

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
TRAILERS = "Gitfed-Decision: decided\nGitfed-Commit: abc"
APPS = ["web", "cache"]
CLUSTERS = ["m1", "m2", "m3"]


def key(name: str) -> ObjectKey:
    return ObjectKey("apps", "Deployment", "shop", name)


@dataclass
class Place:
    """The repository of all, the daemon's clone and a person's, and what should come of it."""

    folder: Path
    suspended: set[str] = field(default_factory=set)
    frozen: set[str] = field(default_factory=set)
    """Apps whose scheduling somebody suspended in the file of the binding."""
    tasks: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in APPS})
    replicas: dict[str, int] = field(default_factory=lambda: dict.fromkeys(APPS, 1))
    acts: int = 0

    def __post_init__(self) -> None:
        self.there, self.way = self.folder / "there.git", self.folder / "way.git"
        git.Repository.create(self.there)
        self.mend()
        self.restart()
        self.record.rebuild({}, {})
        self._write({key(name): Decision(key(name), "apps/v1", Scheduled((Share("m1", 1),))) for name in APPS})
        self.tell()
        self.person = git.Repository.create(self.folder / "person.git")

    # -- the daemon

    def restart(self) -> None:
        path = self.folder / "daemon.git"
        clone = git.Repository.open(path) if path.exists() else git.Repository.create(path)
        self.record = Record(StateBranch(clone, bindings), url=str(self.way), push=True)
        self.record.load()

    def cut(self) -> None:
        self.way.unlink(missing_ok=True)

    def mend(self) -> None:
        if not self.way.exists():
            self.way.symlink_to(self.there)

    def evict(self, app: str, cluster: str) -> None:
        """A task, and other replicas."""
        before = self.record.state.decisions.bindings
        known = before[key(app)]
        self.replicas[app] += 1
        evictions = known.failover.evictions
        if cluster not in self.tasks[app]:
            self.tasks[app].append(cluster)
            evictions += (EvictionTask(cluster, {"fromCluster": cluster, "purgeMode": "Gracefully"}),)
        shares = (Share("m9", self.replicas[app]),)
        self._write(
            {
                **before,
                key(app): replace(
                    known,
                    scheduled=replace(known.scheduled, shares=shares),
                    failover=replace(known.failover, evictions=evictions),
                ),
            }
        )

    def _write(self, decided: dict[ObjectKey, Decision]) -> None:
        self.acts += 1
        self.record.write(
            replace(self.record.state.decisions, bindings=decided), results={"m1": {"objects": self.acts}}, held=(),
            message=state_commits.acted(Act.DECIDED, "abc", (f"act {self.acts}",)),
            now=WHEN + timedelta(seconds=self.acts),
        )  # fmt: skip

    def tell(self) -> None:
        try:
            if self.record.exchange():
                self.record.load()
        except errors.StateConflict:
            self.record.load()

    # -- a person, who reaches the repository always

    def suspend(self, of: str) -> None:
        branch, tip = self._mine()
        state = branch.read()
        known = {one.of: one for one in state.decisions.suspensions}
        self.suspended ^= {of}
        if known.pop(of, None) is None:
            known[of] = Suspension(of, "somebody", WHEN)
        after = replace(state, decisions=replace(state.decisions, suspensions=tuple(known.values())))
        branch.write(state, after, message=Message(f"Suspend or resume {of}"), now=WHEN)
        branch.push(str(self.there), expected=tip)

    def freeze(self, app: str) -> None:
        branch, tip = self._mine()
        path = bindings.path_of(key(app))
        document = self._document(self.person, tip, path)
        document["spec"]["suspension"] = {"scheduling": app not in self.frozen}
        self.frozen ^= {app}
        text = yaml.safe_dump(document).encode()
        self.person.commit_files(branch.ref, {path: text}, "by hand", parent=tip, when=WHEN, author="P <p@x.io>")
        branch.push(str(self.there), expected=tip)

    def _mine(self) -> tuple[StateBranch, Any]:
        branch = StateBranch(self.person, bindings)
        return branch, branch.pull(str(self.there))

    @staticmethod
    def _document(repository: git.Repository, commit: Any, path: str) -> Any:
        return yaml.safe_load(repository.read(repository.entries(commit)[path].blob_id))

    # -- what must be true

    def check(self) -> None:
        self.mend()
        for _ in range(3):
            self.tell()
        repository = git.Repository.open(self.there)
        state = StateBranch(repository, bindings).read()
        assert state.commit == self.record.state.commit, "there is one history, and both know it"
        assert {one.of for one in state.decisions.suspensions} == self.suspended
        for name in APPS:
            decision = state.decisions.bindings[key(name)]
            assert sorted(task.from_cluster for task in decision.failover.evictions) == sorted(self.tasks[name])
            assert decision.scheduling_suspended == (name in self.frozen)
            if self.replicas[name] > 1:
                assert decision.scheduled.shares == (Share("m9", self.replicas[name]),)
        assert state.results == {"m1": {"objects": self.acts}}
        assert state.commit is not None
        said = [one.body for one in repository.log(state.commit, limit=1000)]
        assert sorted(line for line in said if line) == sorted(
            f"act {number + 1}\n\n{TRAILERS}" for number in range(self.acts)
        )
        repository.close()


ACTS = st.one_of(
    st.tuples(st.just("evict"), st.sampled_from(APPS), st.sampled_from(CLUSTERS)),
    st.tuples(st.just("suspend"), st.sampled_from(["all", "cluster/m1"])),
    st.tuples(st.just("freeze"), st.sampled_from(APPS)),
    st.sampled_from([("tell",), ("tell",), ("cut",), ("mend",), ("restart",)]),
)


@settings(max_examples=12)
@given(acts=st.lists(ACTS, min_size=3, max_size=10))
def test_no_order_and_no_task_is_lost_whatever_comes_between_what(acts: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for what, *arguments in acts:
            getattr(place, what)(*arguments)
        place.check()


@pytest.mark.parametrize(
    "acts",
    [
        pytest.param([("evict", "web", "m1"), ("suspend", "all"), ("tell",)], id="an order while the daemon decides"),
        pytest.param([("cut",), ("evict", "web", "m1"), ("tell",), ("freeze", "web"), ("evict", "web", "m2")],
                     id="an edit of the same file while the daemon is cut off"),
        pytest.param([("cut",), ("evict", "web", "m1"), ("suspend", "all"), ("mend",), ("restart",)],
                     id="an order while the daemon is cut off, and dies"),
        pytest.param([("cut",), ("evict", "web", "m1"), ("suspend", "all"), ("restart",), ("suspend", "all")],
                     id="an order that is taken back"),
    ],
)  # fmt: skip
def test_no_order_and_no_task_is_lost(acts: list[tuple[str, ...]], tmp_path: Path) -> None:
    place = Place(tmp_path)
    for what, *arguments in acts:
        getattr(place, what)(*arguments)
    place.check()


def test_what_could_not_be_pushed_says_after_an_order_what_it_said_before(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.cut()
    place.evict("web", "m1")
    place.suspend("all")
    place.restart()
    place.mend()
    place.restart()
    place.check()
    repository = git.Repository.open(place.there)
    history = repository.log(repository.resolve("gitfed/state"), limit=2)
    assert [(one.subject, one.body, one.when) for one in history] == [
        ("Decide for abc [skip ci]", f"act 2\n\n{TRAILERS}", WHEN + timedelta(seconds=2)),
        ("Suspend or resume all [skip ci]", "", WHEN),
    ]


def test_of_a_branch_that_was_made_anew_only_that_counts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.cut()
    place.evict("web", "m1")
    shutil.rmtree(place.there)
    git.Repository.create(place.there)
    again = git.Repository.create(tmp_path / "again.git")
    again.commit_files("gitfed/state", {"README.md": b"new"}, "by hand", parent=None, when=WHEN)
    again.push(str(place.there), "refs/heads/gitfed/state", expected=None)
    place.mend()
    place.restart()
    assert place.record.state.decisions.bindings == {}
