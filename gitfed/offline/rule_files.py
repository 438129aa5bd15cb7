"""Customizations, objects and cases that a person names on the command line instead of a repository.

What is read here came from anywhere, so it is read like a repository: with positions, size caps, and everything that is
wrong at once. A name may be a URL, as for kubectl: a person typed it. One that stands in a file is never fetched.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from pathlib import Path
from typing import Any

import orjson

from gitfed.edges import download
from gitfed.errors import InputError, UsageError
from gitfed.interpret import bundled, cases
from gitfed.model.base import Origin, Problem
from gitfed.model.declared.interpreter import ResourceInterpreterCustomization
from gitfed.source import content, parse
from gitfed.text import yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

_MOST_BYTES = 32 * 1024 * 1024
_SUFFIXES = (".yaml", ".yml", ".json")
CUSTOMIZATIONS = "customizations.yaml"
"""What Karmada calls the file of rules beside a folder `testdata`."""


@dataclass(frozen=True, slots=True)
class Found:
    """One document of a file of rules."""

    path: str
    customization: ResourceInterpreterCustomization | None
    what: str = ""
    """What it is, when it is no customization."""


@dataclass(frozen=True, slots=True)
class RuleFiles:
    documents: tuple[Found, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def customizations(self) -> tuple[ResourceInterpreterCustomization, ...]:
        return tuple(document.customization for document in self.documents if document.customization is not None)


def read(names: Sequence[str], *, recursive: bool) -> RuleFiles:
    """Files, folders, URLs and `-` (standard input), in the order given.

    Raises UsageError for what is not there, InputError, SourceError.
    """
    documents: list[Found] = []
    problems: list[Problem] = []
    for name in names:
        for path, data in _contents(name, recursive=recursive):
            as_json = parse.is_json(path)
            parsed = parse.parse(data, as_json=as_json)
            understood = content.understand(path, parsed, functools.partial(bytes, data), as_json=as_json)
            problems.extend(understood.problems)
            placed: list[tuple[Origin, Found]] = []
            for declared in understood.declared:
                if isinstance(declared, ResourceInterpreterCustomization):
                    placed.append((declared.origin, Found(path, declared)))
                else:
                    placed.append((declared.origin, Found(path, None, f"{declared.api_version} {declared.kind}")))
            for manifest in understood.manifests:
                placed.append((manifest.origin, Found(path, None, f"{manifest.api_version} {manifest.key.kind}")))
            documents.extend(document for _, document in sorted(placed, key=lambda pair: pair[0]))
    return RuleFiles(tuple(documents), tuple(problems))


def objects(name: str) -> list[Any]:
    """The documents of what was named. Raises InputError with the place of what is wrong, and the rest as `read`."""
    documents: list[Any] = []
    for path, data in _contents(name, recursive=False):
        try:
            documents += [document for document in yaml.load_all(data) if document is not None]
        except YamlError as error:
            raise InputError(f"{path}:{error}") from error
    return documents


def single(path: str) -> Any:
    """The one document of a file. Raises InputError."""
    documents = objects(path)
    if len(documents) != 1:
        raise InputError(f"{path}: one object is wanted, there are {len(documents)}")
    return documents[0]


def rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write the file anew with its one customization changed; a file that is cut short is never seen."""
    documents = [
        change(document)
        if isinstance(document, dict) and document.get("kind") == "ResourceInterpreterCustomization"
        else document
        for document in objects(str(path))
    ]
    text = orjson.dumps(documents[0], option=orjson.OPT_INDENT_2) + b"\n" if parse.is_json(str(path)) else b""
    whole = path.with_name(f".{path.name}.new")
    whole.write_bytes(text or yaml.dump_many(documents).encode())
    whole.replace(path)


@dataclass(slots=True)
class CaseFolder:
    """What a folder of cases holds, in both layouts."""

    ours: dict[Path, dict[str, str]] = field(default_factory=dict)
    """By root of a catalogue: its files, path with `/` → text; kinds below the folder that was asked for, and those
    that they say they are like."""
    asked: dict[Path, set[str]] = field(default_factory=dict)
    """By the same: the folders of the kinds below the folder that was asked for."""
    karmada: dict[Path, tuple[Path, ...]] = field(default_factory=dict)
    """By file of customizations: its files of test data."""


def case_folder(folder: Path) -> CaseFolder:
    """Raises InputError when there is no case of either layout."""
    cases = CaseFolder()
    for marker in sorted(folder.rglob("interpreter.yaml")):
        root = marker.resolve().parents[3] if len(marker.resolve().parents) > 3 else folder
        files = cases.ours.setdefault(root, _texts(root / "lib", root))
        files.update(_texts(marker.resolve().parent, root))
        kind = marker.resolve().parent.relative_to(root).as_posix()
        cases.asked.setdefault(root, set()).add(kind)
        try:
            like = bundled.followed(kind, files)
        except bundled.CatalogueError as error:
            raise InputError(str(error)) from error
        if like is not None and "." not in Path(like).parts and ".." not in Path(like).parts:
            files.update(_texts(root / like, root))
    for rules in sorted(folder.rglob(CUSTOMIZATIONS)):
        data = rules.parent / "testdata"
        cases.karmada[rules] = tuple(sorted(path for path in data.rglob("*") if path.is_file()))
    if not cases.ours and not cases.karmada:
        raise InputError(
            f"{folder}: no cases here", hint=f"interpreter.yaml and cases.yaml, or {CUSTOMIZATIONS} and testdata/"
        )
    return cases


def karmada_cases(paths: Sequence[Path]) -> Iterator[cases.InterpreterCase | str]:
    """The cases of files of test data; a text for each document that is none. Raises InputError."""
    for path in paths:
        yield from cases.read_karmada(str(path), objects(str(path)))


def our_cases(files: Mapping[str, str], asked: Set[str]) -> Iterator[cases.InterpreterCase]:
    """Those of the folders `asked`. Raises InputError for a folder that is not as it should be."""
    try:
        for case in bundled.cases(files):
            if case.path.rpartition("/")[0] in asked:
                yield cases.of_bundle(case)
    except bundled.CatalogueError as error:
        raise InputError(str(error)) from error


def _texts(folder: Path, root: Path) -> dict[str, str]:
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            try:
                texts[path.relative_to(root).as_posix()] = _read(path).decode()
            except UnicodeDecodeError as error:
                raise InputError(f"{path}: is not UTF-8") from error
    return texts


def _contents(name: str, *, recursive: bool) -> Iterator[tuple[str, bytes]]:
    if name == "-":
        yield "stdin", _stdin()
        return
    if download.is_address(name):
        yield name.partition("?")[0], _within(name, download.fetch(name, most=_MOST_BYTES))
        return
    path = Path(name)
    if not path.is_dir():
        if not path.exists():  # as for every file that an option names
            raise UsageError(f"{name}: no such file")
        yield name, _read(path)
        return
    for folder, folders, files in os.walk(path):
        folders.sort()
        for file in sorted(files):
            if file.endswith(_SUFFIXES):
                inside = Path(folder) / file
                yield str(inside), _read(inside)
        if not recursive:
            return


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return _within(str(path), data)


def _stdin() -> bytes:
    return _within("standard input", sys.stdin.buffer.read(_MOST_BYTES + 1))


def _within(name: str, data: bytes) -> bytes:
    if len(data) > _MOST_BYTES:
        raise InputError(f"{name}: larger than {_MOST_BYTES} bytes")
    return data
