"""A repository with signed commits, and which of them are accepted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitfed.edges import files, git
from gitfed.model.base import Commit
from gitfed.reading.reader import Reader
from tests.support import signing
from tests.support.signing import Person

SETTINGS = """\
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata: {{name: acme}}
spec:
  sources: {{verify: {{commits: {commits}, keys: [keys/ada.pub]}}}}
  guards: {{approvers: [{approver}]}}
"""


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "people"
    folder.mkdir()
    yield folder
    signing.end_agents(folder)


@pytest.fixture
def ada(people: Path) -> Person:
    return signing.with_ssh("ada", people)


class Place:
    """A repository with a checkout, and readers that start with what the last one remembered."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        git.Repository.create(self.work, bare=False)
        self.readers: list[Reader] = []

    def settings(self, ada: Person, commits: str = "head", approver: str = "") -> None:
        (self.work / "keys").mkdir(exist_ok=True)
        (self.work / "keys" / "ada.pub").write_text(ada.public)
        (self.work / "gitfed.yaml").write_text(SETTINGS.format(commits=commits, approver=approver))

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.work), *arguments], check=True, capture_output=True)

    def reader(self, trusted_keys: Path | None = None) -> Reader:
        clone = git.Repository.create(self.folder / "clone.git")
        cache = files.DiskCache(self.folder / "cache")
        record = self.folder / "accepted.json"
        made = Reader(str(self.work), clone, cache, accepted=record, trusted_keys=trusted_keys)
        self.readers.append(made)
        return made


def accepted(reader: Reader) -> Commit:
    """What the daemon does with the newest commit that may be acted upon."""
    commit = reader.newest()
    reader.trust.accept(commit, reader.read(commit, None, {}).settings)
    return commit
