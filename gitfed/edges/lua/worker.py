"""Script calls in a process that is killed when it does not answer in time.

A pattern that backtracks for hours is one instruction: no hook sees it, no memory grows. The only thing that ends it is
the end of its process. The process is started with the first call and again after it was killed; between them it lives
on (`process`). Calls are sent many at a time, the next while the last are worked on, so that what one
costs is the work and not the switching between two processes.

Answers come in the order of the calls. So when none comes for too long, it is known which call the process hangs at:
that one is lost, and the others are asked again of a new process. A call that was killed is left alone for a while, and
so is a script of which several were, or every object of its kind would cost another wait.

What all calls together may take is bounded too (`Allowance`): many slow scripts, each within what one call may take,
must not hold up a fleet. What is not asked any more has no answer, so the last decisions stay.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from gitfed.edges.lua import pipe
from gitfed.edges.lua.process import Process
from gitfed.edges.lua.request import Outcome, Request, ScriptError
from gitfed.model.script import Script
from gitfed.text.values import dataclass

_REST: Final = (30.0, 120.0, 600.0)
"""Seconds a call is left alone after it was killed, the first, the second, every other time."""
_HUNG: Final = 3
"""Calls of one script left alone at a time, from which on all of it is."""
_REMEMBERED: Final = 100
"""Calls of one script that are known to have been killed."""


ALLOWANCE: Final = 30.0
"""Seconds for all calls at once."""
_PRICE: Final = 0.002
"""Seconds of a call that are not counted: several times what an ordinary one takes. A fleet may have many objects."""
_SHARE: Final = 0.05
"""Of the time that passes, what may be used after that."""


class Killed(Exception):
    """There is no answer: the script hung and was stopped, its process ended, or it was not asked."""


class Allowance:
    """The time that all calls together may take beyond an ordinary call's: some at once, then a share of all time."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._most = self._left = seconds
        self._clock = clock
        self._told = clock()

    def spend(self, seconds: float) -> None:
        self._left = min(self._most, self._left - seconds + _PRICE)

    def __bool__(self) -> bool:
        """Whether any is left."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._told) * _SHARE)
        self._told = now
        return self._left > 0

    def __str__(self) -> str:
        return f"was not asked: the scripts of this commit have taken {self._most:g} seconds, and go on later"


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

    def settle(self, answer: Said) -> Request:
        """Of the call that was sent first, which is returned."""
        at, request = self.sent.popleft()
        self.said[at] = answer
        return request


class Worker:
    """For any number of threads; one call of `call` at a time."""

    def __init__(
        self,
        functions: str,
        *,
        seconds: float,
        allowance: float = ALLOWANCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowance = Allowance(allowance, clock)
        self._functions = functions
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._process: Process | None = None
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
                    process = self._running()
                    for outcome in process.converse(self._send(batch)):
                        self._forgive(batch.settle(outcome))
                        self._allowance.spend(process.waited())
                        if not self._allowance:
                            self._end()  # it is at calls whose caller does not wait any more
                            break
                except (OSError, EOFError) as error:
                    if self._process is not None:
                        self._allowance.spend(self._process.waited())
                    self._end()
                    if not batch.sent:
                        batch.sent.append(next(batch.coming))
                    batch.settle(self._stopped(batch.sent[0][1], error))
                except BaseException:
                    self._end()  # what it still answers must not be taken for the answer to something else
                    raise
                batch.put_back(*batch.sent)
                batch.sent.clear()
        return [batch.said[at] for at in range(len(batch.said))]

    def _send(self, batch: _Batch) -> Iterator[Request]:
        for due in self._due(batch):
            batch.sent.append(due)
            yield due[1]

    def _due(self, batch: _Batch) -> Iterator[_Numbered]:
        """What is to be asked now, in order."""
        while True:
            for at, request in batch.coming:
                if not self._allowance:
                    batch.said[at] = Killed(str(self._allowance))
                elif self._rests(request):
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
        resting = self._resting.setdefault(request.script, {})
        resting[_content(request)] = _Resting(until, times + 1)
        if len(resting) > _REMEMBERED:
            del resting[min(resting, key=lambda content: resting[content].until)]
        if isinstance(error, TimeoutError):
            return Killed(f"was stopped after {self._seconds:g} seconds without an end")
        return Killed("its process ended without an answer")

    def _times(self, request: Request) -> int:
        """How often it was killed."""
        of_script = self._resting.get(request.script)
        resting = of_script.get(_content(request)) if of_script else None
        return resting.times if resting else 0

    def _rests(self, request: Request) -> bool:
        of_script = self._resting.get(request.script)
        if not of_script:
            return False
        now = self._clock()
        resting = [content for content, rest in of_script.items() if now < rest.until]
        return len(resting) >= _HUNG or _content(request) in resting

    def _running(self) -> Process:
        if self._process is not None and self._process.ended():
            self._end()
        if self._process is None:
            self._process = Process(self._functions, self._seconds)
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process = None


def _content(request: Request) -> bytes:
    """What tells a call from others of its script."""
    digest = hashlib.blake2b(request.function.encode(), digest_size=16)
    for text in pipe.sent(request):
        digest.update(b"\0%d\0" % len(text) + text)
    return digest.digest()
