"""The pages, and the console blocks in them that are run.

A comment in the line before a fenced `console` block says that it runs:

    <!-- runs: example -->       in a fresh copy of examples/repo, committed
    <!-- runs: empty -->         in a fresh empty folder
    <!-- runs -->                where the last block of this page ended
    <!-- runs: background -->    the same, but the command goes on until the page ends

`exit=N` may be added: what the block's last command leaves with. Lines that begin with `$ ` are commands; what follows
is their output, `…` standing for lines left out. `python -m tests.docs` writes the present output into the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MORE = "…"
_BLOCK = re.compile(r"^<!-- runs(?P<how>[^>]*?) -->\n```console\n(?P<body>.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Command:
    line: str
    output: tuple[str, ...]
    exit: int


@dataclass(frozen=True, slots=True)
class Block:
    start: str
    """"example", "empty", "background", or "": where it runs."""
    commands: tuple[Command, ...]
    span: tuple[int, int]
    """Of the block's body in the page's text."""


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        words = match["how"].removeprefix(":").split()
        code = next((int(word.removeprefix("exit=")) for word in words if word.startswith("exit=")), 0)
        start = next((word for word in words if not word.startswith("exit=")), "")
        yield Block(start, tuple(_commands(match["body"], code)), match.span("body"))


def _commands(body: str, last_exit: int) -> list[Command]:
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    last = len(found) - 1
    return [
        Command(line, tuple(output), last_exit if number == last else 0) for number, (line, output) in enumerate(found)
    ]


def first_words(lines: tuple[str, ...] | list[str]) -> set[str]:
    return {line.split()[0] for line in lines if line.split() and line.strip() != MORE}
