"""Objects by name out of one `git cat-file` that lives between questions: to start Git costs more than most answers.

Not for several threads at a time. The process ends with `close`, or with this object at the latest; the next question
starts another one.
"""

from __future__ import annotations

import subprocess
import weakref
from collections.abc import Callable
from typing import NamedTuple

from gitfed.errors import SourceError


class Missing(LookupError):
    """No such object is here, or the name means several."""


class Ended(SourceError):
    """The process is gone: it was ended, or it came across an object that is damaged."""


class Header(NamedTuple):
    name: str
    """The object's id in full."""
    kind: str
    """`blob`, `tree`, `commit` or `tag`."""
    size: int
    """Bytes of its content."""


class CatFile:
    """`start` starts `git cat-file` with the arguments that it is given and pipes at both ends.

    Questions raise Missing, Ended, and what `start` raises.
    """

    def __init__(self, start: Callable[..., subprocess.Popen[bytes]]) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = lambda: None

    def header(self, name: str) -> Header:
        return self._ask("info", name)

    def content(self, name: str) -> bytes:
        size = self._ask("contents", name).size
        assert self._process is not None
        assert self._process.stdout is not None
        content = self._process.stdout.read(size + 1)  # and the newline that ends it
        if len(content) <= size:
            raise self._gone()
        return content[:-1]

    def close(self) -> None:
        self._process = None
        self._end()

    def _ask(self, verb: str, name: str) -> Header:
        if "\n" in name:
            raise Missing(name)
        if self._process is None:
            process = self._process = self._start("cat-file", "--batch-command")
            self._end = weakref.finalize(self, _end, process)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{verb} {name}\n".encode("utf-8", "surrogateescape"))
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._gone()
        parts = line.decode("utf-8", "surrogateescape").split()
        if len(parts) != 3 or not parts[2].isdecimal():
            raise Missing(name)  # `<name> missing`, `<name> ambiguous`
        return Header(parts[0], parts[1], int(parts[2]))

    def _gone(self) -> Ended:
        self.close()
        return Ended("git cat-file ended before it gave an answer")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()
