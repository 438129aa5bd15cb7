"""What others call: the scripts of one commit, checked and called in the worker process, no call twice.

Answers are remembered by what went in: the worker needs it as JSON anyway. A caller that has the same body in hands
again remembers the answer by that body (`interpret.scripted`).
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, TypeAlias

from gitfed.edges.lua.request import COMPILE, Outcome, Request, ScriptError, text
from gitfed.edges.lua.worker import ALLOWANCE, Killed, Worker
from gitfed.model.script import Call, Failed, Returned, Script

_KEPT: Final = 20_000
"""Answers that are remembered by what went in."""

_Key: TypeAlias = tuple[Any, ...]


class Lua:
    """The scripts of one commit. For any number of threads.

    `functions` names an importable mapping, "package.module:NAME": the functions of the `kube` module by their Lua
    names. It is a name and not the mapping because the worker process imports it. `seconds` is how long the worker may
    be silent before it is killed, `allowance` what all calls together may take at once (`worker.Allowance`).
    """

    def __init__(
        self,
        functions: str,
        *,
        seconds: float = 5.0,
        allowance: float = ALLOWANCE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._worker = Worker(functions, seconds=seconds, allowance=allowance)
        self._clock = clock
        self._lock = threading.Lock()
        self._by_content: OrderedDict[_Key, Returned | Failed] = OrderedDict()
        self._notes: dict[tuple[Script, str], str] = {}
        """How the answers of a function that was examined depend on what they should not; "" if they do not."""

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
        (outcome,) = self._worker.call([Request(script, COMPILE)])
        if isinstance(outcome, Killed):
            return script.headed(f"it cannot be compiled: {outcome}", 0)
        return str(outcome) if isinstance(outcome, ScriptError) else ""

    def notes(self) -> Mapping[Script, str]:
        """Scripts whose answers were found to depend on chance or on the order of keys, and how.

        Answers are the same on every machine nevertheless: keys come in their own order and random numbers begin anew.
        Under Karmada they would not be.
        """
        return {script: note for (script, _), note in self._notes.copy().items() if note}

    def run(self, call: Call) -> Returned | Failed:
        """Never raises for anything that a script does."""
        return self.run_all((call,))[0]

    def run_all(self, calls: Sequence[Call]) -> list[Returned | Failed]:
        """As `run`; all that is not known goes to the worker together."""
        keys: list[_Key] = []
        results: dict[_Key, Returned | Failed] = {}
        sent: dict[_Key, tuple[Call, Request]] = {}

        def requests() -> Iterator[Request]:
            for call in calls:
                key, texts = _content(call)
                keys.append(key)
                remembered = self._by_content.get(key)
                if remembered is not None:
                    results[key] = remembered
                elif key not in sent:
                    sent[key] = call, self._request(call, texts)
                    yield sent[key][1]

        coming = requests()
        if (first := next(coming, None)) is not None:
            outcomes = self._worker.call(itertools.chain((first,), coming))
            for (key, (call, request)), outcome in zip(sent.items(), outcomes, strict=True):
                results[key] = self._answer(call, request, outcome, key)
        return [results[key] for key in keys]

    def _request(self, call: Call, texts: tuple[bytes | None, ...]) -> Request:
        now = _seconds(call.now) if call.now else int(self._clock())
        return Request(call.script, call.function, call.arguments, texts, call.results, now, edits=call.edits)

    def _answer(
        self, call: Call, request: Request, outcome: Outcome | ScriptError | Killed, key: _Key
    ) -> Returned | Failed:
        """What is told of it; remembered if it will be the same at any other time."""
        if isinstance(outcome, Killed):
            return Failed(f"{call.script.name}: {outcome}", permanent=False)
        if isinstance(outcome, ScriptError):
            answer: Returned | Failed = Failed(str(outcome))
        else:
            if outcome.took_order or outcome.took_chance:
                self._examine(request, outcome)
            answer = Returned(outcome.kinds, outcome.values, outcome.edits, outcome.line, not outcome.told_time)
            if outcome.told_time:
                return answer
        with self._lock:
            _keep(self._by_content, key, answer, _KEPT)
        return answer

    def _examine(self, request: Request, outcome: Outcome) -> None:
        """Asks a function once more with another order of keys and other random numbers, to see if that matters."""
        which = (request.script, request.function)
        if which in self._notes:
            return
        self._notes[which] = ""
        others = {"random numbers": request._replace(seed=77), "the order of pairs()": request._replace(backwards=True)}
        for what, changed in others.items():
            if outcome != self._worker.call([changed])[0]:
                self._notes[which] = f"{request.script.name}: what {request.function} returns depends on {what}"
                return


def _content(call: Call) -> tuple[_Key, tuple[bytes | None, ...]]:
    """What tells a call from others, and its arguments as JSON where they are large enough for a digest."""
    texts = tuple([text(argument) if isinstance(argument, dict | list) else None for argument in call.arguments])
    key = (call.script, call.function, call.results, call.edits, *_digests(call.arguments, texts))
    return key, texts


def _digests(arguments: tuple[Any, ...], texts: tuple[bytes | None, ...]) -> Iterator[Any]:
    for argument, argument_text in zip(arguments, texts, strict=True):
        yield (type(argument), argument) if argument_text is None else hashlib.sha256(argument_text).digest()


def _keep(memory: OrderedDict[_Key, Any], key: _Key, value: Any, most: int) -> None:
    memory[key] = value
    if len(memory) > most:
        memory.popitem(last=False)


def _seconds(now: str) -> int:
    return int(datetime.fromisoformat(now).timestamp())
