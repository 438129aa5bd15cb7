"""Commits that no checkout could hold: made of Git objects, with names and modes as an attacker likes them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

FILE, LINK, FOLDER, SUBMODULE = "100644", "120000", "40000", "160000"

SETTINGS = "apiVersion: gitfed.io/v1alpha1\nkind: Federation\nmetadata: {name: acme}\n"
CLUSTERS = "".join(
    f"---\napiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
    f"metadata: {{name: {name}}}\nspec: {{syncMode: Push}}\n"
    for name in ("eu", "us")
)


def config(name: str, data: str = "{a: b}") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {data}\n"


@dataclass(frozen=True)
class Objects:
    """The object store of a repository at `path`."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> Objects:
        made = cls(path)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
        return made

    def run(self, *arguments: str, feed: bytes = b"") -> bytes:
        who = {
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@e",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@e",
        }
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, input=feed, check=True, capture_output=True, env={**os.environ, **who}).stdout

    def blob(self, content: bytes | str) -> str:
        data = content.encode() if isinstance(content, str) else content
        return self.run("hash-object", "-w", "--stdin", feed=data).decode().strip()

    def folder(self, entries: Iterable[tuple[str, str, str | bytes]]) -> str:
        """A tree of `(mode, object id, name)`; names are written as they are."""
        kinds = {FOLDER: b"tree", SUBMODULE: b"commit"}
        lines = (
            b"%b %b %b\t%b\0"
            % (
                mode.encode(),
                kinds.get(mode, b"blob"),
                name_of.encode(),
                name if isinstance(name, bytes) else name.encode(),
            )
            for mode, name_of, name in entries
        )
        return self.run("mktree", "-z", "--missing", feed=b"".join(lines)).decode().strip()

    def commit(self, tree: str, *parents: str, ref: str = "refs/heads/main") -> str:
        before = [part for parent in parents for part in ("-p", parent)]
        made = self.run("commit-tree", *before, "-m", "change", tree).decode().strip()
        self.run("update-ref", ref, made)
        return made

    def load(self, files: Mapping[str, bytes], *, ref: str = "refs/heads/main") -> None:
        """One commit of many files, by one process."""
        feed = [
            b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(one), one) for mark, one in enumerate(_contents(files), 1)
        ]
        marks = {one: mark for mark, one in enumerate(_contents(files), 1)}
        feed.append(b"commit %b\ncommitter t <t@e> 1767323045 +0000\ndata 1\nx\n" % ref.encode())
        feed += [b"M 100644 :%d %b\n" % (marks[content], path.encode()) for path, content in files.items()]
        self.run("fast-import", "--quiet", feed=b"".join(feed))


def _contents(files: Mapping[str, bytes]) -> list[bytes]:
    return list(dict.fromkeys(files.values()))
