"""Folders that Kustomize builds, in the history of a repository: present builds, and those of older commits.

`source` finds the folders, `edges.kustomize` runs the program; here they meet. A build that fails is held like a file
with errors: at the build of the last commit that was applied, named by its digest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from gitfed.edges import git
from gitfed.edges.kustomize import Kustomize
from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.model.repo import HeldFile
from gitfed.source import kustomize
from gitfed.source.tree import SUBMODULE, SYMLINK, resolve

_MOST_LAYOUTS = 16


class Builds:
    """One for each reader of a repository; blocking."""

    def __init__(self, repository: git.Repository) -> None:
        self._repository = repository
        self._program = Kustomize()
        self._names: dict[str, kustomize.Names] = {}
        self._layouts: OrderedDict[Commit, kustomize.KustomizationLayout] = OrderedDict()
        """The latest ones, newest last: every folder that cannot be built asks for the same older commits."""

    def build(self, root: kustomize.Root, read: Callable[[str], bytes]) -> bytes:
        return self._program.build(root, read)

    def read_held(self, held: HeldFile) -> bytes:
        """Content of a held file, or the build of a held folder as it was. Raises SourceError."""
        if not kustomize.is_built(held.blob):
            return self._repository.read(held.blob)
        root = self._root(held.commit, held.path)
        if root is None or root.digest != held.blob:
            raise SourceError(f"{held.path} was built from other files at {held.commit[:12]}")
        return self._program.build(root, self._repository.read)

    def version(self, commit: Commit, path: str) -> str:
        """What stands for a file at a commit: its blob id, or the digest of its build; "" when it was not there."""
        if kustomize.is_kustomization(path):
            root = self._root(commit, path)
            if root is not None:
                return root.digest
        entry = self._repository.entries(commit).get(self.real_path(commit, path))
        return entry.blob_id if entry is not None and entry.mode != SUBMODULE else ""

    def below(self, commit: Commit, path: str) -> list[str]:
        """The paths of the files that stood at a path, or below it, without material. Raises SourceError."""
        inside = f"{path}/"
        material = self._layout(commit).material
        return [
            file_path
            for file_path in self._repository.entries(commit)
            if (file_path == path or file_path.startswith(inside)) and file_path not in material
        ]

    def real_path(self, commit: Commit, path: str) -> str:
        """Where a file lies that the repository shows at a path, links followed; "" when that is nowhere."""
        entries = self._repository.entries(commit)
        if path in entries and entries[path].mode != SYMLINK:
            return path

        def target_of(name: str) -> str | None:
            entry = entries.get(name)
            if entry is None or entry.mode != SYMLINK:
                return None
            return self._repository.read(entry.blob_id).decode("utf-8", "surrogateescape")

        return resolve(path, target_of)[0]

    def _root(self, commit: Commit, path: str) -> kustomize.Root | None:
        return self._layout(commit).roots.get(path)

    def _layout(self, commit: Commit) -> kustomize.KustomizationLayout:
        layout = self._layouts.get(commit)
        if layout is None:
            entries = sorted(self._repository.entries(commit).values(), key=lambda entry: entry.path)
            layout = kustomize.layout(entries, kustomize.is_kustomization, self._repository.read, self._names)
            if not self._repository.brought:  # a submodule that is brought later makes another layout of it
                self._layouts[commit] = layout
            if len(self._layouts) > _MOST_LAYOUTS:
                self._layouts.popitem(last=False)
        else:
            self._layouts.move_to_end(commit)
        return layout
