"""What the files of the state branch say, each by itself: one that cannot be read is a Problem, and the rest counts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Protocol

from gitfed.edges.git import Repository
from gitfed.edges.state import answers as state_answers
from gitfed.edges.state import memory
from gitfed.errors import InputError, StateError
from gitfed.model.base import Body, ClusterName, Commit, ObjectKey, Origin, Problem, Severity
from gitfed.model.decisions import ClusterRecord, Decision
from gitfed.model.repo import HeldFile
from gitfed.text import emitted, yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

STATE = "state.yaml"
BINDINGS, CLUSTERS, HELD = "bindings/", "clusters/", "held/"

Blobs = Mapping[str, str]
"""The files of a commit, by path."""


class BindingFormat(Protocol):
    """How a decision is written. Passed in: the documents are `source`'s knowledge, not this edge's."""

    def path_of(self, key: ObjectKey) -> str: ...
    def to_document(self, decision: Decision, status: Body | None = None) -> Mapping[str, Any]: ...
    def from_document(self, document: Mapping[str, Any]) -> Decision: ...
    def status_of(self, document: Mapping[str, Any]) -> Body | None: ...
    def complaints(self, document: Mapping[str, Any]) -> Iterable[str]: ...
    def record_path(self, name: str) -> str: ...
    def record_document(self, record: ClusterRecord) -> Mapping[str, Any]: ...
    def record_of(self, document: Mapping[str, Any]) -> ClusterRecord: ...


@dataclass(slots=True)
class Bindings:
    decisions: dict[ObjectKey, Decision] = field(default_factory=dict)
    statuses: dict[ObjectKey, Body] = field(default_factory=dict)
    paths: dict[str, ObjectKey] = field(default_factory=dict)
    blobs: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class Clusters:
    records: dict[ClusterName, ClusterRecord] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Documents:
    """Those of one branch. `memory` knows what bindings said to processes before this one."""

    def __init__(self, repository: Repository, form: BindingFormat, binding_memory: memory.Memory, branch: str) -> None:
        self.branch = branch
        self._repository = repository
        self._form = form
        self._memory = binding_memory
        self._parsed: dict[str, tuple[Decision, Body | None]] = {}
        """Bindings of the commit that was read last, by blob."""

    def bindings(self, blobs: Blobs) -> Bindings:
        bindings = Bindings()
        parsed: dict[str, tuple[Decision, Body | None]] = {}
        for path, blob in blobs.items():
            if not path.startswith(BINDINGS):
                continue
            bindings.blobs.append(blob)
            recorded = self._parsed.get(blob)
            if recorded is None:
                try:
                    recorded = self.decision(blob)
                except InputError as error:
                    hint = "the rest of the state is used; this binding is decided anew"
                    bindings.problems.append(Problem(self._place(path), error.message, hint))
                    continue
            parsed[blob] = recorded
            decision, status = recorded
            if decision.raw is not None:
                bindings.problems += (
                    Problem(self._place(path), message, severity=Severity.WARNING)
                    for message in self._form.complaints(decision.raw)
                )
            bindings.decisions[decision.key] = decision
            if status is not None:
                bindings.statuses[decision.key] = status
            bindings.paths[path] = decision.key
        self._parsed = parsed
        return bindings

    def clusters(self, blobs: Blobs) -> Clusters:
        clusters = Clusters()
        for path, blob in blobs.items():
            if not path.startswith(CLUSTERS):
                continue
            try:
                record = self._form.record_of(self.mapping(blob, "a cluster"))
            except InputError as error:
                hint = "the rest of the state is used; what is known of this cluster is found out anew"
                clusters.problems.append(Problem(self._place(path), error.message, hint))
                continue
            clusters.records[record.name] = record
        return clusters

    def held(self, blobs: Blobs) -> tuple[HeldFile, ...]:
        """Sorted by path."""
        held_files = (
            held_file for path, blob in blobs.items() if path.startswith(HELD) for held_file in self._held(blob)
        )
        return tuple(sorted(held_files, key=lambda held_file: held_file.path))

    def _held(self, blob: str) -> list[HeldFile]:
        try:
            value = self._load(blob)
            return [HeldFile(value["path"], Commit(value["commit"]), value["blob"], str(value.get("reason") or ""))]
        except (InputError, KeyError, TypeError):
            return []  # then the last good version is looked for in the history again

    def answers(self, blobs: Blobs) -> state_answers.Answers:
        directory = state_answers.DIRECTORY
        blob_by_name = {
            path.removeprefix(directory).removesuffix(".yaml"): blob
            for path, blob in blobs.items()
            if path.startswith(directory)
        }
        return state_answers.Answers(blob_by_name, self._load)

    def top(self, commit: Commit, blob: str) -> Any:
        """`state.yaml`. Raises StateError when it is no document: without it what was ordered is unknown."""
        try:
            return self._load(blob)
        except InputError as error:
            raise StateError(
                f"{self.branch}:{STATE} of {commit[:12]}: {error.message}",
                hint=f"git log {self.branch} shows who wrote it; git revert brings the last good one back",
            ) from error

    def decision(self, blob: str) -> tuple[Decision, Body | None]:
        """Raises InputError."""
        value = self._memory.get(blob)
        if value is None:
            value = self.mapping(blob, "a binding")
            self._memory.add(blob, value)
        return self._form.from_document(value), self._form.status_of(value)

    def mapping(self, blob: str, what: str) -> Mapping[str, Any]:
        """Raises InputError, which says that it is not `what`."""
        value = self._load(blob)
        if not isinstance(value, Mapping):
            raise InputError(f"this is not {what}")
        return value

    def _load(self, blob: str) -> Any:
        content = self._repository.read(blob)
        with contextlib.suppress(emitted.NotEmitted):
            return emitted.load(content)
        try:
            documents = yaml.load_all(content)
        except YamlError as error:
            raise InputError(f"cannot be read: {error}") from error
        if len(documents) != 1:
            raise InputError(f"cannot be read: {len(documents)} documents instead of one")
        return documents[0]

    def _place(self, path: str) -> Origin:
        return Origin(f"{self.branch}:{path}")
