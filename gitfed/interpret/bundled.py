"""The catalogue: rules for popular kinds that come with the program, and the cases that prove them.

A folder `<group>/<version>/<Kind>/` holds `interpreter.yaml` (`apiVersion`, `kind`, and the files of `lib/` its
scripts build upon), one Lua file per operation named after it, `cases.yaml` and `testdata/`. This module reads that
layout from a mapping path → text and makes a source of it. Where the files lie and how Lua runs is told from outside:
the first is the business of the wiring, the second of the Lua edge.

Another version of a kind mostly means the same. Its folder says `like:` and names the folder of the version that it
follows: operations without a file of their own are taken from there, and so are the cases of operations without cases
of their own, with the version of this folder in their objects.

The files of `lib/` are put behind a script, so that every script is a chunk of its own, as one that a user writes, and
the lines in its messages are those of its file. They define tables of functions, which are there before the script's
own function is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitfed.interpret.registry import Operation
from gitfed.interpret.scripted import Scripted
from gitfed.model.script import Run, Script
from gitfed.text import yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

NAME = "bundled"
"""The `source` of answers from here."""

_INPUTS = {
    Operation.REVISE: {"object", "replicas"},
    Operation.RETAIN: {"desired", "observed"},
    Operation.AGGREGATE: {"object", "aggregatedStatusItems"},
}
_MARKER = "interpreter.yaml"
_LIBRARY = "lib/"


class CatalogueError(ValueError):
    """A file of the catalogue is not as it should be: path and what is wrong."""


@dataclass(frozen=True, slots=True)
class BundledCase:
    """One question with the answer that is right."""

    path: str
    """Of the file it stands in."""
    name: str
    operation: Operation
    inputs: Mapping[str, Any]
    """`object`, or `desired` and `observed` (Retain); `replicas`; `aggregatedStatusItems`."""
    expect: Mapping[str, Any]
    """Members by operation: `healthy`, `replicas` and `replicaRequirements`, `components`, `object`, `status`,
    `dependencies`; or `error: true`."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What the catalogue knows of one kind."""

    folder: str
    api_version: str
    kind: str
    scripts: Mapping[Operation, Script]


def read(files: Mapping[str, str]) -> tuple[Bundle, ...]:
    """All bundles, sorted by folder. `files`: path below the catalogue's root, with `/` → text.

    Raises CatalogueError for a folder whose name contradicts its content, an unknown file or library.
    """
    folders: dict[str, list[str]] = {}
    for path in sorted(files):
        if not path.startswith(_LIBRARY):
            folders.setdefault("/".join(path.split("/")[:3]), []).append(path)
    return tuple(_bundle(folder, paths, files) for folder, paths in folders.items())


def cases(files: Mapping[str, str]) -> Iterator[BundledCase]:
    """Every case of the catalogue. Apart from `read`, because a running program has no use for them."""
    for folder in sorted(path.removesuffix(f"/{_MARKER}") for path in files if path.endswith(f"/{_MARKER}")):
        own = list(_cases(folder, files)) if f"{folder}/cases.yaml" in files else []
        yield from own
        if followed(folder, files) is not None:
            proven = {case.operation for case in own}
            for case in _cases(_followed(folder, files).folder, files):
                if case.operation not in proven:
                    yield _of_version(case, folder)


def _of_version(case: BundledCase, folder: str) -> BundledCase:
    """A case of another version as one of this folder's."""
    kind, version = folder.rpartition("/")[2], folder.rpartition("/")[0]

    def renamed(value: Any) -> Any:
        return {**value, "apiVersion": version} if isinstance(value, Mapping) and value.get("kind") == kind else value

    inputs = {name: renamed(value) for name, value in case.inputs.items()}
    expect = {name: renamed(value) for name, value in case.expect.items()}
    return replace(case, path=f"{folder}/cases.yaml", inputs=inputs, expect=expect)


def source(files: Mapping[str, str], run: Run) -> Scripted:
    """The catalogue as a source of the registry. Raises CatalogueError as `read`."""
    rules = {
        (bundle.api_version, bundle.kind, operation): (script,)
        for bundle in read(files)
        for operation, script in bundle.scripts.items()
    }
    return Scripted(NAME, rules, run)


