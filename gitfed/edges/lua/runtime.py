"""One Lua state in this process: compiles scripts, takes values in, calls, takes values out.

What a script may see and do is in `sandbox/`; this module is the Python side of it, `intake` is how values get there.
Only texts, numbers and tables cross the border, in both directions. A state that met a limit is never used again.

The limits here are an amount of instructions, in which work of the libraries counts, and of memory: both an error of
the script and the same on every machine. What neither sees is ended by the clock, with the process (`worker`).

Outside of a call nothing protects the process from memory that runs out: Lua ends it. So a state is only given
something while half of its memory is free, and is renewed when it is not.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final, cast

import orjson
from lupa import luajit21

from gitfed.edges.lua import scan
from gitfed.edges.lua.intake import OUT_OF_MEMORY, RESERVE, Intake
from gitfed.edges.lua.request import Outcome, Request, ScriptError, exact
from gitfed.edges.lua.values import latin, utf8
from gitfed.model.script import NAME_SHOWN, Script

Function = Callable[..., Any]
"""A function of the `kube` module: JSON values in and out, ValueError with a message for the script."""

MEMORY: Final = 48 << 20
"""Bytes of one Lua state. Converted objects are in it too."""
INSTRUCTIONS: Final = 10_000_000
_STEP: Final = 500
"""Instructions between two looks at the limits."""
_PARTS: Final = ("limits", "lazy", "order", "libraries", "json", "environment", "calls")
"""Of the sandbox. Each takes from the table `shared` what those before it have put there, and puts in its own."""
_FLAGS: Final = tuple(tuple(bool(flags & bit) for bit in (1, 2, 4)) for flags in range(8))
"""What `sandbox/calls.lua` says of a call in one number: told the time, took order, took chance."""
_KEPT_SCRIPTS: Final = 1024
_KEPT_TEXT: Final = 4 << 20
"""Characters of all scripts that stay compiled: they take several times as much of the memory."""
_LONGEST_MESSAGE: Final = 1000
"""Characters of an error. A script chooses the text of its own, and it goes to terminals, logs and commits."""
_LONGEST_RAISED: Final = 4 * _LONGEST_MESSAGE + 1
"""Bytes of it that leave Lua: enough to tell that there was more."""


class Runtime:
    """Not for several threads at once."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._start()

    def _start(self) -> None:
        """A new state with nothing in it. Costs some hundred microseconds."""
        self._lua = luajit21.LuaRuntime(
            encoding="latin-1",
            register_eval=False,
            register_builtins=False,
            attribute_filter=_no_attributes,
            unpack_returned_tuples=True,
            max_memory=MEMORY,
        )
        self._intake = Intake(self._lua, MEMORY)
        shared = self._lua.table_from(
            {
                "bridge": self._bridge,
                "member": self._intake.member,
                "member_json": self._intake.member_json,
                "memory": MEMORY,
                "reserve": RESERVE,
                "budget": INSTRUCTIONS,
                "step": _STEP,
                "longest": _LONGEST_RAISED,
                "run": self._lua.table(),
            }
        )
        for part in _sandbox():
            self._lua.execute(part, shared, name="=sandbox")
        self._compile, self._call, self._unhook = shared["compile"], shared["call"], shared["unhook"]
        self._place, self._intake.opened = shared["place"], shared["opened"]
        self._scripts: dict[Script, Any] = {}
        self._text = 0

    def compile(self, script: Script) -> Outcome:
        """Whether the script compiles; nothing runs. Raises ScriptError with the reason."""
        for _ in range(2):  # what others left behind may have filled the state
            try:
                self._make_room()
                self._compiled(script)
            except (_OutOfMemory, luajit21.LuaMemoryError):
                self._start()
            else:
                return Outcome((), (), False, False, False)
        raise ScriptError(_too_large(script, 0))

    def call(self, request: Request) -> Outcome:
        """Raises ScriptError."""
        try:
            return self._once(request)
        except _OutOfMemory:
            pass
        line = 0
        # What others left behind may have filled the state, so it must not decide: a new one, in which everything is
        # taken in before the script runs. Where not even that is possible, the script may still need little of it.
        for by_parts in (False, True):
            self._start()
            self._intake.by_parts = by_parts
            try:
                return self._once(request)
            except _OutOfMemory as error:
                line = error.line
                if error.ran:
                    break
            finally:
                self._intake.by_parts = True
        self._start()
        raise ScriptError(_too_large(request.script, line))

    def _make_room(self) -> None:
        """Half of the memory is free afterwards."""
        self._intake.forget()
        if self._lua.get_memory_used() > MEMORY // 3:
            self._lua.gccollect()
            if self._lua.get_memory_used() > MEMORY // 2:
                self._start()

    def _once(self, request: Request) -> Outcome:
        script, ran = request.script, False
        try:
            self._make_room()
            chunk = self._compiled(script)
            first, second = self._taken(request)
            # Positions in a list without its nulls are not those of the list.
            edits = bool(request.edits and request.texts and (text := exact(request.texts[0])) and b"null" not in text)
            ran = True
            settings = (request.results, request.now, request.backwards, request.seed)
            answer = self._call(chunk, request.function, *settings, edits, first, second)
        except luajit21.LuaMemoryError:
            raise _OutOfMemory(self._line(), ran) from None
        except luajit21.LuaError as error:
            line = self._line()
            if str(error).startswith("\1whole"):
                raise _OutOfMemory(line, ran) from None
            self._start()
            raise _ended(str(error), script, line) from None
        if answer[0] is True:
            _, kinds, answered, flags, line = answer
            results = tuple(orjson.loads(utf8(answered)))
            changed = None
            if kinds == "edits":
                changed = tuple(sorted(results, key=lambda edit: orjson.dumps(edit[0])))  # Lua has none
                kinds, results = "table", ()
            told, order, chance = _FLAGS[flags]
            return Outcome(tuple(kinds.split()), results, told, order, chance, line, changed)
        if answer[1].endswith(OUT_OF_MEMORY):
            raise _OutOfMemory(self._line(), ran)
        raise ScriptError(_said(answer[1], script, self._line()))

    def _taken(self, request: Request) -> tuple[Any, Any]:
        first, *rest = request.arguments or (None,)
        text, *texts = request.texts or (None,)
        taken = self._intake.take(first, exact(text))
        return taken, self._intake.take(rest[0], exact(texts[0]) if texts else None) if rest else None

    def _line(self) -> int:
        """The line that a message without one is about. A call that was stopped leaves its hook behind."""
        try:
            self._unhook()
            return int(self._place())
        except luajit21.LuaError:
            return 0

    def _compiled(self, script: Script) -> Any:
        chunk = self._scripts.get(script)
        if chunk is None:
            if fault := scan.not_lua(script):
                raise ScriptError(fault)
            if len(self._scripts) >= _KEPT_SCRIPTS or self._text + len(script.text) > _KEPT_TEXT:
                self._start()
            chunk = self._compile(latin(script.text), latin(script.name[:NAME_SHOWN]))
            if isinstance(chunk, tuple):
                if chunk[1].endswith(OUT_OF_MEMORY):
                    raise _OutOfMemory(0, ran=False)
                raise ScriptError(_said(chunk[1], script))
            self._scripts[script] = chunk
            self._text += len(script.text)
        return chunk

    def _bridge(self, name: str, arguments: str) -> tuple[bool, Any]:
        """What the `kube` functions of scripts call. Never raises: an exception would be a Python object in Lua."""
        try:
            value = self._functions[name](*orjson.loads(utf8(arguments)))
            return True, self._intake.value(value)
        except _ANYTHING as error:
            return False, latin(f"{name}: {error}"[:_LONGEST_MESSAGE])


