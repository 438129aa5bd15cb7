"""★ One commit, read.

    settings  the Federation tells which files count           (it may stand in any file, usually gitfed.yaml)
    files     each one is understood by itself, once ever      (content.py, memory.py)
    together  two files must not define one object; CRDs tell which custom kinds are namespaced
    hold      a file with an error keeps its objects at their last good version
    snapshot  templates by key, declared objects by kind, problems by place

Nothing here decides; nothing is dropped silently. A file with an error and no usable older version leaves a hole:
then the snapshot is not `complete` and nothing may be pruned from it, for its objects cannot be told from deleted ones.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gitfed.errors import SourceError
from gitfed.model.base import Commit, Kind, ObjectKey, Origin, Problem, Severity
from gitfed.model.declared import cluster, federation, interpreter, policy
from gitfed.model.declared.federation import Federation
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import HeldFile, Manifest, RepoSnapshot
from gitfed.source import content, tree
from gitfed.source.content import FileContent
from gitfed.source.memory import Memory
from gitfed.source.parse import ParseCache

USUAL_PATHS = ("gitfed.yaml", "gitfed.yml", "gitfed.json")
_DEFAULTS = federation.Sources()
_RESERVED = ("karmada-system", "karmada-cluster", "gitfed-system")


def read(
    files: tree.FileTree,
    *,
    cache: ParseCache | None = None,
    memory: Memory | None = None,
    held: Mapping[str, HeldFile] | None = None,
    last_good: Callable[[str], tuple[Commit, str] | None] | None = None,
    read_held: Callable[[HeldFile], bytes | None] | None = None,
) -> RepoSnapshot:
    """The snapshot of a tree. Never raises for what the files say; SourceError if the tree cannot be listed.

    `memory` is kept by callers who read again and again (it brings its own disk cache; `cache` is for those who read
    once). For a file with errors, `held[path]` names its last good version if it was held before, else
    `last_good(path)` finds (commit, blob id) in the last commit that was applied; `read_held` reads such a blob
    (default: from the tree's repository).
    """
    memory = memory if memory is not None else Memory(cache)
    memory.rotate()
    entries = sorted(files.entries(), key=lambda entry: entry.path)
    reader = _Reader(files, entries, memory, held or {}, last_good, read_held)
    reader.find_settings()
    reader.read_files()
    reader.compare()
    return reader.snapshot()


@dataclass(slots=True)
class _Reader:
    files: tree.FileTree
    entries: list[tree.Entry]
    """Sorted by path."""
    memory: Memory
    held: Mapping[str, HeldFile]
    last_good: Callable[[str], tuple[Commit, str] | None] | None
    read_held: Callable[[HeldFile], bytes | None] | None
    sources: federation.Sources = _DEFAULTS
    contents: dict[str, FileContent] = field(default_factory=dict)
    """Path → what the file says, good or not, sorted by path."""
    faults: dict[str, str] = field(default_factory=dict)
    """Path of a file whose content cannot be used → its first error."""
    problems: list[Problem] = field(default_factory=list)
    held_now: list[HeldFile] = field(default_factory=list)
    replaced: dict[str, FileContent] = field(default_factory=dict)
    """Faulty path → its last good version."""
    complete: bool = True

    # settings ---------------------------------------------------------------------------------------------------

    def find_settings(self) -> None:
        """Read what could hold the settings, likeliest first, until a Federation is found.

        A file whose present content is broken still counts with its last good version: a slip in the settings must
        not suddenly read other files.
        """
        usual = [path for path in (self.memory.settings_path, *USUAL_PATHS) if path]
        entries = [entry for entry in self.entries if entry.path in usual]
        listing = tree.select(self.files, entries, lambda path: path in usual, {})
        for file in sorted(listing.files, key=lambda file: usual.index(file.path)):
            if self.adopt_settings(file):
                return
        listing = tree.select(self.files, self.entries, lambda path: self.included(path) and path not in usual, {})
        for file in listing.files:
            if self.adopt_settings(file):
                return

    def adopt_settings(self, file: tree.File) -> bool:
        found = self.understand(file)
        if found.faulty and not found.settings:
            found = self.last_good_version(file.path)[1] or found
        if not found.settings:
            return False
        self.sources = found.settings[0].spec.sources
        self.memory.settings_path = file.path
        return True

    def included(self, path: str) -> bool:
        return self.memory.includes(path, self.sources.include, self.sources.exclude)

    # files ------------------------------------------------------------------------------------------------------

    def read_files(self) -> None:
        settings_path = self.memory.settings_path
        listing = tree.select(
            self.files, self.entries, lambda path: self.included(path) or path == settings_path, self.memory.folded
        )
        self.problems += listing.problems
        self.faults.update(listing.refused)
        contents = self.contents
        for file in listing.files:
            contents[file.path] = self.understand(file)
        if not any(found.declared and found.settings for found in contents.values()):
            self.memory.settings_path = ""
        for path in self.facts_files():
            contents.pop(path, None)
        for path, found in contents.items():
            if found.problems:
                self.problems += found.problems
                if found.faulty:
                    first = next(problem for problem in found.problems if problem.severity is Severity.ERROR)
                    self.faults[path] = first.message

    def understand(self, file: tree.File) -> FileContent:
        path, blob_id, _ = file
        try:
            return self.memory.content(path, blob_id, lambda: self.files.read(blob_id))
        except SourceError as error:
            self.complete = False
            return content.broken(path, f"the file cannot be read: {error.message}", error.hint)

    def facts_files(self) -> set[str]:
        """Recorded facts that a PlacementTest names look like declared clusters, but declare nothing."""
        named: set[str] = set()
        for path, found in self.contents.items():
            if found.declared:
                for facts in found.facts_files:
                    named.add(posixpath.normpath(facts))
                    named.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), facts)))
        return named

    # together ---------------------------------------------------------------------------------------------------

    def compare(self) -> None:
        """What only all files together can tell: two definitions of one object, scopes of custom kinds."""
        scopes = self.scopes()
        owners: dict[ObjectKey, Origin] = {}
        twice: list[tuple[str, ObjectKey, Origin, Origin]] = []
        own_path: dict[ObjectKey, str] = {}
        for path, found in self.contents.items():
            if path in self.faults:
                continue
            for manifest in found.manifests if not found.custom else self.scoped(path, found, scopes):
                first = owners.setdefault(manifest.key, manifest.origin)
                if first is not manifest.origin:
                    twice.append((path, manifest.key, first, manifest.origin))
                else:
                    own_path[manifest.key] = path
            for declared in found.declared:
                first = owners.setdefault(declared.key, declared.origin)
                if first is not declared.origin:
                    twice.append((path, declared.key, first, declared.origin))
                else:
                    own_path[declared.key] = path
        for path, key, first, second in twice:
            where = f"{first} and {second}"
            name = f"{key.namespace}/{key.name}" if key.namespace else key.name
            if own_path[key] == path:
                message = f"the file defines {key.kind} {name} twice: {where}"
            else:
                message = f"two files define {key.kind} {name}: {where}"
            for origin, culprit in ((first, own_path[key]), (second, path)):
                self.problems.append(Problem(origin, message, "remove one"))
                self.faults.setdefault(culprit, message)

    def scopes(self) -> dict[Kind, bool]:
        scopes: dict[Kind, bool] = {}
        for found in self.contents.values():
            if found.scopes:
                scopes.update(found.scopes)
        return scopes

    def scoped(self, path: str, found: FileContent, scopes: Mapping[Kind, bool]) -> Sequence[Manifest]:
        """The file's templates with the namespaces that CRDs of the repository ask for."""
        custom = {id(manifest) for manifest in found.custom}
        result: list[Manifest] = []
        for manifest in found.manifests:
            namespaced = scopes.get(Kind(manifest.key.group, manifest.key.kind)) if id(manifest) in custom else None
            if namespaced and not manifest.key.namespace:
                result.append(self.memory.in_default_namespace(manifest))
                continue
            if namespaced is False and manifest.key.namespace:
                message = f"{manifest.key.kind} is cluster-scoped, it has no namespace"
                self.problems.append(Problem(manifest.origin, message, "remove it; the CRD in this repository says so"))
                self.faults.setdefault(path, message)
            result.append(manifest)
        return result

    # hold -------------------------------------------------------------------------------------------------------

    def last_good_version(self, path: str) -> tuple[HeldFile | None, FileContent | None]:
        """The version that a faulty file is held at, and what it says; None if there is none that can be used."""
        known = self.held.get(path)
        if known is None and self.last_good is not None and (found := self.last_good(path)) is not None:
            known = HeldFile(path, found[0], found[1], "")
        if known is None:
            return None, None
        version = known

        def load() -> bytes:
            data = self.read_held(version) if self.read_held else self.files.read(version.blob)
            if data is None:
                raise SourceError(f"{path} at {version.commit} is gone")
            return data

        try:
            old = self.memory.held(path, version.blob, version.commit, load)
        except SourceError:
            return known, None
        return known, None if old.faulty else old

    def hold(self) -> None:
        for path in sorted(self.faults):
            version, old = self.last_good_version(path)
            if version is None or old is None:
                self.complete = False
                continue
            self.held_now.append(HeldFile(path, version.commit, version.blob, self.faults[path]))
            self.replaced[path] = old

    # snapshot ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> RepoSnapshot:
        self.hold()
        manifests: dict[ObjectKey, Manifest] = {}
        declared: dict[ObjectKey, Declared] = {}
        faults = self.faults
        scopes = self.scopes()
        reserved: dict[str, bool] = {}
        good = [(path, found) for path, found in self.contents.items() if path not in faults]
        settings = self.settings([found for _, found in good])
        # An object that moved into a good file is that file's; held versions only fill what is left.
        for found in (*(found for _, found in good), *self.replaced.values()):
            items = found.manifests if not found.custom else self.scoped_quietly(found, scopes)
            skipped = [n for n in found.namespaces if self.is_reserved(n, settings, reserved)]
            for manifest in items:
                if skipped and manifest.key.namespace in skipped:
                    self.never_propagated(manifest)
                else:
                    manifests.setdefault(manifest.key, manifest)
            for item in found.declared:
                declared.setdefault(item.key, item)
        return _assemble(
            self.files.commit,
            manifests,
            declared.values(),
            settings,
            tuple(sorted(set(self.problems))),
            tuple(self.held_now),
            self.complete,
        )

    def scoped_quietly(self, found: FileContent, scopes: Mapping[Kind, bool]) -> Sequence[Manifest]:
        custom = {id(manifest) for manifest in found.custom}
        return [
            self.memory.in_default_namespace(manifest)
            if id(manifest) in custom
            and not manifest.key.namespace
            and scopes.get(Kind(manifest.key.group, manifest.key.kind))
            else manifest
            for manifest in found.manifests
        ]

    def settings(self, good: Iterable[FileContent]) -> Federation:
        found = [item for one in (*good, *self.replaced.values()) if one.declared for item in one.settings]
        if len(found) > 1:
            for item in found:
                others = " and ".join(str(other.origin) for other in found if other is not item)
                message = f"a repository has one Federation, another stands at {others}"
                self.problems.append(Problem(item.origin, message, "remove one"))
        if found:
            usual = [item for item in found if item.origin.path == self.memory.settings_path]
            return (usual or found)[0]
        if not any(path in self.faults for path in USUAL_PATHS):
            message = "the repository has no settings: no document of kind Federation"
            self.problems.append(Problem(Origin("gitfed.yaml"), message, "gitfed init writes one"))
        return federation.unnamed()

    def is_reserved(self, namespace: str, settings: Federation, known: dict[str, bool]) -> bool:
        if namespace not in known:
            known[namespace] = (
                namespace in _RESERVED
                or namespace.startswith("karmada-es-")
                or bool(namespace and settings.spec.namespaces.skips(namespace))
            )
        return known[namespace]

    def never_propagated(self, manifest: Manifest) -> None:
        message = f"the namespace {manifest.key.namespace} is skipped, so this object is never propagated"
        hint = "see spec.namespaces.skip of the Federation"
        self.problems.append(Problem(manifest.origin, message, hint, Severity.WARNING))


def _assemble(
    commit: Commit,
    manifests: Mapping[ObjectKey, Manifest],
    declared: Iterable[Declared],
    settings: Federation,
    problems: tuple[Problem, ...],
    held: tuple[HeldFile, ...],
    complete: bool,
) -> RepoSnapshot:
    items = sorted(declared, key=lambda item: item.key[1:])
    clusters = [item for item in items if isinstance(item, cluster.Cluster)]
    return RepoSnapshot(
        commit=commit,
        manifests=manifests,
        settings=settings,
        clusters={item.metadata.name: item for item in clusters},
        propagation=tuple(item for item in items if isinstance(item, policy.Propagation)),
        overrides=tuple(item for item in items if isinstance(item, policy.Override)),
        quotas=tuple(item for item in items if isinstance(item, policy.FederatedResourceQuota)),
        taint_policies=tuple(item for item in items if isinstance(item, policy.ClusterTaintPolicy)),
        interpreters=tuple(i for i in items if isinstance(i, interpreter.ResourceInterpreterCustomization)),
        webhooks=tuple(i for i in items if isinstance(i, interpreter.ResourceInterpreterWebhookConfiguration)),
        rebalancers=tuple(item for item in items if isinstance(item, policy.WorkloadRebalancer)),
        tests=tuple(item for item in items if isinstance(item, federation.PlacementTest)),
        problems=problems,
        held=held,
        origins={item.key: item.origin for item in items},
        complete=complete,
    )
