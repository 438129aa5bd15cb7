"""What others call: script calls, each where it is safe, those in the worker all at once, no costly one twice.

Answers are remembered by what went in. To find out what that was means to write the whole body as JSON, which costs as
much as a script that looks at a few members of it. So a function is asked anew until one of its answers was costly
(`Outcome.costly`); whoever has the same body in hands again remembers the answer by that (`interpret.scripted`).
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final, TypeAlias

from gitfed.edges.lua.request import Outcome, Request, ScriptError, text
from gitfed.edges.lua.runtime import Elsewhere, Runtime, functions_of
from gitfed.edges.lua.worker import Killed, Worker
from gitfed.model.script import Call, Failed, Returned, Script

_KEPT: Final = 20_000
"""Answers that are remembered by what went in."""

_Key: TypeAlias = tuple[Any, ...]


@dataclass(slots=True)
class _Habits:
    """What is known of a function of a script."""

    elsewhere: bool = False
    """It is asked in the worker: it could hang."""
    costly: bool = False
    """Its answers are remembered."""
    examined: bool = False
    note: str = ""
    """How its answers depend on what they should not."""


class Lua:
    """The scripts of one process. For any number of threads, one call at a time.

    `functions` names an importable mapping, "package.module:NAME": the functions of the `kube` module by their Lua
    names. It is a name and not the mapping because the worker process imports it too. `seconds` is how long the worker
    may be silent before it is killed.
    """

    def __init__(self, functions: str, *, seconds: float = 5.0, clock: Callable[[], float] = time.time) -> None:
        self._worker = Worker(functions, seconds=seconds)
        self._runtime = Runtime(functions_of(functions))
        self._clock = clock
        self._lock = threading.Lock()
        self._by_content: OrderedDict[_Key, Returned | Failed] = OrderedDict()
        self._habits: dict[tuple[Script, str], _Habits] = {}

    def __enter__(self) -> Lua:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker process, if there is one. A later call would start another."""
        self._worker.close()

    def check(self, script: Script) -> str:
        """Why the script does not compile, "" if it does. Nothing runs."""
        with self._lock:
            return self._runtime.check(script)

    def notes(self) -> Mapping[Script, str]:
        """Scripts whose answers were found to depend on chance or on the order of keys, and how.

        Answers are the same on every machine nevertheless: keys come in their own order and random numbers begin anew.
        Under Karmada they would not be.
        """
        return {script: habits.note for (script, _), habits in self._habits.copy().items() if habits.note}

    def run(self, call: Call) -> Returned | Failed:
        """Never raises for anything that a script does."""
        return self.run_all((call,))[0]

    def run_all(self, calls: Sequence[Call]) -> list[Returned | Failed]:
        """As `run`; what has to go to the worker goes there together."""
        found: list[Returned | Failed | None] = [None] * len(calls)
        elsewhere: list[int] = []
        for at, call in enumerate(calls):
            habits = self._of(call)
            if habits.elsewhere:
                elsewhere.append(at)  # what tells it from others is found out while the worker has something to do
                continue
            key, texts = _content(call) if habits.costly or call.edits else (None, ())
            answer = self._by_content.get(key) if key else None
            if answer is None:
                request = self._request(call, texts)
                outcome = self._here(request, habits)
                if outcome is None:
                    elsewhere.append(at)
                    continue
                answer = self._answer(call, request, outcome, key, habits)
            found[at] = answer
        if elsewhere:
            for at, answer in zip(elsewhere, self._elsewhere_all([calls[at] for at in elsewhere]), strict=True):
                found[at] = answer
        return [one for one in found if one is not None]

    def _elsewhere_all(self, calls: Sequence[Call]) -> list[Returned | Failed]:
        """The answers of calls that belong into the worker."""
        keys: list[_Key] = []
        found: dict[_Key, Returned | Failed] = {}
        sent: dict[_Key, tuple[Call, Request]] = {}

        def requests() -> Iterator[Request]:
            for call in calls:
                key, texts = _content(call)
                keys.append(key)
                known = self._by_content.get(key)
                if known is not None:
                    found[key] = known
                elif key not in sent:
                    sent[key] = call, self._request(call, texts)
                    yield sent[key][1]

        coming = requests()
        if (first := next(coming, None)) is not None:
            outcomes = self._worker.call(itertools.chain((first,), coming))
            for (key, (call, request)), outcome in zip(sent.items(), outcomes, strict=True):
                found[key] = self._answer(call, request, outcome, key, self._of(call))
        return [found[key] for key in keys]

    def _of(self, call: Call) -> _Habits:
        which = (call.script, call.function)
        habits = self._habits.get(which)
        if habits is None:
            habits = self._habits[which] = _Habits()
        return habits

    def _request(self, call: Call, texts: tuple[bytes | None, ...]) -> Request:
        now = _seconds(call.now) if call.now else int(self._clock())
        return Request(call.script, call.function, call.arguments, texts, call.results, now, edits=call.edits)

    def _here(self, request: Request, habits: _Habits) -> Outcome | ScriptError | None:
        """What comes of it in this process; None where that is not safe. What once was not never is.

        The worker has a lock of its own: while it waits for a script that hangs, others go on.
        """
        if not habits.elsewhere:
            try:
                with self._lock:
                    return self._runtime.call(request)
            except ScriptError as error:
                return error
            except Elsewhere:
                habits.elsewhere = True
        return None

    def _answer(
        self,
        call: Call,
        request: Request,
        outcome: Outcome | ScriptError | Killed,
        key: _Key | None,
        habits: _Habits,
    ) -> Returned | Failed:
        """What is told of it; remembered if it will be the same at any other time."""
        if isinstance(outcome, Killed):
            return Failed(f"{call.script.name}: {outcome}", permanent=False)
        if isinstance(outcome, ScriptError):
            answer: Returned | Failed = Failed(str(outcome))
        else:
            if (outcome.took_order or outcome.took_chance) and not habits.examined:
                self._examine(request, outcome, habits)
            lasting = not outcome.told_time
            answer = Returned(outcome.kinds, outcome.values, outcome.edits, outcome.line, lasting)
            if not lasting or (key is None and not outcome.costly):
                return answer
        habits.costly = True
        with self._lock:
            _keep(self._by_content, key or _content(call)[0], answer, _KEPT)
        return answer

    def _examine(self, request: Request, outcome: Outcome, habits: _Habits) -> None:
        """Asks a function once more with another order of keys and other random numbers, to see if that matters."""
        habits.examined = True
        others = {"random numbers": request._replace(seed=77), "the order of pairs()": request._replace(backwards=True)}
        for what, other in others.items():
            if not outcome.says_as(self._here(other, habits) or self._worker.call([other])[0]):
                habits.note = f"{request.script.name}: what {request.function} returns depends on {what}"
                return


def _content(call: Call) -> tuple[_Key, tuple[bytes | None, ...]]:
    """What tells a call from others, and its arguments as JSON where they are large enough for a digest."""
    texts = tuple([text(one) if isinstance(one, dict | list) else None for one in call.arguments])
    key = (call.script, call.function, call.results, call.edits, *_digests(call.arguments, texts))
    return key, texts


def _digests(arguments: tuple[Any, ...], texts: tuple[bytes | None, ...]) -> Iterator[Any]:
    for one, known in zip(arguments, texts, strict=True):
        yield (type(one), one) if known is None else hashlib.sha256(known).digest()


def _keep(memory: OrderedDict[_Key, Any], key: _Key, value: Any, most: int) -> None:
    memory[key] = value
    if len(memory) > most:
        memory.popitem(last=False)


def _seconds(now: str) -> int:
    return int(datetime.fromisoformat(now).timestamp())
