"""One kustomization file: what it names, and what a broken one may have named.

What a kustomization names is material of a build and never a template by itself, whether the file can be used or not.
So of a file that cannot be used everything counts that it names, or seems to name; who asks knows which of that exists.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gitfed.errors import SourceError
from gitfed.source.tree import FileEntry, visible
from gitfed.text import yaml
from gitfed.text.values import dataclass

_LARGEST = 1024 * 1024
_PLUGINS = ("generators", "transformers", "validators")
_FOLDERS = ("resources", "bases", "components", *_PLUGINS)
_PATHS = ("crds", "configurations", "patchesStrategicMerge")
_INSIDE = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_HELM = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
_WORD = re.compile(r"[^\s,\[\]{}\"'#|>]+")
_MOST_WORDS = 10_000
_KNOWN = frozenset((
    "apiVersion", "kind", "metadata", "namespace", "namePrefix", "nameSuffix", "commonLabels", "labels",
    "commonAnnotations", "images", "imageTags", "replicas", "vars", "generatorOptions", "openapi", "buildMetadata",
    "sortOptions", *_FOLDERS, *_PATHS, *_INSIDE, *_GENERATORS, *_HELM,
))  # fmt: skip
"""Fields of a kustomization; the program refuses a file with any other."""
_FIELDS = {name.casefold(): name for name in _KNOWN}
_MEMBERS = {name.casefold(): name for name in ("path", "files", "envs", "env")}
"""Of patches, replacements and generators: what names a file."""


@dataclass(frozen=True, slots=True)
class Names:
    """What one kustomization file names. `fault` says why it cannot be used."""

    kind: str = "Kustomization"
    folders: tuple[str, ...] = ()
    """Folders or files: resources, components and the like."""
    paths: tuple[str, ...] = ()
    """Files."""
    plugins: bool = False
    """Whether it names generators, transformers or validators."""
    fault: str = ""
    place: tuple[int, int] = (0, 0)
    """Line and column of the fault, if it has one."""
    guesses: tuple[str, ...] = ()
    """Every word of a file that Kustomize will refuse: some of them may be what it was to name."""


def read(entry: FileEntry, load: Callable[[str], bytes]) -> Names:
    """`load` gives a blob's content."""
    if entry.size > _LARGEST:
        return Names(fault=f"a kustomization of {entry.size} bytes, at most {_LARGEST} are read")
    try:
        data = load(entry.blob_id)
    except SourceError as error:
        return Names(fault=f"the file cannot be read: {error.message}")
    stream = yaml.parse(data)
    errors = [fault for fault in stream.faults if not fault.warning]
    if errors:
        place = errors[0].line, errors[0].column
        return Names(fault=errors[0].message, place=place, guesses=_words(data))
    values = [document.value for document in stream.documents if document.value is not None]
    if len(values) != 1 or not isinstance(values[0], dict):
        return Names(fault="a kustomization is one document, a mapping", guesses=_words(data))
    value = values[0]
    if other := _misspelled(value):
        return Names(fault=other, guesses=_words(data))
    for name in _HELM:
        if value.get(name):
            return Names(fault=f"{name}: Helm charts are not rendered", guesses=_words(data))
    folders = [text for name in _FOLDERS for text in _texts(value.get(name))]
    plugins = any(value.get(name) for name in _PLUGINS)
    kind = str(value.get("kind") or "Kustomization")
    guesses = () if _is_plausible(value) else _words(data)
    return Names(kind, tuple(folders), tuple(_paths(value)), plugins, guesses=guesses)


def _misspelled(value: Mapping[str, Any]) -> str:
    """Why a field's name is refused. The program reads a name in any case, so that one here has to be the right one."""
    inside: list[tuple[Any, Mapping[str, str]]] = [(value, _FIELDS)]
    for name in (*_INSIDE, *_GENERATORS):
        inside += [(item, _MEMBERS) for item in _items(value.get(name))]
    inside.append((value.get("openapi"), _MEMBERS))
    for members, spellings in inside:
        for name in members if isinstance(members, dict) else ():
            right = spellings.get(name.casefold(), name)
            if right != name:
                return f"{visible(name)} is no field of a kustomization (write {right})"
    return ""


def _is_plausible(value: Mapping[str, Any]) -> bool:
    """Whether every field is one that Kustomize has, and lists are lists of what belongs into them."""
    lists = {**dict.fromkeys((*_FOLDERS, *_PATHS), str), **dict.fromkeys((*_INSIDE, *_GENERATORS), dict)}
    return value.keys() <= _KNOWN and all(
        isinstance(value.get(name), list | None) and all(isinstance(item, kind) for item in _items(value.get(name)))
        for name, kind in lists.items()
    )


def _words(data: bytes) -> tuple[str, ...]:
    text = data.decode("utf-8", "replace")
    words = (match[0].strip(":=,") for match in _WORD.finditer(text))
    return tuple(dict.fromkeys(itertools.islice((word for word in words if word), _MOST_WORDS)))


def _paths(value: Mapping[str, Any]) -> Iterator[str]:
    for name in _PATHS:
        yield from _texts(value.get(name))
    for name in _INSIDE:
        for item in _items(value.get(name)):
            if isinstance(item, dict):
                yield from _texts([item.get("path")])
    for name in _GENERATORS:
        for item in _items(value.get(name)):
            if isinstance(item, dict):
                for text in _texts(item.get("files")):
                    yield text.rpartition("=")[2]
                yield from _texts(item.get("envs"))
                yield from _texts([item.get("env")])
    openapi = value.get("openapi")
    if isinstance(openapi, dict):
        yield from _texts([openapi.get("path")])


def _texts(value: Any) -> Iterator[str]:
    """Names in a list. A text of several lines is no name: patches and generators may stand there themselves."""
    for item in _items(value):
        if isinstance(item, str) and item and "\n" not in item:
            yield item


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
