"""The facts branch: what was observed of the clusters, one canonical YAML file per cluster.

A command that plans without credentials for any cluster (a pull request's check, a laptop) reads facts from here, and
the daemon decides from what it wrote here: so a preview, the decision and a replay see the same numbers. One commit per
write, pushed with compare-and-swap. What is written is derived data: of two writers one loses, reads and goes on.

Facts change all the time, and old ones are worth little. So the branch begins anew, with one commit that has no parent,
when its first commit is a week old. Facts that a decision cites are kept from Git's clean-up by a ref of their own for
each such week, `refs/gitfed/facts/<day it began>`, which follows the newest commit cited.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from gitfed.edges.git import Repository
from gitfed.errors import SourceError
from gitfed.model.base import ClusterName, Commit
from gitfed.model.fleet import ClusterFacts
from gitfed.text import emit, emitted, moment, yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

SCHEMA_VERSION = 1
DEFAULT_BRANCH = "gitfed/facts"
KEPT = timedelta(days=7)
_ABOUT = "facts.yaml"
_NEXT = "refs/gitfed/facts-next"
_THEIRS = "refs/gitfed/facts-theirs"
"""The branch as another repository has it."""
_README = """\
# What this branch is

gitfed writes here what it observed of each cluster: `clusters/<name>.yaml`, a Karmada `Cluster` with status, with the
room of its nodes in `status.nodeClasses` if a policy asks for it. Decisions are taken from these facts; the commits on
the state branch name the commit they were taken from.

You may read it and delete it: it is written again. The branch begins anew once a week.
"""


class FactsFormat(Protocol):
    """How facts are written. Passed in: the documents are `source`'s knowledge, not this edge's."""

    def path_of(self, name: str) -> str: ...
    def is_fact(self, document: object) -> bool: ...
    def to_document(self, facts: ClusterFacts) -> Mapping[str, Any]: ...
    def from_document(self, document: Mapping[str, Any]) -> ClusterFacts: ...


@dataclass(frozen=True, slots=True)
class FactsSnapshot:
    """The branch as of one commit. `commit` None: there is no branch yet."""

    commit: Commit | None = None
    when: datetime | None = None
    facts: Mapping[ClusterName, ClusterFacts] = field(default_factory=dict)
    """As they read from the branch, which is what every other reader gets."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    since: datetime | None = None
    """The time of the branch's first commit."""

    @property
    def digest(self) -> str:
        """sha256 over the clusters' files in order of their paths."""
        total = hashlib.sha256()
        for path in sorted(self.contents):
            total.update(self.contents[path])
        return total.hexdigest()


