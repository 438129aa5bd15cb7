"""A manifest line by line, each with where it comes from: a line of the repository, a policy, or gitfed itself.

What stands in the rendered manifest as it stands in the template comes from the template's line. Of anything else the
edits that were made on the way say whose it is; where several could have written a line, all of them are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gitfed.model.base import Body
from gitfed.model.keys import OURS, THEIRS
from gitfed.source.declare import Path
from gitfed.text import yaml
from gitfed.views.objects import LineOrigin

_OURS = (OURS, THEIRS)
_MISSING = object()
_BY_FIELD = {
    "imageOverrider": lambda path: "image" in path,
    "commandOverrider": lambda path: "command" in path,
    "argsOverrider": lambda path: "args" in path,
    "labelsOverrider": lambda path: "labels" in path,
    "annotationsOverrider": lambda path: "annotations" in path,
}
"""Which lines an overrider with a field of its own can have written; others can write anywhere."""


class Line(NamedTuple):
    number: int
    text: str
    origin: str
    """`apps/web.yaml:12`, or who wrote it."""
    edited: bool
    """It does not stand so in the template."""


def lines(body: Body, template: Body | None, edits: Sequence[LineOrigin], place: Callable[[Path], str]) -> list[Line]:
    """`body` is what is shown (masked); `template` the same of the repository; `place` tells where a field of the
    template stands."""
    text = yaml.dump(body)
    paths = dict(_paths(yaml.places(text.encode())))
    annotated: list[Line] = []
    path: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        path = paths.get(number, path)
        if template is not None and _same(_at(body, path), _at(template, path)):
            annotated.append(Line(number, line, place(path), edited=False))
        else:
            annotated.append(Line(number, line, _whose(path, edits), edited=True))
    return annotated


def _paths(trees: tuple[yaml.Position, ...]) -> Iterator[tuple[int, Path]]:
    """(line, the field that begins there); of several on one line the innermost."""

    def below(place: yaml.Position, path: Path) -> Iterator[tuple[int, Path]]:
        for name, member in place.members.items():
            yield member.line, (*path, name)
            yield from below(member, (*path, name))

    for tree in trees:
        yield from below(tree, ())


def _at(value: Any, path: Path) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def _same(shown: Any, written: Any) -> bool:
    """A mapping or list begins where the template's does; what is in it is looked at on its own lines."""
    if shown is _MISSING or written is _MISSING:
        return False
    if isinstance(shown, dict | list):
        return isinstance(written, type(shown))
    return bool(shown == written)


def _whose(path: Path, edits: Sequence[LineOrigin]) -> str:
    words = tuple(str(part) for part in path)
    if any(word.startswith(_OURS) for word in words):
        return "gitfed: whose it is"
    if words in (("metadata",), ("metadata", "labels")) or words == ():
        return "gitfed: whose it is"
    could = [edit for edit in edits if _could(edit, words)]
    certain = [edit for edit in could if edit["what"] in _BY_FIELD or edit["by"] == "replicas"]
    named = certain or could
    return " or ".join(dict.fromkeys(_called(edit) for edit in named)) or "gitfed"


def _could(edit: LineOrigin, words: tuple[str, ...]) -> bool:
    if edit["by"] == "replicas":
        return any(word in ("replicas", "parallelism", "completions") for word in words)
    if edit["by"] == "failover":
        return "labels" in words
    return _BY_FIELD.get(edit["what"], lambda path: True)(words)


def _called(edit: LineOrigin) -> str:
    if edit["by"] == "replicas":
        return f"its share of the replicas: {edit['what']}"
    if edit["by"] == "failover":
        return "state that came with a failover"
    return f"{edit['by']} ({edit['what']}), {edit['origin']}"
