"""Script calls in a process that is killed when it does not answer in time.

A pattern that backtracks for hours is one instruction: no hook sees it, no memory grows. The only thing that ends it is
the end of its process. The process is started with the first call that needs it and again after it was killed; between
them it lives on, so that a call costs two messages through a pipe.

A script that was killed is left alone for a while, or every object of its kind would cost another wait.

This is the side of the daemon; the other is `child`. A message is four bytes of length, then JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from gitfed.edges.lua.runtime import Function, Outcome, ScriptError
from gitfed.model.script import Script

_START: Final = 60.0
"""Seconds for the process to say that it is there; a busy machine is slow at it."""
_REST: Final = (30.0, 120.0, 600.0)
"""Seconds a script is left alone after it was killed, the first, the second, every other time."""


class Killed(Exception):
    """There is no answer: the script hung and was stopped, or its process ended."""


@dataclass(frozen=True, slots=True)
class _Resting:
    until: float
    times: int


class Worker:
    """For any number of threads; one call at a time."""

    def __init__(self, functions: str, *, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._functions = functions
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: Callable[[], object] | None = None
        self._answers = select.poll()
        self._resting: dict[Script, _Resting] = {}

    def close(self) -> None:
        with self._lock:
            self._end()

    def call(
        self,
        script: Script,
        function: str,
        *arguments: Any,
        results: int = 1,
        now: int = 0,
        backwards: bool = False,
        seed: int = 1,
        edits: bool = False,
        texts: Sequence[bytes | None] = (),
    ) -> Outcome:
        """As `Runtime.call`. Raises ScriptError, Killed."""
        with self._lock:
            resting = self._resting.get(script)
            if resting is not None and self._clock() < resting.until:
                raise Killed("was stopped because it did not end, and is not tried again yet")
            known = [*texts, *([None] * len(arguments))]
            given = [
                one if text is None else orjson.Fragment(text) for one, text in zip(arguments, known, strict=False)
            ]
            request = _message([script.name, script.text, function, given, results, now, backwards, seed, edits])
            try:
                answer = self._exchange(request)
            except (OSError, EOFError) as error:
                self._end()
                times = resting.times + 1 if resting else 0
                self._resting[script] = _Resting(self._clock() + _REST[min(times, len(_REST) - 1)], times)
                if isinstance(error, TimeoutError):
                    raise Killed(f"was stopped after {self._seconds:g} seconds without an end") from None
                raise Killed("its process ended without an answer") from None
            self._resting.pop(script, None)
        if "fault" in answer:
            raise ScriptError(answer["fault"])
        told, order, chance, line = answer["flags"]
        changed = None if answer["edits"] is None else tuple(answer["edits"])
        return Outcome(tuple(answer["kinds"]), tuple(answer["values"]), told, order, chance, line, changed)

    def _exchange(self, request: bytes) -> dict[str, Any]:
        process = self._process or self._begin()
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.flush()
        return self._receive(process, self._seconds)

    def _begin(self) -> subprocess.Popen[bytes]:
        """Nothing of our environment goes along: there may be credentials in it."""
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "gitfed.edges.lua.child", self._functions, f"{self._seconds:g}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            cwd="/",
            start_new_session=True,  # a Ctrl-C at the terminal is for us
        )
        self._finalizer = weakref.finalize(self, _kill, process)
        assert process.stdout is not None
        self._answers = select.poll()
        self._answers.register(process.stdout, select.POLLIN)
        self._receive(process, _START)
        return process

    def _end(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._finalizer = None

    def _receive(self, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
        """The next message. Raises TimeoutError, EOFError."""
        assert process.stdout is not None
        end, wanted, received = time.monotonic() + seconds, 4, bytearray()
        while len(received) < wanted:
            if not self._answers.poll(max(0.0, end - time.monotonic()) * 1000):
                raise TimeoutError
            part = os.read(process.stdout.fileno(), 1 << 20)
            if not part:
                raise EOFError
            received += part
            if wanted == 4 and len(received) >= 4:
                wanted = 4 + int.from_bytes(received[:4])
        return cast("dict[str, Any]", orjson.loads(received[4:]))


def functions_of(name: str) -> Mapping[str, Function]:
    """The mapping named "package.module:NAME"."""
    module, _, attribute = name.partition(":")
    return cast("Mapping[str, Function]", getattr(importlib.import_module(module), attribute))


def _message(value: Any) -> bytes:
    text = orjson.dumps(value)
    return len(text).to_bytes(4) + text


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # what was still to be written has no reader any more
                pipe.close()
