"""The state branch: what was decided, one canonical YAML file per binding, one commit per cycle that changed something.

What the files of a commit say is `documents`, with `file` for `state.yaml` and `answers` for those of webhooks;
`memory` saves processes that only look the parsing; `merge` is for two writers.

The branch lives in the daemon's own clone and is pushed with compare-and-swap, so that of two writers one loses and
reads again. Reading is forgiving, file by file: a broken or hand-edited document is a Problem and the rest loads.
Nothing here decides anything; what a missing state means is the daemon's question (it is rebuilt from inventories).
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from gitfed.documents.state_commits import Message
from gitfed.edges.git import Repository
from gitfed.edges.state import answers as state_answers
from gitfed.edges.state import autoscalers, memory, merge
from gitfed.edges.state import file as state_file
from gitfed.edges.state.documents import CLUSTERS, HELD, STATE, BindingFormat, Documents
from gitfed.errors import InputError, SourceError
from gitfed.model.base import Body, ClusterName, Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.repo import HeldFile
from gitfed.text import emit
from gitfed.text.values import dataclass

DEFAULT_BRANCH = "gitfed/state"
_BESIDE = (CLUSTERS, HELD, autoscalers.DIRECTORY, state_answers.DIRECTORY)
_FEW = 100
"""So many documents are parsed in less time than the memory of all takes to be taken up."""
_VERSIONS = 1000
"""Of a binding that are looked at for the one that brought an eviction."""
_FETCH = 120.0
"""Seconds for a branch that holds little and is fetched often."""
_THEIRS = "refs/gitfed/state/theirs"
"""The branch as another repository has it."""
_DRAFT = "refs/gitfed/state/draft"
"""A commit for the branch that may turn out not to count."""
_README = """\
# What this branch is

