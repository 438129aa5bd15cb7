"""Where a field of a declared object stands, for messages about objects that are valid by themselves.

A snapshot keeps the place of each object and not of its members: they cost a second parse, and are asked for only when
something is to be said. So the caller gives the bytes again. Of an object that a file held at an older version
declares, only its own place is known here: the bytes at hand are others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from gitfed.model.base import Origin, Problem
from gitfed.model.declared.shape import Declared
from gitfed.model.repo import Manifest
from gitfed.source.declare import Path
from gitfed.text import positions, yaml

Locate: TypeAlias = Callable[[Declared | Manifest, Path], Origin]
"""The place of a field of an object, as near as can be told."""


def by_object(declared: Declared | Manifest, path: Path) -> Origin:
    """The place of the object: what is known without its file."""
    return declared.origin


class InFiles:
    """`read` gives the bytes of a path, None when they are not those that the object was read from."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._trees: dict[str, tuple[positions.Position, ...]] = {}

    def __call__(self, declared: Declared | Manifest, path: Path) -> Origin:
        return self.place(declared.origin, path)

    def place(self, origin: Origin, path: Path) -> Origin:
        """The same of whatever stands at `origin`."""
        trees = self._trees.get(origin.path)
        if trees is None:
            data = self._read(origin.path)
            trees = () if data is None else yaml.places(data, is_json=origin.path.endswith(".json"))
            self._trees[origin.path] = trees
        for tree in _objects(trees):
            if (tree.line, tree.column) == (origin.line, origin.column):
                return Origin(origin.path, *tree.at(path))
        return origin


def problems(unplaced: Iterable[Problem], read: Callable[[str], bytes | None]) -> tuple[Problem, ...]:
    """The same problems at the fields that they name; `read` as of `InFiles`. Nothing is read if none names a field."""
    at = InFiles(read)
    return tuple(
        replace(problem, origin=at.place(problem.origin, problem.path), path=())
        if problem.path and problem.origin.line
        else problem
        for problem in unplaced
    )


def _objects(trees: tuple[positions.Position, ...]) -> Iterator[positions.Position]:
    """Documents, and the items of those that are lists of objects, however deep."""
    for tree in trees:
        yield tree
        if (items := tree.members.get("items")) is not None:
            yield from _objects(tuple(items.members.values()))
