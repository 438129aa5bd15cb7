"""The worker process and its pipes: calls in, answers out, many on their way at a time.

Started with nothing of our environment, killed without asking. Neither pipe ever blocks this side: what does not fit is
sent while answers are read, so two full pipes cannot wait for each other. What follows from a process that did not
answer is `worker`'s business; what runs in it is `child`, and how both speak is `pipe`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Final

from gitfed.edges.lua import pipe
from gitfed.edges.lua.request import Outcome, Request, ScriptError

_START: Final = 60.0
"""Seconds for the process to say that it is there; a busy machine is slow at it."""
_TOGETHER: Final = 32
"""Calls in one message."""
_LARGE: Final = 1 << 16
"""Bytes of arguments from which on a message is full with fewer."""
_AHEAD: Final = 1 << 18
"""Bytes that wait to be sent before more are made ready."""
_LONGEST: Final = 1 << 28
"""Bytes of an answer: several times what the memory of a script can hold."""


class Process:
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
        self._waited = 0.0
        next(self._messages(_START))
        self.waited()

    def ended(self) -> bool:
        return self._popen.poll() is not None

    def waited(self) -> float:
        """Seconds that were waited for it since this was last asked."""
        waited, self._waited = self._waited, 0.0
        return waited

    def converse(self, requests: Iterator[Request]) -> Iterator[Outcome | ScriptError]:
        """The answers, in order. Raises OSError or EOFError when the next does not come; TimeoutError is one."""
        sent = answered = 0
        to_send = bytearray()
        while True:
            while len(to_send) < _AHEAD and (together := _message(requests)):
                sent += len(together)
                to_send += pipe.calls(together)
            if answered == sent:
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
            began = time.monotonic()
            events = dict(self._events.poll(max(0.0, end - began) * 1000))
            self._waited += time.monotonic() - began
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


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for end in (process.stdin, process.stdout):
        if end is not None:
            with contextlib.suppress(BrokenPipeError):  # what was still to be written has no reader any more
                end.close()
