"""★ One commit, read.

    settings  the Federation tells which files count           (it may stand in any file, usually gitfed.yaml)
    files     each one is understood by itself, once ever      (content.py, read_cache.py)
    together  two files must not define one object; CRDs tell which custom kinds are namespaced
    hold      a file with an error keeps its objects at their last good version
    snapshot  templates by key, declared objects by kind, problems by place

Nothing here decides; nothing is dropped silently. A file with an error and no usable older version leaves a hole:
the snapshot is not `complete`, and what that file may have meant (`possible`) cannot be told from what was deleted.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from gitfed.errors import SourceError
from gitfed.model import counting
from gitfed.model.base import ObjectKey, Origin, Problem, Severity
from gitfed.model.counting import Count, unheard
from gitfed.model.declared import (
    cluster,
    federation,
)
from gitfed.model.declared.federation import Federation
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import HeldFile, Manifest, RepoSnapshot, UnreadFile
from gitfed.source import assemble, content, cross_file, kustomize, possible, recognize, tree
from gitfed.source import last_good as hold
from gitfed.source.content import FileContent
from gitfed.source.parse import ParseCache
from gitfed.source.possible import Meaning
from gitfed.source.read_cache import ReadCache
from gitfed.source.tree import visible
from gitfed.text.values import dataclass

USUAL_PATHS = ("gitfed.yaml", "gitfed.yml", "gitfed.json")
_RESERVED = ("karmada-system", "karmada-cluster", "gitfed-system")


def read(
    files: tree.FileTree,
    *,
    cache: ParseCache | None = None,
    memory: ReadCache | None = None,
    earlier: hold.Earlier | None = None,
    build: kustomize.Build | None = None,
    count: Count = unheard,
) -> RepoSnapshot:
    """The snapshot of a tree. Never raises for what the files say; SourceError if the tree cannot be listed.

    `memory` is kept by callers who read again and again (it brings its own disk cache; `cache` is for those who read
    once). A file with errors counts with the last good version that `earlier` tells of. `build` runs Kustomize; without
    it folders that need it cannot be read. `count` is told how far it is.
    """
    memory = memory if memory is not None else ReadCache(cache)
    memory.rotate()
    entries = sorted(files.entries(), key=lambda entry: entry.path)
    earlier = earlier or hold.Earlier()
    versions = hold.Versions(memory, earlier, earlier.read or (lambda version: files.read(version.blob)))
    reader = _Reader(files, entries, memory, versions, build, count)
    reader.find_settings()
    reader.read_files()
    reader.compare()
    reader.hold()
    return reader.snapshot()


@dataclass(slots=True)
class _Reader:
    files: tree.FileTree
    entries: list[tree.FileEntry]
    """Sorted by path."""
    memory: ReadCache
    versions: hold.Versions
    build: kustomize.Build | None
    count: Count
    sources: federation.Sources = field(default_factory=federation.Sources)
    contents: dict[str, FileContent] = field(default_factory=dict)
    """Path → what the file says, good or not, sorted by path."""
    faults: dict[str, str] = field(default_factory=dict)
    """Path of a file whose content cannot be used → its first error."""
    problems: list[Problem] = field(default_factory=list)
    held: dict[str, tuple[HeldFile, FileContent]] = field(default_factory=dict)
    """Faulty path → its last good version."""
    unread: list[UnreadFile] = field(default_factory=list)
    roots: Mapping[str, kustomize.Root] = field(default_factory=dict)
    """What Kustomize builds, by the path of its kustomization."""
    left_out: list[str] = field(default_factory=list)
    blobs: Mapping[str, str] = field(default_factory=dict)
    """Blob ids of the files that are read, by path."""

    # settings

    def find_settings(self) -> None:
        """Read what could hold the settings, likeliest first, until a Federation is found.

        A file whose present content is broken counts with its last good version: a slip in the settings must not
        suddenly read other files.
        """
        usual = [path for path in (self.memory.settings_path, *USUAL_PATHS) if path]
        likely = [entry for entry in self.entries if entry.path in usual]
        listing = tree.select(self.files, likely, lambda path: path in usual, {})
        for file in sorted(listing.files, key=lambda file: usual.index(file.path)):
            if self.adopt_settings(file):
                return
        listing = tree.select(self.files, self.entries, lambda path: self.included(path) and path not in usual, {})
        for file in counting.each(listing.files, "files searched for the settings", self.count):
            if self.adopt_settings(file):
                return
        self.memory.settings_path = ""

    def adopt_settings(self, file: tree.File) -> bool:
        file_content = self.understand(file)
        if file_content.faulty and not file_content.settings and (version := self.versions.find(file.path)):
            file_content = version[1]
        if not file_content.settings:
            return False
        self.sources = file_content.settings[0].spec.sources
        self.memory.settings_path = file.path
        return True

    def included(self, path: str) -> bool:
        return self.memory.includes(path, self.sources.include, self.sources.exclude)

    # files

    def read_files(self) -> None:
        settings_path = self.memory.settings_path
        listing = tree.select(
            self.files, self.entries, lambda path: self.included(path) or path == settings_path, self.memory.folded
        )
        self.blobs = {file.path: file.blob_id for file in listing.files}
        self.problems += listing.problems
        self.faults.update(listing.refused)
        self.hold_what_closed(listing)
        built = kustomize.layout(
            self.entries, self.included, self.files.read, self.memory.kustomizations, self.versions.blob
        )
        self.problems += built.problems
        self.roots = built.roots
        self.faults.update(built.refused)
        templates = [file for file in listing.files if file.path not in built.material]
        contents = {file.path: self.understand(file) for file in counting.each(templates, "files read", self.count)}
        roots = counting.each(built.roots.values(), "folders built by Kustomize", self.count)
        contents |= {root.path: self.built(root) for root in roots}
        self.contents = {path: contents[path] for path in sorted(contents)} if built.roots else contents
        for path in self.facts_files():
            self.contents.pop(path, None)
        self.leave_out()
        charts = self.charts()
        for path, file_content in self.contents.items():
            if file_content.problems:
                self.problems += file_content.problems if path not in charts else ()
                if file_content.faulty:
                    errors = (problem for problem in file_content.problems if problem.severity is Severity.ERROR)
                    self.faults[path] = next(errors).message

    def hold_what_closed(self, listing: tree.Listing) -> None:
        """Files with objects whose place something took that cannot be looked into: they were not removed."""
        places = {path: (what, self.versions.below(path)) for path, what in listing.closed.items()}
        places |= {path: ("a link to a folder", {path} & self.versions.below(path)) for path in listing.linked}
        for place, (what, paths) in places.items():
            missing = (path for path in sorted(paths - self.faults.keys() - self.blobs.keys()) if self.included(path))
            gone = [path for path in missing if self.versions.had_objects(path)]
            if gone:
                self.faults.update(dict.fromkeys(gone, f"{what} took its place"))
                files = "1 file" if len(gone) == 1 else f"{len(gone)} files"
                hint = "to have it deleted, take the path out of spec.sources.include first"
                message = f"{what} took the place of {files} with objects: what was declared there stays"
                self.problems.append(Problem(Origin(visible(place)), message, hint))

    def charts(self) -> set[str]:
        """Templates of Helm charts, which cannot be read: of each chart that is one problem, whatever its files say."""
        faulty = [path for path, file_content in self.contents.items() if file_content.faulty and path in self.blobs]
        inside = recognize.inside_charts(faulty, (entry.path for entry in self.entries) if faulty else ())
        templates = {chart: [path for path in paths if self.is_template(path)] for chart, paths in inside.items()}
        for chart, paths in templates.items():
            if not paths:
                continue
            count = f"{len(paths)} of its files are templates" if len(paths) > 1 else "one of its files is a template"
            folder = visible(chart.removesuffix("Chart.yaml"))
            hint = f"commit what `helm template` prints, and exclude {folder}** in spec.sources.exclude"
            self.problems.append(Problem(Origin(visible(chart)), f"Helm charts are not rendered: {count}", hint))
        return {path for paths in templates.values() for path in paths}

    def is_template(self, path: str) -> bool:
        try:
            return b"{{" in self.files.read(self.blobs[path])
        except SourceError:
            return False

    def leave_out(self) -> None:
        """Files that are plainly no manifests; where a manifest was before, that is a mistake."""
        for path in [path for path, file_content in self.contents.items() if file_content.foreign]:
            if not (self.versions.differs(path, self.blobs[path]) and self.versions.had_objects(path)):
                del self.contents[path]
                self.left_out.append(visible(path))

    def understand(self, file: tree.File) -> FileContent:
        path, blob_id, _ = file
        try:
            return self.memory.content(path, blob_id, lambda: self.files.read(blob_id))
        except SourceError as error:
            return content.broken(path, f"the file cannot be read: {error.message}", error.hint)

    def built(self, root: kustomize.Root) -> FileContent:
        """What Kustomize makes of a folder, as if its kustomization file said that."""
        try:
            return self.memory.content(root.path, root.digest, lambda: self.run(root))
        except SourceError as error:
            return content.broken(root.path, error.message, error.hint)

    def run(self, root: kustomize.Root) -> bytes:
        if self.build is None:
            raise SourceError("it has to be built by Kustomize, which is not run here")
        return self.build(root, self.files.read)

    def facts_files(self) -> set[str]:
        """Files of recorded facts that a PlacementTest names: they look like declared clusters, but declare nothing.

        A file with templates or policies keeps counting, even if a test names it by mistake."""
        named: set[str] = set()
        for path, file_content in self.contents.items():
            if file_content.declared:
                for facts in file_content.facts_files:
                    named.add(posixpath.normpath(facts))
                    named.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), facts)))
        contents = {path: self.contents[path] for path in named if path in self.contents}
        return {
            path
            for path, file_content in contents.items()
            if not file_content.manifests
            and all(isinstance(declared, cluster.Cluster) for declared in file_content.declared)
        }

    # together and hold

    def good(self) -> dict[str, FileContent]:
        return {path: file_content for path, file_content in self.contents.items() if path not in self.faults}

    def compare(self) -> None:
        scopes = cross_file.scopes(self.contents.values())
        self.problems += cross_file.needless_namespaces(self.good().values(), scopes)
        good = self.good()
        for path, problem in list(cross_file.missing_keys(good, lambda: {entry.path for entry in self.entries})):
            self.blame((path,), problem)
        for paths, problem in list(cross_file.conflicts(good, scopes, self.memory)):
            self.blame(paths, problem)

    def blame(self, paths: Iterable[str], problem: Problem) -> None:
        self.problems.append(problem)
        for path in paths:
            self.faults.setdefault(path, problem.message)

    def hold(self) -> None:
        for path in counting.each(sorted(self.faults), "faulty files looked up in the history", self.count):
            version = self.versions.find(path)
            if version is None:
                meaning = self.meaning(path)
                shown = visible(path)
                self.unread.append(
                    UnreadFile(shown, self.faults[path], meaning.defines, meaning.concerns, meaning.overrides)
                )
            else:
                self.held[path] = version

    def meaning(self, path: str) -> Meaning:
        """What a file that cannot be used may have meant.

        Anything, if its earlier versions cannot be read and its present text defines nothing."""
        meaning = self.meaning_now(path)
        return possible.ANYTHING if path in self.versions.unknown and not meaning.defines else meaning

    def meaning_now(self, path: str) -> Meaning:
        file_content = self.contents.get(path)
        if path in self.roots:
            return self.meaning_of_build(self.roots[path])
        if file_content is None:
            return possible.ANYTHING
        if file_content.faulty:
            return file_content.meaning if file_content.meaning is not None else self.meaning_of_text(path)
        return possible.of_keys(_keys(file_content))

    def meaning_of_text(self, path: str) -> Meaning:
        try:
            return possible.of_text(self.files.read(self.blobs[path]))
        except SourceError:
            return possible.ANYTHING

    def meaning_of_build(self, root: kustomize.Root) -> Meaning:
        if root.plugins:
            return possible.ANYTHING
        kinds: set[str] = set()
        for entry in root.files:
            if entry.path.endswith((".yaml", ".yml", ".json")) and not kustomize.is_kustomization(entry.path):
                file_content = self.understand(tree.File(entry.path, entry.blob_id, entry.size))
                meaning = file_content.meaning if file_content.meaning is not None else possible.ANYTHING
                for definition in meaning.defines:
                    if definition.kinds is None:
                        return possible.ANYTHING
                    kinds |= definition.kinds
                kinds |= {key.kind for key in _keys(file_content)}
        return possible.of_build(kinds)

    # snapshot

    def snapshot(self) -> RepoSnapshot:
        manifests: dict[ObjectKey, Manifest] = {}
        declared: dict[ObjectKey, Declared] = {}
        # An object that moved into a good file is that file's; held versions only fill what is left.
        contents = [*self.good().values(), *(version[1] for version in self.held.values())]
        scopes = cross_file.scopes(contents)
        settings = self.settings(contents)
        reserved: dict[str, bool] = {}
        for file_content in contents:
            skipped = [name for name in file_content.namespaces if _is_reserved(name, settings, reserved)]
            for manifest in cross_file.scoped(file_content, scopes, self.memory):
                if skipped and manifest.key.namespace in skipped:
                    self.never_propagated(manifest)
                else:
                    manifests.setdefault(manifest.key, manifest)
            for item in file_content.declared:
                declared.setdefault(item.key, item)
        held = (HeldFile(p, version.commit, version.blob, self.faults[p]) for p, (version, _) in self.held.items())
        return replace(
            assemble.snapshot(self.files.commit, manifests, declared.values(), settings),
            problems=tuple(sorted(set(self.problems))),
            held=tuple(held),
            unread=tuple(self.unread),
            left_out=tuple(self.left_out),
        )

    def settings(self, contents: Iterable[FileContent]) -> Federation:
        federations = [item for file_content in contents if file_content.declared for item in file_content.settings]
        if len(federations) > 1:
            for item in federations:
                others = " and ".join(str(other.origin) for other in federations if other is not item)
                message = f"a repository has one Federation, another stands at {others}"
                self.problems.append(Problem(item.origin, message, "remove one"))
        if federations:
            usual = [item for item in federations if item.origin.path == self.memory.settings_path]
            return (usual or federations)[0]
        if not any(path in self.faults for path in USUAL_PATHS):
            message = "the repository has no settings: no document of kind Federation"
            self.problems.append(Problem(Origin("gitfed.yaml"), message, "gitfed init writes one"))
        return federation.unnamed()

    def never_propagated(self, manifest: Manifest) -> None:
        message = f"the namespace {manifest.key.namespace} is skipped, so this object is never propagated"
        hint = "see spec.namespaces.skip of the Federation"
        self.problems.append(Problem(manifest.origin, message, hint, Severity.WARNING))


def _keys(file_content: FileContent) -> list[ObjectKey]:
    templates = [manifest.key for manifest in file_content.manifests]
    return [*templates, *(declared.key for declared in file_content.declared)]


def _is_reserved(namespace: str, settings: Federation, reserved: dict[str, bool]) -> bool:
    """Whether a namespace belongs to the clusters or to a control plane (Karmada: matching, candidates)."""
    if namespace not in reserved:
        reserved[namespace] = (
            namespace in _RESERVED
            or namespace.startswith("karmada-es-")
            or bool(namespace and settings.spec.namespaces.skips(namespace))
        )
    return reserved[namespace]
