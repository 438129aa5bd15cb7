"""Where the templates of one commit stand: enough to read another commit, a few changes on, without reading it all.

Most files of a large repository hold templates and nothing else, and what such a file says matters to its own objects
only. An overview lists these files with the keys of their templates; every other file (policies, settings, clusters,
whatever has to do with objects of other files) is to be read in any case. Which of the listed ones are needed as well
is not decided here (`planning.review.affected_objects`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from gitfed.model.base import Commit, ObjectKey
from gitfed.model.declared import federation
from gitfed.model.keys import DEPENDS_ON, WAVE
from gitfed.model.repo import Manifest, RepoSnapshot
from gitfed.source import kustomize
from gitfed.source.tree import SUBMODULE, SYMLINK, FileEntry
from gitfed.text import canonical
from gitfed.text.values import dataclass

FORMAT = 1
_FAR = frozenset(
    {
        ("", "Namespace"), ("", "Secret"), ("scheduling.k8s.io", "PriorityClass"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)  # fmt: skip
"""Kinds whose objects matter to objects of other files; and a Secret's values are masked wherever they are."""
_ORDERED = (WAVE, DEPENDS_ON)
"""Annotations that put an object into an order with others: circles go through several files."""


class ListedFile(NamedTuple):
    """A file as Git lists it: `source.tree.FileEntry`."""

    path: str
    blob_id: str
    size: int
    mode: int


@dataclass(frozen=True, slots=True)
class Overview:
    commit: Commit
    places: Mapping[str, ListedFile]
    """Every file, by path."""
    templates: Mapping[str, tuple[tuple[ObjectKey, str], ...]]
    """Path of a file that holds templates and nothing else → (key, apiVersion) of each."""

    def dump(self) -> bytes:
        files = [
            [*place, [[*key, version] for key, version in self.templates.get(path, ())]]
            for path, place in self.places.items()
        ]
        return canonical.dumps({"format": FORMAT, "commit": self.commit, "files": files})


def load(content: bytes) -> Overview | None:
    """What `dump` wrote; None for anything else."""
    try:
        value = canonical.loads(content)
        if value["format"] != FORMAT:
            return None
        places, templates = {}, {}
        for path, blob, size, mode, keys in value["files"]:
            places[path] = ListedFile(path, blob, size, mode)
            if keys:
                templates[path] = tuple((ObjectKey(*key[:4]), key[4]) for key in keys)
        return Overview(Commit(value["commit"]), places, templates)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def of(repo: RepoSnapshot, entries: Iterable[FileEntry]) -> Overview | None:
    """None of a commit that only a whole reading does justice to: links, errors without an older version to hold."""
    if not repo.commit or not repo.complete or federation.is_missing(repo.settings):
        return None
    places = {entry.path: ListedFile(entry.path, entry.blob_id, entry.size, entry.mode) for entry in entries}
    if any(place.mode in (SYMLINK, SUBMODULE) for place in places.values()):
        return None
    keys_by_path: dict[str, list[tuple[ObjectKey, str]]] = {}
    for key, manifest in repo.manifests.items():
        keys_by_path.setdefault(manifest.origin.path, []).append((key, manifest.api_version))
    faulty = {*(problem.origin.path for problem in repo.problems), *(held.path for held in repo.held)}
    for path in _far(repo) | faulty:
        keys_by_path.pop(path, None)
    built = {path.rpartition("/")[0] for path in places if kustomize.is_kustomization(path)}
    templates = {
        path: tuple(keys_by_path[path]) for path in places if path in keys_by_path and not _is_below(path, built)
    }
    return Overview(repo.commit, places, templates)


def _is_below(path: str, folders: Set[str]) -> bool:
    """Whether a file is in one of the folders, which Kustomize builds as a whole, or deeper."""
    if not folders:
        return False
    ends = [index for index, sign in enumerate(path) if sign == "/"]
    return "" in folders or any(path[:end] in folders for end in ends)


def _far(repo: RepoSnapshot) -> set[str]:
    """Files that say something about other files' objects, and those whose kind has a script: what that complains of
    shows only when it runs."""
    scripted = {
        (customization.spec.target.api_version, customization.spec.target.kind) for customization in repo.interpreters
    }
    paths = {
        manifest.origin.path
        for key, manifest in repo.manifests.items()
        if (key.group, key.kind) in _FAR or (manifest.api_version, key.kind) in scripted or _is_ordered(manifest)
    }
    return paths | {origin.path for origin in repo.origins.values()} | {repo.settings.origin.path}


def _is_ordered(manifest: Manifest) -> bool:
    annotations = manifest.body["metadata"].get("annotations") or ()
    return any(name in annotations for name in _ORDERED)
