"""What the last reads found out, so that a push that changes one file costs one file.

Results are kept by (path, blob id): an unchanged file gives the very same `Manifest` objects again, and later stages
can compare with `is`. Some generations are kept, so that reading two commits in turn (`diff`) forgets neither.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from gitfed.model.base import Commit, Kind
from gitfed.model.repo import Manifest
from gitfed.source import content, glob, kustomize, parse
from gitfed.source.content import FileContent
from gitfed.source.parse import ParseCache
from gitfed.text.identity import IdentityMemo

_GENERATIONS = 2


class ReadCache:
    """One reader's cache. Not shared between threads."""

    def __init__(self, disk: ParseCache | None = None) -> None:
        self._disk = disk
        self._new: dict[tuple[str, str], FileContent] = {}
        self._old: tuple[dict[tuple[str, str], FileContent], ...] = ()
        self._held: dict[tuple[str, str, str], FileContent] = {}
        self._scoped = {
            namespaced: IdentityMemo[Manifest, Manifest](functools.partial(_in_its_scope, namespaced), most=100_000)
            for namespaced in (False, True)
        }
        self._patterns: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._included: dict[str, bool] = {}
        self._compiled = (glob.compile_all(()), glob.compile_all(()))
        self.folded: dict[str, str] = {}
        """Path → its name as file systems compare it."""
        self.kustomizations: dict[str, kustomize.Names] = {}
        """Blob id of a kustomization → what it names."""
        self.settings_path = ""
        """Where the Federation stood last time."""

    def rotate(self) -> None:
        """A new read begins."""
        self._old, self._new = (self._new, *self._old)[:_GENERATIONS], {}
        if len(self._held) > 10_000:
            self._held.clear()

    def content(self, path: str, blob_id: str, load: Callable[[], bytes]) -> FileContent:
        """What the file says. `load` may raise SourceError; then nothing is remembered."""
        key = (path, blob_id)
        file_content = self._new.get(key)
        if file_content is None:
            for old in self._old:
                file_content = old.get(key)
                if file_content is not None:
                    break
            else:
                file_content = self._understand(path, blob_id, load)
            self._new[key] = file_content
        return file_content

    def held(self, path: str, blob_id: str, commit: Commit, load: Callable[[], bytes]) -> FileContent:
        """The file at its last good version, marked so; the same objects as long as it stays held."""
        key = (path, blob_id, commit)
        if key not in self._held:
            old = self._understand(path, blob_id, load)
            self._held[key] = old if old.faulty else old.held_at(commit)
        return self._held[key]

    def in_its_scope(self, manifest: Manifest, *, namespaced: bool) -> Manifest:
        """A namespaced custom object without a namespace, or a cluster-scoped one with, as the API server would store
        it."""
        return self._scoped[namespaced](manifest)

    def includes(self, path: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> bool:
        if (include, exclude) != self._patterns:
            self._patterns = (include, exclude)
            self._compiled = (glob.compile_all(include, hidden=False), glob.compile_all(exclude))
            self._included = {}
        included = self._included.get(path)
        if included is None:
            if len(self._included) > 1_000_000:
                self._included.clear()
            included = self._compiled[0].match(path) and not self._compiled[1].match(path)
            self._included[path] = included
        return included

    def _understand(self, path: str, blob_id: str, load: Callable[[], bytes]) -> FileContent:
        built = kustomize.is_built(blob_id)
        as_json = parse.is_json(path) and not built
        stored = self._disk.get(blob_id) if self._disk else None
        parsed = parse.load(stored, as_json=as_json) if stored is not None else None
        if parsed is None:
            data = load()
            if content.is_lfs_pointer(data):
                return content.broken(path, "is a Git LFS pointer, not content", "commit the file itself")
            parsed = parse.parse(data, as_json=as_json)
            if self._disk:
                self._disk.put(blob_id, parse.dump(parsed, as_json=as_json))
        return content.understand(path, parsed, load, as_json=as_json, built=built)


def _in_its_scope(namespaced: bool, manifest: Manifest) -> Manifest:
    kind, body = Kind(manifest.key.group, manifest.key.kind), manifest.body
    body = content.in_namespace(body, "default") if namespaced else content.without_namespace(body)
    return replace(content.manifest_of(body, kind, manifest.origin), held=manifest.held)
