"""Values that all others are made of: a place in the repository, a problem, the key of an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, NamedTuple, NewType, TypeAlias

from gitfed.text.values import dataclass

Body: TypeAlias = Mapping[str, Any]
"""A Kubernetes object as plain JSON values. Shared between snapshots and plans: never changed in place."""

ClusterName: TypeAlias = str
Commit = NewType("Commit", str)
"""Full hexadecimal name of a Git commit; `Commit("")` for a worktree."""
BindingId = NewType("BindingId", str)
"""Stable hash of a template's key: label `gitfed.io/binding` on every object that comes from it."""
Digest = NewType("Digest", str)
"""sha256 of canonical JSON, hexadecimal."""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A place in the repository. Lines and columns count from 1; line 0 means the file as a whole."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A mistake in the user's files. Collected, never raised.

    `message` says what is wrong, `hint` what to do. An error makes `validate` exit with 3 and holds the file's
    objects at their last good version; a warning changes nothing.
    """

    origin: Origin
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    cause: str = ""
    """What went wrong, as a sentence, where it may affect other objects too: a plan shows problems with the same cause
    as one. The message of such a problem begins with its object and a colon."""
    path: tuple[str | int, ...] = field(default=(), compare=False)
    """Where in the object at `origin`. `source.locate` finds the line, given the file."""

    def __str__(self) -> str:
        mark = "" if self.severity is Severity.ERROR else "warning: "
        return f"{self.origin}: {mark}{self.message}" + (f" ({self.hint})" if self.hint else "")


class Kind(NamedTuple):
    """API group and kind. The version is not part of identity: one object may be served in several."""

    group: str
    kind: str


class ObjectKey(NamedTuple):
    """Which object. `namespace` is "" for cluster-scoped objects. Ordered and hashable."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind}/{self.namespace}/{self.name}" if self.namespace else f"{kind}/{self.name}"


def group_of(api_version: str) -> str:
    """`apps/v1` → `apps`; `v1` → ``."""
    return api_version.rpartition("/")[0]


def key_from(text: str) -> ObjectKey:
    """Reads back what `str` made of a key. Any other text gives a key that no object has."""
    kind, _, rest = text.partition("/")
    kind, _, group = kind.partition(".")
    space, _, name = rest.rpartition("/")
    return ObjectKey(group, kind, space, name)


def key_of(body: Body) -> ObjectKey:
    """The key of an object that has apiVersion, kind and metadata.name."""
    metadata = body["metadata"]
    return ObjectKey(group_of(body["apiVersion"]), body["kind"], metadata.get("namespace") or "", metadata["name"])
