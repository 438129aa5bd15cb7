"""Script calls in a process that is killed when it does not answer in time.

A pattern that backtracks for hours is one instruction: no hook sees it, no memory grows. The only thing that ends it is
the end of its process. The process is started with the first call that needs it and again after it was killed; between
them it lives on. Calls are sent many at a time, the next while the last are worked on, so that what one costs is the
work and not the switching between two processes; how they look on the way is in `pipe`.

Answers come in the order of the calls. So when none comes for too long, it is known which call the process hangs at:
that one is lost, and the others are asked again of a new process. A call that was killed is left alone for a while, and
so is a script of which several were, or every object of its kind would cost another wait.

This is the side of the daemon; the other is `child`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from gitfed.edges.lua import pipe
from gitfed.edges.lua.request import Outcome, Request, ScriptError
from gitfed.edges.lua.runtime import Function
from gitfed.model.script import Script

_START: Final = 60.0
"""Seconds for the process to say that it is there; a busy machine is slow at it."""
_REST: Final = (30.0, 120.0, 600.0)
"""Seconds a call is left alone after it was killed, the first, the second, every other time."""
_HUNG: Final = 3
"""Calls of one script left alone at a time, from which on all of it is."""
_REMEMBERED: Final = 100
"""Calls of one script that are known to have been killed."""
_TOGETHER: Final = 32
"""Calls in one message."""
_LARGE: Final = 1 << 16
"""Bytes of arguments from which on a message is full with fewer."""
_AHEAD: Final = 1 << 18
"""Bytes that wait to be sent before more are made ready."""

_LONGEST: Final = 1 << 28
"""Bytes of an answer: several times what the memory of a script can hold."""


class Killed(Exception):
    """There is no answer: the script hung and was stopped, or its process ended."""


@dataclass(frozen=True, slots=True)
class _Resting:
    until: float
    times: int


Said: TypeAlias = Outcome | ScriptError | Killed
_Numbered: TypeAlias = tuple[int, Request]


class _Batch:
    """Calls on their way: some still to be sent, some sent, some settled."""

    def __init__(self, requests: Iterable[Request]) -> None:
        self.coming: Iterator[_Numbered] = enumerate(requests)
        self.late: list[_Numbered] | None = []
        """Calls that were killed before, which come last; None: it is their turn."""
        self.sent: deque[_Numbered] = deque()
        self.said: dict[int, Said] = {}

    def put_back(self, *some: _Numbered) -> None:
        self.coming = itertools.chain(some, self.coming)

    def settle(self, said: Said) -> Request:
        """Of the call that was sent first, which is returned."""
        at, request = self.sent.popleft()
        self.said[at] = said
        return request


class Worker:
    """For any number of threads; one call of `call` at a time."""

    def __init__(self, functions: str, *, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._functions = functions
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._resting: dict[Script, dict[bytes, _Resting]] = {}
        """Calls that were killed, by script."""

    def close(self) -> None:
        with self._lock:
            self._end()

    def call(self, requests: Iterable[Request]) -> list[Said]:
        """What came of each. `requests` may be made while the first are worked on."""
        batch = _Batch(requests)
        with self._lock:
            while (first := next(self._due(batch), None)) is not None:
                batch.put_back(first)
                try:
                    for outcome in self._running().converse(self._send(batch)):
                        self._forgive(batch.settle(outcome))
                except (OSError, EOFError) as error:
                    self._end()
                    if not batch.sent:
                        batch.sent.append(next(batch.coming))
                    batch.settle(self._stopped(batch.sent[0][1], error))
                batch.put_back(*batch.sent)
                batch.sent.clear()
        return [batch.said[at] for at in range(len(batch.said))]

    def _send(self, batch: _Batch) -> Iterator[Request]:
        for one in self._due(batch):
            batch.sent.append(one)
            yield one[1]

    def _due(self, batch: _Batch) -> Iterator[_Numbered]:
        """What is to be asked now, in order."""
        while True:
            for at, request in batch.coming:
                if self._rests(request):
                    batch.said[at] = Killed("was stopped because it did not end, and is not tried again yet")
                elif batch.late is not None and self._times(request):
                    batch.late.append((at, request))
                else:
                    yield at, request
            if not batch.late:
                return
            batch.coming, batch.late = iter(batch.late), None

    def _forgive(self, request: Request) -> None:
        if request.script in self._resting:
            self._resting[request.script].pop(_content(request), None)

    def _stopped(self, request: Request, error: Exception) -> Killed:
        times = self._times(request)
        until = self._clock() + _REST[min(times, len(_REST) - 1)]
        known = self._resting.setdefault(request.script, {})
        known[_content(request)] = _Resting(until, times + 1)
        if len(known) > _REMEMBERED:
            del known[min(known, key=lambda content: known[content].until)]
        if isinstance(error, TimeoutError):
            return Killed(f"was stopped after {self._seconds:g} seconds without an end")
        return Killed("its process ended without an answer")

    def _times(self, request: Request) -> int:
        """How often it was killed."""
        known = self._resting.get(request.script)
        resting = known.get(_content(request)) if known else None
        return resting.times if resting else 0

    def _rests(self, request: Request) -> bool:
        known = self._resting.get(request.script)
        if not known:
            return False
        now = self._clock()
        resting = [content for content, one in known.items() if now < one.until]
        return len(resting) >= _HUNG or _content(request) in resting

    def _running(self) -> _Process:
        if self._process is not None and self._process.ended():
            self._end()
        if self._process is None:
            self._process = _Process(self._functions, self._seconds)
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process = None


class _Process:
    """A worker process and both of its pipes. Ends with this object at the latest."""

    def __init__(self, functions: str, seconds: float) -> None:
        """Nothing of our environment goes along: there may be credentials in it. Raises OSError, EOFError."""
        self._seconds = seconds
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "gitfed.edges.lua.child", functions, f"{seconds:g}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            cwd="/",
            start_new_session=True,  # a Ctrl-C at the terminal is for us
            bufsize=0,
        )
        self.pid = self._popen.pid
        self.end = weakref.finalize(self, _kill, self._popen)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._in, self._out = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        os.set_blocking(self._in, False)
        self._events = select.poll()
        self._events.register(self._out, select.POLLIN)
        self._received = bytearray()
        next(self._messages(_START))

    def ended(self) -> bool:
        return self._popen.poll() is not None

    def converse(self, requests: Iterator[Request]) -> Iterator[Outcome | ScriptError]:
        """The answers, in order. Raises OSError or EOFError when the next does not come; TimeoutError is one."""
        asked = answered = 0
        to_send = bytearray()
        while True:
            while len(to_send) < _AHEAD and (together := _message(requests)):
                asked += len(together)
                to_send += pipe.calls(together)
            if answered == asked:
                return
            for message in self._messages(self._seconds, to_send):
                answered += 1
                try:
                    outcome = pipe.read_answer(message)
                except (ValueError, TypeError) as error:
                    raise EOFError("this is no answer") from error
                yield outcome

    def _messages(self, seconds: float, to_send: bytearray | None = None) -> Iterator[memoryview]:
        """At least one that comes within so many seconds, and those that are there with it; sends meanwhile.

        A process that takes what is sent does not hang.
        """
        end = time.monotonic() + seconds
        while len(self._received) < 4 or len(self._received) < 4 + int.from_bytes(self._received[:4]):
            self._events.register(self._in, select.POLLOUT if to_send else 0)
            events = dict(self._events.poll(max(0.0, end - time.monotonic()) * 1000))
            if not events:
                raise TimeoutError
            if self._in in events and to_send:
                try:
                    del to_send[: os.write(self._in, to_send)]
                    end = time.monotonic() + seconds
                except BrokenPipeError:
                    to_send.clear()  # what it answered before it ended is still to be read
            if self._out in events:
                part = os.read(self._out, 1 << 20)
                if not part:
                    raise EOFError
                self._received += part
            if int.from_bytes(self._received[:4]) > _LONGEST:
                raise EOFError("this is no answer")
        received, self._received = bytes(self._received), bytearray()
        at = 0
        while len(received) >= at + 4 and len(received) >= (after := at + 4 + int.from_bytes(received[at : at + 4])):
            yield memoryview(received)[at + 4 : after]
            at = after
        self._received += received[at:]


def _message(requests: Iterator[Request]) -> list[Request]:
    """The next calls that go together."""
    together, size = [], 0
    for request in itertools.islice(requests, _TOGETHER):
        together.append(request)
        size += sum(map(len, pipe.sent(request)))
        if size >= _LARGE:
            break
    return together


def functions_of(name: str) -> Mapping[str, Function]:
    """The mapping named "package.module:NAME"."""
    module, _, attribute = name.partition(":")
    return cast("Mapping[str, Function]", getattr(importlib.import_module(module), attribute))


def _content(request: Request) -> bytes:
    """What tells a call from others of its script."""
    digest = hashlib.blake2b(request.function.encode(), digest_size=16)
    for text in pipe.sent(request):
        digest.update(b"\0%d\0" % len(text) + text)
    return digest.digest()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for end in (process.stdin, process.stdout):
        if end is not None:
            with contextlib.suppress(BrokenPipeError):  # what was still to be written has no reader any more
                end.close()
