"""The types of Kubernetes' own kinds, of every minor version that the program knows, from the bundled files.

`schemas/kubernetes/index.json` says which versions those are (`minors`) and which type each kind is of (`kinds`:
apiVersion → kind → word); `<group>_<version>.json` holds types, each a mapping from fields to words (`notation`). One
description serves all versions, so that what a field was and will be is known wherever it is used. Files are read, and
types made, when an object needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import orjson

from gitfed.interpret.schema import notation, removed
from gitfed.interpret.schema.faults import Fault, FaultCode
from gitfed.interpret.schema.nodes import SCALARS, Fields, ListOf, MapOf, Node, Struct
from gitfed.text.values import dataclass

Minor: TypeAlias = int
"""Of Kubernetes 1.x."""
_VERSION = re.compile(r"v?1\.(\d+)(?:\D.*)?")


def minor_of(version: str) -> Minor | None:
    """`v1.31.4-gke.1183000` → 31; None for what is no version of Kubernetes."""
    match = _VERSION.fullmatch(version)
    return int(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Basis:
    """By which version an object is judged, and whether that is the cluster's own."""

    minor: Minor
    sure: bool
    """False: the cluster is newer or older than any that is known here, and may know better."""


class Kubernetes:
    """What the bundled files say. `read` gives the bytes of one, by its name."""

    def __init__(self, read: Callable[[str], bytes], assumed: Minor | None = None) -> None:
        """`assumed`: every cluster is taken to run this version, whatever it says."""
        self._read = read
        self._assumed = assumed
        self._files: dict[str, Mapping[str, Mapping[str, str]]] = {}
        self._nodes: dict[tuple[str, Minor], Node] = {}

    def always(self, minor: Minor) -> Kubernetes:
        """The same for clusters that all run one version."""
        return Kubernetes(self._read, minor)

    @cached_property
    def _index(self) -> Mapping[str, Any]:
        index: dict[str, Any] = orjson.loads(self._read("index"))
        return index

    @property
    def _kinds(self) -> Mapping[str, Mapping[str, str]]:
        kinds: dict[str, dict[str, str]] = self._index["kinds"]
        return kinds

    @property
    def minors(self) -> range:
        """Those whose types are known."""
        oldest, newest = self._index["minors"]
        return range(oldest, newest + 1)

    def basis(self, version: str = "") -> Basis:
        """What to judge by for a cluster of this version; "": it is not known, and the newest counts."""
        minor = self._assumed if self._assumed is not None else minor_of(version)
        if minor is None:
            return Basis(self.minors[-1], True)
        return Basis(min(max(minor, self.minors[0]), self.minors[-1]), minor in self.minors)

    def node(self, api_version: str, kind: str, minor: Minor) -> Node | None:
        """The type of a kind; None: this version has no such kind."""
        text = self._kinds.get(api_version, {}).get(kind)
        word = notation.at(text, minor) if text is not None else None
        return None if word is None else self._node(word, minor)

    def part(self, word: str, minor: Minor) -> Node:
        """A type by its name: `meta_v1#ObjectMeta`."""
        return self._node(word, minor)

    def not_served(self, api_version: str, kind: str, minor: Minor) -> Fault | None:
        """Why this version has no such kind, which others have or had; None: nobody here knows the kind."""
        text = self._kinds.get(api_version, {}).get(kind)
        if text is None:
            gone = removed.find(api_version, kind)
            if gone is not None:
                return _not_served(api_version, kind, minor, f"went with 1.{gone.minor}", gone.instead)
            versions = list(self._serving(api_version.rpartition("/")[0], kind, minor))
            if not versions or api_version.rpartition("/")[0] not in ("", *self._own_groups):
                return None
            return _not_served(api_version, kind, minor, "", f"use {versions[-1]}")
        spans = notation.spans(text)
        later = [first for _, first, _ in spans if first > minor]
        said = f"came with 1.{later[0]}" if later else f"went with 1.{spans[-1][2] + 1}"
        versions = list(self._serving(api_version.rpartition("/")[0], kind, minor))
        return _not_served(api_version, kind, minor, said, f"use {versions[-1]}" if versions else "")

    @cached_property
    def _own_groups(self) -> frozenset[str]:
        return frozenset(api_version.rpartition("/")[0] for api_version in self._kinds)

    def _serving(self, group: str, kind: str, minor: Minor) -> Iterator[str]:
        """The apiVersions of a kind, the most stable last."""
        serving = [
            api_version
            for api_version, kinds in self._kinds.items()
            if api_version.rpartition("/")[0] == group and kind in kinds and notation.at(kinds[kind], minor) is not None
        ]
        yield from sorted(serving, key=lambda version: ("alpha" not in version, "beta" not in version, version))

    def _node(self, word: str, minor: Minor) -> Node:
        node = self._nodes.get((word, minor))
        if node is None:
            marks, name = notation.marks(word)
            node = SCALARS[name] if name in SCALARS else self._struct(name, minor)
            for mark in reversed(marks):
                if mark == notation.MAP:
                    node = MapOf(node)
                elif mark != notation.REQUIRED:
                    node = ListOf(node, _keys(mark))
            self._nodes[word, minor] = node
        return node

    def _struct(self, name: str, minor: Minor) -> Struct:
        made = self._nodes.get((name, minor))
        if isinstance(made, Struct):
            return made
        file, _, bare = name.partition("#")

        def make() -> Fields:
            words = {field: notation.at(text, minor) for field, text in self._file(file)[bare].items()}
            present = {field: notation.absolute(word, file) for field, word in words.items() if word is not None}
            required = tuple(field for field, word in present.items() if word.startswith(notation.REQUIRED))
            return {field: self._node(word, minor) for field, word in present.items()}, required

        struct = Struct(bare, make, lambda field: _when(self._file(file)[bare].get(field), minor))
        self._nodes[name, minor] = struct
        return struct

    def _file(self, name: str) -> Mapping[str, Mapping[str, str]]:
        if name not in self._files:
            self._files[name] = orjson.loads(self._read(name))
        return self._files[name]


def _keys(mark: str) -> Mapping[str, str | None] | None:
    if mark == notation.LIST:
        return None
    if mark == notation.SET:
        return {}
    parts = [part.partition("=") for part in mark[1:-1].split(",")]
    return {key: default or None for key, _, default in parts}


def _when(text: str | None, minor: Minor) -> tuple[str, str]:
    """Of a field that this version does not have: "in Kubernetes 1.30" and when it came or went."""
    if text is None:
        return "", ""
    spans = notation.spans(text)
    later = [first for _, first, _ in spans if first > minor]
    said = f"it came with 1.{later[0]}" if later else f"it went with 1.{spans[-1][2] + 1}"
    return f"in Kubernetes 1.{minor}", said


def _not_served(api_version: str, kind: str, minor: Minor, when: str, hint: str) -> Fault:
    message = f"Kubernetes 1.{minor} has no {kind} in {api_version}" + (f": it {when}" if when else "")
    return Fault(("apiVersion",), FaultCode.NOT_SERVED, message, hint)
