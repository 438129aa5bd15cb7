"""What only all files together can tell: two definitions of one object, and the scope of custom kinds.

Both depend on other files, so they are asked at every read; a file without custom kinds costs one look at each of its
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from gitfed.model.base import Kind, ObjectKey, Origin, Problem, Severity
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import Manifest
from gitfed.source.content import FileContent
from gitfed.source.read_cache import ReadCache
from gitfed.source.tree import visible
from gitfed.text import public_key

_MOST_NAMED = 4
"""Places of one object that a message names."""


def missing_keys(
    contents: Mapping[str, FileContent], paths: Callable[[], Container[str]]
) -> Iterator[tuple[str, Problem]]:
    """(path of the settings, what is wrong) for keys that are files, and are not there: no signature could count."""
    for path, content in contents.items():
        for item in content.settings if content.declared else ():
            spec = item.spec
            for field, entries in (
                ("sources.verify.keys", spec.sources.verify.keys),
                ("guards.approvers", spec.guards.approvers),
                ("guards.operators", spec.guards.operators),
                ("state.writers", spec.state.writers),
            ):
                for entry in entries:
                    if not public_key.is_key(entry) and entry not in paths():
                        message = (
                            f"spec.{field}: {visible(entry)} is neither a public key nor a file of this repository"
                        )
                        yield path, Problem(item.origin, message, "a path from the top, like keys/ada.pub")


def scopes(contents: Iterable[FileContent]) -> dict[Kind, bool]:
    """Custom kind → whether it is namespaced, as the repository's CRDs say."""
    namespaced_by_kind: dict[Kind, bool] = {}
    for content in contents:
        if content.scopes:
            namespaced_by_kind.update(content.scopes)
    return namespaced_by_kind


def scoped(content: FileContent, namespaced: Mapping[Kind, bool], memory: ReadCache) -> Sequence[Manifest]:
    """A file's templates; namespaced custom ones without a namespace are in `default`, cluster-scoped ones in none, as
    built-in ones are."""
    if not content.custom or not namespaced:
        return content.manifests
    custom = {id(manifest) for manifest in content.custom}
    return [
        memory.in_its_scope(manifest, namespaced=bool(namespaced[_kind(manifest)]))
        if id(manifest) in custom
        and namespaced.get(_kind(manifest), bool(manifest.key.namespace)) is not bool(manifest.key.namespace)
        else manifest
        for manifest in content.manifests
    ]


def needless_namespaces(contents: Iterable[FileContent], namespaced: Mapping[Kind, bool]) -> Iterator[Problem]:
    """Of custom objects; of built-in ones the file alone tells it."""
    for content in contents:
        for manifest in content.custom:
            if manifest.key.namespace and namespaced.get(_kind(manifest)) is False:
                message = f"{manifest.key.kind} is cluster-scoped: its namespace is ignored"
                hint = "remove it; the CRD in this repository says so"
                yield Problem(manifest.origin, message, hint, Severity.WARNING)


Definition: TypeAlias = tuple[str, "Manifest | Declared"]
"""The file that defines it, and what."""


def conflicts(
    contents: Mapping[str, FileContent], namespaced: Mapping[Kind, bool], memory: ReadCache
) -> Iterator[tuple[Sequence[str], Problem]]:
    """(paths of the files at fault, what is wrong) for files that are good by themselves; each object is named once."""
    owners: dict[ObjectKey, Definition] = {}
    again: dict[ObjectKey, list[Definition]] = {}
    for path, content in contents.items():
        items: Iterable[Manifest | Declared] = chain(scoped(content, namespaced, memory), content.declared)
        for item in items:
            first = owners.setdefault(item.key, (path, item))
            if first[1] is not item:
                again.setdefault(item.key, [first]).append((path, item))
    alike: dict[tuple[str, ...], list[Manifest | Declared]] = {}
    for key, definitions in again.items():
        by_origin: dict[Origin, list[Definition]] = {}
        for definition in definitions:
            by_origin.setdefault(definition[1].origin, []).append(definition)
        for same in by_origin.values():
            # One file is material of several kustomizations: what else they build of it is said with it.
            paths = tuple(dict.fromkeys(path for path, _ in same))
            if len(paths) > 1:
                alike.setdefault(paths, []).append(same[0][1])
        if len(by_origin) > 1 or len({path for path, _ in definitions}) == 1:
            yield _several(key, definitions)
    for paths, items in alike.items():
        yield paths, _built_alike(paths, items)


def _several(key: ObjectKey, definitions: Sequence[Definition]) -> tuple[Sequence[str], Problem]:
    """Nothing tells which of them is meant: every file is at fault."""
    paths = list(dict.fromkeys(path for path, _ in definitions))
    places = list(dict.fromkeys(str(item.origin) for _, item in definitions))
    if len(paths) == 1:
        times = "twice" if len(definitions) == 2 else f"{len(definitions)} times"
        message = f"the file defines {_name(key)} {times}: {_listed(places)}"
    else:
        message = f"{_number(len(paths))} files define {_name(key)}: {_listed(places)}"
    return paths, Problem(definitions[0][1].origin, message, "remove one" if len(definitions) == 2 else "leave one")


def _built_alike(paths: Sequence[str], items: Sequence[Manifest | Declared]) -> Problem:
    """Said once for all objects."""
    what = f"{_name(items[0].key)} of {items[0].origin}"
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    shown = [visible(path) for path in paths]
    message = f"{_number(len(paths))} kustomizations build {what}{more}: {_listed(shown)}"
    hint = "let one of them build on the other, or give the objects different names or namespaces"
    if len(paths) > 2:
        hint = "let one of them build on the others, or give the objects different names or namespaces"
    return Problem(Origin(shown[0]), message, hint)


def _number(count: int) -> str:
    return "two" if count == 2 else str(count)


def _listed(places: Sequence[str]) -> str:
    """`a and b`, `a, b, c, d and 13 more`"""
    if len(places) > _MOST_NAMED + 1:
        return f"{', '.join(places[:_MOST_NAMED])} and {len(places) - _MOST_NAMED} more"
    return f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else places[0]


def _name(key: ObjectKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}" if key.namespace else f"{key.kind} {key.name}"


def _kind(manifest: Manifest) -> Kind:
    return Kind(manifest.key.group, manifest.key.kind)
