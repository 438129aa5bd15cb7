"""What the documents of one file are: templates, declared objects, or mistakes.

A function of one file alone, so that its result can be kept for as long as the file does not change; what depends on
other files (two definitions of one object, the scope of a custom kind) is `repo.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from gitfed.model import definition
from gitfed.model.base import Body, Commit, Digest, Kind, ObjectKey, Origin, Problem, Severity, group_of
from gitfed.model.declared import registry
from gitfed.model.declared.federation import Federation, PlacementTest
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import Manifest
from gitfed.source import (
    declare,
    kustomize,
    metadata,
    possible,
    recognize,
    redact_faults,
    replica_checks,
    scope,
    scripts,
)
from gitfed.source.parse import Parsed
from gitfed.source.possible import Meaning
from gitfed.source.tree import visible
from gitfed.text import canonical, nearest, yaml
from gitfed.text.construct import Document
from gitfed.text.values import dataclass

LARGEST_OBJECT = 1024 * 1024
"""bytes of JSON; an API server takes little more"""
MOST_PROBLEMS = 200
"""of one file"""

_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_EXCLUDE = "exclude the file in spec.sources.exclude if it is no manifest"
_LFS = b"version https://git-lfs.github.com/spec/"

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file, understood. `faulty`: some problem is an error, so its objects must come from an older version."""

    manifests: tuple[Manifest, ...] = ()
    declared: tuple[Declared, ...] = ()
    problems: tuple[Problem, ...] = ()
    custom: tuple[Manifest, ...] = ()
    """Those of `manifests` whose kind is not built in: CRDs decide about their scope."""
    scopes: Mapping[Kind, bool] = field(default_factory=dict)
    """What the file's CRDs say: kind → namespaced."""
    namespaces: frozenset[str] = frozenset()
    """The namespaces of `manifests`."""
    meaning: Meaning | None = field(default_factory=Meaning)
    """What it may have meant, if it cannot be used because of its own mistakes. None: its text has to be looked at."""
    foreign: bool = False
    """It plainly holds no Kubernetes objects (`recognize`): a mistake only where objects were before."""

    @property
    def faulty(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    @property
    def settings(self) -> tuple[Federation, ...]:
        return tuple(item for item in self.declared if isinstance(item, Federation))

    @property
    def facts_files(self) -> tuple[str, ...]:
        return tuple(t.spec.facts for t in self.declared if isinstance(t, PlacementTest) and t.spec.facts)

    def held_at(self, commit: Commit) -> FileContent:
        """The same, for a file whose present content cannot be used. Its old problems are not today's."""
        marked = {id(manifest): replace(manifest, held=commit) for manifest in self.manifests}
        return replace(
            self,
            manifests=tuple(marked.values()),
            custom=tuple(marked[id(manifest)] for manifest in self.custom),
            problems=(),
        )


def broken(path: str, message: str, hint: str = "") -> FileContent:
    """A file that cannot be read at all."""
    return FileContent(problems=(Problem(Origin(visible(path)), message, hint),), meaning=possible.ANYTHING)


def is_lfs_pointer(data: bytes) -> bool:
    return data.startswith(_LFS)


def understand(
    path: str, parsed: Parsed, load: Callable[[], bytes], *, as_json: bool, built: bool = False
) -> FileContent:
    """`load` gives the bytes again when a problem needs a place; positions are not kept.

    `built`: Kustomize printed this. Places are then the files that it names, without lines.
    """
    if not built:
        return _Reader(path, load, as_json).read(parsed)
    told = kustomize.origins((document.value for document in parsed.documents), path)
    documents = tuple(
        replace(document, value=value) for document, (value, _) in zip(parsed.documents, told, strict=True)
    )
    return _Reader(path, load, as_json, [visible(origin) for _, origin in told]).read(
        replace(parsed, documents=documents)
    )


class _Reader:
    def __init__(
        self, path: str, load: Callable[[], bytes], as_json: bool, built_from: list[str] | None = None
    ) -> None:
        self.path = visible(path)
        self.load = load
        self.as_json = as_json
        self.built_from = built_from
        """By document: the file it came from. None: this file."""
        self.places: tuple[yaml.Position, ...] | None = None
        self.manifests: list[Manifest] = []
        self.declared: list[Declared] = []
        self.problems: list[Problem] = []
        self.custom: list[Manifest] = []
        self.scopes: dict[Kind, bool] = {}

    def read(self, parsed: Parsed) -> FileContent:
        for fault in redact_faults.faults(parsed.faults, self.load):
            severity = Severity.WARNING if fault.warning else Severity.ERROR
            origin = Origin(self.path, fault.line, fault.column) if self.built_from is None else Origin(self.path)
            self.problems.append(Problem(origin, fault.message, fault.hint, severity))
        for index, document in enumerate(parsed.documents):
            if len(self.problems) > MOST_PROBLEMS:
                origin = Origin(self.path, document.line, document.column)
                self.error(origin, f"more than {MOST_PROBLEMS} problems in one file, the rest was not looked at")
                break
            if document.value is not None:
                self.document(document.value, index, (), self.start(index, document))
        faulty = any(problem.severity is Severity.ERROR for problem in self.problems)
        return FileContent(
            tuple(self.manifests),
            tuple(self.declared),
            tuple(sorted({self.with_builder(problem) for problem in self.problems})),
            tuple(self.custom),
            self.scopes,
            frozenset(manifest.key.namespace for manifest in self.manifests),
            self.meaning(parsed) if faulty else Meaning(),
            self.is_foreign(parsed),
        )

    def with_builder(self, problem: Problem) -> Problem:
        """What is wrong with a built object need not be wrong with the file that it came from."""
        if self.built_from is None or problem.origin.path == self.path:
            return problem
        return replace(problem, hint="; ".join(part for part in (problem.hint, f"as {self.path} builds it") if part))

    def meaning(self, parsed: Parsed) -> Meaning | None:
        if any(not fault.warning for fault in parsed.faults):
            return None  # documents before the fault are part of the text
        return possible.of_documents(document.value for document in parsed.documents if document.value is not None)

    def is_foreign(self, parsed: Parsed) -> bool:
        """Of what cannot be read to its end nothing is plain. A tag of another program (`!!python/name:…`) hides only
        its own value."""
        values = [document.value for document in parsed.documents if document.value is not None]
        if self.built_from is not None or not values or any(fault.ends for fault in parsed.faults):
            return False
        return all(recognize.is_foreign(value, self.path) for value in values)

    def start(self, index: int, document: Document) -> Origin:
        if self.built_from is not None:
            return Origin(self.built_from[index])
        return Origin(self.path, document.line, document.column)

    def document(self, value: Any, index: int, path: _Path, origin: Origin) -> None:
        def place(below: _Path) -> Origin:
            return self.place(index, (*path, *below)) if below else origin

        if not isinstance(value, dict):
            what = "a list" if isinstance(value, list) else "a single value"
            self.error(origin, f"a document must be an object, not {what}", "exclude the file in spec.sources.exclude")
            return
        api_version, kind = value.get("apiVersion"), value.get("kind")
        missing = [name for name, text in (("apiVersion", api_version), ("kind", kind)) if text in (None, "")]
        if missing:
            self.error(origin, f"not a Kubernetes object: {' and '.join(missing)} missing", _EXCLUDE)
            return
        if not isinstance(api_version, str) or not _API_VERSION.fullmatch(api_version):
            self.error(
                place(("apiVersion",)), f"{metadata.shown(api_version)} is not an apiVersion", "like v1 or apps/v1"
            )
            return
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            hint = "like Deployment" if "metadata" in value else f"like Deployment; {_EXCLUDE}"
            self.error(place(("kind",)), f"{metadata.shown(kind)} is not a kind", hint)
            return
        if kind.endswith("List") and "items" in value:
            self.items(value["items"], index, path, place)
            return
        group = group_of(api_version)
        if group == "kustomize.config.k8s.io":
            self.error(origin, f"{kind} is for Kustomize, which does not find it here", "call it kustomization.yaml")
        elif model := registry.model_of(api_version, kind):
            self.declared_object(model, value, place)
        elif group in registry.OWN_GROUPS:
            self.stranger(group, api_version, kind, place)
        elif self.is_object(value, Kind(group, kind), place):
            self.template(value, Kind(group, kind), origin, place)

    def items(self, items: Any, index: int, path: _Path, place: declare.Place) -> None:
        """Any list object is its items (kubectl does the same), however deeply they are nested."""
        if items is None:
            return
        if not isinstance(items, list):
            self.error(place(("items",)), "items must be a list")
            return
        for i, item in enumerate(items):
            below: _Path = (*path, "items", i)
            self.document(item, index, below, self.place(index, below))

    def declared_object(self, model: type[Declared], value: Body, place: declare.Place) -> None:
        declared, problems = declare.read(model, value, place)
        if declared is not None:
            namespaced = declared.kind in registry.NAMESPACED
            namespace = declared.metadata.namespace
            if namespace and not namespaced:
                problems.append(_cluster_scoped(declared.kind, place(("metadata", "namespace"))))
                declared, _ = declare.read(model, without_namespace(value), place)
            if namespaced and not namespace:
                declared, problems = declare.read(model, in_namespace(value, "default"), place)
        if declared is not None:
            kind = Kind(group_of(declared.api_version), declared.kind)
            problems += metadata.problems(value["metadata"], kind, place)
        self.problems += problems
        if isinstance(declared, ResourceInterpreterCustomization):
            declared = declared.with_places(scripts.places(declared, place, self.load))
        if declared is not None:
            self.declared.append(declared)

    def stranger(self, group: str, api_version: str, kind: str, place: declare.Place) -> None:
        """An object of a group that never holds templates."""
        if (group, kind) in registry.NOT_ACTED_ON:
            message = f"{kind} is {registry.NOT_ACTED_ON[group, kind]}"
            self.problems.append(Problem(place(()), message, severity=Severity.WARNING))
            return
        for version, model_kind in registry.MODELS:
            if model_kind == kind and group_of(version) == group:
                self.error(place(("apiVersion",)), f"{kind} of {api_version} is not known", f"use {version}")
                return
        kinds = [model_kind for version, model_kind in registry.MODELS if group_of(version) == group]
        kinds += [ignored_kind for other, ignored_kind in registry.NOT_ACTED_ON if other == group]
        hint = nearest.did_you_mean(kind, kinds)
        self.error(place(("kind",)), f"{api_version} has no kind {kind}", hint)

    def is_object(self, value: Body, kind: Kind, place: declare.Place) -> bool:
        members = value.get("metadata")
        if not isinstance(members, dict):
            if members is None:
                self.error(place(("metadata",)), "metadata is missing", _EXCLUDE)
            else:
                self.error(place(("metadata",)), "metadata must be a mapping")
            return False
        problems = [*metadata.problems(members, kind, place), *replica_checks.problems(value, kind, place)]
        self.problems += problems
        return not problems

    def template(self, value: dict[str, Any], kind: Kind, origin: Origin, place: declare.Place) -> None:
        if kind in scope.NEVER_PROPAGATED:
            message = f"{kind.kind} is never propagated: clusters make such records for themselves"
            self.problems.append(Problem(origin, message, "remove it", Severity.WARNING))
            return
        namespace = value["metadata"].get("namespace") or ""
        namespaced = scope.NAMESPACED.get(kind)
        if namespaced is None and kind.group in scope.BUILT_IN_GROUPS:
            kinds = [other.kind for other in scope.NAMESPACED if other.group == kind.group]
            message = f"Kubernetes has no kind {kind.kind} in {value['apiVersion']}"
            hint = nearest.did_you_mean(kind.kind, kinds)
            self.problems.append(Problem(place(("kind",)), message, hint, Severity.WARNING))
        if namespaced is False and namespace:
            self.problems.append(_cluster_scoped(kind.kind, place(("metadata", "namespace"))))
            value = without_namespace(value)
        if namespaced and not namespace:
            value = in_namespace(value, "default")
        try:
            text = canonical.dumps(value)
        except canonical.NotCanonical as problem:
            self.error(origin, f"the object is not JSON: {problem}")
            return
        if len(text) > LARGEST_OBJECT:
            self.error(origin, f"the object has {len(text)} bytes, an API server takes at most {LARGEST_OBJECT}")
            return
        manifest = manifest_of(value, kind, origin, text)
        self.manifests.append(manifest)
        if namespaced is None:
            self.custom.append(manifest)
        if kind == ("apiextensions.k8s.io", "CustomResourceDefinition"):
            self.crd(value)

    def crd(self, value: Mapping[str, Any]) -> None:
        defined = definition.read(value)
        if defined is not None and defined.namespaced is not None:
            self.scopes[defined.kind] = defined.namespaced

    def place(self, index: int, path: _Path) -> Origin:
        if self.built_from is not None:
            return Origin(self.built_from[index])
        if self.places is None:
            self.places = yaml.places(self.load(), is_json=self.as_json)
        line, column = self.places[index].at(path) if index < len(self.places) else (0, 0)
        return Origin(self.path, line, column)

    def error(self, origin: Origin, message: str, hint: str = "") -> None:
        self.problems.append(Problem(origin, message, hint))


def manifest_of(body: Mapping[str, Any], kind: Kind, origin: Origin, text: bytes | None = None) -> Manifest:
    members = body["metadata"]
    key = ObjectKey(kind.group, kind.kind, members.get("namespace") or "", members["name"])
    digest = canonical.digest_of(text if text is not None else canonical.dumps(body))
    return Manifest(key, body["apiVersion"], body, origin, Digest(digest))


def _cluster_scoped(kind: str, origin: Origin) -> Problem:
    """API servers take it, and forget the namespace."""
    message = f"{kind} is cluster-scoped: its namespace is ignored"
    return Problem(origin, message, "remove it", Severity.WARNING)


def without_namespace(body: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in body["metadata"].items() if name != "namespace"}
    return {**body, "metadata": rest}


def in_namespace(body: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}
