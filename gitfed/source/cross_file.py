"""What only all files together can tell: two definitions of one object, and the scope of custom kinds.

Both depend on other files, so they are asked at every read; a file without custom kinds costs one look at each of its
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from gitfed.model.base import Kind, ObjectKey, Origin, Problem, Severity
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import Manifest
from gitfed.source.content import FileContent
from gitfed.source.memory import Memory
from gitfed.source.tree import visible
from gitfed.text import public_key


def missing_keys(
    contents: Mapping[str, FileContent], paths: Callable[[], Container[str]]
) -> Iterator[tuple[str, Problem]]:
    """(path of the settings, what is wrong) for keys that are files, and are not there: nobody could ever sign."""
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
    found: dict[Kind, bool] = {}
    for content in contents:
        if content.scopes:
            found.update(content.scopes)
    return found


def scoped(content: FileContent, namespaced: Mapping[Kind, bool], memory: Memory) -> Sequence[Manifest]:
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


def conflicts(
    contents: Mapping[str, FileContent], namespaced: Mapping[Kind, bool], memory: Memory
) -> Iterator[tuple[str, Problem]]:
    """(path of the file at fault, what is wrong) for files that are good by themselves."""
    owners: dict[ObjectKey, tuple[str, Manifest | Declared]] = {}
    alike: dict[tuple[str, str], list[Manifest | Declared]] = {}
    for path, content in contents.items():
        items: Iterable[Manifest | Declared] = chain(scoped(content, namespaced, memory), content.declared)
        for item in items:
            first_path, first = owners.setdefault(item.key, (path, item))
            if first is item:
                continue
            if first.origin == item.origin and first_path != path:
                alike.setdefault((first_path, path), []).append(item)
            else:
                yield from _twice(item.key, first_path, first, path, item)
    for (first_path, path), same in alike.items():
        yield from _built_alike(first_path, path, same)


def _twice(
    key: ObjectKey, first_path: str, first: Manifest | Declared, path: str, second: Manifest | Declared
) -> Iterator[tuple[str, Problem]]:
    """Nobody can know which of two definitions is meant: both files are at fault."""
    name = _name(key)
    where: tuple[Origin, Origin] = (first.origin, second.origin)
    if first_path == path:
        message = f"the file defines {name} twice: {where[0]} and {where[1]}"
    else:
        message = f"two files define {name}: {where[0]} and {where[1]}"
    yield first_path, Problem(where[0], message, "remove one")
    yield path, Problem(where[1], message, "remove one")


def _built_alike(first_path: str, path: str, items: Sequence[Manifest | Declared]) -> Iterator[tuple[str, Problem]]:
    """One file is the base of two kustomizations, and they are at odds: said once for all objects."""
    what = f"{_name(items[0].key)} of {items[0].origin}"
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    message = f"two kustomizations build {what}{more}: {visible(first_path)} and {visible(path)}"
    hint = "let one of them build on the other, or give the objects different names or namespaces"
    for one in (first_path, path):
        yield one, Problem(Origin(visible(one)), message, hint)


def _name(key: ObjectKey) -> str:
    return f"{key.kind} {key.namespace}/{key.name}" if key.namespace else f"{key.kind} {key.name}"


def _kind(manifest: Manifest) -> Kind:
    return Kind(manifest.key.group, manifest.key.kind)