@lru_cache(maxsize=1)
def _sandbox() -> tuple[str, ...]:
    folder = resources.files(__package__).joinpath("sandbox")
    return tuple(folder.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in _PARTS)


def functions_of(name: str) -> Mapping[str, Function]:
    """The mapping named "package.module:NAME"."""
    module, _, attribute = name.partition(":")
    return cast("Mapping[str, Function]", getattr(importlib.import_module(module), attribute))


def _no_attributes(_obj: object, _name: str, _setting: bool) -> str:
    raise AttributeError("a script has no access to Python")


class _OutOfMemory(Exception):
    def __init__(self, line: int, ran: bool) -> None:
        """`ran`: the arguments were there, and the script ran."""
        super().__init__()
        self.line = line
        self.ran = ran


_ANYTHING = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError, MemoryError,
    luajit21.LuaError, ScriptError,
)  # fmt: skip
"""What a Python function may raise, given what a script makes up."""


def _too_large(script: Script, line: int) -> str:
    return script.headed(f"needs more than {MEMORY >> 20} MiB of memory", line)


def _ended(message: str, script: Script, line: int) -> ScriptError:
    """The error for a call that was stopped; its state must not be used any more."""
    if message.startswith("\1budget"):
        return ScriptError(script.headed(f"needs more than {INSTRUCTIONS:,} instructions (an endless loop?)", line))
    return ScriptError(_said(message.partition("\nstack traceback")[0], script, line))


def _said(message: str, script: Script, line: int = 0) -> str:
    """A message of Lua, beginning with the script's name and a line; our own lines in it are of no help."""
    text = utf8(message[:_LONGEST_RAISED]).decode(errors="replace")
    text = re.sub(r"sandbox:\d+: ", "", text)
    if len(text) > _LONGEST_MESSAGE:
        text = f"{text[:_LONGEST_MESSAGE].rstrip()} …"
    name = script.name[:NAME_SHOWN]
    return text if text.startswith(f"{name}:") else script.headed(text, line)