def _bundle(folder: str, paths: Sequence[str], files: Mapping[str, str]) -> Bundle:
    if f"{folder}/{_MARKER}" not in files:
        raise CatalogueError(f"{paths[0]}: no folder above has an {_MARKER}")
    about = _mapping(f"{folder}/{_MARKER}", files)
    api_version, kind = about.get("apiVersion"), about.get("kind")
    if f"{api_version}/{kind}" != folder:
        raise CatalogueError(f"{folder}/{_MARKER}: says {api_version} {kind}")
    library = "".join(_library(folder, name, files) for name in about.get("library", ()))
    scripts = dict(_followed(folder, files).scripts) if followed(folder, files) is not None else {}
    for path in paths:
        name = path.removeprefix(f"{folder}/")
        if name.endswith(".lua"):
            operation = _operation(path, name.removesuffix(".lua"))
            scripts[operation] = Script(f"{kind}/{name}", files[path] + library)
        elif name not in (_MARKER, "cases.yaml") and not name.startswith("testdata/"):
            raise CatalogueError(f"{path}: does not belong here")
    return Bundle(folder, str(api_version), str(kind), scripts)


def followed(folder: str, files: Mapping[str, str]) -> str | None:
    """The folder that this one says it is `like`. Raises CatalogueError."""
    like = _mapping(f"{folder}/{_MARKER}", files).get("like")
    return None if like is None else str(like)


def _followed(folder: str, files: Mapping[str, str]) -> Bundle:
    """What the folder says it is `like`."""
    like = followed(folder, files) or ""
    marker = f"{like}/{_MARKER}"
    if marker not in files or "like" in _mapping(marker, files) or like.rpartition("/")[2] != folder.rpartition("/")[2]:
        raise CatalogueError(f"{folder}/{_MARKER}: {like} is no other version of this kind with scripts of its own")
    return _bundle(like, [path for path in files if path.startswith(f"{like}/")], files)


def _library(folder: str, name: str, files: Mapping[str, str]) -> str:
    try:
        return files[f"{_LIBRARY}{name}.lua"]
    except KeyError:
        raise CatalogueError(f"{folder}/{_MARKER}: there is no lib/{name}.lua") from None


def _operation(path: str, name: str) -> Operation:
    try:
        return Operation(name)
    except ValueError:
        raise CatalogueError(f"{path}: {name} is no operation") from None


def _cases(folder: str, files: Mapping[str, str]) -> Iterator[BundledCase]:
    """`cases.yaml`: operation → list of {name, from, with?, …inputs, expect}.

    `from` names a file of testdata and `with` is a merge patch upon it (RFC 7386), so that a case shows what it is
    about; in Retain both `desired` and `observed` are patches upon that same object. Raises CatalogueError.
    """
    path = f"{folder}/cases.yaml"
    for name, rows in _mapping(path, files).items():
        operation = _operation(path, name)
        for row in rows:
            base = _mapping(f"{folder}/testdata/{row['from']}", files)
            inputs = {key: row[key] for key in _INPUTS.get(operation, set()) - {"object"} if key in row}
            if operation is Operation.RETAIN:
                inputs = {key: merged(base, patch) for key, patch in inputs.items()}
            else:
                inputs["object"] = merged(base, row.get("with", {}))
            extra = row.keys() - _INPUTS.get(operation, set()) - {"name", "from", "with", "expect"}
            if extra or "expect" not in row:
                raise CatalogueError(f"{path}: {name}, {row.get('name')}: {', '.join(sorted(extra)) or 'no expect'}")
            expect = row["expect"]
            if operation in (Operation.REVISE, Operation.RETAIN) and "with" in expect:
                start = inputs["desired"] if operation is Operation.RETAIN else inputs["object"]
                expect = {"object": merged(start, expect["with"])}
            yield BundledCase(path, row["name"], operation, inputs, expect)


def merged(base: Any, patch: Any) -> Any:
    """`base` after a merge patch: null removes a member, mappings are merged, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(base) if isinstance(base, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _mapping(path: str, files: Mapping[str, str]) -> Mapping[str, Any]:
    if path not in files:
        raise CatalogueError(f"{path}: there is no such file")
    try:
        documents = yaml.load_all(files[path].encode())
    except YamlError as error:
        raise CatalogueError(f"{path}:{error}") from None
    value = documents[0] if len(documents) == 1 else None
    if not isinstance(value, Mapping):
        raise CatalogueError(f"{path}: is not one mapping")
    return value