class FactsBranch:
    """Reads and writes the branch of one clone. Blocking: call it from a thread."""

    def __init__(
        self,
        repository: Repository,
        form: FactsFormat,
        *,
        branch: str = DEFAULT_BRANCH,
        sign: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """`sign` signs what is written here."""
        self.repository = repository
        self._sign = sign
        self.ref = f"refs/heads/{branch}"
        self._form = form

    def head(self) -> Commit | None:
        return self.repository.branch_commit(self.ref)

    def read(self) -> FactsSnapshot:
        """The newest facts. A file that cannot be read is left out: its cluster will be written anew."""
        commit = self.head()
        if commit is None:
            return FactsSnapshot()
        entries = self.repository.entries(commit)
        facts: dict[ClusterName, ClusterFacts] = {}
        contents: dict[str, bytes] = {}
        for path in sorted(entries):
            if not path.startswith("clusters/"):
                continue
            contents[path] = self.repository.read(entries[path].blob_id)
            if (cluster_facts := self._parsed(contents[path])) is not None:
                facts[cluster_facts.name] = cluster_facts
        about = self.repository.read(entries[_ABOUT].blob_id) if _ABOUT in entries else b""
        return FactsSnapshot(commit, self.repository.info(commit).when, facts, contents, _since(about))

    def _parsed(self, content: bytes) -> ClusterFacts | None:
        try:
            documents = _documents(content)
            read_facts = [self._form.from_document(document) for document in documents if self._form.is_fact(document)]
        except (YamlError, AttributeError, KeyError, TypeError, ValueError):
            return None
        return read_facts[0] if len(read_facts) == 1 else None

    def write(
        self,
        before: FactsSnapshot,
        changed: Mapping[ClusterName, ClusterFacts],
        gone: Iterable[ClusterName] = (),
        *,
        now: datetime,
        again: bool = False,
    ) -> FactsSnapshot:
        """One commit with these facts; `before` itself when that changes nothing, unless it is to be said `again`.

        Raises StateConflict when the branch is no longer at `before.commit`.
        """
        contents, facts = dict(before.contents), dict(before.facts)
        for name in gone:
            contents.pop(self._form.path_of(name), None)
            facts.pop(name, None)
        for name, cluster_facts in changed.items():
            document = self._form.to_document(cluster_facts)
            contents[self._form.path_of(name)] = emit.dump(document).encode()
            facts[name] = self._form.from_document(document)
        files: dict[str, bytes | None] = {
            path: content for path, content in contents.items() if before.contents.get(path) != content
        }
        files |= {path: None for path in before.contents if path not in contents}
        if not files and not again:
            return before
        now = now.astimezone(UTC).replace(microsecond=0)
        message = _message(sorted(changed), sorted(gone))
        if before.commit is not None and before.since is not None and now - before.since < KEPT:
            commit = self.repository.commit_files(
                self.ref, files, message, parent=before.commit, when=now, sign=self._sign
            )
            return FactsSnapshot(commit, now, facts, contents, before.since)
        files = dict(contents)
        files["README.md"] = _README.encode()
        files[_ABOUT] = emit.dump({"schemaVersion": SCHEMA_VERSION, "since": now.isoformat()}).encode()
        if before.commit is None:
            commit = self.repository.commit_files(self.ref, files, message, parent=None, when=now, sign=self._sign)
        else:
            self.repository.update_ref(_NEXT, None)
            commit = self.repository.commit_files(_NEXT, files, message, parent=None, when=now, sign=self._sign)
            self.repository.update_ref(self.ref, commit)
            self.repository.update_ref(_NEXT, None)
        return FactsSnapshot(commit, now, facts, contents, now)

    def keep(self, recorded: FactsSnapshot) -> str:
        """A decision cites these facts: keep them when the branch begins anew. Returns the ref that does."""
        assert recorded.commit is not None
        began = recorded.since or recorded.when
        ref = f"refs/gitfed/facts/{began:%Y%m%dT%H%M%SZ}" if began else "refs/gitfed/facts/unknown"
        self.repository.update_ref(ref, recorded.commit)
        return ref

    # -- another repository

    def push(self, url: str, ref: str = "", *, expected: Commit | None, commit: Commit | None = None) -> None:
        """Compare-and-swap to another repository; `commit` None: what our ref names then.

        Raises StateConflict, SourceUnreachable, SourceError.
        """
        self.repository.push(url, ref or self.ref, expected=expected, commit=commit)

    def tip(self, url: str, ref: str = "") -> Commit | None:
        """Where the branch of another repository stands. Raises SourceUnreachable."""
        ref = ref or self.ref
        return self.repository.remote_refs(url, ref).get(ref)

    def pull(self, url: str, *, believed: Callable[[Commit], bool] = lambda commit: True) -> Commit | None:
        """Take over the branch of another repository, if it is `believed`; where it stands there.

        Raises SourceError.
        """
        theirs = self.tip(url)
        if theirs is not None and theirs != self.head():
            try:
                self.repository.fetch(url, [f"+{self.ref}:{_THEIRS}"])
            except SourceError:
                return None
            theirs = self.repository.branch_commit(_THEIRS) or theirs
            if believed(theirs):
                self.repository.update_ref(self.ref, theirs)
        return theirs


def _since(about: bytes) -> datetime | None:
    try:
        documents = yaml.load_all(about) if about else []
        return moment.read(documents[0]["since"])
    except (YamlError, IndexError, KeyError, TypeError):
        return None  # then the branch begins anew with the next write


def _message(changed: list[ClusterName], gone: list[ClusterName]) -> str:
    if len(changed) + len(gone) == 1:
        subject = f"Facts of {changed[0]}" if changed else f"{gone[0]} is gone"
        return f"{subject} [skip ci]\n"
    lines = [*changed, *(f"{name} is gone" for name in gone)]
    return f"Facts of {len(changed)} clusters [skip ci]\n\n" + "\n".join(lines) + "\n"


def _documents(content: bytes) -> list[Any]:
    """Raises YamlError."""
    try:
        return [emitted.load(content)]
    except emitted.NotEmitted:
        return yaml.load_all(content)
