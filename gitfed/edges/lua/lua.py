"""What others call: one script call after another, each where it is safe, none twice."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Final, TypeAlias

import orjson

from gitfed.edges.lua.runtime import Elsewhere, Outcome, Runtime, ScriptError
from gitfed.edges.lua.worker import Killed, Worker, functions_of
from gitfed.model.script import Call, Failed, Returned, Script

_KEPT: Final = 20_000
"""Answers that are remembered by what went in."""

_Key: TypeAlias = tuple[Any, ...]


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
        self._elsewhere: set[tuple[Script, str]] = set()
        self._examined: set[tuple[Script, str]] = set()
        self._notes: dict[tuple[Script, str], str] = {}

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
        return {script: note for (script, _), note in self._notes.copy().items()}

    def run(self, call: Call) -> Returned | Failed:
        """Never raises for anything that a script does."""
        texts = [_text(one) if isinstance(one, dict | list) else None for one in call.arguments]
        content = (call.script, call.function, call.results, *_digests(call.arguments, texts))
        answer = self._by_content.get(content)
        if answer is None:
            answer, lasting = self._ask(call, texts)
            if not lasting:
                return answer
            with self._lock:
                _keep(self._by_content, content, answer, _KEPT)
        return answer

    def _ask(self, call: Call, texts: list[bytes | None]) -> tuple[Returned | Failed, bool]:
        """The answer, and whether it will be the same at any other time."""
        now = _seconds(call.now) if call.now else int(self._clock())
        try:
            outcome = self._execute(call, now, texts=[one if one is None or _is_exact(one) else None for one in texts])
        except ScriptError as error:
            return Failed(str(error)), True
        except Killed as error:
            return Failed(f"{call.script.name}: {error}", permanent=False), False
        self._examine(call, now, outcome)
        lasting = not outcome.told_time
        return Returned(outcome.kinds, outcome.values, outcome.edits, outcome.line, lasting), lasting

    def _execute(self, call: Call, now: int, **otherwise: Any) -> Outcome:
        """In this process if that is safe. A function that once was not safe is sent to the worker straight away.

        The worker has a lock of its own: while it waits for a script that hangs, others go on.
        """
        which = (call.script, call.function)
        arguments = (call.script, call.function, *call.arguments)
        if which not in self._elsewhere:
            try:
                with self._lock:
                    return self._runtime.call(*arguments, results=call.results, now=now, edits=call.edits, **otherwise)
            except Elsewhere:
                self._elsewhere.add(which)
        return self._worker.call(*arguments, results=call.results, now=now, edits=call.edits, **otherwise)

    def _examine(self, call: Call, now: int, outcome: Outcome) -> None:
        """Asks a function once more with another order of keys and other random numbers, to see if that matters."""
        which = (call.script, call.function)
        if which in self._examined or not (outcome.took_order or outcome.took_chance):
            return
        self._examined.add(which)
        for what, otherwise in (("random numbers", {"seed": 77}), ("the order of pairs()", {"backwards": True})):
            try:
                same = self._execute(call, now, **otherwise) == outcome
            except (ScriptError, Killed):
                same = False
            if not same:
                self._notes[which] = f"{call.script.name}: what {call.function} returns depends on {what}"
                return


def _digests(arguments: tuple[Any, ...], texts: list[bytes | None]) -> Iterator[Any]:
    for one, text in zip(arguments, texts, strict=True):
        yield (type(one), one) if text is None else hashlib.blake2b(text, digest_size=16).digest()


def _text(value: Any) -> bytes:
    """Members in order of name or not: an answer does not depend on it, and the same body mostly has the same."""
    try:
        return orjson.dumps(value)
    except TypeError:  # integers beyond 64 bits, halves of surrogate pairs
        return _INEXACT + json.dumps(value).encode()


_INEXACT = b" "
"""Stands before a text that says of which value it is, but does not give it back."""


def _is_exact(text: bytes) -> bool:
    return not text.startswith(_INEXACT)


def _keep(memory: OrderedDict[_Key, Any], key: _Key, value: Any, most: int) -> None:
    memory[key] = value
    if len(memory) > most:
        memory.popitem(last=False)


def _seconds(now: str) -> int:
    return int(datetime.fromisoformat(now).timestamp())