gitfed writes here what it decided: one file per binding under `bindings/` (Karmada's ResourceBinding format), and in
`state.yaml` the last commit it applied. Each commit says why. `git log` on this branch is the audit trail.

You may read it, revert it and delete it: a lost branch is rebuilt from the inventories in the clusters.
Edit it by hand only while no gitfed is running.
"""


@dataclass(frozen=True, slots=True)
class BranchState:
    """The branch as of one commit. `commit` None: there is no branch yet."""

    commit: Commit | None
    decisions: Decisions
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Per cluster: the last commit rolled out there, and how it went."""
    documents: Mapping[str, ObjectKey] = field(default_factory=dict)
    """Path on the branch → binding."""
    held: tuple[HeldFile, ...] = ()
    """Files held at their last good version, sorted by path: where their content is, never the content."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members of state.yaml that this version does not act on: kept."""


def new_repository_id() -> str:
    return str(uuid.uuid4())


class StateBranch:
    """Reads and writes the branch of one clone. Blocking: call it from a thread."""

    def __init__(
        self,
        repository: Repository,
        form: BindingFormat,
        *,
        branch: str = DEFAULT_BRANCH,
        cache: memory.Cache | None = None,
        sign: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """`cache` remembers, between processes that only look, what the documents said. `sign` signs what is written
        here."""
        self.repository = repository
        self.ref = f"refs/heads/{branch}"
        self._form = form
        self._sign = sign
        self._memory = memory.Memory(cache, hashlib.sha256(f"{repository.path}\0{self.ref}".encode()).hexdigest())
        self._documents = Documents(repository, form, self._memory, branch)

    def signing(self, sign: Callable[[bytes], bytes] | None) -> StateBranch:
        """The same branch, written with another signature."""
        return StateBranch(self.repository, self._form, branch=self.ref.removeprefix("refs/heads/"), sign=sign)

    def head(self) -> Commit | None:
        return self.repository.branch_commit(self.ref)

    def read(self) -> BranchState:
        """The newest state. Raises StateTooNew for a schemaVersion of a newer gitfed."""
        commit = self.head()
        return BranchState(None, Decisions(known=False)) if commit is None else self.at(commit)

    def at(self, commit: Commit, only: Collection[ObjectKey] | None = None) -> BranchState:
        """The state as of one commit of the branch. Raises StateTooNew."""
        if only is None:
            entries = self.repository.entries(commit)
        else:
            entries = self.repository.some(commit, (STATE, *map(self._form.path_of, only)), _BESIDE)
        if only is None or len(only) > _FEW:
            self._memory.take_up()
        file = state_file.read(self._documents.top(commit, entries[STATE].blob_id) if STATE in entries else {})
        blobs = {path: entry.blob_id for path, entry in sorted(entries.items())}
        bindings, clusters = self._documents.bindings(blobs), self._documents.clusters(blobs)
        scaled, wrong = autoscalers.read(
            blobs, lambda blob: self._documents.mapping(blob, "an autoscaler"), self._documents.branch
        )
        if only is None:
            self._memory.keep(set(bindings.blobs))
        decisions = Decisions(
            bindings=bindings.decisions,
            applied_commit=file.applied,
            limits=file.limits,
            signatures=file.signatures,
            approvals=file.approvals,
            repository_id=file.repository_id,
            known=bool(file.repository_id),
            problems=(*bindings.problems, *clusters.problems, *wrong),
            statuses=bindings.statuses,
            unfinished=file.unfinished,
            holdings=file.holdings,
            cleaned=file.cleaned,
            clusters=clusters.records,
            outage=file.outage,
            autoscalers=scaled,
            suspensions=file.suspensions,
            removals=file.removals,
            reconciliations=file.reconciliations,
            held_plan=file.held_plan,
            answers=self._documents.answers(blobs),
        )
        return BranchState(commit, decisions, file.results, bindings.paths, self._documents.held(blobs), file.extra)

    def write(
        self,
        before: BranchState,
        after: BranchState,
        message: Message,
        *,
        now: datetime,
        draft: bool = False,
    ) -> BranchState:
        """One commit with what differs between the two: `after` as it is read from then on. `before` itself when
        nothing differs. `draft`: the branch stays where it is until `publish`.

        Bindings and cluster records are compared by identity: what a decision left alone is the same object. Of
        `after`, `commit`, `documents` and what follows from the results are not read.

        Raises StateConflict when the branch is no longer at `before.commit`.
        """
        past, decisions = before.decisions, after.decisions
        documents = {self._form.path_of(key): key for key in sorted(decisions.bindings)}
        files: dict[str, bytes | None] = dict.fromkeys(path for path in before.documents if path not in documents)
        for path, key in documents.items():
            decision, status = decisions.bindings[key], decisions.statuses.get(key)
            if past.bindings.get(key) is not decision or status != past.statuses.get(key):
                files[path] = _dumped(self._form.to_document(decision, status))
        for name in past.clusters.keys() - decisions.clusters.keys():
            files[self._form.record_path(name)] = None
        for name, record in decisions.clusters.items():
            if past.clusters.get(name) is not record:
                files[self._form.record_path(name)] = _dumped(self._form.record_document(record))
        files |= autoscalers.files(past.autoscalers, decisions.autoscalers)
        file = _state_file(after)
        if before.commit is None or _state_file(before) != file:
            files[STATE] = _dumped(state_file.document(file))
        if after.held != before.held:
            files |= {_held_path(held_file.path): None for held_file in before.held}
            files |= {_held_path(held_file.path): _dumped(_held_document(held_file)) for held_file in after.held}
        files |= _answers(past.answers, decisions.answers)
        if before.commit is None:
            files["README.md"] = _README.encode()
        if not files:
            return before
        if draft and before.commit is not None:
            self.repository.update_ref(_DRAFT, before.commit)
        commit = self.repository.commit_files(
            _DRAFT if draft else self.ref, files, str(message), parent=before.commit, when=now, sign=self._sign
        )
        statuses = {key: status for key, status in decisions.statuses.items() if key in decisions.bindings}
        decisions = replace(
            decisions,
            known=True,
            unfinished=file.unfinished,
            holdings=file.holdings,
            cleaned=file.cleaned,
            statuses=statuses,
        )
        return replace(after, commit=commit, decisions=decisions, documents=documents)

    def draft(self, message: Message, parent: Commit, now: datetime) -> Commit:
        """A commit that changes nothing, and is on the branch after `publish`."""
        self.repository.update_ref(_DRAFT, parent)
        return self.repository.commit_files(_DRAFT, {}, str(message), parent=parent, when=now, sign=self._sign)

    def publish(self, before: BranchState, draft: Commit) -> None:
        """Let the branch be at a draft. Raises StateConflict when it is no longer at `before.commit`."""
        self.repository.advance(self.ref, draft, expected=before.commit)
        self.discard()

    def discard(self) -> None:
        """A draft is over, published or not."""
        self.repository.update_ref(_DRAFT, None)

    def brought(self, tip: Commit, key: ObjectKey, cluster: ClusterName) -> Commit | None:
        """The commit since which a binding has an eviction from this cluster; None: it has none now."""
        oldest = None
        for commit, blob in self.repository.last_commits_of(self._form.path_of(key), tip, limit=_VERSIONS):
            try:
                tasks = self._documents.decision(blob)[0].failover.evictions
            except InputError:
                break
            if all(task.from_cluster != cluster for task in tasks):
                break
            oldest = commit
        return oldest

    def news(self, state: BranchState, other: Commit | None) -> list[ObjectKey]:
        """The objects whose bindings `state` has otherwise than another commit of the branch."""
        theirs = self.repository.entries(other) if other is not None else {}
        ours = self.repository.entries(state.commit) if state.commit is not None else {}
        same = {path for path, entry in ours.items() if path in theirs and theirs[path].blob_id == entry.blob_id}
        return [key for path, key in state.documents.items() if path not in same]

    def push(self, url: str, *, expected: Commit | None, commit: Commit | None = None) -> None:
        """Compare-and-swap to another repository; `commit` None: what the branch names then.

        Raises StateConflict, SourceUnreachable, SourceError.
        """
        self.repository.push(url, self.ref, expected=expected, commit=commit)

    def forget(self) -> None:
        """Have no branch here any more: what another repository has is judged anew."""
        self.repository.update_ref(self.ref, None)

    def tip(self, url: str) -> Commit | None:
        """Where the branch of another repository stands. Raises SourceUnreachable."""
        return self.repository.remote_refs(url, self.ref).get(self.ref)

    def pull(
        self, url: str, *, keep: bool = False, believed: Callable[[Commit, Commit | None], Commit | None] | None = None
    ) -> Commit | None:
        """Bring the branch of another repository here when ours is missing or differs; where it stands there.

        `keep`: what we have and they have not stays, on top of what was written there; but if another engine wrote
        there, only that counts (`state_merge`). `believed` gets where the branch stands there and here, and gives how
        far it counts: what comes after that is left out, all of it for None.
        """
        theirs, ours = self.tip(url), self.head()
        if theirs is None or theirs == ours:
            return theirs
        if keep and ours is not None and self.repository.is_ancestor(theirs, ours):
            return theirs
        try:
            self.repository.fetch(url, [f"+{self.ref}:{_THEIRS}"], timeout=_FETCH)
        except SourceError:
            return None
        theirs = self.repository.branch_commit(_THEIRS) or theirs
        good = believed(theirs, ours) if believed is not None else theirs
        if good is None or (keep and ours is not None and self.repository.is_ancestor(good, ours)):
            return theirs
        tip = good if ours is None or not keep else merge.on_top(self.repository, good, ours, sign=self._sign)
        self.repository.advance(self.ref, tip, expected=ours)
        return theirs


def _state_file(state: BranchState) -> state_file.StateFile:
    decisions = state.decisions
    return state_file.StateFile(
        repository_id=decisions.repository_id,
        applied=decisions.applied_commit,
        limits=decisions.limits,
        signatures=decisions.signatures,
        results=state.results,
        approvals=decisions.approvals,
        outage=decisions.outage,
        suspensions=decisions.suspensions,
        removals=decisions.removals,
        reconciliations=decisions.reconciliations,
        held_plan=decisions.held_plan,
        extra=state.extra,
    )


def _answers(before: Mapping[str, Body], after: Mapping[str, Body]) -> dict[str, bytes | None]:
    files: dict[str, bytes | None] = {state_answers.path_of(digest): None for digest in before.keys() - after.keys()}
    for digest in after:
        if digest not in before or before.get(digest) != after[digest]:
            files[state_answers.path_of(digest)] = _dumped(after[digest])
    return files


def _held_document(held_file: HeldFile) -> dict[str, Any]:
    return {"path": held_file.path, "commit": str(held_file.commit), "blob": held_file.blob, "reason": held_file.reason}


def _held_path(path: str) -> str:
    return f"held/{path}.yaml"


def _dumped(document: Mapping[str, Any]) -> bytes:
    return emit.dump(document).encode()
