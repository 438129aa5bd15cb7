"""Engines of one fleet that share a state branch, each with a data folder and a key of its own; nothing runs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gitfed.daemon.record import Record
from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Act
from gitfed.edges import files, git
from gitfed.edges.git import signing_key
from gitfed.edges.state.state import StateBranch
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.decisions import Decision, EvictionTask, FailoverState, Scheduled, Share
from gitfed.reading.reader import Reader
from gitfed.reading.state_trust import StateTrust
from tests.support.signing import Person

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
WEB = ObjectKey("apps", "Deployment", "shop", "web")
BINDING = "bindings/shop/web-Deployment.apps.yaml"


@dataclass
class Fleet:
    """A source that says who counts, a server with the state branch, and engines with keys of their own."""

    folder: Path
    ada: Person

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def there(self) -> Path:
        return self.folder / "there.git"

    def say(self, commits: str = "all", *, operators: str = "", approvers: str = "", writers: str = "") -> None:
        """Commit the settings, signed by ada."""
        if not self.work.exists():
            git.Repository.create(self.work, bare=False).close()
            git.Repository.create(self.there).close()
        (self.work / "ada.pub").write_text(self.ada.public)
        (self.work / "gitfed.yaml").write_text(
            "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\nspec:\n"
            f"  sources: {{verify: {{commits: {commits}, keys: [ada.pub]}}}}\n"
            f"  guards: {{operators: [{operators}], approvers: [{approvers}]}}\n"
            f"  state: {{writers: [{writers}]}}\n"
        )
        self.ada.commit(self.work)

    def engine(self, name: str) -> Record:
        """`name`: of its data folder, with its clone, its key and what it accepted."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        path = folder / "clone.git"
        clone = git.Repository.open(path) if path.exists() else git.Repository.create(path)
        reader = Reader(str(self.work), clone, files.DiskCache(folder / "c"), accepted=folder / "accepted.json")
        newest = reader.newest()
        reader.trust.accept(newest, reader.read(newest, None, {}).settings)
        key = signing_key.of_file(folder / "state-key")
        trust = StateTrust(reader.trust, key)
        trust.look_from(newest)
        branch = StateBranch(clone, bindings, sign=key.sign)
        made = Record(branch, url=str(self.there), push=True, trust=trust)
        if not made.load().known:
            made.rebuild({}, {})
        return made

    def key(self, name: str) -> str:
        return f"'{signing_key.of_file(self.folder / name / 'state-key').public}'"

    # -- whoever may push -----------------------------------------------------------------------------------------

    def edit(self, path: str, old: str, new: str, who: Person | None = None, message: str = "an edit") -> str:
        """Push a change to the state branch, signed by `who`, or by nobody."""
        hands = self.folder / "hands"
        if not hands.exists():
            subprocess.run(["git", "clone", "-q", str(self.there), str(hands)], check=True, capture_output=True)
        someone = who or self.ada
        someone.git(hands, "fetch", "-q", "origin")
        someone.git(hands, "checkout", "-q", "-B", "state", "origin/gitfed/state")
        text = (hands / path).read_text()
        assert old in text, text
        (hands / path).write_text(text.replace(old, new))
        commit = someone.commit(hands, message, signed=who is not None)
        someone.git(hands, "push", "-q", "origin", "state:gitfed/state")
        return commit


def decide(engine: Record, cluster: str, evictions: tuple[EvictionTask, ...] = ()) -> Commit:
    """Write that the work is in this cluster, and has to leave others."""
    decided = {
        WEB: Decision(WEB, "apps/v1", Scheduled((Share(cluster, 2),)), failover=FailoverState(evictions=evictions))
    }
    decisions = replace(engine.state.decisions, bindings=decided)
    engine.write(decisions, results={}, held=(), message=state_commits.acted(Act.DECIDED, cluster), now=WHEN)
    engine.exchange()
    assert engine.state.commit is not None
    return engine.state.commit


def clusters(engine: Record) -> list[str]:
    return [share.cluster for share in engine.state.decisions.bindings[WEB].scheduled.shares]
